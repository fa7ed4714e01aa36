"""Reference solution: bonded network and dimensionality of an intercalated dichalcogenide."""

from pymatgen.analysis.dimensionality import get_dimensionality_larsen, get_structure_components
from pymatgen.core import Lattice, Structure
from pymatgen.core.local_env import CrystalNN


def reference() -> dict:
    """Compute the properties of the question."""
    host = Structure(
        Lattice.hexagonal(3.411, 12.87),
        ["Nb", "Nb", "Se", "Se", "Se", "Se"],
        [
            [0, 0, 0.25],
            [0, 0, 0.75],
            [1 / 3, 2 / 3, 0.1192],
            [1 / 3, 2 / 3, 0.3808],
            [2 / 3, 1 / 3, 0.6192],
            [2 / 3, 1 / 3, 0.8808],
        ],
    )
    intercalated = host.copy()
    intercalated.append("Cu", [2 / 3, 1 / 3, 0.5])
    intercalated.append("Cu", [2 / 3, 1 / 3, 0.0])
    neighbors = CrystalNN()
    layers = neighbors.get_bonded_structure(host)
    network = neighbors.get_bonded_structure(intercalated)
    components = get_structure_components(layers, inc_orientation=True)
    supercell = network * (2, 2, 1)
    return {
        "host_dimensionality": int(get_dimensionality_larsen(layers)),
        "layer_orientation": [int(i) for i in components[0]["orientation"]],
        "intercalated_dimensionality": int(get_dimensionality_larsen(network)),
        "copper_coordination": int(network.get_coordination_of_site(6)),
        "bonds_in_supercell": int(supercell.graph.number_of_edges()),
    }

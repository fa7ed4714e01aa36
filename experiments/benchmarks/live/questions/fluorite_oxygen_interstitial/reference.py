"""An oxygen interstitial in strontium fluoride."""

from pymatgen.analysis.defects.core import Interstitial
from pymatgen.core import Lattice, PeriodicSite, Structure


def reference() -> dict:
    """Compute the properties of the question."""
    host = Structure.from_spacegroup(
        "Fm-3m", Lattice.cubic(5.827), ["Sr", "F"], [[0, 0, 0], [0.25, 0.25, 0.25]]
    )
    host.add_oxidation_state_by_element({"Sr": 2, "F": -1})
    interstitial = Interstitial(host, PeriodicSite("O", [0.47, 0.5, 0.5], host.lattice))
    supercell, site = interstitial.get_supercell_structure(
        min_atoms=90, max_atoms=220, min_length=11.2, force_diagonal=True, return_site=True
    )
    plain = supercell.copy()
    plain.remove_oxidation_states()
    index = next(i for i, atom in enumerate(plain) if atom.specie.symbol == "O")
    distances = plain.distance_matrix[index]
    return {
        "interstitial_charge_states": [int(q) for q in interstitial.get_charge_states(padding=1)],
        "supercell_formula": plain.composition.formula,
        "interstitial_neighbor_distance": float(min(d for d in distances if d > 1e-3)),
        "supercell_edge_lengths": [float(length) for length in supercell.lattice.abc],
        "latex_label": interstitial.latex_name,
    }

"""Adsorption sites of CO on the (111) surface of an ordered platinum-nickel alloy."""

from pymatgen.analysis.adsorption import AdsorbateSiteFinder
from pymatgen.core import Lattice, Molecule, Structure
from pymatgen.core.surface import SlabGenerator


def reference() -> dict:
    alloy = Structure.from_spacegroup(
        "Pm-3m", Lattice.cubic(3.862), ["Pt", "Ni"], [[0, 0, 0], [0.5, 0.5, 0]]
    )
    generator = SlabGenerator(
        alloy, (1, 1, 1), min_slab_size=7, min_vacuum_size=14, center_slab=True, lll_reduce=True
    )
    finder = AdsorbateSiteFinder(generator.get_slab(), height=0.9)
    sites = finder.find_adsorption_sites(distance=1.85)
    carbon_monoxide = Molecule("CO", [[0, 0, 0], [0, 0, 1.143]])
    structures = finder.generate_adsorption_structures(
        carbon_monoxide, min_lw=6.0, find_args={"distance": 1.85}
    )
    distances = []
    for structure in structures:
        carbon = [i for i, site in enumerate(structure) if site.specie.symbol == "C"][0]
        metals = [i for i, site in enumerate(structure) if site.specie.symbol in ("Pt", "Ni")]
        distances.append(min(float(structure.get_distance(carbon, i)) for i in metals))
    return {
        "n_sites_by_kind": {
            kind: len(positions) for kind, positions in sites.items() if kind != "all"
        },
        "n_surface_atoms": len(finder.surface_sites),
        "adsorbed_cell_formula": structures[0].composition.formula,
        "carbon_metal_distances": sorted(distances),
    }

"""Reference solution: orderings of a disordered layered oxide ranked by Ewald energy."""

from pymatgen.core import Lattice, Structure
from pymatgen.core.ewald import EwaldSummation
from pymatgen.transformations.standard_transformations import OrderDisorderedStructureTransformation


def reference() -> dict:
    """Compute the properties of the question."""
    half = {"Li+": 0.5, "Al3+": 0.5}
    disordered = Structure(
        Lattice.from_parameters(5.31, 5.94, 8.27, 90, 103.7, 90),
        [half, half, half, half, "O2-", "O2-", "O2-", "O2-"],
        [
            [0.02, 0.04, 0.01],
            [0.51, 0.47, 0.03],
            [0.26, 0.23, 0.49],
            [0.77, 0.71, 0.52],
            [0.24, 0.77, 0.24],
            [0.74, 0.22, 0.26],
            [0.03, 0.52, 0.74],
            [0.49, 0.01, 0.77],
        ],
    )
    transformation = OrderDisorderedStructureTransformation()
    ranked = transformation.apply_transformation(disordered, return_ranked_list=4)
    best = ranked[0]["structure"]
    ewald = EwaldSummation(best)
    lithium = [i for i, site in enumerate(best) if site.specie.symbol == "Li"]
    return {
        "lowest_ewald_energy": float(ranked[0]["energy"]),
        "energies_above_minimum": [float(entry["energy_above_minimum"]) for entry in ranked[1:]],
        "lithium_coordinates": sorted([round(float(x), 4) for x in best[i].frac_coords] for i in lithium),
        "lithium_site_energies": sorted(float(ewald.get_site_energy(i)) for i in lithium),
    }

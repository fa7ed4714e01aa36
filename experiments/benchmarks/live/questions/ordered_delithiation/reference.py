"""Reference solution: lithium orderings of a half-delithiated sulfide."""

from pymatgen.core import Lattice, Structure
from pymatgen.transformations.standard_transformations import (
    PartialRemoveSpecieTransformation,
    SupercellTransformation,
)


def reference() -> dict:
    """Compute the properties of the question."""
    host = Structure(
        Lattice.from_parameters(5.12, 4.87, 6.43, 92.3, 101.7, 95.4),
        ["Li+", "Li+", "Fe3.5+", "Fe3.5+", "S2-", "S2-", "S2-", "S2-"],
        [
            [0.03, 0.02, 0.06],
            [0.52, 0.49, 0.11],
            [0.27, 0.24, 0.55],
            [0.76, 0.71, 0.58],
            [0.25, 0.74, 0.31],
            [0.74, 0.26, 0.29],
            [0.02, 0.51, 0.81],
            [0.51, 0.02, 0.78],
        ],
    )
    supercell = SupercellTransformation([[2, 0, 0], [0, 1, 0], [0, 0, 1]]).apply_transformation(host)
    removal = PartialRemoveSpecieTransformation("Li+", 0.5, algo=1)
    ranked = removal.apply_transformation(supercell, return_ranked_list=10)
    lithium = [[s for s in entry["structure"] if s.specie.symbol == "Li"] for entry in ranked]
    return {
        "ordering_energies": [float(entry["energy"]) for entry in ranked],
        "lithium_x_coordinates": sorted(round(float(site.frac_coords[0]), 4) for site in lithium[0]),
        "third_lithium_distance": float(lithium[2][0].distance(lithium[2][1])),
    }

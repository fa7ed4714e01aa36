"""Reference solution: anonymous matching of two layered compounds."""

from pymatgen.core import Lattice, Structure
from pymatgen.core.structure_matcher import StructureMatcher


def reference() -> dict:
    """Compute the properties of the question."""
    oxide = Structure.from_spacegroup(
        "R-3m",
        Lattice.hexagonal(2.983, 15.417),
        ["Na", "Ni", "O"],
        [[0, 0, 0.5], [0, 0, 0], [0, 0, 0.2293]],
    )
    sulfide = Structure.from_spacegroup(
        "R-3m",
        Lattice.hexagonal(3.361, 17.102),
        ["Rh", "K", "S"],
        [[0, 0, 0.5], [0, 0, 0], [0, 0, 0.2438]],
    )
    matcher = StructureMatcher(ltol=0.25, stol=0.45, angle_tol=6)
    lowest_rms, closest = matcher.get_rms_anonymous(oxide, sulfide)
    chemical = matcher.get_best_electronegativity_anonymous_mapping(oxide, sulfide)
    relabelled = oxide.copy()
    relabelled.replace_species(chemical)
    rms, max_distance = matcher.get_rms_dist(relabelled, sulfide)
    return {
        "lowest_anonymous_rms": float(lowest_rms),
        "closest_species_mapping": {a.symbol: b.symbol for a, b in closest.items()},
        "best_electronegativity_mapping": {a.symbol: b.symbol for a, b in chemical.items()},
        "relabelled_rms": float(rms),
        "relabelled_maximum_distance": float(max_distance),
    }

"""Reference solution: orbits of a cubic space group."""

from pymatgen.core import Lattice, Structure
from pymatgen.symmetry.groups import SpaceGroup


def reference() -> dict:
    """Compute the properties of the question."""
    garnet = SpaceGroup("Ia-3d")
    special = garnet.get_orbit([0.331, 0, 0.25])
    crystal = Structure.from_spacegroup("Ia-3d", Lattice.cubic(12.37), ["Si"], [[0.331, 0, 0.25]])
    distances = crystal.distance_matrix[0]
    closest = min(special, key=lambda p: sum((x - y) ** 2 for x, y in zip(p, [0.6, 0.1, 0.9], strict=True)))
    return {
        "order": int(garnet.order),
        "point_group": garnet.point_group,
        "special_orbit_size": len(special),
        "closest_point": [float(x) for x in closest],
        "shortest_distance": float(min(d for d in distances if d > 1e-3)),
    }

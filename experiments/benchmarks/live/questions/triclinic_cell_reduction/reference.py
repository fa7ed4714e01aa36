"""Reference solution: reduction of a strongly skewed triclinic cell."""

from pymatgen.core import Lattice


def reference() -> dict:
    """Compute the properties of the question."""
    skewed = Lattice.from_parameters(6.143, 9.871, 14.502, 52.7, 38.4, 61.9)
    other = Lattice.from_parameters(6.387, 8.705, 9.716, 66.2, 81.9, 77.4)
    niggli = skewed.get_niggli_reduced_lattice()
    points = skewed.get_points_in_sphere([[0, 0, 0]], [0.3, -0.2, 1.1], 13.0)
    return {
        "niggli_lengths": [float(x) for x in niggli.lengths],
        "niggli_angles": [float(x) for x in niggli.angles],
        "sorted_selling_vector": sorted(float(x) for x in skewed.selling_vector),
        "selling_distance": float(skewed.selling_dist(other)),
        "lattice_points_in_sphere": len(points),
    }

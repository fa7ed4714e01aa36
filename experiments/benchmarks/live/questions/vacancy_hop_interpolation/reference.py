"""Reference solution: images along a hop that crosses the cell boundary."""

import numpy as np
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    """Compute the properties of the question."""
    lattice = Lattice.from_parameters(7.42, 6.87, 9.31, 97.3, 104.6, 88.1)
    species = ["Na", "Na", "Fe", "P", "O", "O", "O", "O"]
    start = Structure(
        lattice,
        species,
        [
            [0.06, 0.93, 0.11],
            [0.48, 0.41, 0.55],
            [0.27, 0.70, 0.81],
            [0.71, 0.22, 0.33],
            [0.58, 0.09, 0.21],
            [0.90, 0.27, 0.28],
            [0.66, 0.15, 0.49],
            [0.69, 0.42, 0.35],
        ],
    )
    end = Structure(
        lattice,
        species,
        [
            [0.47, 0.42, 0.54],
            [0.83, 0.12, 0.86],
            [0.28, 0.69, 0.80],
            [0.70, 0.23, 0.34],
            [0.68, 0.43, 0.34],
            [0.65, 0.14, 0.48],
            [0.57, 0.10, 0.22],
            [0.89, 0.26, 0.27],
        ],
    )
    images = start.interpolate(end, nimages=5, autosort_tol=1.1)
    distance, _ = lattice.get_distance_and_image(start[0].frac_coords, end[1].frac_coords)
    third = images[2].distance_matrix
    return {
        "hop_distance": float(distance),
        "final_sodium_coordinates": [float(x) for x in images[-1][0].frac_coords],
        "shortest_distance_in_third_image": float(np.min(third[~np.eye(len(species), dtype=bool)])),
        "sodium_phosphorus_distances": [float(image.get_distance(0, 3)) for image in images],
    }

"""Clusters of ion positions with periodic boundary conditions."""

import numpy as np
from pymatgen.analysis.diffusion.aimd.clustering import KmeansPBC
from pymatgen.core import Lattice


def reference() -> dict:
    """Compute the properties of the question."""
    lattice = Lattice.from_parameters(6.34, 7.11, 8.27, 84.0, 97.0, 112.0)
    rng = np.random.default_rng(909)
    centers = np.array([[0.02, 0.97, 0.05], [0.51, 0.46, 0.33], [0.93, 0.48, 0.77]])
    points = np.concatenate(
        [
            center + rng.normal(0.0, 0.12, (count, 3))
            for center, count in zip(centers, (90, 60, 75), strict=True)
        ]
    )
    points = points % 1.0
    start = np.array([[0.1, 0.9, 0.1], [0.6, 0.5, 0.4], [0.8, 0.4, 0.7]])
    centroids, labels, energy = KmeansPBC(lattice).cluster(points, 3, initial_centroids=start)
    return {
        "centroids": [[float(x) for x in centroid] for centroid in centroids],
        "cluster_sizes": [int(np.sum(labels == i)) for i in range(3)],
        "sum_of_squared_distances": float(energy),
    }

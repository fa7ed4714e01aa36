"""Where mobile silver ions spend their time: density on a grid and occupation of sites."""

import numpy as np
from pymatgen.analysis.diffusion.aimd.pathway import (
    ProbabilityDensityAnalysis,
    SiteOccupancyAnalyzer,
)
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    cell = Structure(
        Lattice.tetragonal(5.2, 7.8),
        ["Ag", "Ag", "I", "I"],
        [[0, 0.5, 0.25], [0.5, 0, 0.75], [0, 0, 0], [0.5, 0.5, 0.5]],
    )
    sites = np.array([[0, 0.5, 0.25], [0.5, 0, 0.75], [0.5, 0, 0.25], [0, 0.5, 0.75]])
    n_frames = 800
    frame = np.arange(n_frames)
    centers = np.empty((n_frames, 4, 3))
    centers[:, 0] = sites[np.where((frame // 37) % 3 == 1, 2, 0)]
    centers[:, 1] = sites[np.where((frame // 53) % 5 == 2, 3, 1)]
    centers[:, 2:] = cell.frac_coords[2:]
    rng = np.random.default_rng(1618)
    vibration = rng.normal(0.0, 0.22, (n_frames, 4, 3)) / [5.2, 5.2, 7.8]
    trajectory = centers + vibration
    density = ProbabilityDensityAnalysis(cell, trajectory.copy(), interval=0.65, species=("Ag",))
    density.generate_stable_sites(p_ratio=0.18, d_cutoff=1.2)
    occupancy = SiteOccupancyAnalyzer(cell, sites, trajectory, species=("Ag",))
    return {
        "grid_shape": [int(n) for n in density.lens],
        "peak_probability_density": float(density.Pr.max()),
        "n_stable_sites": len(density.stable_sites),
        "site_occupancies": [float(value) for value in occupancy.site_occ],
        "mean_interstitial_occupancy": float(occupancy.get_average_site_occupancy([2, 3])),
    }

"""Diffusion and conductivity of Na in a drifting molecular-dynamics cell of Na2S."""

import numpy as np
from pymatgen.analysis.diffusion.analyzer import DiffusionAnalyzer
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    cell = Structure.from_spacegroup(
        "Fm-3m", Lattice.cubic(6.583), ["S", "Na"], [[0, 0, 0], [0.25, 0.25, 0.25]]
    )
    n_frames = 700
    rng = np.random.default_rng(2718)
    mobile = np.array([site.specie.symbol == "Na" for site in cell])
    steps = rng.normal(0.0, 1.0, (n_frames, 12, 3)) * [0.11, 0.16, 0.07]
    walk = np.cumsum(np.where(mobile[:, None], steps, 0.0), axis=0)
    vibration = rng.normal(0.0, 0.05, (n_frames, 12, 3))
    drift = np.outer(np.arange(n_frames), [0.004, -0.002, 0.001])[:, None, :]
    positions = cell.cart_coords + walk + vibration + drift
    frames = [
        Structure(
            cell.lattice, cell.species, frame, coords_are_cartesian=True, to_unit_cell=True
        )
        for frame in positions
    ]
    analyzer = DiffusionAnalyzer.from_structures(
        frames, "Na", temperature=900, time_step=2, step_skip=25, smoothed="max", min_obs=40
    )
    return {
        "diffusivity": float(analyzer.diffusivity),
        "diffusivity_components": [float(value) for value in analyzer.diffusivity_components],
        "conductivity": float(analyzer.conductivity),
        "haven_ratio": float(analyzer.haven_ratio),
        "max_framework_displacement": float(analyzer.max_framework_displacement),
    }

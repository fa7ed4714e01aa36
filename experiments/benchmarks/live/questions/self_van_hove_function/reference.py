"""Van Hove correlation functions of fluoride ions."""

import numpy as np
from pymatgen.analysis.diffusion.aimd.van_hove import VanHoveAnalysis
from pymatgen.analysis.diffusion.analyzer import DiffusionAnalyzer
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    """Compute the properties of the question."""
    crystal = Structure.from_spacegroup(
        "Fm-3m", Lattice.cubic(6.193), ["Ba", "F"], [[0, 0, 0], [0.25, 0.25, 0.25]]
    )
    rng = np.random.default_rng(60221)
    steps = rng.normal(0.0, 0.21, (120, 12, 3))
    steps[:, :4] = 0.0
    walk = np.cumsum(steps, axis=0)
    frames = [
        Structure(
            crystal.lattice,
            crystal.species,
            crystal.cart_coords + walk[i],
            coords_are_cartesian=True,
            to_unit_cell=True,
        )
        for i in range(120)
    ]
    diffusion = DiffusionAnalyzer.from_structures(frames, "F", 1100, 2, 10, smoothed=False, min_obs=10)
    analysis = VanHoveAnalysis(
        diffusion, avg_nsteps=40, ngrid=81, rmax=8.0, step_skip=20, sigma=0.1, species=["F"]
    )
    late = analysis.gsrt[-1]
    return {
        "time_step_of_function": float(analysis.timeskip),
        "initial_self_maximum": float(analysis.gsrt[0][0]),
        "late_most_probable_distance": float(analysis.interval[int(np.argmax(late))]),
        "late_self_maximum": float(np.max(late)),
    }

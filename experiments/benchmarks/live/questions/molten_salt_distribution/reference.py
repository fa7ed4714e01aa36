"""Radial distribution functions of a made-up molten salt."""

import numpy as np
from pymatgen.analysis.diffusion.aimd.rdf import RadialDistributionFunctionFast
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    """Compute the properties of the question."""
    crystal = Structure.from_spacegroup("Fm-3m", Lattice.cubic(5.914), ["Na", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]])
    crystal.make_supercell([2, 2, 2])
    rng = np.random.default_rng(31337)
    frames = [
        Structure(
            crystal.lattice,
            crystal.species,
            crystal.cart_coords + rng.normal(0.0, 0.31, (64, 3)),
            coords_are_cartesian=True,
        )
        for _ in range(12)
    ]
    analysis = RadialDistributionFunctionFast(frames, rmin=0.0, rmax=6.0, ngrid=121, sigma=0.15)
    radii, unlike = analysis.get_rdf("Na", "Cl")
    _, running = analysis.get_coordination_number("Na", "Cl")
    _, like = analysis.get_rdf("Na", "Na")
    return {
        "first_peak_position": float(radii[int(np.argmax(unlike))]),
        "first_peak_height": float(np.max(unlike)),
        "coordination_number": float(running[int(np.argmin(np.abs(radii - 3.6)))]),
        "like_ion_distribution": float(like[int(np.argmin(np.abs(radii - 4.0)))]),
    }

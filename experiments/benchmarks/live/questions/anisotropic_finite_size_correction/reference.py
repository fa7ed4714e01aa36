"""Finite-size correction of a charged defect with a full dielectric tensor."""

import numpy as np
from pymatgen.analysis.defects.corrections.freysoldt import (
    get_freysoldt_correction,
    get_spherically_averaged_dielectric,
)
from pymatgen.analysis.defects.utils import QModel
from pymatgen.core import Lattice


def reference() -> dict:
    lattice = Lattice.from_parameters(11.83, 12.47, 13.92, 90.0, 98.4, 90.0)
    dielectric = np.array([[8.71, 0.0, 0.63], [0.0, 7.25, 0.0], [0.63, 0.0, 11.4]])
    position = [0.25, 0.4, 0.6]
    bulk, defect = {}, {}
    for axis, n_points in enumerate([120, 126, 140]):
        x = np.arange(n_points) / n_points
        from_defect = (x - position[axis] + 0.5) % 1.0 - 0.5
        bulk[axis] = 1.7 * np.cos(2 * np.pi * 6 * x)
        defect[axis] = bulk[axis] - 0.31 * np.exp(-(from_defect**2) / 0.03) + 0.045 * (axis + 1)
    result = get_freysoldt_correction(
        q=-2,
        dielectric=dielectric,
        defect_locpot=defect,
        bulk_locpot=bulk,
        defect_frac_coords=position,
        lattice=lattice,
        energy_cutoff=420,
        q_model=QModel(beta=1.3, expnorm=0.35, gamma=1.6),
    )
    return {
        "averaged_dielectric_constant": float(get_spherically_averaged_dielectric(dielectric)),
        "electrostatic_energy": float(result.metadata["electrostatic"]),
        "potential_alignments": [float(result.metadata["alignments"][axis]) for axis in range(3)],
        "correction_energy": float(result.correction_energy),
    }

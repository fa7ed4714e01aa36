"""Reference solution: symmetrised and rotated piezoelectric tensor of a wurtzite nitride."""

import numpy as np
from pymatgen.analysis.piezo import PiezoTensor
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    """Compute the properties of the question."""
    structure = Structure.from_spacegroup(
        "P6_3mc", Lattice.hexagonal(3.197, 5.093), ["Al", "N"], [[1 / 3, 2 / 3, 0], [1 / 3, 2 / 3, 0.3817]]
    )
    raw = [
        [0.02, -0.01, 0.03, 0.01, 0.02, -0.31],
        [-0.02, 0.01, 0.01, -0.01, -0.35, 0.02],
        [-0.57, -0.64, 1.46, 0.01, -0.02, 0.03],
    ]
    tensor = PiezoTensor.from_vasp_voigt(raw)
    fitted = tensor.fit_to_structure(structure)
    tilt = np.radians(24.0)
    rotation = [[1, 0, 0], [0, np.cos(tilt), -np.sin(tilt)], [0, np.sin(tilt), np.cos(tilt)]]
    rotated = fitted.rotate(rotation)
    direction = np.array([1.0, 2.0, 2.0]) / 3
    return {
        "e31": float(fitted.voigt[2][0]),
        "e15": float(fitted.voigt[0][4]),
        "rotated_e33": float(rotated.voigt[2][2]),
        "rotated_e24": float(rotated.voigt[1][3]),
        "longitudinal_coefficient": float(fitted.einsum_sequence([direction] * 3)),
    }

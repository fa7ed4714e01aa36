"""Reference solution: elastic tensor of a tetragonal oxide from stresses."""

import numpy as np
from pymatgen.core import Lattice, Structure
from pymatgen.core.elasticity.elastic import ElasticTensor
from pymatgen.core.elasticity.strain import Strain
from pymatgen.core.elasticity.stress import Stress


def reference() -> dict:
    """Compute the properties of the question."""
    structure = Structure.from_spacegroup(
        "P4_2/mnm", Lattice.tetragonal(4.741, 3.189), ["Sn", "O"], [[0, 0, 0], [0.3064, 0.3064, 0]]
    )
    stiffness = np.array(
        [
            [264.4, 177.1, 156.3, 0.7, -0.4, 0.2],
            [177.1, 258.2, 152.5, -0.3, 0.5, 0.1],
            [156.3, 152.5, 449.7, 0.2, 0.3, -0.6],
            [0.7, -0.3, 0.2, 105.2, 0.4, 0.1],
            [-0.4, 0.5, 0.3, 0.4, 101.5, -0.2],
            [0.2, 0.1, -0.6, 0.1, -0.2, 207.8],
        ]
    )
    strains, stresses = [], []
    for component in range(6):
        for amount in (-0.01, -0.004, 0.005, 0.011):
            voigt = np.zeros(6)
            voigt[component] = amount
            response = stiffness @ voigt
            response[component] -= 950.0 * amount**2
            strains.append(Strain.from_voigt(voigt))
            stresses.append(Stress.from_voigt(response))
    fitted = ElasticTensor.from_independent_strains(strains, stresses)
    tensor = fitted.fit_to_structure(structure)
    return {
        "stiffness_11": float(tensor.voigt[0][0]),
        "bulk_modulus": float(tensor.k_vrh),
        "shear_modulus": float(tensor.g_vrh),
        "universal_anisotropy": float(tensor.universal_anisotropy),
        "debye_temperature": float(tensor.debye_temperature(structure)),
    }

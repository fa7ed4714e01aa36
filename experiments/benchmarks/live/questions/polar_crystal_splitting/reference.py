"""Phonons of a polar crystal with the non-analytical term."""

import numpy as np
from phonopy import Phonopy
from pymatgen.core import Lattice, Structure
from pymatgen.io.phonopy import get_phonopy_structure


def reference() -> dict:
    """Compute the properties of the question."""
    crystal = Structure(Lattice.cubic(4.134), ["Cs", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]])
    phonon = Phonopy(get_phonopy_structure(crystal), supercell_matrix=np.diag([3, 3, 3]))
    cell = phonon.supercell
    supercell = Structure(Lattice(cell.cell), cell.symbols, cell.scaled_positions)
    constants = np.zeros((len(supercell), len(supercell), 3, 3))
    for i, neighbors in enumerate(supercell.get_all_neighbors(4.3)):
        for neighbor in neighbors:
            longitudinal, transverse = (0.93, 0.12) if neighbor.nn_distance < 3.8 else (0.31, -0.02)
            direction = (neighbor.coords - supercell[i].coords) / neighbor.nn_distance
            along = np.outer(direction, direction)
            block = longitudinal * along + transverse * (np.eye(3) - along)
            constants[i, neighbor.index] -= block
            constants[i, i] += block
    phonon.force_constants = constants
    without = phonon.get_frequencies([0, 0, 0])
    phonon.nac_params = {
        "born": np.array([1.31 * np.eye(3), -1.31 * np.eye(3)]),
        "dielectric": 2.67 * np.eye(3),
        "factor": 14.39965,
        "method": "wang",
    }
    phonon.run_qpoints([[0, 0, 0]], nac_q_direction=[1, 0, 0])
    limit = phonon.get_qpoints_dict()["frequencies"][0]
    inside = phonon.get_frequencies([0.23, 0.11, -0.07])
    return {
        "gamma_frequencies": sorted(float(f) for f in without)[3:],
        "longitudinal_frequency": float(max(limit)),
        "interior_frequencies": sorted(float(f) for f in inside),
    }

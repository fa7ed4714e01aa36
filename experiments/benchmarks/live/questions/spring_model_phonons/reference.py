"""Reference solution: phonons of a Born-von Karman model of an ordered alloy."""

import numpy as np
from phonopy import Phonopy
from pymatgen.core import Lattice, Structure
from pymatgen.io.phonopy import get_phonopy_structure


def reference() -> dict:
    """Compute the properties of the question."""
    alloy = Structure(Lattice.cubic(3.041), ["Fe", "Ti"], [[0, 0, 0], [0.5, 0.5, 0.5]])
    phonon = Phonopy(get_phonopy_structure(alloy), supercell_matrix=[[3, 0, 0], [0, 3, 0], [0, 0, 3]])
    cell = phonon.supercell
    supercell = Structure(Lattice(cell.cell), cell.symbols, cell.scaled_positions)
    constants = np.zeros((len(supercell), len(supercell), 3, 3))
    for i, neighbors in enumerate(supercell.get_all_neighbors(3.2)):
        for neighbor in neighbors:
            longitudinal, transverse = (2.83, 0.34) if neighbor.nn_distance < 2.8 else (1.52, -0.11)
            direction = (neighbor.coords - supercell[i].coords) / neighbor.nn_distance
            along = np.outer(direction, direction)
            block = longitudinal * along + transverse * (np.eye(3) - along)
            constants[i, neighbor.index] -= block
            constants[i, i] += block
    phonon.force_constants = constants
    inside = phonon.get_frequencies([0.17, 0.08, -0.31])
    phonon.run_mesh([15, 15, 15])
    phonon.run_thermal_properties(t_min=300, t_max=300, t_step=100)
    thermal = phonon.get_thermal_properties_dict()
    phonon.run_mesh([15, 15, 15], with_eigenvectors=True, is_mesh_symmetry=False)
    phonon.run_thermal_displacements(temperatures=[300], freq_min=0.1)
    displacements = phonon.get_thermal_displacements_dict()["thermal_displacements"][0]
    return {
        "interior_frequencies": [float(f) for f in inside],
        "zone_corner_frequency": float(max(phonon.get_frequencies([0.5, 0.5, 0.5]))),
        "heat_capacity": float(thermal["heat_capacity"][0]),
        "free_energy": float(thermal["free_energy"][0]),
        "mean_square_displacement": float(displacements[0]),
    }

"""Group velocities and density of states of a spring model."""

import numpy as np
from phonopy import Phonopy
from pymatgen.core import Lattice, Structure
from pymatgen.io.phonopy import get_phonopy_structure


def reference() -> dict:
    """Compute the properties of the question."""
    metal = Structure.from_spacegroup("Fm-3m", Lattice.cubic(3.887), ["Pd"], [[0, 0, 0]])
    phonon = Phonopy(
        get_phonopy_structure(metal),
        supercell_matrix=np.diag([3, 3, 3]),
        primitive_matrix=[[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]],
    )
    cell = phonon.supercell
    supercell = Structure(Lattice(cell.cell), cell.symbols, cell.scaled_positions)
    constants = np.zeros((len(supercell), len(supercell), 3, 3))
    for i, neighbors in enumerate(supercell.get_all_neighbors(3.0)):
        for neighbor in neighbors:
            direction = (neighbor.coords - supercell[i].coords) / neighbor.nn_distance
            along = np.outer(direction, direction)
            block = 1.87 * along - 0.07 * (np.eye(3) - along)
            constants[i, neighbor.index] -= block
            constants[i, i] += block
    phonon.force_constants = constants
    phonon.run_qpoints([[0.21, 0.13, -0.09]], with_group_velocities=True)
    point = phonon.get_qpoints_dict()
    phonon.run_mesh([16, 16, 16])
    phonon.run_total_dos(
        sigma=0.12, freq_min=0.0, freq_max=9.0, freq_pitch=0.02, use_tetrahedron_method=False
    )
    states = phonon.get_total_dos_dict()
    grid, density = states["frequency_points"], states["total_dos"]
    above = grid > 3.0 - 1e-6
    return {
        "frequencies": [float(f) for f in point["frequencies"][0]],
        "speeds": [float(np.linalg.norm(v)) for v in point["group_velocities"][0]],
        "density_of_states_integral": float(np.trapezoid(density[above], grid[above])),
        "highest_mesh_frequency": float(np.max(phonon.get_mesh_dict()["frequencies"])),
    }

"""Displacements for the phonons of anatase."""

import numpy as np
from phonopy import Phonopy
from pymatgen.core import Lattice, Structure
from pymatgen.io.phonopy import get_phonopy_structure


def reference() -> dict:
    """Compute the properties of the question."""
    crystal = Structure.from_spacegroup(
        "I4_1/amd", Lattice.tetragonal(3.812, 9.631), ["Ti", "O"], [[0, 0, 0], [0, 0, 0.2079]]
    )
    phonon = Phonopy(
        get_phonopy_structure(crystal),
        supercell_matrix=np.diag([3, 3, 1]),
        primitive_matrix=[[-0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0.5, 0.5, -0.5]],
    )
    phonon.generate_displacements(distance=0.017)
    displacements = phonon.displacements
    symbols = phonon.supercell.symbols
    return {
        "n_displaced_supercells": len(phonon.supercells_with_displacements),
        "n_supercell_atoms": len(phonon.supercell),
        "n_primitive_atoms": len(phonon.primitive),
        "displaced_elements": sorted(symbols[int(entry[0])] for entry in displacements),
    }

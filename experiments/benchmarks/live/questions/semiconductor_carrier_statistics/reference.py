"""Reference solution: carrier statistics from a synthetic density of states."""

import numpy as np
from pymatgen.core import Lattice, Structure
from pymatgen.electronic_structure.core import Spin
from pymatgen.electronic_structure.dos import Dos, FermiDos


def reference() -> dict:
    """Compute the properties of the question."""
    structure = Structure.from_spacegroup(
        "F-43m", Lattice.cubic(5.917), ["In", "P"], [[0, 0, 0], [0.25, 0.25, 0.25]]
    )
    energies = np.linspace(-6.0, 6.0, 4801)
    valence = 5.3 * np.sqrt(np.clip(0.11 - energies, 0, None))
    conduction = 1.9 * np.sqrt(np.clip(energies - 1.07, 0, None))
    dos = Dos(0.58, energies, {Spin.up: valence + conduction})
    fermi_dos = FermiDos(dos, structure=structure, nelecs=32, bandgap=1.38)
    electrons, holes = fermi_dos.get_e_h_concs(0.63, 650)
    return {
        "electron_concentration": float(electrons),
        "hole_concentration": float(holes),
        "doping": float(fermi_dos.get_doping(0.2, 500)),
        "n_type_fermi_level": float(fermi_dos.get_fermi(-3.0e18, 450)),
        "p_type_fermi_level": float(fermi_dos.get_fermi(4.5e17, 700)),
    }

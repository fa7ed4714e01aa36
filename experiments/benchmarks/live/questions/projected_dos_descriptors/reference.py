"""Reference solution: descriptors of a synthetic spin-polarised projected density of states."""

import numpy as np
from pymatgen.core import Lattice, Structure
from pymatgen.electronic_structure.core import Orbital, OrbitalType, Spin
from pymatgen.electronic_structure.dos import CompleteDos, Dos


def reference() -> dict:
    """Compute the properties of the question."""
    structure = Structure(Lattice.cubic(4.312), ["Ni", "O"], [[0, 0, 0], [0.5, 0.5, 0.5]])
    nickel, oxygen = structure[0], structure[1]
    energies = np.linspace(-9, 7, 1601)
    efermi = 0.35

    def peak(center, width, weight):
        return weight * np.exp(-(((energies - center) / width) ** 2))

    t2g = {Spin.up: peak(-2.9, 0.55, 0.9), Spin.down: peak(-1.6, 0.6, 0.8)}
    eg = {Spin.up: peak(-1.9, 0.7, 0.75), Spin.down: peak(2.7, 0.5, 0.95)}
    p = {Spin.up: peak(-4.6, 1.1, 0.7), Spin.down: peak(-4.2, 1.0, 0.72)}
    projected = {
        nickel: {
            Orbital.dxy: t2g,
            Orbital.dyz: t2g,
            Orbital.dxz: t2g,
            Orbital.dz2: eg,
            Orbital.dx2: eg,
        },
        oxygen: {Orbital.px: p, Orbital.py: p, Orbital.pz: p},
    }
    total = {spin: 3 * t2g[spin] + 2 * eg[spin] + 3 * p[spin] for spin in (Spin.up, Spin.down)}
    dos = CompleteDos(structure, Dos(efermi, energies, total), projected)
    return {
        "d_band_center": float(dos.get_band_center(OrbitalType.d)),
        "d_band_width_minority": float(dos.get_band_width(OrbitalType.d, spin=Spin.down)),
        "d_band_filling": float(dos.get_band_filling(OrbitalType.d)),
        "d_band_skewness": float(dos.get_band_skewness(OrbitalType.d)),
        "minority_gap": float(dos.get_gap(tol=0.02, abs_tol=True, spin=Spin.down)),
    }

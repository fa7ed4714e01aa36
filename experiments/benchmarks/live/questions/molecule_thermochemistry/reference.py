"""Thermochemistry of a floppy molecule."""

from pymatgen.analysis.quasirrho import QuasiRRHO
from pymatgen.core import Molecule


def reference() -> dict:
    """Compute the properties of the question."""
    peroxide = Molecule(
        ["O", "O", "H", "H"],
        [[0.0, 0.731, -0.052], [0.0, -0.731, -0.052], [0.803, 0.894, 0.417], [-0.803, -0.894, 0.417]],
    )
    thermochemistry = QuasiRRHO(
        peroxide,
        frequencies=[38.4, 71.9, 905.0, 1287.0, 1404.0, 3763.0],
        energy=-151.5432,
        mult=1,
        sigma_r=2,
        temp=343.0,
        press=101325,
        v0=120,
    )
    quasi = thermochemistry.free_energy_quasiRRHO
    harmonic = thermochemistry.free_energy_ho
    return {
        "entropy_quasi": float(thermochemistry.entropy_quasiRRHO),
        "entropy_harmonic": float(thermochemistry.entropy_ho),
        "enthalpy_correction": float(thermochemistry.h_corrected),
        "free_energy_difference": float(quasi - harmonic),
    }

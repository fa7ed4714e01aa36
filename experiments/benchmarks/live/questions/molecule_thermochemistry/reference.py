"""Thermochemistry of a floppy molecule."""

from pymatgen.analysis.quasirrho import QuasiRRHO, get_avg_mom_inertia
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
    )
    mean_moment, _ = get_avg_mom_inertia(peroxide)
    return {
        "entropy_harmonic": float(thermochemistry.entropy_ho),
        "enthalpy_correction": float(thermochemistry.h_corrected),
        "free_energy_correction": float(thermochemistry.free_energy_ho) + 151.5432,
        "mean_moment_of_inertia": float(mean_moment) / 1.66053907e-47,
    }

"""Arrhenius fits of diffusivities and the conductivity at room temperature."""

from pymatgen.analysis.diffusion.analyzer import (
    fit_arrhenius,
    get_conversion_factor,
    get_extrapolated_conductivity,
)
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    temperatures = [550.0, 650.0, 750.0, 900.0, 1050.0]
    diffusivities = [3.12e-8, 2.21e-7, 8.05e-7, 4.9e-6, 2.27e-5]
    errors = [4.0e-9, 2.1e-8, 6.0e-8, 5.0e-7, 7.9e-6]
    spinel = Structure.from_spacegroup(
        "Fd-3m:2",
        Lattice.cubic(8.476),
        ["Mg2+", "Sc3+", "Se2-"],
        [[0.125, 0.125, 0.125], [0.5, 0.5, 0.5], [0.2581, 0.2581, 0.2581]],
    )
    barrier, _, barrier_error = fit_arrhenius(temperatures, diffusivities)
    weighted_barrier, _, _ = fit_arrhenius(
        temperatures, diffusivities, mode="exp", diffusivity_errors=errors
    )
    conductivity = get_extrapolated_conductivity(
        temperatures, diffusivities, 300.0, spinel, "Mg2+"
    )
    return {
        "activation_energy": float(barrier),
        "activation_energy_error": float(barrier_error),
        "weighted_activation_energy": float(weighted_barrier),
        "conductivity_per_diffusivity": float(get_conversion_factor(spinel, "Mg2+", 300.0)),
        "extrapolated_conductivity": float(conductivity),
    }

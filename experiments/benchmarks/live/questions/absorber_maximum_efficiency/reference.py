"""Efficiency limit of a solar absorber."""

import numpy as np
from pymatgen.analysis.solar.slme import slme


def reference() -> dict:
    """Compute the properties of the question."""
    energies = np.linspace(0, 6, 601)
    absorption = 2.7e6 * np.sqrt(np.clip(energies - 1.38, 0, None)) / np.maximum(energies, 0.1)
    return {
        "direct_gap_efficiency": float(
            slme(energies, absorption, 1.38, 1.38, thickness=6.5e-7, temperature=300)
        ),
        "indirect_gap_efficiency": float(
            slme(energies, absorption, 1.38, 1.29, thickness=6.5e-7, temperature=300)
        ),
        "hot_thin_efficiency": float(
            slme(energies, absorption, 1.38, 1.38, thickness=2e-7, temperature=350)
        ),
    }

"""Tensors of nuclear magnetic resonance."""

from pymatgen.analysis.nmr import ChemicalShielding, ElectricFieldGradient


def reference() -> dict:
    """Compute the properties of the question."""
    shielding = ChemicalShielding([[31.7, 4.3, -2.9], [3.5, 57.2, 7.8], [-1.6, 6.1, 104.9]])
    gradient = ElectricFieldGradient([[3.37, 1.31, -0.88], [1.31, -6.04, 0.69], [-0.88, 0.69, 2.67]])
    haeberlen = shielding.haeberlen_values
    return {
        "reduced_anisotropy": float(haeberlen.zeta),
        "shielding_asymmetry": float(haeberlen.eta),
        "skew": float(shielding.maryland_values.kappa),
        "quadrupolar_coupling_constant": abs(float(gradient.coupling_constant("Al"))),
        "gradient_asymmetry": float(gradient.asymmetry),
    }

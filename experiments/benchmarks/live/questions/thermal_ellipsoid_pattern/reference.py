"""Reference solution: powder pattern with anisotropic thermal displacements."""

from pymatgen.analysis.diffraction.xrd import XRDCalculator
from pymatgen.core import Lattice, Structure
from pymatgen.phonon.thermal_displacements import ThermalDisplacementMatrices


def reference() -> dict:
    """Compute the properties of the question."""
    structure = Structure(
        Lattice.from_parameters(4.653, 5.117, 5.731, 83.2, 98.4, 104.6),
        ["Sn", "S", "S"],
        [[0, 0, 0], [0.371, 0.284, 0.293], [0.629, 0.716, 0.707]],
    )
    tin = [0.0187, 0.0132, 0.0311, 0.0021, 0.0054, 0.0017]
    sulfur = [0.0146, 0.0209, 0.0248, -0.0032, 0.0019, 0.0043]
    ellipsoids = ThermalDisplacementMatrices.from_Ucif([tin, sulfur, sulfur], structure)
    moving = ellipsoids.to_structure_with_site_properties_Ucif()
    calculator = XRDCalculator(wavelength="MoKa")
    damped = calculator.get_pattern(moving, two_theta_range=(5, 25))
    rigid = calculator.get_pattern(structure, two_theta_range=(5, 25))
    damped_peaks = {hkls[0]["hkl"]: float(y) for hkls, y in zip(damped.hkls, damped.y, strict=True)}
    rigid_peaks = {hkls[0]["hkl"]: float(y) for hkls, y in zip(rigid.hkls, rigid.y, strict=True)}
    return {
        "tin_principal_displacements": sorted(float(u) for u in ellipsoids.U1U2U3[0]),
        "prolate_ratios": [float(ratio) for ratio in ellipsoids.ratio_prolate[:2]],
        "damped_intensity_001": damped_peaks[(0, 0, 1)],
        "intensity_ratio_003": damped_peaks[(0, 0, 3)] / rigid_peaks[(0, 0, 3)],
        "intensity_ratio_030": damped_peaks[(0, 3, 0)] / rigid_peaks[(0, 3, 0)],
    }

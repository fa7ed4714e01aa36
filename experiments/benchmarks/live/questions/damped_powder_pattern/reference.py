"""Reference solution: powder X-ray pattern with thermal damping."""

from pymatgen.analysis.diffraction.xrd import XRDCalculator
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    """Compute the properties of the question."""
    structure = Structure.from_spacegroup(
        "P6_3mc",
        Lattice.hexagonal(3.297, 5.312),
        [{"Zn": 0.88, "Mg": 0.12}, "O"],
        [[1 / 3, 2 / 3, 0], [1 / 3, 2 / 3, 0.379]],
    )
    rigid = XRDCalculator(wavelength="CoKa")
    damped = XRDCalculator(wavelength="CoKa", debye_waller_factors={"Zn": 1.9, "Mg": 2.6, "O": 3.3})
    cold = rigid.get_pattern(structure, two_theta_range=(20, 95))
    hot = damped.get_pattern(structure, two_theta_range=(20, 95))
    strongest = sorted(range(len(hot.x)), key=lambda i: -hot.y[i])[:3]
    families = [hkls[0]["hkl"] for hkls in hot.hkls]
    index = families.index((1, 0, -1, 3))
    return {
        "number_of_peaks": len(hot.x),
        "strongest_peak_positions": [float(hot.x[i]) for i in strongest],
        "damped_relative_intensities": [float(hot.y[i]) for i in strongest],
        "intensity_ratio_103": float(hot.y[index] / cold.y[index]),
        "multiplicity_103": int(hot.hkls[index][0]["multiplicity"]),
    }

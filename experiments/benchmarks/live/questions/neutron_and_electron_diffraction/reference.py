"""Reference solution: neutron powder and electron zone-axis patterns of one crystal."""

from pymatgen.analysis.diffraction.neutron import NDCalculator
from pymatgen.analysis.diffraction.tem import TEMCalculator
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    """Compute the properties of the question."""
    structure = Structure.from_spacegroup(
        "Fd-3m",
        Lattice.cubic(8.214),
        ["Li", "Mn", "O"],
        [[0, 0, 0], [0.625, 0.625, 0.625], [0.3877, 0.3877, 0.3877]],
    )
    neutron = NDCalculator(wavelength=1.7982).get_pattern(structure, two_theta_range=(10, 70))
    by_family = {hkls[0]["hkl"]: float(y) for hkls, y in zip(neutron.hkls, neutron.y, strict=True)}
    strongest = max(range(len(neutron.x)), key=lambda i: neutron.y[i])

    electron = TEMCalculator(voltage=180, beam_direction=(1, 1, 0))
    spots = electron.zone_axis_filter(electron.generate_points(-5, 5))
    angles = electron.bragg_angles(electron.get_interplanar_spacings(structure, spots))
    intensities = electron.normalized_cell_intensity(structure, angles)
    return {
        "strongest_neutron_peak_position": float(neutron.x[strongest]),
        "neutron_intensity_400": by_family[(4, 0, 0)],
        "electron_wavelength": float(electron.wavelength_rel()),
        "electron_intensity_440": float(intensities[(4, -4, 0)]),
        "electron_intensity_ratio": float(intensities[(1, -1, 1)] / intensities[(2, -2, 2)]),
    }

"""Capture of a carrier at a defect: configuration coordinate, thermal filling, capture rates."""

import numpy as np
from pymatgen.analysis.defects.ccd import get_dQ
from pymatgen.analysis.defects.recombination import (
    boltzmann_filling,
    get_Rad_coef,
    get_SRH_coef,
)
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    ground = Structure.from_spacegroup(
        "Fm-3m", Lattice.cubic(4.237), ["Mg", "O"], [[0, 0, 0], [0.5, 0.5, 0.5]]
    )
    ground.make_supercell(2)
    excited = ground.copy()
    center = ground.lattice.get_cartesian_coords([0.25, 0.25, 0.25])
    for index, site in enumerate(ground):
        outward = site.coords - center
        distance = np.linalg.norm(outward)
        if 0.1 < distance < 4.0:
            excited.translate_sites([index], 0.06 * outward / distance, frac_coords=False)
    displacement = float(get_dQ(ground, excited))
    filling = boltzmann_filling(0.0287, [350.0, 620.0], n_states=8)
    nonradiative = get_SRH_coef(
        T=[300.0, 450.0, 700.0],
        dQ=displacement,
        dE=0.87,
        omega_i=0.0321,
        omega_f=0.0368,
        elph_me=0.0127,
        volume=ground.volume,
        g=2,
    )
    radiative = get_Rad_coef(
        T=[300.0],
        dQ=displacement,
        dE=1.87,
        omega_i=0.0321,
        omega_f=0.0368,
        omega_photon=1.73,
        dipole_me=0.21,
        volume=ground.volume,
        g=2,
    )
    return {
        "configuration_coordinate_change": displacement,
        "phonon_filling_third_level": [float(value) for value in filling[2]],
        "nonradiative_capture_coefficients": [float(value) for value in nonradiative],
        "radiative_capture_coefficient": float(radiative[0]),
    }

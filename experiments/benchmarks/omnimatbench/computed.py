"""The ten templates whose numbers all stand in the text.

Each draws numbers with few digits, and computes with exactly these. One of the given constants is
never needed.
"""

from __future__ import annotations

import math
from random import Random
from statistics import NormalDist

from experiments.benchmarks.omnimatbench.item import Draft, Slot

_R = 8.314
_NA = 6.02214e23


def _pick(rng: Random, low: float, high: float, digits: int) -> float:
    return round(rng.uniform(low, high), digits)


def cubic_density(rng: Random) -> Draft:
    """Density from the cell."""
    a, atoms, mass = _pick(rng, 0.28, 0.62, 4), rng.choice([1, 2, 4, 8]), _pick(rng, 20, 200, 2)
    density = atoms * mass / (_NA * (a * 1e-7) ** 3)
    return Draft(
        "An element crystallises in a cubic cell.",
        {"a": (a, "nm"), "Z": (atoms, "atoms per cell"), "M": (mass, "g/mol"),
         "N_A": ("6.02214e23", "1/mol"), "T_m": (rng.randint(600, 2000), "K")},
        [Slot("rho", "the density in g/cm3", density, decimals=3)],
        ["V = (a * 1e-7)**3", "rho = Z * M / (N_A * V)"],
    )  # fmt: skip


def bragg(rng: Random) -> Draft:
    """Spacing and diffraction angle of a cubic crystal."""
    wavelength = rng.choice([1.5406, 1.7890, 0.7093])
    a = _pick(rng, 3.5, 6.5, 3)
    h, k, l = rng.choice([(1, 1, 1), (2, 0, 0), (2, 2, 0), (3, 1, 1), (2, 1, 1), (1, 1, 0)])  # noqa: E741
    d = a / math.sqrt(h * h + k * k + l * l)
    return Draft(
        "A cubic crystal is examined with X-rays, and the reflection (h k l) is looked for, in "
        "first order.",
        {"lam": (wavelength, "Å"), "a": (a, "Å"), "h": (h, ""), "k": (k, ""), "l": (l, ""),
         "B": (_pick(rng, 0.5, 3, 2), "Å2 (temperature factor)")},
        [Slot("d", "the spacing of the planes in Å", d, decimals=2),
         Slot("two_theta", "the angle 2 theta in degrees",
              math.degrees(2 * math.asin(wavelength / (2 * d))), decimals=2)],
        ["d = a / sqrt(h**2 + k**2 + l**2)", "two_theta = 2 * asin(lam / (2 * d)) * 180 / pi"],
    )  # fmt: skip


def lever(rng: Random) -> Draft:
    """Two phases in equilibrium."""
    low, high = _pick(rng, 5, 25, 1), _pick(rng, 60, 95, 1)
    middle = _pick(rng, low + 8, high - 8, 1)
    share = 100 * (high - middle) / (high - low)
    return Draft(
        "An alloy is held in the two-phase region alpha + beta until it is in equilibrium.",
        {"C_0": (middle, "wt% B in the alloy"), "C_a": (low, "wt% B in alpha"),
         "C_b": (high, "wt% B in beta"), "T_e": (rng.randint(400, 900), "K")},
        [Slot("W_a", "the mass of alpha in per cent", share, decimals=1),
         Slot("W_b", "the mass of beta in per cent", 100 - share, decimals=1)],
        ["W_a = 100 * (C_b - C_0) / (C_b - C_a)", "W_b = 100 * (C_0 - C_a) / (C_b - C_a)"],
    )  # fmt: skip


def arrhenius(rng: Random) -> Draft:
    """A diffusion coefficient at a temperature."""
    mantissa, energy = _pick(rng, 1, 9.9, 1), rng.randint(80, 290)
    temperature = rng.randint(700, 1500)
    prefactor = float(f"{mantissa}e-5")
    return Draft(
        "The diffusion of a solute follows an Arrhenius law.",
        {"D_0": (f"{mantissa}e-5", "m2/s"), "Q": (energy, "kJ/mol"), "T": (temperature, "K"),
         "R": (_R, "J/(mol K)"), "T_m": (temperature + rng.randint(200, 600), "K")},
        [Slot("D", "the diffusion coefficient in m2/s",
              prefactor * math.exp(-energy * 1000 / (_R * temperature)), figures=3)],
        ["D = D_0 * exp(-Q * 1000 / (R * T))"],
    )  # fmt: skip


def hall_petch(rng: Random) -> Draft:
    """Constants of Hall and Petch from two grain sizes, and the strength at a third."""
    small, large = rng.choice([1, 2, 4, 5]), rng.choice([16, 25, 40, 50])
    friction, slope = rng.randint(40, 200), rng.randint(150, 700)
    s1, s2 = (round(friction + slope / math.sqrt(size)) for size in (large, small))
    third = rng.choice([8, 9, 10, 12])
    k = (s2 - s1) / (small**-0.5 - large**-0.5)
    sigma0 = s1 - k * large**-0.5
    return Draft(
        "The yield strength of a metal was measured at two grain sizes; it follows the equation of "
        "Hall and Petch.",
        {"d_1": (large, "µm"), "s_1": (s1, "MPa at d_1"), "d_2": (small, "µm"),
         "s_2": (s2, "MPa at d_2"), "d_3": (third, "µm"), "G": (rng.randint(26, 82), "GPa")},
        [Slot("sigma_0", "the friction stress in MPa", sigma0, decimals=1),
         Slot("k_y", "the slope in MPa µm^(1/2)", k, decimals=1),
         Slot("s_3", "the yield strength at the grain size d_3 in MPa", sigma0 + k * third**-0.5,
              decimals=1)],
        ["k_y = (s_2 - s_1) / (d_2**-0.5 - d_1**-0.5)", "sigma_0 = s_1 - k_y * d_1**-0.5",
         "s_3 = sigma_0 + k_y * d_3**-0.5"],
        nested=(2, 1),
    )  # fmt: skip


def fick(rng: Random) -> Draft:
    """Depth of a composition under a surface of constant composition."""
    mantissa, hours = _pick(rng, 1, 9.9, 1), rng.randint(2, 40)
    surface, bulk = _pick(rng, 0.9, 1.4, 2), _pick(rng, 0.05, 0.25, 2)
    wanted = _pick(rng, bulk + 0.15, surface - 0.25, 2)
    diffusion = float(f"{mantissa}e-11")
    argument = (surface - wanted) / (surface - bulk)
    z = NormalDist().inv_cdf((argument + 1) / 2) / math.sqrt(2)
    return Draft(
        "Steel is carburised at a constant surface content; the solution of Fick's second law for "
        "a half-space holds.",
        {"D": (f"{mantissa}e-11", "m2/s"), "t": (hours, "h"),
         "C_s": (surface, "wt% at the surface"), "C_0": (bulk, "wt% before"),
         "C_x": (wanted, "wt% at the depth x"),
         "rho": (_pick(rng, 7.7, 7.9, 2), "g/cm3")},
        [Slot("x", "the depth in µm", 2 * z * math.sqrt(diffusion * hours * 3600) * 1e6,
              decimals=0)],
        ["z = erfinv((C_s - C_x) / (C_s - C_0))", "x = 2 * z * sqrt(D * t * 3600) * 1e6"],
    )  # fmt: skip


def nernst(rng: Random) -> Draft:
    """A potential from two concentrations."""
    inner, outer = _pick(rng, 0.5, 150, 1), _pick(rng, 0.5, 150, 1)
    charge, temperature = rng.choice([1, 2, 3]), rng.randint(280, 370)
    volts = _R * temperature / (charge * 96485) * math.log(outer / inner)
    return Draft(
        "A membrane separates two solutions of an ion with the charge number z. Activities are "
        "concentrations; the sign is that of the potential inside against outside.",
        {"c_in": (inner, "mmol/L"), "c_out": (outer, "mmol/L"), "z": (charge, ""),
         "T": (temperature, "K"), "R": (_R, "J/(mol K)"), "F": (96485, "C/mol"),
         "eps_r": (rng.randint(60, 85), "")},
        [Slot("E", "the potential in mV, with its sign", 1000 * volts, decimals=1)],
        ["E = 1000 * R * T / (z * F) * ln(c_out / c_in)"],
    )  # fmt: skip


def mixtures(rng: Random) -> Draft:
    """Bounds on the modulus of a composite."""
    fibre, matrix = rng.randint(70, 400), _pick(rng, 1.5, 5, 1)
    share = _pick(rng, 0.3, 0.7, 2)
    return Draft(
        "Unidirectional fibres reinforce a matrix; the rule of mixtures gives bounds.",
        {"E_f": (fibre, "GPa"), "E_m": (matrix, "GPa"), "V_f": (share, "volume of fibres"),
         "nu": (_pick(rng, 0.2, 0.4, 2), "Poisson's ratio")},
        [Slot("E_up", "the upper bound of the modulus in GPa",
              share * fibre + (1 - share) * matrix, decimals=1),
         Slot("E_low", "the lower bound of the modulus in GPa",
              fibre * matrix / (share * matrix + (1 - share) * fibre), decimals=1)],
        ["E_up = V_f * E_f + (1 - V_f) * E_m",
         "E_low = E_f * E_m / (V_f * E_m + (1 - V_f) * E_f)"],
    )  # fmt: skip


def bending(rng: Random) -> Draft:
    """Stress in a beam on two supports."""
    load, span = rng.randint(80, 2500), rng.randint(40, 200)
    width, height = _pick(rng, 4, 20, 1), _pick(rng, 3, 10, 1)
    return Draft(
        "A bar of rectangular section lies on two supports, and a load presses on its middle.",
        {"P": (load, "N"), "L": (span, "mm between the supports"), "b": (width, "mm wide"),
         "h": (height, "mm high"), "E": (rng.randint(60, 400), "GPa")},
        [Slot("sigma", "the greatest bending stress in MPa",
              3 * load * span / (2 * width * height**2), decimals=0)],
        ["sigma = 3 * P * L / (2 * b * h**2)"],
    )  # fmt: skip


def carriers(rng: Random) -> Draft:
    """Intrinsic carriers of a semiconductor."""
    gap, temperature = _pick(rng, 0.6, 1.6, 2), rng.randint(280, 500)
    electrons, holes = _pick(rng, 0.1, 1.2, 2), _pick(rng, 0.3, 1.2, 2)
    k, h, m0, e = 1.380649e-23, 6.62607e-34, 9.10938e-31, 1.602177e-19
    states = 2 * (2 * math.pi * m0 * k * temperature / h**2) ** 1.5 * 1e-6
    density = states * (electrons * holes) ** 0.75 * math.exp(-gap * e / (2 * k * temperature))
    return Draft(
        "A semiconductor with parabolic bands is pure; effective masses are in units of m_0.",
        {"E_g": (gap, "eV"), "m_e": (electrons, ""), "m_h": (holes, ""), "T": (temperature, "K"),
         "k_B": ("1.380649e-23", "J/K"), "h_P": ("6.62607e-34", "J s"),
         "m_0": ("9.10938e-31", "kg"), "q": ("1.602177e-19", "C"),
         "mu_e": (rng.randint(500, 5000), "cm2/(V s)")},
        [Slot("n_i", "the density of intrinsic carriers in 1/cm3", density, figures=2)],
        ["N = 2 * (2 * pi * m_0 * k_B * T / h_P**2)**1.5 * 1e-6",
         "n_i = N * (m_e * m_h)**0.75 * exp(-E_g * q / (2 * k_B * T))"],
    )  # fmt: skip

"""The six templates whose numbers have to be read from a picture.

Whatever is to be read lies on a line of the grid, or is written beside its mark.
"""

from __future__ import annotations

import math
from random import Random

from experiments.benchmarks.omnimatbench.item import Draft, Picture, Slot

_ELEMENTS = ("Na", "K", "Cs", "Mg", "Ca", "Sr", "Ti", "Zr", "V", "Nb", "Cr", "Mn", "Fe", "Co", "Ni",
             "Cu", "Zn", "Al", "Ga", "Sn", "Pb", "La", "Y", "Bi")  # fmt: skip


def tensile(rng: Random) -> Draft:
    """Modulus and yield strength from a stress-strain curve."""
    strain, stress = rng.choice([0.1, 0.2, 0.3, 0.4, 0.5]), 50 * rng.randint(3, 14)
    hardening = rng.choice([0.05, 0.1, 0.15])
    return Draft(
        "The picture shows a stress-strain curve; its straight part ends at the marked yield "
        "point, which lies on a crossing of grid lines.",
        {"A_5": (rng.randint(8, 40), "% elongation at fracture")},
        [Slot("E", "Young's modulus in GPa", stress / (strain * 10), decimals=1),
         Slot("R_y", "the yield strength in MPa", float(stress), decimals=0)],
        ["E = s / (e * 10)", "R_y = s"],
        picture=Picture("tensile", {"strain": strain, "stress": stress, "slope": hardening}),
        seen={"e": strain, "s": float(stress)},
    )  # fmt: skip


def kinetics(rng: Random) -> Draft:
    """Activation energy from the slope of ln k."""
    x1 = round(rng.randint(8, 14) * 0.1, 1)
    x2 = round(x1 + rng.randint(4, 9) * 0.1, 1)
    y1 = -rng.randint(1, 4)
    y2 = y1 - rng.randint(3, 9)
    return Draft(
        "The picture shows ln k against 1000/T; the straight line goes through the two marked "
        "points, which lie on crossings of grid lines. The gas constant is given.",
        {"R": (8.314, "J/(mol K)"), "p": (rng.randint(90, 110), "kPa")},
        [Slot("E_a", "the activation energy in kJ/mol", 8.314 * (y1 - y2) / (x2 - x1), decimals=1)],
        ["E_a = R * (y_1 - y_2) / (x_2 - x_1)"],
        picture=Picture("kinetics", {"points": [[x1, y1], [x2, y2]]}),
        seen={"x_1": x1, "x_2": x2, "y_1": float(y1), "y_2": float(y2)},
    )


#: Sums of squares of the first three reflections.
_TYPES = {"simple": (1, 2, 3), "fcc": (3, 4, 8), "diamond": (3, 8, 11)}


def diffraction(rng: Random) -> Draft:
    """Spacing and lattice type from three reflections."""
    wavelength, a = 1.5406, round(rng.uniform(3.6, 6.4), 3)
    kind = rng.choice(sorted(_TYPES))
    angles = [
        round(2 * math.degrees(math.asin(wavelength * math.sqrt(n) / (2 * a))), 2)
        for n in _TYPES[kind]
    ]
    d = wavelength / (2 * math.sin(math.radians(angles[0] / 2)))
    return Draft(
        "The picture shows the first three reflections of a cubic crystal, with their angles "
        "2 theta in degrees written beside. The lattice is simple, fcc or of the diamond type.",
        {"lam": (wavelength, "Å"), "I_0": (rng.randint(1000, 9000), "counts")},
        [Slot("d", "the spacing of the planes of the first reflection in Å", d, decimals=3),
         Slot("type", "the type as one word: simple, fcc or diamond", kind)],
        ["d = lam / (2 * sin(theta_1 / 2 * pi / 180))"],
        picture=Picture("diffraction", {"angles": angles}),
        seen={"theta_1": angles[0]},
    )  # fmt: skip


def phases(rng: Random) -> Draft:
    """Compositions and amounts at the ends of a tie line."""
    solid = 10 * rng.randint(1, 4)
    liquid = solid + 10 * rng.randint(3, 5)
    alloy = 5 * rng.randint(solid // 5 + 1, liquid // 5 - 1)
    temperature = 50 * rng.randint(22, 30)
    share = 100 * (alloy - solid) / (liquid - solid)
    return Draft(
        "The picture shows a phase diagram of A and B with the liquidus, the solidus, the alloy "
        "(vertical line) and a temperature (horizontal line). All crossings lie on grid lines.",
        {"T_A": (temperature + 350, "°C")},
        [Slot("C_s", "the composition of the solid in wt% B", float(solid), decimals=0),
         Slot("C_l", "the composition of the liquid in wt% B", float(liquid), decimals=0),
         Slot("W_s", "the mass of the solid in per cent", 100 - share, decimals=1),
         Slot("W_l", "the mass of the liquid in per cent", share, decimals=1)],
        ["C_s = x_s", "C_l = x_l", "W_s = 100 * (x_l - x_0) / (x_l - x_s)",
         "W_l = 100 * (x_0 - x_s) / (x_l - x_s)"],
        nested=(2, 2),
        picture=Picture("phases", {"solid": solid, "liquid": liquid, "alloy": alloy,
                                   "temperature": temperature}),
        seen={"x_s": float(solid), "x_l": float(liquid), "x_0": float(alloy)},
    )  # fmt: skip


#: Sites of a cubic cell, and how many of them belong to one cell.
_SITES = {"corner": 1, "body": 1, "face": 3, "edge": 3}


def unit_cell(rng: Random) -> Draft:
    """Atoms per cell and formula from a drawn cell."""
    others = rng.choice([("body",), ("face",), ("edge",), ("face", "body"), ("edge", "body")])
    elements = rng.sample(_ELEMENTS, 1 + len(others))
    sites = dict(zip(("corner", *others), elements, strict=True))
    formula = "".join(
        f"{element}{_SITES[site] if _SITES[site] > 1 else ''}" for site, element in sites.items()
    )
    count = sum(_SITES[site] for site in sites)
    return Draft(
        "The picture shows a cubic unit cell; its legend names the element of each kind of site.",
        {"a": (round(rng.uniform(3.5, 6), 2), "Å")},
        [Slot("n", "the number of atoms per unit cell", float(count), decimals=0),
         Slot("formula", "the chemical formula, elements in the order of the legend, without "
              "spaces", formula)],
        ["n = 8 * N_corner / 8 + 12 * N_edge / 4 + 6 * N_face / 2 + N_body"],
        picture=Picture("unit_cell", {"sites": sites}),
        seen={f"N_{site}": float(site in sites) for site in _SITES},
    )  # fmt: skip


def lattice_plane(rng: Random) -> Draft:
    """Miller indices from intercepts."""
    # Without a common factor: the plane nearest to the origin.
    indices = [(h, k, l) for h in range(1, 6) for k in range(1, 6) for l in range(1, 6)  # noqa: E741
               if math.gcd(h, k, l) == 1 and len({h, k, l}) > 1]  # fmt: skip
    h, k, l = rng.choice(indices)  # noqa: E741
    return Draft(
        "The picture shows a plane in a cubic unit cell and, beside each axis, where the plane "
        "meets it, as a fraction of the edge.",
        {"a": (round(rng.uniform(3, 6), 2), "Å")},
        [Slot(symbol, f"the Miller index {symbol}", float(value), decimals=0)
         for symbol, value in zip("hkl", (h, k, l), strict=True)],
        ["h = 1 / u", "k = 1 / v", "l = 1 / w"],
        picture=Picture("lattice_plane", {"intercepts": [[1, h], [1, k], [1, l]]}),
        seen={"u": 1 / h, "v": 1 / k, "w": 1 / l},
    )  # fmt: skip

"""Crystals, and what leaves of a world measure on them, without the library that worlds use.

An evaluation that shares no code with pymatgen is what references are compared with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, product, starmap

from experiments.benchmarks.invented.draw import Draw

#: Atomic number, mass, electronegativity (Pauling).
ELEMENTS: Mapping[str, tuple[int, float, float]] = {
    "Li": (3, 6.941, 0.98), "N": (7, 14.0067, 3.04), "O": (8, 15.9994, 3.44),
    "F": (9, 18.9984032, 3.98), "Mg": (12, 24.305, 1.31), "Al": (13, 26.9815386, 1.61),
    "S": (16, 32.065, 2.58), "Cl": (17, 35.453, 3.16), "K": (19, 39.0983, 0.82),
    "Ca": (20, 40.078, 1.0), "Ti": (22, 47.867, 1.54), "Mn": (25, 54.938045, 1.55),
    "Ni": (28, 58.6934, 1.91), "Zn": (30, 65.409, 1.65), "Se": (34, 78.96, 2.55),
    "Sr": (38, 87.62, 0.95), "Zr": (40, 91.224, 1.33), "I": (53, 126.90447, 2.66),
    "Ba": (56, 137.327, 0.89), "Pb": (82, 207.2, 2.33),
}  # fmt: skip
NUMBER, MASS, ELECTRONEGATIVITY = range(3)
_METALS = ("Li", "Mg", "Al", "K", "Ca", "Ti", "Mn", "Ni", "Zn", "Sr", "Zr", "Ba", "Pb")
_ANIONS = ("N", "O", "F", "S", "Cl", "Se", "I")
#: Rules that name an element: property, and the sign of what is largest.
_RULES = {"heaviest": (MASS, 1), "lightest": (MASS, -1),
          "negative": (ELECTRONEGATIVITY, 1), "positive": (ELECTRONEGATIVITY, -1)}  # fmt: skip
_AMU = 1.66053906660  # g/cm3 for one atomic mass unit per cubic angstrom
_Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Crystal:
    """A periodic structure."""

    lengths: _Vector  # of the cell, in angstroms
    angles: _Vector  # in degrees
    sites: tuple[tuple[str, _Vector], ...]  # element and fractional coordinates

    @property
    def elements(self) -> tuple[str, ...]:
        """Without repetition, by atomic number."""
        return tuple(sorted({e for e, _ in self.sites}, key=lambda e: ELEMENTS[e][NUMBER]))

    def element(self, rule: str) -> str:
        """The element that a rule of the lexicon names."""
        place, sign = _RULES[rule]
        return max(self.elements, key=lambda e: sign * ELEMENTS[e][place])

    def scaled(self, factor: float) -> Crystal:
        """With every length multiplied."""
        a, b, c = self.lengths
        return replace(self, lengths=(a * factor, b * factor, c * factor))

    def length(self, vector: _Vector) -> float:
        """Of a vector given in units of the cell, in angstroms."""
        cosines = [math.cos(math.radians(angle)) for angle in self.angles]
        parts = [x * length for x, length in zip(vector, self.lengths, strict=True)]
        mixed = math.fsum(
            parts[i] * parts[j] * cosines[3 - i - j] for i, j in combinations(range(3), 2)
        )
        return math.sqrt(math.fsum(part * part for part in parts) + 2 * mixed)

    def volume(self) -> float:
        """Of the cell, in cubic angstroms."""
        x, y, z = (math.cos(math.radians(angle)) for angle in self.angles)
        return math.prod(self.lengths) * math.sqrt(1 - x * x - y * y - z * z + 2 * x * y * z)

    def distance(self, first: int, second: int) -> float:
        """Between two sites, over the nearest images, in angstroms."""
        apart = [q - p for p, q in zip(self.sites[first][1], self.sites[second][1], strict=True)]
        x, y, z = (d - round(d) for d in apart)
        images = product((-1, 0, 1), repeat=3)
        return min(self.length((x + i, y + j, z + k)) for i, j, k in images)

    def mean(self, place: int) -> float:
        """Mean of a property of the elements over the sites."""
        return math.fsum(ELEMENTS[element][place] for element, _ in self.sites) / len(self.sites)


@dataclass(frozen=True)
class Raw:
    """A measurement that a leaf begins with."""

    subject: str  # class of pymatgen that it is taken of, in lower case
    code: str  # as an expression of the package
    value: Callable[[Crystal], float]  # the same, independently


RAWS: Mapping[str, Raw] = {
    "volume per site": Raw("structure", "structure.volume / len(structure)",
                           lambda c: c.volume() / len(c.sites)),
    "density": Raw("structure", "float(structure.density)",
                   lambda c: c.mean(MASS) * len(c.sites) * _AMU / c.volume()),
    "shortest": Raw("structure", "min(structure.get_distance(i, j) for i in range(len(structure))"
                    " for j in range(i))",
                    lambda c: min(starmap(c.distance, combinations(range(len(c.sites)), 2)))),
    "first to last": Raw("structure", "structure.get_distance(0, len(structure) - 1)",
                         lambda c: c.distance(0, len(c.sites) - 1)),
    "electrons": Raw("structure", "sum(site.specie.Z for site in structure) / structure.volume",
                     lambda c: c.mean(NUMBER) * len(c.sites) / c.volume()),
    "longest": Raw("lattice", "max(lattice.abc)", lambda c: max(c.lengths)),
    "cell": Raw("lattice", "lattice.volume", lambda c: c.volume()),
    "base": Raw("lattice", "lattice.a * lattice.b * math.sin(math.radians(lattice.gamma))",
                lambda c: c.lengths[0] * c.lengths[1] * math.sin(math.radians(c.angles[2]))),
    "diagonal": Raw("lattice", "math.dist((0, 0, 0), lattice.get_cartesian_coords((1, 1, 1)))",
                    lambda c: c.length((1, 1, 1))),
    "mean mass": Raw("composition", "float(composition.weight) / composition.num_atoms",
                     lambda c: c.mean(MASS)),
    "mean number": Raw("composition", "composition.total_electrons / composition.num_atoms",
                       lambda c: c.mean(NUMBER)),
    "mean electronegativity": Raw("composition", "composition.average_electroneg",
                                  lambda c: c.mean(ELECTRONEGATIVITY)),
}  # fmt: skip


@lru_cache(maxsize=10_000)
def measure(raw: str, crystal: Crystal) -> float:
    """The value of one of `RAWS`."""
    return RAWS[raw].value(crystal)


def draw_crystal(draw: Draw) -> Crystal:
    """One of five arrangements with drawn elements, lengths and inner coordinates."""
    one = draw.choice(_METALS)
    two = draw.choice([metal for metal in _METALS if metal != one])
    anion = draw.choice(_ANIONS)
    a, b, c = (draw.between(3.6, 6.4, 2) for _ in range(3))
    u, beta = draw.between(0.27, 0.36), draw.between(91, 104, 1)
    v, h, w = round(1 - u, 3), round(0.5 + u, 3), round(0.5 - u, 3)
    origin, right = (0.0, 0.0, 0.0), (90.0, 90.0, 90.0)
    rutile = [(one, origin), (one, (0.5, 0.5, 0.5)), (anion, (u, u, 0.0)), (anion, (v, v, 0.0)),
              (anion, (h, w, 0.5)), (anion, (w, h, 0.5))]  # fmt: skip
    perovskite = [(one, origin), (two, (0.5, 0.5, 0.5)), (anion, (0.5, 0.5, 0.0)),
                  (anion, (0.5, 0.0, 0.5)), (anion, (0.0, 0.5, 0.5))]  # fmt: skip
    layered = [(one, origin), (anion, (0.333333, 0.666667, u)), (anion, (0.666667, 0.333333, v))]
    heusler = [(one, origin), (two, (0.5, 0.5, u)), (anion, (0.25, 0.25, 0.6))]
    tetragonal = [(one, origin), (one, (0.5, 0.5, u)), (anion, (0.5, 0.0, 0.2))]
    lengths, angles, sites = draw.of(
        ((a, a, c), right, rutile), ((a, b, c), right, perovskite),
        ((a, a, c), (90.0, 90.0, 120.0), layered), ((a, b, c), (90.0, beta, 90.0), heusler),
        ((a, a, c), right, tetragonal),
    )  # fmt: skip
    return Crystal(lengths, angles, tuple(sites))

"""Crystals, and what leaves of a world measure on them, without the library that worlds use.

An evaluation that shares no code with pymatgen is what references are compared with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

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
_METALS = ("Li", "Mg", "Al", "K", "Ca", "Ti", "Mn", "Ni", "Zn", "Sr", "Zr", "Ba", "Pb")
_ANIONS = ("N", "O", "F", "S", "Cl", "Se", "I")
_AMU = 1.66053906660  # g/cm3 for one atomic mass unit per cubic angstrom
_Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Crystal:
    """A periodic structure.

    Attributes
    ----------
    lengths, angles
        Of the cell, in angstroms and degrees.
    sites
        Element and fractional coordinates.
    """

    lengths: _Vector
    angles: _Vector
    sites: tuple[tuple[str, _Vector], ...]

    @property
    def elements(self) -> tuple[str, ...]:
        """Without repetition, by atomic number."""
        return tuple(sorted({e for e, _ in self.sites}, key=lambda e: ELEMENTS[e][0]))

    def element(self, rule: str) -> str:
        """The element that a rule of the lexicon names."""
        place, sign = {
            "heaviest": (1, 1),
            "lightest": (1, -1),
            "negative": (2, 1),
            "positive": (2, -1),
        }[rule]
        return max(self.elements, key=lambda e: sign * ELEMENTS[e][place])

    def scaled(self, factor: float) -> Crystal:
        """With every length multiplied."""
        a, b, c = self.lengths
        return replace(self, lengths=(a * factor, b * factor, c * factor))

    def product(self, one: _Vector, other: _Vector) -> float:
        """Scalar product of two vectors given in units of the cell."""
        cosines = [math.cos(math.radians(angle)) for angle in self.angles]
        total = 0.0
        for i in range(3):
            for j in range(3):
                cosine = 1.0 if i == j else cosines[3 - i - j]
                total += one[i] * other[j] * self.lengths[i] * self.lengths[j] * cosine
        return total

    def volume(self) -> float:
        """Of the cell, in cubic angstroms."""
        x, y, z = (math.cos(math.radians(angle)) for angle in self.angles)
        a, b, c = self.lengths
        return a * b * c * math.sqrt(1 - x * x - y * y - z * z + 2 * x * y * z)

    def distance(self, first: int, second: int) -> float:
        """Between two sites, over the nearest images, in angstroms."""
        apart = [q - p for p, q in zip(self.sites[first][1], self.sites[second][1], strict=True)]
        near = [d - round(d) for d in apart]
        shifts = (-1, 0, 1)
        images = ((near[0] + i, near[1] + j, near[2] + k)
                  for i in shifts for j in shifts for k in shifts)  # fmt: skip
        return math.sqrt(min(self.product(image, image) for image in images))

    def mean(self, place: int) -> float:
        """Mean over the sites of an element's number (0), mass (1) or electronegativity (2)."""
        return sum(ELEMENTS[element][place] for element, _ in self.sites) / len(self.sites)


@dataclass(frozen=True)
class Raw:
    """A measurement that a leaf begins with.

    Attributes
    ----------
    subject
        Class of pymatgen that it is taken of, in lower case.
    code
        As an expression of the library.
    value
        The same, independently.
    power_of_length
        How it grows with the cell.
    """

    subject: str
    code: str
    value: Callable[[Crystal], float]
    power_of_length: int = 1


def _shortest(crystal: Crystal) -> float:
    count = len(crystal.sites)
    return min(crystal.distance(i, j) for i in range(count) for j in range(i + 1, count))


RAWS: Mapping[str, Raw] = {
    "volume per site": Raw("structure", "structure.volume / len(structure)",
                           lambda c: c.volume() / len(c.sites), 3),
    "density": Raw("structure", "float(structure.density)",
                   lambda c: c.mean(1) * len(c.sites) * _AMU / c.volume(), -3),
    "shortest": Raw("structure", "min(structure.get_distance(i, j) for i in range(len(structure))"
                    " for j in range(i))", _shortest),
    "first to last": Raw("structure", "structure.get_distance(0, len(structure) - 1)",
                         lambda c: c.distance(0, len(c.sites) - 1)),
    "electrons": Raw("structure", "sum(site.specie.Z for site in structure) / structure.volume",
                     lambda c: c.mean(0) * len(c.sites) / c.volume(), -3),
    "longest": Raw("lattice", "max(lattice.abc)", lambda c: max(c.lengths)),
    "cell": Raw("lattice", "lattice.volume", lambda c: c.volume(), 3),
    "base": Raw("lattice", "lattice.a * lattice.b * math.sin(math.radians(lattice.gamma))",
                lambda c: c.lengths[0] * c.lengths[1] * math.sin(math.radians(c.angles[2])), 2),
    "diagonal": Raw("lattice", "math.dist((0, 0, 0), lattice.get_cartesian_coords((1, 1, 1)))",
                    lambda c: math.sqrt(c.product((1, 1, 1), (1, 1, 1)))),
    "mean mass": Raw("composition", "float(composition.weight) / composition.num_atoms",
                     lambda c: c.mean(1), power_of_length=0),
    "mean number": Raw("composition", "composition.total_electrons / composition.num_atoms",
                       lambda c: c.mean(0), power_of_length=0),
    "mean electronegativity": Raw("composition", "composition.average_electroneg",
                                  lambda c: c.mean(2), power_of_length=0),
}  # fmt: skip


@lru_cache(maxsize=10_000)
def measure(raw: str, crystal: Crystal) -> float:
    """The value of one of `RAWS`."""
    return RAWS[raw].value(crystal)


def draw_crystal(draw: Draw) -> Crystal:
    """One of five arrangements with drawn elements, lengths and inner coordinates."""
    first = draw.choice(_METALS)
    second = draw.choice([m for m in _METALS if m != first])
    anion = draw.choice(_ANIONS)
    a, b, c = (draw.between(3.6, 6.4, 2) for _ in range(3))
    u = draw.between(0.27, 0.36)
    right, kind = (90.0, 90.0, 90.0), draw.below(5)
    if kind == 0:  # as rutile
        pairs = ((u, u, 0.0), (1 - u, 1 - u, 0.0), (0.5 + u, 0.5 - u, 0.5), (0.5 - u, 0.5 + u, 0.5))
        sites = [(first, (0.0, 0.0, 0.0)), (first, (0.5, 0.5, 0.5)), *((anion, p) for p in pairs)]
        found = Crystal((a, a, c), right, tuple(sites))
    elif kind == 1:  # as a distorted perovskite
        corners = ((0.5, 0.5, 0.0), (0.5, 0.0, 0.5), (0.0, 0.5, 0.5))
        sites = [
            (first, (0.0, 0.0, 0.0)),
            (second, (0.5, 0.5, 0.5)),
            *((anion, p) for p in corners),
        ]
        found = Crystal((a, b, c), right, tuple(sites))
    elif kind == 2:  # as a layered iodide
        sites = [
            (first, (0.0, 0.0, 0.0)),
            (anion, (1 / 3, 2 / 3, u)),
            (anion, (2 / 3, 1 / 3, 1 - u)),
        ]
        found = Crystal((a, a, c), (90.0, 90.0, 120.0), tuple(sites))
    elif kind == 3:  # as a half-Heusler phase
        inner = ((first, (0.0, 0.0, 0.0)), (second, (0.5, 0.5, u)), (anion, (0.25, 0.25, 0.6)))
        found = Crystal((a, b, c), (90.0, draw.between(91, 104, 1), 90.0), inner)
    else:  # as a tetragonal oxide with one kind of metal twice
        inner = ((first, (0.0, 0.0, 0.0)), (first, (0.5, 0.5, u)), (anion, (0.5, 0.0, 0.2)))
        found = Crystal((a, a, c), right, inner)
    return replace(found, sites=tuple((e, _rounded(p)) for e, p in found.sites))


def _rounded(point: _Vector) -> _Vector:
    return (round(point[0], 6), round(point[1], 6), round(point[2], 6))

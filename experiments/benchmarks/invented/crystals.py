"""Crystals, and what leaves of a world measure on them, without the library that worlds use.

An evaluation that shares no code with pymatgen is what references are compared with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, product, starmap
from typing import Any

from experiments.benchmarks.invented.lexicon import Draw
from foundation.configuration import data_of

_TABLES: Mapping[str, Any] = data_of(__file__)
#: Atomic number, mass, electronegativity (Pauling).
ELEMENTS: Mapping[str, tuple[int, float, float]] = _TABLES["elements"]
NUMBER, MASS, ELECTRONEGATIVITY = range(3)
#: Subject (class of pymatgen, in lower case) -> measurements that a leaf may begin with.
OF_SUBJECT: Mapping[str, Mapping[str, str]] = _TABLES["measurements"]
#: Measurement -> its subject, and the expression of the package.
RAWS = {
    name: (subject, code)
    for subject, codes in OF_SUBJECT.items()
    for name, code in codes.items()
}
_AMU = 1.66053906660  # g/cm3 for one atomic mass unit per cubic angstrom
_Vector = tuple[float, float, float]


@dataclass(frozen=True)
class WorldCrystal:
    """A periodic structure."""

    lengths: _Vector  # of the cell, in angstroms
    angles: _Vector  # in degrees
    sites: tuple[tuple[str, _Vector], ...]  # element and fractional coordinates

    @property
    def elements(self) -> tuple[str, ...]:
        """Without repetition, by atomic number."""
        return tuple(
            sorted({e for e, _ in self.sites}, key=lambda e: ELEMENTS[e][NUMBER])
        )

    def element(self, rule: str) -> str:
        """The element that a rule of the lexicon names."""
        place, sign = _TABLES["rules"][rule]
        return max(self.elements, key=lambda e: sign * ELEMENTS[e][place])

    def scaled(self, factor: float) -> WorldCrystal:
        """With every length multiplied."""
        a, b, c = self.lengths
        return replace(self, lengths=(a * factor, b * factor, c * factor))

    def length(self, vector: _Vector) -> float:
        """Of a vector given in units of the cell, in angstroms."""
        cosines = [math.cos(math.radians(angle)) for angle in self.angles]
        parts = [x * length for x, length in zip(vector, self.lengths, strict=True)]
        mixed = math.fsum(
            parts[i] * parts[j] * cosines[3 - i - j]
            for i, j in combinations(range(3), 2)
        )
        return math.sqrt(math.fsum(part * part for part in parts) + 2 * mixed)

    def volume(self) -> float:
        """Of the cell, in cubic angstroms."""
        x, y, z = (math.cos(math.radians(angle)) for angle in self.angles)
        return math.prod(self.lengths) * math.sqrt(
            1 - x * x - y * y - z * z + 2 * x * y * z
        )

    def distance(self, first: int, second: int) -> float:
        """Between two sites, over the nearest images, in angstroms."""
        apart = [
            q - p
            for p, q in zip(self.sites[first][1], self.sites[second][1], strict=True)
        ]
        x, y, z = (d - round(d) for d in apart)
        images = product((-1, 0, 1), repeat=3)
        return min(self.length((x + i, y + j, z + k)) for i, j, k in images)

    def mean(self, place: int) -> float:
        """Mean of a property of the elements over the sites."""
        return math.fsum(ELEMENTS[element][place] for element, _ in self.sites) / len(
            self.sites
        )


#: The measurements once more, independently.
_VALUES: Mapping[str, Callable[[WorldCrystal], float]] = {
    "volume per site": lambda c: c.volume() / len(c.sites),
    "density": lambda c: c.mean(MASS) * len(c.sites) * _AMU / c.volume(),
    "shortest": lambda c: min(
        starmap(c.distance, combinations(range(len(c.sites)), 2))
    ),
    "first to last": lambda c: c.distance(0, len(c.sites) - 1),
    "electrons": lambda c: c.mean(NUMBER) * len(c.sites) / c.volume(),
    "longest": lambda c: max(c.lengths),
    "cell": WorldCrystal.volume,
    "base": lambda c: c.lengths[0] * c.lengths[1] * math.sin(math.radians(c.angles[2])),
    "diagonal": lambda c: c.length((1, 1, 1)),
    "mean mass": lambda c: c.mean(MASS),
    "mean number": lambda c: c.mean(NUMBER),
    "mean electronegativity": lambda c: c.mean(ELECTRONEGATIVITY),
}


@lru_cache(maxsize=10_000)
def measure(raw: str, crystal: WorldCrystal) -> float:
    """The value of one of `RAWS`."""
    return _VALUES[raw](crystal)


def draw_crystal(draw: Draw) -> WorldCrystal:
    """One of five arrangements with drawn elements, lengths and inner coordinates."""
    metals = _TABLES["metals"]
    first = draw.choice(metals)
    drawn = {
        "one": first,
        "two": draw.choice([metal for metal in metals if metal != first]),
        "anion": draw.choice(_TABLES["anions"]),
    }
    drawn |= {name: draw.between(3.6, 6.4, 2) for name in "abc"}
    u, beta = draw.between(0.27, 0.36), draw.between(91, 104, 1)
    drawn |= {
        "u": u,
        "v": round(1 - u, 3),
        "h": round(0.5 + u, 3),
        "w": round(0.5 - u, 3),
    }
    drawn["beta"] = beta
    arrangement = draw.choice(list(_TABLES["arrangements"].values()))
    lengths, angles, *sites = (
        tuple(drawn.get(each, each) for each in row)
        for row in (
            arrangement["lengths"],
            arrangement["angles"],
            *arrangement["sites"],
        )
    )
    return WorldCrystal(
        lengths, angles, tuple((element, tuple(point)) for element, *point in sites)
    )

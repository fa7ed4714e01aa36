"""LMScore from the probabilities of a judge's words, and the overlap of boxes on a map."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

WEIGHTS = {"good": 1.0, "ok": 0.5, "bad": 0.0}
_SPELLINGS = {"okay": "ok"}


def lmscore(alternatives: Mapping[str, float]) -> float | None:
    """The weighted mean of the three words, from log-probabilities of the first token.

    A word that is not among the alternatives gets the mass that they leave, shared equally with
    the other missing ones; ``None`` where none of the three is there.
    """
    mass: dict[str, float] = {}
    for token, logprob in alternatives.items():
        word = token.strip().strip("*\"'.").lower()
        word = _SPELLINGS.get(word, word)
        if word in WEIGHTS:
            mass[word] = mass.get(word, 0.0) + math.exp(min(logprob, 0.0))
    if not mass:
        return None
    missing = [word for word in WEIGHTS if word not in mass]
    rest = max(0.0, 1.0 - sum(math.exp(min(each, 0.0)) for each in alternatives.values()))
    mass |= {word: rest / len(missing) for word in missing}
    total = sum(mass.values())
    return sum(WEIGHTS[word] * share for word, share in mass.items()) / total


def word_mark(reply: str) -> float | None:
    """The mark of the first of the three words in a reply, for a judge without probabilities."""
    words = (word.strip(".,:;!*\"'").lower() for word in reply[:2000].split())
    found = (_SPELLINGS.get(word, word) for word in words)
    return next((WEIGHTS[word] for word in found if word in WEIGHTS), None)


@dataclass(frozen=True)
class Box:
    """A box in degrees; ``west > east`` crosses the date line."""

    west: float
    south: float
    east: float
    north: float

    @property
    def spans(self) -> tuple[tuple[float, float], ...]:
        """Its longitudes, in one or two pieces."""
        if self.west <= self.east:
            return ((self.west, self.east),)
        return ((self.west, 180.0), (-180.0, self.east))

    @property
    def area(self) -> float:
        """In square degrees of the plane."""
        return sum(end - start for start, end in self.spans) * (self.north - self.south)

    @property
    def centre(self) -> tuple[float, float]:
        """Longitude and latitude."""
        east = self.east + 360.0 * (self.west > self.east)
        return ((self.west + east) / 2 + 180.0) % 360.0 - 180.0, (self.south + self.north) / 2


WORLD = Box(-180.0, -90.0, 180.0, 90.0)


def read_box(value: Any) -> Box | None:
    """A box out of an answer: any order of south and north, latitudes within the poles."""
    numbers = sides(value)
    if numbers is None:
        return None
    west, south, east, north = numbers
    south, north = (max(-90.0, min(90.0, side)) for side in sorted((south, north)))
    west, east = (
        side if -180 <= side <= 180 else (side + 180) % 360 - 180 for side in (west, east)
    )
    return Box(west, south, east, north)


def sides(value: Any) -> tuple[float, ...] | None:
    """West, south, east and north of a dict; ``None`` where one is no number."""
    given = value[0] if isinstance(value, list) and len(value) == 1 else value
    if not isinstance(given, Mapping):
        return None
    numbers = []
    for side in "WSEN":
        try:
            number = float(given.get(side))  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            return None
        if not abs(number) <= 1e6:
            return None
        numbers.append(number)
    return tuple(numbers)


def iou(one: Box, two: Box) -> float:
    """Area of the intersection over that of the union; boxes may cross the date line."""
    across = sum(
        max(0.0, min(end, stop) - max(start, begin))
        for start, end in one.spans
        for begin, stop in two.spans
    )
    both = across * max(0.0, min(one.north, two.north) - max(one.south, two.south))
    union = one.area + two.area - both
    return both / union if union > 0 else 0.0


def published_iou(gold: Mapping[str, float], value: Any) -> float:
    """As the authors compute it: sides in any order, so that areas can be negative."""
    numbers = sides(value)
    if numbers is None:
        return 0.0
    one, two = tuple(gold[side] for side in "WSEN"), numbers
    wide = max(0.0, min(one[2], two[2]) - max(one[0], two[0]))
    high = max(0.0, min(one[3], two[3]) - max(one[1], two[1]))
    areas = [(east - west) * (north - south) for west, south, east, north in (one, two)]
    union = sum(areas) - wide * high
    return wide * high / union if union else 0.0


def distance(one: tuple[float, float], two: tuple[float, float]) -> float:
    """Great-circle angle in radians between two points (longitude and latitude in degrees)."""
    (east1, north1), (east2, north2) = (tuple(map(math.radians, point)) for point in (one, two))
    sine = math.sin((north2 - north1) / 2) ** 2
    sine += math.cos(north1) * math.cos(north2) * math.sin((east2 - east1) / 2) ** 2
    return 2 * math.asin(min(1.0, math.sqrt(sine)))


def offset(gold: Box, found: Box) -> float | None:
    """Distance of the centres over half the gold's diagonal; ``None`` for a gold without one."""
    half = distance((gold.west, gold.south), (gold.east, gold.north)) / 2
    return distance(gold.centre, found.centre) / half if half else None

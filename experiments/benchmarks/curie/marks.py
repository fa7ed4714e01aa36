"""Marks of answers: by a judge's words, by boxes on a map, by the entries of lists (LLMSim)."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import harmonic_mean
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from agents.answer_formats import Json
from experiments.scorers.judge import Judge
from foundation.configuration import data_of

#: What prompts and judges are told.
PROMPTS: Mapping[str, str] = data_of(__file__, "prompts")
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
    rest = max(
        0.0, 1.0 - sum(math.exp(min(each, 0.0)) for each in alternatives.values())
    )
    mass |= {word: rest / len(missing) for word in missing}
    total = sum(mass.values())
    return sum(WEIGHTS[word] * share for word, share in mass.items()) / total


def word_mark(reply: str) -> float | None:
    """The mark of the first of the three words in a reply, for a judge without probabilities."""
    words = (word.strip(".,:;!*\"'").lower() for word in reply[:2000].split())
    spellings = (_SPELLINGS.get(word, word) for word in words)
    return next((WEIGHTS[word] for word in spellings if word in WEIGHTS), None)


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
        return ((self.west + east) / 2 + 180.0) % 360.0 - 180.0, (
            self.south + self.north
        ) / 2


WORLD = Box(-180.0, -90.0, 180.0, 90.0)


def read_box(value: Any) -> Box | None:
    """A box out of an answer: any order of south and north, latitudes within the poles."""
    numbers = sides(value)
    if numbers is None:
        return None
    west, south, east, north = numbers
    south, north = (max(-90.0, min(90.0, side)) for side in sorted((south, north)))
    west, east = (
        side if -180 <= side <= 180 else (side + 180) % 360 - 180
        for side in (west, east)
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


def iou(first: Box, second: Box) -> float:
    """Area of the intersection over that of the union; boxes may cross the date line."""
    across = sum(
        max(0.0, min(end, stop) - max(start, begin))
        for start, end in first.spans
        for begin, stop in second.spans
    )
    both = across * max(
        0.0, min(first.north, second.north) - max(first.south, second.south)
    )
    union = first.area + second.area - both
    return both / union if union > 0 else 0.0


def published_iou(gold: Mapping[str, float], value: Any) -> float:
    """As the authors compute it: sides in any order, so that areas can be negative."""
    numbers = sides(value)
    if numbers is None:
        return 0.0
    right = tuple(gold[side] for side in "WSEN")
    answer = numbers
    wide = max(0.0, min(right[2], answer[2]) - max(right[0], answer[0]))
    high = max(0.0, min(right[3], answer[3]) - max(right[1], answer[1]))
    areas = [
        (east - west) * (north - south) for west, south, east, north in (right, answer)
    ]
    union = sum(areas) - wide * high
    return wide * high / union if union else 0.0


def distance(start: tuple[float, float], end: tuple[float, float]) -> float:
    """Great-circle angle in radians between two points (longitude and latitude in degrees)."""
    (east1, north1), (east2, north2) = (
        tuple(map(math.radians, point)) for point in (start, end)
    )
    sine = math.sin((north2 - north1) / 2) ** 2
    sine += math.cos(north1) * math.cos(north2) * math.sin((east2 - east1) / 2) ** 2
    return 2 * math.asin(min(1.0, math.sqrt(sine)))


def offset(gold: Box, box: Box) -> float | None:
    """Distance of the centres over half the gold's diagonal; ``None`` for a gold without one."""
    half = distance((gold.west, gold.south), (gold.east, gold.north)) / 2
    return distance(gold.centre, box.centre) / half if half else None


#: Of an answer, as a judge sees it: entries, and characters of one.
MAX_ENTRIES, MAX_CHARACTERS = 200, 4000


@dataclass(frozen=True)
class Pair:
    """A gold entry and an entry of the answer that states the same, and which fields agree."""

    gold: int
    entry: int
    fields: Mapping[str, bool] = field(default_factory=dict)


class Similarity(NamedTuple):
    """Precision and recall of a list, and their harmonic mean."""

    precision: float
    recall: float
    f1: float


def one_to_one(pairs: Sequence[Pair], golds: int, entries: int) -> list[Pair]:
    """As many pairs as possible with nothing used twice; of those, with most fields agreeing."""
    if not pairs:
        return []
    agreeing = max(sum(pair.fields.values()) for pair in pairs) + 1
    weights = np.zeros((golds, entries))
    pair_at = {}
    for pair in pairs:
        # One pair more outweighs all fields of all pairs.
        weight = agreeing * (min(golds, entries) + 1) + sum(pair.fields.values())
        if weight > weights[pair.gold, pair.entry]:
            weights[pair.gold, pair.entry] = weight
            pair_at[pair.gold, pair.entry] = pair
    rows, columns = linear_sum_assignment(weights, maximize=True)
    places = zip(rows.tolist(), columns.tolist(), strict=True)
    return [pair_at[place] for place in places if place in pair_at]


def similarity(matches: int, golds: int, entries: int) -> Similarity:
    """Of one paper; an empty answer has neither precision nor recall."""
    both = (
        (min(1.0, matches / entries), matches / golds)
        if golds and entries
        else (0.0, 0.0)
    )
    return Similarity(*both, harmonic_mean(both))


def first_named(pairs: Sequence[Pair]) -> dict[int, int]:
    """Gold entry to the first entry of the answer that the judge names for it."""
    return {pair.gold: pair.entry for pair in reversed(pairs)}


def published(
    first: Mapping[int, int], golds: int, entries: int, *, doubled: bool
) -> Similarity:
    """As the authors count.

    Entry 0 of the answer never counts, and several golds may take the same entry. ``doubled``:
    their reader of the gold returns every structure twice.
    """
    matches = sum(place != 0 for place in first.values())
    return similarity((1 + doubled) * matches, (1 + doubled) * golds, entries)


def entries(value: Any) -> list[dict[str, Any]]:
    """The dicts of an answer; one that is no list of dicts has none."""
    listed = (
        [value] if isinstance(value, dict) else value if isinstance(value, list) else []
    )
    return [entry for entry in listed if isinstance(entry, dict)]


async def judged(
    judge: Judge,
    golds: Sequence[Mapping[str, Any]],
    entries: Sequence[Mapping[str, Any]],
    *,
    core: bool,
    sample: str,
) -> list[Pair]:
    """Every gold entry with the entries that a judge says state the same.

    A judge sees the first `MAX_ENTRIES` of an answer.
    """
    entries = entries[:MAX_ENTRIES]
    listed = "\n".join(
        f"{number}: {json.dumps(entry, ensure_ascii=False)[:MAX_CHARACTERS]}"
        for number, entry in enumerate(entries)
    )

    async def pairs_of(number: int) -> list[Pair]:
        gold = {
            key: value
            for key, value in golds[number].items()
            if value not in (None, "")
        }
        rule = PROMPTS["core" if core else "most"]
        verdict = await judge.ask_json(
            PROMPTS["pairs"].format(
                rule=rule, gold=json.dumps(gold, ensure_ascii=False, indent=1)
            ),
            listed,
            shape={"matches": [{"index": 0, "fields": {}}]},
            sample=f"{sample}:llmsim:{number}",
            valid=lambda reply: _valid(reply, len(entries)),
        )
        return [
            Pair(number, each["index"], {k: bool(each["fields"].get(k)) for k in gold})
            for each in verdict["matches"]
        ]

    each = await asyncio.gather(*map(pairs_of, range(len(golds))))
    return [pair for pairs in each for pair in pairs]


async def judged_by_authors(
    judge: Judge,
    prompt: str,
    golds: Sequence[Mapping[str, Any]],
    entries: Sequence[Mapping[str, Any]],
    *,
    sample: str,
) -> dict[int, int]:
    """Gold entry to the entry that a judge names for it, asked with the authors' own prompt.

    The list stands behind the prompt, fenced as judged text, in place of its placeholder.
    """
    listed = [
        {**entry, "json_extracted_index": n}
        for n, entry in enumerate(entries[:MAX_ENTRIES])
    ]
    text = json.dumps(listed, ensure_ascii=False, indent=2)

    async def entry_of(number: int) -> tuple[int, int | None]:
        gold = json.dumps(golds[number], ensure_ascii=False, indent=2)
        ask = prompt.replace("{{json_ground_truth}}", gold)
        ask = ask.replace("{{json_extracted_list}}", "(the judged text)")
        reply = await judge.ask(ask, text, sample=f"{sample}:llmsim-authors:{number}")
        reading = Json({}).read(reply.text)
        index = str(reading.value.get("json_extracted_index", "")) if reading else ""
        valid = index.isdecimal() and len(index) < 6 and int(index) < len(listed)
        return number, int(index) if valid else None

    each = await asyncio.gather(*map(entry_of, range(len(golds))))
    return {number: place for number, place in each if place is not None}


def _valid(reply: Mapping[str, Any], count: int) -> bool:
    return all(
        isinstance(each, dict)
        and type(each.get("index")) is int
        and 0 <= each["index"] < count
        and isinstance(each.get("fields"), dict)
        for each in reply["matches"]
    )

"""LLMSim: which of a gold's entries an answer has, by a judge or by rules."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from experiments.judge import Judge

#: Of an answer, as a judge sees it: entries, and characters of one.
MAX_ENTRIES, MAX_CHARACTERS = 200, 4000
#: Relative difference of two numbers that rules take for the same.
CLOSE = 0.01
#: Fields that decide whether two property values are the same; of other lists most fields do.
CORE = ("material", "property_name", "low_value", "high_value", "value_units")

_ASK = """\
Below stands one reference entry. The judged text is a numbered list of entries that somebody took \
out of the same paper. Which of them state the same as the reference entry? {rule} Be lenient \
about wording, synonyms and units of the same size; NaN, empty and absent fields do not count. For \
each entry that does, give its number and, for each field of the reference entry, 1 (agrees) or 0. \
An empty list where none does.

Reference entry:
{gold}"""
_RULES = {
    True: "Material, property, units, low and high value must agree, and descriptors must not "
    "contradict each other.",
    False: "Most of its fields must agree.",
}
_SHAPE = {"matches": [{"index": 0, "fields": {}}]}
#: Factors to a unit that the first spelling names; only what materials papers mix.
_UNITS: Mapping[str, tuple[str, float]] = {
    "nm": ("m", 1e-9), "å": ("m", 1e-10), "angstrom": ("m", 1e-10), "a": ("m", 1e-10),
    "pm": ("m", 1e-12), "um": ("m", 1e-6), "µm": ("m", 1e-6), "mm": ("m", 1e-3),
    "m": ("m", 1.0), "ev": ("ev", 1.0), "mev": ("ev", 1e-3), "kev": ("ev", 1e3),
    "ry": ("ev", 13.605693), "ha": ("ev", 27.211386), "gpa": ("gpa", 1.0), "mpa": ("gpa", 1e-3),
    "kbar": ("gpa", 0.1), "g/cm3": ("g/cm3", 1.0), "kg/m3": ("g/cm3", 1e-3), "k": ("k", 1.0),
    "ev/å": ("ev/å", 1.0), "ev/angstrom": ("ev/å", 1.0), "mev/å": ("ev/å", 1e-3),
}  # fmt: skip
_QUANTITY = re.compile(r"\s*([-+]?\d{1,30}(?:\.\d{0,30})?(?:e[-+]?\d{1,3})?)\s*([^\d\s][^\s]*)?\s*")


@dataclass(frozen=True)
class Pair:
    """A gold entry and an entry of the answer that states the same, and which fields agree."""

    gold: int
    found: int
    fields: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class Similarity:
    """Precision, recall and F1 of a list."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """Harmonic mean."""
        return harmonic(self.precision, self.recall)


def harmonic(precision: float, recall: float) -> float:
    """Zero where both are."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def one_to_one(pairs: Sequence[Pair], golds: int, found: int) -> list[Pair]:
    """As many pairs as possible with nothing used twice; of those, with most fields agreeing."""
    if not pairs:
        return []
    agreeing = max(sum(pair.fields.values()) for pair in pairs) + 1
    weights = np.zeros((golds, found))
    known = {}
    for pair in pairs:
        # One pair more outweighs all fields of all pairs.
        weight = agreeing * (min(golds, found) + 1) + sum(pair.fields.values())
        if weight > weights[pair.gold, pair.found]:
            weights[pair.gold, pair.found] = weight
            known[pair.gold, pair.found] = pair
    rows, columns = linear_sum_assignment(weights, maximize=True)
    places = zip(rows.tolist(), columns.tolist(), strict=True)
    return [known[place] for place in places if place in known]


def similarity(matches: int, golds: int, found: int) -> Similarity:
    """Of one paper; an empty answer has neither precision nor recall."""
    if not golds or not found:
        return Similarity(0.0, 0.0)
    return Similarity(min(1.0, matches / found), matches / golds)


def published(pairs: Sequence[Pair], golds: int, found: int, *, doubled: bool) -> Similarity:
    """As the authors count.

    Entry 0 of the answer never counts, several golds may take the same entry, and of each gold
    the first entry that the judge names is taken. ``doubled``: their reader of the gold returns
    every structure twice.
    """
    first: dict[int, int] = {}
    for pair in pairs:
        first.setdefault(pair.gold, pair.found)
    matches = sum(place != 0 for place in first.values())
    return similarity((1 + doubled) * matches, (1 + doubled) * golds, found)


def entries(value: Any) -> list[dict[str, Any]]:
    """The dicts of an answer; one that is no list of dicts has none."""
    listed = [value] if isinstance(value, dict) else value if isinstance(value, list) else []
    return [entry for entry in listed if isinstance(entry, dict)]


async def judged(
    judge: Judge, golds: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]],
    *, core: bool, sample: str,
) -> list[Pair]:  # fmt: skip
    """Every gold entry with the entries that a judge says state the same.

    A judge sees the first `MAX_ENTRIES` of an answer.

    Raises
    ------
    ModelError
        When the judge failed, or gave no verdict.
    """
    found = found[:MAX_ENTRIES]
    if not judge.client.llm:
        return by_rules(golds, found, core=core)
    listed = "\n".join(
        f"{number}: {json.dumps(entry, ensure_ascii=False)[:MAX_CHARACTERS]}"
        for number, entry in enumerate(found)
    )

    async def one(number: int) -> list[Pair]:
        gold = {key: value for key, value in golds[number].items() if value not in (None, "")}
        verdict = await judge.ask_json(
            _ASK.format(rule=_RULES[core], gold=json.dumps(gold, ensure_ascii=False, indent=1)),
            listed,
            shape=_SHAPE,
            sample=f"{sample}:llmsim:{number}",
            valid=lambda said: _valid(said, len(found)),
        )
        return [
            Pair(number, each["index"], {k: bool(each["fields"].get(k)) for k in gold})
            for each in verdict["matches"]
        ]

    each = await asyncio.gather(*map(one, range(len(golds))))
    return [pair for pairs in each for pair in pairs]


def _valid(said: Mapping[str, Any], count: int) -> bool:
    return all(
        isinstance(each, dict)
        and type(each.get("index")) is int
        and 0 <= each["index"] < count
        and isinstance(each.get("fields"), dict)
        for each in said["matches"]
    )


def by_rules(
    golds: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]], *, core: bool
) -> list[Pair]:
    """Pairs whose fields agree as text, or as quantities within 1 %; without any model."""
    pairs = []
    for number, gold in enumerate(golds):
        decisive = [key for key in CORE if key in gold] if core else list(gold)
        for place, entry in enumerate(found):
            fields = {key: same(gold, entry, key) for key in gold}
            agreeing = sum(fields[key] for key in decisive)
            if agreeing == len(decisive) if core else 2 * agreeing > len(decisive):
                pairs.append(Pair(number, place, fields))
    return pairs


def same(gold: Mapping[str, Any], entry: Mapping[str, Any], key: str) -> bool:
    """Whether a field agrees; values of properties with the units beside them."""
    if key in {"low_value", "high_value"}:
        one, two = (f"{each.get(key, '')} {each.get('value_units', '')}" for each in (gold, entry))
    elif key == "value_units" and same(gold, entry, "low_value"):
        return True
    else:
        one, two = str(gold.get(key, "")), str(entry.get(key, ""))
    one, two = one[:MAX_CHARACTERS], two[:MAX_CHARACTERS]
    right, found = quantity(one), quantity(two)
    if right is None or found is None:
        return bool(_plain(one)) and _plain(one) == _plain(two)
    (first, unit), (second, other) = right, found
    return unit == other and abs(first - second) <= CLOSE * max(abs(first), abs(second))


@lru_cache(10_000)
def quantity(text: str) -> tuple[float, str] | None:
    """A number with its unit, in the unit's first spelling; ``None`` for what is none."""
    if len(text) > 200 or (read := _QUANTITY.fullmatch(text.lower())) is None:
        return None
    unit, factor = _UNITS.get(read[2] or "", (read[2] or "", 1.0))
    number = float(read[1]) * factor
    return (number, unit) if abs(number) < 1e300 else None


@lru_cache(10_000)
def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))

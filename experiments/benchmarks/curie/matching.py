"""LLMSim: which of a gold's entries an answer has, by a judge."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import harmonic_mean
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from agents.answer_formats import Json
from experiments.benchmarks.curie.tasks import PROMPTS
from experiments.scorers.judge import Judge

#: Of an answer, as a judge sees it: entries, and characters of one.
MAX_ENTRIES, MAX_CHARACTERS = 200, 4000

_SHAPE = {"matches": [{"index": 0, "fields": {}}]}


@dataclass(frozen=True)
class Pair:
    """A gold entry and an entry of the answer that states the same, and which fields agree."""

    gold: int
    found: int
    fields: Mapping[str, bool] = field(default_factory=dict)


class Similarity(NamedTuple):
    """Precision and recall of a list."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """Their harmonic mean."""
        return harmonic_mean(self)


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


def first_named(pairs: Sequence[Pair]) -> dict[int, int]:
    """Gold entry to the first entry of the answer that the judge names for it."""
    first: dict[int, int] = {}
    for pair in pairs:
        first.setdefault(pair.gold, pair.found)
    return first


def published(first: Mapping[int, int], golds: int, found: int, *, doubled: bool) -> Similarity:
    """As the authors count.

    Entry 0 of the answer never counts, and several golds may take the same entry. ``doubled``:
    their reader of the gold returns every structure twice.
    """
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
    """
    found = found[:MAX_ENTRIES]
    listed = "\n".join(
        f"{number}: {json.dumps(entry, ensure_ascii=False)[:MAX_CHARACTERS]}"
        for number, entry in enumerate(found)
    )

    async def one(number: int) -> list[Pair]:
        gold = {key: value for key, value in golds[number].items() if value not in (None, "")}
        rule = PROMPTS["core" if core else "most"]
        verdict = await judge.ask_json(
            PROMPTS["pairs"].format(rule=rule, gold=json.dumps(gold, ensure_ascii=False, indent=1)),
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


async def judged_by_authors(
    judge: Judge, prompt: str, golds: Sequence[Mapping[str, Any]],
    found: Sequence[Mapping[str, Any]], *, sample: str,
) -> dict[int, int]:  # fmt: skip
    """Gold entry to the entry that a judge names for it, asked with the authors' own prompt.

    The list stands behind the prompt, fenced as judged text, in place of its placeholder.
    """
    listed = [{**entry, "json_extracted_index": n} for n, entry in enumerate(found[:MAX_ENTRIES])]
    text = json.dumps(listed, ensure_ascii=False, indent=2)

    async def one(number: int) -> tuple[int, int | None]:
        gold = json.dumps(golds[number], ensure_ascii=False, indent=2)
        ask = prompt.replace("{{json_ground_truth}}", gold)
        ask = ask.replace("{{json_extracted_list}}", "(the judged text)")
        reply = await judge.ask(ask, text, sample=f"{sample}:llmsim-authors:{number}")
        reading = Json({}).read(reply.text)
        index = str(reading.value.get("json_extracted_index", "")) if reading else ""
        known = index.isdecimal() and len(index) < 6 and int(index) < len(listed)
        return number, int(index) if known else None

    each = await asyncio.gather(*map(one, range(len(golds))))
    return {number: place for number, place in each if place is not None}


def _valid(said: Mapping[str, Any], count: int) -> bool:
    return all(
        isinstance(each, dict)
        and type(each.get("index")) is int
        and 0 <= each["index"] < count
        and isinstance(each.get("fields"), dict)
        for each in said["matches"]
    )

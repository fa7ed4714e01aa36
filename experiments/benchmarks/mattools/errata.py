"""Known faults of published MatTools properties: data in ``errata.yaml``."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter

from experiments.samples import Property, Sample

ERRATA = Path(__file__).with_suffix(".yaml")
QUESTIONS = 49  # of the whole set

log = logging.getLogger(__name__)


class Erratum(BaseModel):
    """One entry: ``count`` properties, by regular expressions for whole ids and names.

    It is ``impossible`` (no right answer passes), ``contradicting`` (the library of the published
    versions returns something else) or ``vacuous`` (an answer without content passes).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str
    property: str
    count: int = 1
    kind: Literal["impossible", "contradicting", "vacuous"]
    reason: str

    def about(self, question_id: str, name: str) -> bool:
        """Whether it speaks of this property."""
        pairs = ((self.question, question_id), (self.property, name))
        return all(re.fullmatch(pattern, text, re.IGNORECASE) for pattern, text in pairs)

    def found(self, samples: Iterable[Sample]) -> int:
        """How many properties of these samples it speaks of."""
        return sum(self.about(sample.question.id, prop.name) for sample in samples
                   for prop in sample.properties)  # fmt: skip

    def __str__(self) -> str:
        return f"{self.question} / {self.property} ({self.kind})"


@cache
def errata() -> tuple[Erratum, ...]:
    """All entries."""
    loaded = yaml.safe_load(ERRATA.read_text(encoding="utf-8"))
    return tuple(TypeAdapter(list[Erratum]).validate_python(loaded))


def annotate(sample: Sample) -> Sample:
    """The sample with its faulty properties marked."""

    def mark(prop: Property) -> Property:
        found = [entry for entry in errata() if entry.about(sample.question.id, prop.name)]
        return replace(prop, erratum="; ".join(f"{e.kind}: {e.reason}" for e in found) or None)

    return replace(sample, properties=tuple(map(mark, sample.properties)))


def verified(sample: Sample) -> Sample:
    """The sample with its faulty properties left out; the question itself stays as it is."""
    return replace(sample, properties=tuple(p for p in sample.properties if p.erratum is None))


def errata_found(samples: Sequence[Sample]) -> str:
    """One line: how many of the known faults are in these samples, and which are not."""
    counts = [(entry, entry.found(samples)) for entry in errata()]
    total = sum(entry.count for entry in errata())
    matched = sum(min(entry.count, found) for entry, found in counts)
    text = f"known faulty properties: {matched} of {total} are in these {len(samples)} questions"
    less = ", ".join(str(entry) for entry, found in counts if found < entry.count)
    more = ", ".join(str(entry) for entry, found in counts if found > entry.count)
    text += f"; not all of: {less}" if less else ""
    return text + (f"; more properties than expected: {more}" if more else "")


def warn_of_unused(samples: Sequence[Sample]) -> None:
    """Log which entries match nothing in the whole set of questions: they name it wrongly."""
    unused = [str(entry) for entry in errata() if not entry.found(samples)]
    if unused and len(samples) >= QUESTIONS:
        log.warning(
            "%s: no property of the %d questions matches %s; correct these entries",
            ERRATA.name, len(samples), ", ".join(unused),
        )  # fmt: skip

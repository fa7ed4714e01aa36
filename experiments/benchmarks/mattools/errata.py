"""Known faults of published MatTools properties: data in ``mattools_errata.yaml``."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
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
    """One entry.

    Attributes
    ----------
    question
        Regular expression for the whole id of the question; case does not count.
    property
        Regular expression for the whole name of the property; case does not count.
    count
        How many properties it is about.
    kind
        ``impossible``: no right answer passes; ``contradicting``: the library of the published
        versions returns something else; ``vacuous``: an answer without content passes.
    reason
        What was found.
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


@cache
def errata() -> tuple[Erratum, ...]:
    """All entries."""
    loaded = yaml.safe_load(ERRATA.read_text(encoding="utf-8"))
    return tuple(TypeAdapter(list[Erratum]).validate_python(loaded))


def annotate(sample: Sample) -> Sample:
    """The sample with its faulty properties marked."""
    return replace(
        sample, properties=tuple(_mark(sample.question.id, p) for p in sample.properties)
    )


def verified(sample: Sample) -> Sample:
    """The sample with its faulty properties left out; the question itself stays as it is."""
    return replace(sample, properties=tuple(p for p in sample.properties if p.erratum is None))


def _mark(question_id: str, prop: Property) -> Property:
    found = [f"{e.kind}: {e.reason}" for e in errata() if e.about(question_id, prop.name)]
    return replace(prop, erratum="; ".join(found)) if found else prop


def errata_found(samples: Iterable[Sample]) -> str:
    """One line: how many of the known faults are in these samples, and which are not."""
    samples = list(samples)
    counts = [(entry, entry.found(samples)) for entry in errata()]
    total = sum(entry.count for entry in errata())
    matched = sum(min(entry.count, found) for entry, found in counts)
    text = f"known faulty properties: {matched} of {total} are in these {len(samples)} questions"
    more = [_name(entry) for entry, found in counts if found > entry.count]
    less = [_name(entry) for entry, found in counts if found < entry.count]
    if less:
        text += f"; not all of: {', '.join(less)}"
    if more:
        text += f"; more properties than expected: {', '.join(more)}"
    return text


def warn_of_unused(samples: Iterable[Sample]) -> None:
    """Log which entries match nothing in the whole set of questions: they name it wrongly."""
    samples = list(samples)
    if len(samples) < QUESTIONS:
        return
    unused = [_name(entry) for entry in errata() if not entry.found(samples)]
    if unused:
        log.warning(
            "%s: no property of the %d questions matches %s; correct these entries",
            ERRATA.name, len(samples), ", ".join(unused),
        )  # fmt: skip


def _name(entry: Erratum) -> str:
    return f"{entry.question} / {entry.property} ({entry.kind})"

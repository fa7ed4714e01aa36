"""Known faults of published MatTools properties: data in ``errata.yaml``."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Literal

from pydantic import BaseModel, TypeAdapter

from experiments.samples import Property, Sample, data_of


class Erratum(BaseModel, extra="forbid", frozen=True):
    """One entry: ``count`` properties, by regular expressions for whole ids and names.

    It is ``impossible`` (no right answer passes), ``contradicting`` (the library of the published
    versions returns something else), ``vacuous`` (an answer without content passes) or
    ``unstated`` (the question leaves open what is compared).
    """

    question: str
    property: str
    count: int = 1
    kind: Literal["impossible", "contradicting", "vacuous", "unstated"]
    reason: str

    def about(self, question_id: str, name: str) -> bool:
        """Whether it speaks of this property."""
        pairs = ((self.question, question_id), (self.property, name))
        return all(re.fullmatch(pattern, text, re.IGNORECASE) for pattern, text in pairs)


@cache
def errata() -> tuple[Erratum, ...]:
    """All entries."""
    return tuple(TypeAdapter(list[Erratum]).validate_python(data_of(__file__)))


def annotate(sample: Sample, *, sound: bool = False) -> Sample:
    """The sample with its faulty properties marked, with ``sound`` without them."""

    def mark(prop: Property) -> Property:
        found = [entry for entry in errata() if entry.about(sample.question.id, prop.name)]
        return replace(prop, erratum="; ".join(f"{e.kind}: {e.reason}" for e in found) or None)

    marked = map(mark, sample.properties)
    return replace(sample, properties=tuple(p for p in marked if not (sound and p.erratum)))

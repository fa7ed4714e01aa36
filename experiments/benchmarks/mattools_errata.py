"""Known faults of published MatTools properties: data in ``mattools_errata.yaml``."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter

from experiments.tasks import Property, Task

ERRATA = Path(__file__).with_suffix(".yaml")


class Erratum(BaseModel):
    """One entry.

    Attributes
    ----------
    question
        Question id, ``*`` for any.
    property
        Regular expression for the whole name of the property.
    kind
        ``impossible``: no right answer passes; ``contradicting``: the library of the published
        versions returns something else; ``vacuous``: an answer without content passes.
    reason
        What was found.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str
    property: str
    kind: Literal["impossible", "contradicting", "vacuous"]
    reason: str

    def about(self, question_id: str, name: str) -> bool:
        """Whether it speaks of this property."""
        return self.question in ("*", question_id) and bool(re.fullmatch(self.property, name))


@cache
def errata() -> tuple[Erratum, ...]:
    """All entries."""
    loaded = yaml.safe_load(ERRATA.read_text(encoding="utf-8"))
    return tuple(TypeAdapter(list[Erratum]).validate_python(loaded))


def annotate(task: Task) -> Task:
    """The task with its faulty properties marked."""
    return replace(task, properties=tuple(_mark(task.question.id, p) for p in task.properties))


def verified(task: Task) -> Task:
    """The task with its faulty properties left out; the question itself stays as it is."""
    return replace(task, properties=tuple(p for p in task.properties if p.erratum is None))


def _mark(question_id: str, prop: Property) -> Property:
    found = next((e for e in errata() if e.about(question_id, prop.name)), None)
    return prop if found is None else replace(prop, erratum=f"{found.kind}: {found.reason}")

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

from experiments.tasks import Property, Task

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

    def found(self, tasks: Iterable[Task]) -> int:
        """How many properties of these tasks it speaks of."""
        return sum(self.about(task.question.id, prop.name) for task in tasks
                   for prop in task.properties)  # fmt: skip


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
    found = [f"{e.kind}: {e.reason}" for e in errata() if e.about(question_id, prop.name)]
    return replace(prop, erratum="; ".join(found)) if found else prop


def errata_found(tasks: Iterable[Task]) -> str:
    """One line: how many of the known faults are in these tasks, and which are not."""
    tasks = list(tasks)
    counts = [(entry, entry.found(tasks)) for entry in errata()]
    total = sum(entry.count for entry in errata())
    matched = sum(min(entry.count, found) for entry, found in counts)
    text = f"known faulty properties: {matched} of {total} are in these {len(tasks)} questions"
    more = [_name(entry) for entry, found in counts if found > entry.count]
    less = [_name(entry) for entry, found in counts if found < entry.count]
    if less:
        text += f"; not all of: {', '.join(less)}"
    if more:
        text += f"; more properties than expected: {', '.join(more)}"
    return text


def warn_of_unused(tasks: Iterable[Task]) -> None:
    """Log which entries match nothing in the whole set of questions: they name it wrongly."""
    tasks = list(tasks)
    if len(tasks) < QUESTIONS:
        return
    unused = [_name(entry) for entry in errata() if not entry.found(tasks)]
    if unused:
        log.warning(
            "%s: no property of the %d questions matches %s; correct these entries",
            ERRATA.name, len(tasks), ", ".join(unused),
        )  # fmt: skip


def _name(entry: Erratum) -> str:
    return f"{entry.question} / {entry.property} ({entry.kind})"

"""A world: an invented package, and questions about it. Pure: the same knobs, the same bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from experiments.benchmarks.invented.draw import Draw
from experiments.benchmarks.invented.entries import Entry
from experiments.benchmarks.invented.graph import Symbol
from experiments.benchmarks.invented.grow import grow
from experiments.benchmarks.invented.knobs import Knobs
from experiments.benchmarks.invented.package import former, write_package
from experiments.benchmarks.invented.questions import InventedQuestion, draw_questions


@dataclass(frozen=True)
class World:
    """A package with questions."""

    knobs: Knobs
    package: str  # import name
    files: Mapping[str, str]  # file name -> text of the package
    symbols: Mapping[str, Symbol]  # by dotted name
    by_term: Mapping[str, Entry]
    told: Mapping[str, Entry]  # what the documentation tells that is no longer true, by path
    questions: tuple[InventedQuestion, ...]

    @property
    def digest(self) -> str:
        """Of everything that is drawn: the same on every machine and Python version."""
        asked = [
            (q.id, q.goal, q.reference, [(a.description, a.gold) for a in q.asked])
            for q in self.questions
        ]
        return hashlib.sha256(repr((sorted(self.files.items()), asked)).encode()).hexdigest()[:16]


def generate(knobs: Knobs) -> World:
    """The world of these knobs.

    Raises
    ------
    WorldError
        When no question passes its gates.
    """
    draft = grow(knobs)
    told: dict[str, Entry] = {}
    if knobs.docs == "outdated":
        for path, symbol in draft.symbols.items():
            entry = symbol.entry
            said = former(entry, Draw(knobs.seed, "outdated", entry.term))
            told |= {path: said} if said != entry else {}
    return World(
        knobs=knobs,
        package=draft.package,
        files=write_package(draft, told),
        symbols=draft.symbols,
        by_term=draft.by_term,
        told=told,
        questions=tuple(draw_questions(draft)),
    )

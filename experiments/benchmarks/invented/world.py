"""A world: an invented package, and questions about it. Pure: the same knobs, the same bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from experiments.benchmarks.invented.draw import Draw
from experiments.benchmarks.invented.entries import Entry
from experiments.benchmarks.invented.graph import Symbol
from experiments.benchmarks.invented.grow import grow
from experiments.benchmarks.invented.knobs import KnobError, Knobs
from experiments.benchmarks.invented.package import former, write_package
from experiments.benchmarks.invented.questions import InventedQuestion, WorldError, draw_questions

#: What of a world a caller may see, and what no sandbox of an answer ever does.
PACKAGE, PRIVATE = "package", "private"


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


def write(world: World, out: Path) -> None:
    """Write ``package/`` and ``private/questions/``, without golds: a checker writes those."""
    for name, text in world.files.items():
        path = out / PACKAGE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for question in world.questions:
        folder = out / PRIVATE / "questions" / question.id
        folder.mkdir(parents=True, exist_ok=True)
        spec = {
            "area": "invented",
            "depth": question.depth,
            "breadth": question.breadth,
            "properties": [
                {
                    "name": one.name,
                    "description": one.description,
                    "format": one.format,
                    "compare": "close" if "float" in one.format else "equal",
                }
                for one in question.asked
            ],
            "goal": question.goal,
        }  # JSON is YAML
        text = json.dumps(spec, indent=1, ensure_ascii=False) + "\n"
        (folder / "task.yaml").write_text(text, encoding="utf-8")
        (folder / "reference.py").write_text(question.reference, encoding="utf-8")
    facts = {"package": world.package, "symbols": len(world.symbols), "knobs": asdict(world.knobs)}
    (out / PRIVATE / "world.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


__all__ = ["KnobError", "Knobs", "World", "WorldError", "generate", "write"]

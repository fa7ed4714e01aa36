"""Everything that led to one verdict: prompt, steps, code, execution, reasons.

``matsmith show`` prints it; the page about a run shows it by the same templates, which escape all
that varies.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import contains
from pathlib import Path
from typing import Annotated, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import BaseModel, Field

from experiments.files import read_json
from experiments.record import Record, read_record
from experiments.report.tables import money, number
from experiments.run.store import figures_path, trajectory_path
from foundation.command import Command, Word
from foundation.errors import UsageError
from foundation.terminal import printable

#: Characters of one text in a terminal unless ``full=true``.
SHORT = 1500
#: Characters of one text of a step; the trajectory file holds all of it.
MOST = 30_000

HERE = Path(__file__).parent


def _hit(hit: Mapping[str, Any]) -> str:
    """A document that was found."""
    score = hit.get("score")
    rounded = f"{score:.3f}" if isinstance(score, float | int) else "-"
    return f"{rounded}  {hit.get('name')}"


def _call(call: Mapping[str, Any]) -> str:
    """A tool call, as the model wanted it."""
    return f"{call.get('name')}({', '.join(call.get('arguments') or ())})"


def _arguments(arguments: Mapping[str, Any] | None) -> str:
    """Arguments of a tool, but for code."""
    plain = (arguments or {}).items()
    return ", ".join(f"{name}={value!r}" for name, value in plain if name != "code")


def _long_text(text: object) -> str:
    """A text, cut where it is too long to show."""
    whole = str(text)
    left = len(whole) - MOST
    more = f"\n... {left} more characters in the trajectory file"
    return whole[:MOST] + more if left > 0 else whole


TEMPLATES = Environment(
    loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined
)
TEMPLATES.filters |= {
    "call": _call,
    "arguments": _arguments,
    "hit": _hit,
    "long_text": _long_text,
    "money": money,
    "number": number,
    "rest": lambda step: {n: step[n] for n in step if n != "kind"},
}
TEMPLATES.tests["contains"] = contains


class ShowOptions(BaseModel, extra="forbid", frozen=True):
    """Arguments of ``matsmith show``."""

    run: Annotated[Path, Word()] = Field(description="run folder")
    question: Annotated[str, Word()] = Field(description="id of the question")
    seed: int = Field(0, description="which sample of the answer")
    full: bool = Field(False, description="do not shorten anything")


def _action(options: ShowOptions) -> int:
    path = _find(options.run, options.question, options.seed)
    print(describe(read_record(path), limit=None if options.full else SHORT))
    figures = figures_path(options.run, options.question, options.seed)
    if figures.exists():
        titles = printable(", ".join(read_json(figures)))
        print(f"figures ({titles}): in report.html of the run, under this question")
    return 0


def _find(run: Path, question: str, seed: int) -> Path:
    path = trajectory_path(run, question, seed)
    if path.exists():
        return path
    names = sorted(file.stem for file in run.glob("trajectories/*.json"))
    if not names:
        raise UsageError(f"{run}: is not a run folder (no trajectories in it)")
    raise UsageError(
        f"{run}: has no answer to question {question} with seed {seed}; "
        f"there are (question-seed): {', '.join(names)}"
    )


def describe(record: Record, *, limit: int | None = None) -> str:
    """A record as text, in the order in which things happened; control signs are visible."""

    def cut(value: object) -> str:
        text = printable(value)
        if limit is None or len(text) <= limit:
            return text
        return f"{text[:limit]} ... ({len(text) - limit} more characters; full=true)"

    environment = TEMPLATES.overlay(autoescape=False)
    environment.filters = {**TEMPLATES.filters, "cut": cut}
    return environment.get_template("show.txt.j2").render(dict(record))


main = Command("matsmith show", str(__doc__).partition("\n")[0], ShowOptions, _action)

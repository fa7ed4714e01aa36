"""Everything that led to one verdict: prompt, steps, code, execution, reasons."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from experiments.report.steps import describe_step
from experiments.report.templates import TEMPLATES
from experiments.run.store import figures_path, read_json, trajectory_path
from matsmith.core.command import Command, Word
from matsmith.core.errors import UsageError
from matsmith.core.terminal import printable

#: Characters of one text unless ``full=true``.
SHORT = 1500


class Options(BaseModel, extra="forbid", frozen=True):
    """Arguments of ``matsmith show``."""

    run: Annotated[Path, Word()] = Field(description="run folder")
    question: Annotated[str, Word()] = Field(description="id of the question")
    seed: int = Field(0, description="which sample of the answer")
    full: bool = Field(False, description="do not shorten anything")


def _action(options: Options) -> int:
    trajectory = _find(options.run, options.question, options.seed)
    print(describe(trajectory, limit=None if options.full else SHORT))
    figures = figures_path(options.run, options.question, options.seed)
    if figures.exists():
        titles = printable(", ".join(read_json(figures)))
        print(f"figures ({titles}): in report.html of the run, under this question")
    return 0


def _find(run: Path, question: str, seed: int) -> dict[str, Any]:
    path = trajectory_path(run, question, seed)
    if path.exists():
        return read_json(path)
    names = sorted(file.stem for file in run.glob("trajectories/*.json"))
    if not names:
        raise UsageError(f"{run}: is not a run folder (no trajectories in it)")
    raise UsageError(
        f"{run}: has no answer to question {question} with seed {seed}; "
        f"there are (question-seed): {', '.join(names)}"
    )


def describe(trajectory: Mapping[str, Any], *, limit: int | None = None) -> str:
    """A trajectory as text, in the order in which things happened; control signs are visible."""

    def shown(value: object) -> str:
        text = printable(value)
        if limit is not None and len(text) > limit:
            text = text[:limit] + f" ... ({len(text) - limit} more characters; full=true)"
        return text

    environment = TEMPLATES.overlay(autoescape=False)
    environment.filters = {**TEMPLATES.filters, "shown": shown}
    described = list(map(describe_step, trajectory["steps"]))
    return environment.get_template("show.txt.j2").render(trajectory, described=described)


main = Command("matsmith show", str(__doc__), Options, _action)

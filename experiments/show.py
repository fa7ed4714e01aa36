"""Everything that led to one verdict: prompt, steps, code, execution, reasons."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from experiments.report.steps import describe_step
from experiments.store import figures_path, read_json, trajectory_path
from sandbox.colours import coloured
from sandbox.command import UsageError, Word, run
from sandbox.terminal import printable

#: Characters of one block unless ``full=true``.
SHORT = 1500


class Options(BaseModel):
    """Arguments of ``python -m experiments.show``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run: Annotated[Path, Word()] = Field(description="run folder")
    question: Annotated[str, Word()] = Field(description="id of the question")
    seed: int = Field(0, description="which sample of the answer")
    full: bool = Field(False, description="do not shorten anything")


def _action(options: Options) -> int:
    console = Console()
    trajectory = _find(options.run, options.question, options.seed)
    for part in describe(trajectory, limit=None if options.full else SHORT):
        console.print(part)
    figures = figures_path(options.run, options.question, options.seed)
    if figures.exists():
        titles = printable(", ".join(read_json(figures)))
        console.print(Text(f"figures ({titles}): in report.html of the run, under this question"))
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see ``--help``."""
    return run("python -m experiments.show", str(__doc__), Options, _action, arguments)


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


def describe(
    trajectory: Mapping[str, Any], *, limit: int | None = None
) -> Iterator[RenderableType]:
    """Parts to print, in the order in which things happened.

    Everything of a model is plain `Text`: markup and control sequences in it do nothing.
    """
    question = trajectory["question"]
    yield Rule(_text(f"{question['id']}, seed {trajectory['seed']}", None))
    yield Panel(_text(question["prompt"], limit), title="prompt", title_align="left")
    for number, step in enumerate(trajectory["steps"], start=1):
        described = describe_step(step)
        blocks = [_block(block, limit) for block in described["blocks"]]
        title = _text(f"{number}. {described['title']}", None)
        yield Panel(Group(*blocks), title=title, title_align="left") if blocks else title
    if trajectory["code"]:
        code = coloured(trajectory["code"])
        yield Panel(code, title="final code", title_align="left")
    elif trajectory["value"] is not None:
        yield Panel(_text(trajectory["value"], limit), title="answer", title_align="left")
    if trajectory["execution"]:
        yield _execution(trajectory["execution"], limit)
    yield _text(f"stopped because: {trajectory['stop_reason']}", None)
    if trajectory["error"]:
        yield _text(trajectory["error"], limit)
    yield _verdict(trajectory)


def _block(block: Mapping[str, Any], limit: int | None) -> RenderableType:
    title = Text(printable(f"{block['title']}:" if block["title"] else ""), style="dim")
    if "lines" not in block:
        return Group(title, _text(block["text"], limit))
    table = Table.grid(padding=(0, 2))
    for line in block["lines"]:
        table.add_row(*(_text(cell, limit) for cell in line))
    return Group(title, table)


def _execution(execution: Mapping[str, Any], limit: int | None) -> Panel:
    parts = ["error", "stdout", "stderr"]
    if execution["outcome"] == "ok":
        parts.insert(0, "result")
    blocks = [
        Group(Text(f"{part}:", style="dim"), _text(execution[part], limit))
        for part in parts
        if execution[part]
    ]
    title = f"execution: {execution['outcome']}, {execution['seconds']:.2f} s, {execution['tier']}"
    return Panel(Group(*blocks), title=_text(title, None), title_align="left")


def _verdict(trajectory: Mapping[str, Any]) -> RenderableType:
    verdict = trajectory["verdict"]
    if verdict["passed"] is None:
        return Text("no verdict: a component of matsmith failed")
    table = Table(title="verdict")
    for heading in ("part", "format", "", "why"):
        table.add_column(heading)
    formats = trajectory["question"]["formats"]
    for name, passed in verdict["passed"].items():
        mark = Text("passed", style="green") if passed else Text("failed", style="red")
        why = _text(verdict["reasons"].get(name, ""), None)
        table.add_row(_text(name, None), _text(formats.get(name, ""), None), mark, why)
    return table


def _text(value: object, limit: int | None) -> Text:
    text = printable(value)
    if limit is not None and len(text) > limit:
        text = text[:limit] + f" ... ({len(text) - limit} more characters; full=true)"
    return Text(text)


if __name__ == "__main__":
    sys.exit(main())

"""``python -m experiments.benchmarks.live``: prove the questions, their golds, their labels."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from experiments.benchmarks.live import difficulty, drift
from experiments.benchmarks.live.selection import RECORDED, select
from experiments.benchmarks.question_check import Checker, Report
from experiments.benchmarks.question_format import ENVIRONMENT, QuestionError
from sandbox.base import SandboxError
from sandbox.terminal import printable

USAGE = """\
python -m experiments.benchmarks.live check [ids=ID,ID,...] [backend=auto] [--write]
python -m experiments.benchmarks.live drift --help        does every committed gold still hold?
python -m experiments.benchmarks.live difficulty --help   count the labels of the questions

check runs every reference twice in the sandbox (different hash seeds) and proves that its values
pass and that None, zero, empty and perturbed ones fail. --write stores the values of the questions
that pass as their gold.json; without it they are compared with the stored ones.
Exit code 0: all is well, 1: findings, 2: wrong usage or no sandbox.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or {"-h", "--help", "help"} & set(words):
        print(USAGE, end="")
        return 0 if words else 2
    if words[0] in {"drift", "difficulty"}:
        run = drift.main if words[0] == "drift" else difficulty.main
        return run(words[1:])
    console = Console(stderr=True)
    try:
        ids, backend, write = _parse(words)
        folders = select(ids)
        reports = asyncio.run(_check(folders, backend, write, console))
    except (QuestionError, SandboxError) as error:
        console.print(f"live: {printable(error)}", style="red", markup=False, highlight=False)
        return 2
    except KeyboardInterrupt:
        return 130
    bad = sum(bool(report.findings) for report in reports)
    total = sum(report.properties for report in reports)
    print(f"{len(reports)} questions, {total} properties, {bad} questions with findings")
    return 1 if bad else 0


async def _check(
    folders: Sequence[Path], backend: str, write: bool, console: Console
) -> list[Report]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    reports = []
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("references", total=len(folders))
        async with Checker(backend, env=ENVIRONMENT, recorded=RECORDED) as checker:
            for folder in folders:
                report = await checker.check(folder, write=write)
                progress.console.print(_line(report), markup=False, highlight=False, soft_wrap=True)
                progress.advance(task)
                reports.append(report)
    return reports


def _parse(words: list[str]) -> tuple[list[str], str, bool]:
    if words[0] != "check":
        msg = f"no command {words[0]!r}; there are: check, drift, difficulty"
        raise QuestionError(msg)
    ids: list[str] = []
    backend, write = "auto", False
    for word in words[1:]:
        key, _, value = word.partition("=")
        if word == "--write":
            write = True
        elif key == "ids" and value:
            ids = value.split(",")
        elif key == "backend" and value:
            backend = value
        else:
            msg = f"{word!r} is not one of ids=..., backend=..., --write"
            raise QuestionError(msg)
    return ids, backend, write


def _line(report: Report) -> str:
    times = "/".join(f"{seconds:.1f}" for seconds in report.seconds)
    state = "findings" if report.findings else "written" if report.written else "ok"
    head = f"{report.question_id}: {report.properties} properties, {times or '-'} s, {state}"
    return "\n".join([head, *(f"    {finding}" for finding in report.findings)])


if __name__ == "__main__":
    sys.exit(main())

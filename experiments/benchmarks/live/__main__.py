"""Prove the questions of ``live``, their golds, their labels."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console

from experiments.benchmarks.live import difficulty, drift
from experiments.benchmarks.live.selection import RECORDED, select
from experiments.benchmarks.question_check import Checker, Report
from experiments.benchmarks.question_format import ENVIRONMENT, QuestionError
from sandbox.command import Command, Commas, run_one_of
from sandbox.progress import meter

_ABOUT = """\
Runs every reference twice in the sandbox (different hash seeds) and proves that its values pass and
that None, zero, empty and perturbed ones fail. write=true stores the values of the questions that
pass as their gold.json; without it they are compared with the stored ones."""


class Options(BaseModel):
    """Arguments of ``check``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ids: Annotated[tuple[str, ...], Commas] = Field((), description="only these questions")
    backend: str = Field("auto", description="sandbox")
    write: bool = Field(False, description="store the values of questions that pass")


async def _check(options: Options) -> int:
    folders = select(list(options.ids))
    console = Console(stderr=True)
    reports: list[Report] = []
    with meter("references", len(folders), show=True) as progress:
        async with Checker(options.backend, env=ENVIRONMENT, recorded=RECORDED) as checker:
            for folder in folders:
                report = await checker.check(folder, write=options.write)
                console.print(_line(report), markup=False, highlight=False, soft_wrap=True)
                progress.advance()
                reports.append(report)
    bad = sum(bool(report.findings) for report in reports)
    total = sum(report.properties for report in reports)
    print(f"{len(reports)} questions, {total} properties, {bad} questions with findings")
    return 1 if bad else 0


def _line(report: Report) -> str:
    times = "/".join(f"{seconds:.1f}" for seconds in report.seconds)
    state = "findings" if report.findings else "written" if report.written else "ok"
    head = f"{report.question_id}: {report.properties} properties, {times or '-'} s, {state}"
    return "\n".join([head, *(f"    {finding}" for finding in report.findings)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0: all is well, 1: findings (see `sandbox.command`)."""
    program = "python -m experiments.benchmarks.live"
    check = Command(f"{program} check", _ABOUT, Options, _check, errors=(QuestionError,))
    commands: dict[str, Callable[[Sequence[str]], int]] = {
        "check": check,
        "drift": drift.main,
        "difficulty": difficulty.main,
    }
    return run_one_of(program, str(__doc__), commands, arguments)


if __name__ == "__main__":
    sys.exit(main())

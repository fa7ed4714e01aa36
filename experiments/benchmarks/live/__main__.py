"""Prove the questions of ``live``, their golds, their labels."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console

from experiments.benchmarks.live import difficulty, drift
from experiments.benchmarks.live.selection import RECORDED, select
from experiments.benchmarks.question_check import Checker, check_all, conclude
from experiments.benchmarks.question_format import ENVIRONMENT, QuestionError
from sandbox.command import Command, Commas, run_one_of

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
    async with Checker(options.backend, env=ENVIRONMENT, recorded=RECORDED) as checker:
        return conclude(await check_all(checker, folders, write=options.write, console=console))


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

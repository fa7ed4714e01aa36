"""Questions that have a reference solution: those in a folder of one's own, and ours."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field
from rich.console import Console

from experiments.benchmarks.folder.benchmark import read_manifest
from experiments.benchmarks.question_check import ABOUT, Checker, CheckOptions, check_all
from experiments.benchmarks.question_format import ENVIRONMENT, QUESTIONS, RECORDED
from matsmith.core.command import Command, Word, run_one_of
from sandbox import environments


class Options(CheckOptions):
    """Arguments of ``check``."""

    path: Annotated[Path | None, Word()] = Field(
        None, description="folder with benchmark.yaml and questions/; without: those of `live`"
    )


async def _check(options: Options) -> int:
    questions, env, recorded = QUESTIONS, ENVIRONMENT, set(RECORDED)
    if options.path is not None:
        manifest, questions = read_manifest(options.path), options.path / "questions"
        env = manifest.environment_seen_from(options.path)
        recorded = {*manifest.versions, manifest.package, "numpy", "scipy", environments.OWN}
    await asyncio.to_thread(environments.build, env, say=Console(stderr=True).print)
    async with Checker(options.backend, env=env, recorded=sorted(recorded)) as checker:
        return await check_all(checker, questions, options)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0: all is well, 1: findings (see `matsmith.core.command`)."""
    program = "matsmith folder"
    check = Command(f"{program} check", ABOUT, Options, _check)
    return run_one_of(program, str(__doc__), {"check": check}, arguments)


if __name__ == "__main__":
    sys.exit(main())

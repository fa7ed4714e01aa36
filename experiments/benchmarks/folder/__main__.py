"""Questions in a folder of one's own (``benchmark=folder``)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field
from rich.console import Console

from experiments.benchmarks.folder.benchmark import BuiltSpec, read_manifest
from experiments.benchmarks.question_check import ABOUT, Checker, CheckOptions, check_all
from matsmith.core.command import Command, Word, run_one_of
from sandbox import environments


class Options(CheckOptions):
    """Arguments of ``check``."""

    path: Annotated[Path, Word()] = Field(description="folder with benchmark.yaml and questions/")


async def _check(options: Options) -> int:
    manifest = read_manifest(options.path)
    env = manifest.environment_seen_from(options.path)
    await asyncio.to_thread(environments.build, env, say=Console(stderr=True).print)
    recorded = sorted({*manifest.versions, manifest.package, "numpy", "scipy", environments.OWN})
    async with Checker(options.backend, env=env, form=BuiltSpec, recorded=recorded) as checker:
        return await check_all(checker, options.path / "questions", options)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0: all is well, 1: findings (see `matsmith.core.command`)."""
    program = "matsmith folder"
    about = ABOUT.format("questions (docs/questions.md says how they are written)")
    check = Command(f"{program} check", about, Options, _check)
    return run_one_of(program, str(__doc__), {"check": check}, arguments)


if __name__ == "__main__":
    sys.exit(main())

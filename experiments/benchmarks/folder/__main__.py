"""Questions that have a reference solution: those in a folder of one's own, and ours."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field
from rich.console import Console

from experiments.benchmarks.folder.benchmark import read_manifest
from experiments.benchmarks.question_check import Checker
from experiments.benchmarks.question_format import (
    ENVIRONMENT,
    QUESTIONS,
    RECORDED,
    QuestionError,
    question_folders,
)
from matsmith.core.command import Command, Commas, Word, run_one_of
from matsmith.core.progress import meter
from matsmith.core.terminal import printable
from sandbox import environments

ABOUT = """\
Proves questions (docs/questions.md says how they are written). Every reference runs twice in the
sandbox (different hash seeds); its values must pass their own verification, and None, zero, empty
and perturbed ones must fail. write=true stores the values of the questions that pass as their
gold.json; without it they are compared with the stored ones."""


class Options(BaseModel, extra="forbid", frozen=True):
    """Arguments of ``check``."""

    ids: Annotated[tuple[str, ...], Commas] = Field((), description="only these questions")
    backend: str = Field("auto", description="sandbox")
    write: bool = Field(False, description="store the values of questions that pass")
    path: Annotated[Path | None, Word()] = Field(
        None, description="folder with benchmark.yaml and questions/; without: those of `live`"
    )


async def _check(options: Options) -> int:
    """Check questions and print what is found; 1 when there is anything."""
    root, env, recorded = QUESTIONS, ENVIRONMENT, set(RECORDED)
    if options.path is not None:
        manifest, root = read_manifest(options.path), options.path / "questions"
        env = manifest.environment_seen_from(options.path)
        recorded = {*manifest.versions, manifest.package, "numpy", "scipy", environments.OWN}
    console, reports = Console(stderr=True), []
    await asyncio.to_thread(environments.build, env, say=console.print)
    async with Checker(options.backend, env=env, recorded=sorted(recorded)) as checker:
        found = {folder.name: folder for folder in question_folders(root)}
        if not found:
            raise QuestionError(f"{root}: no folder with a task.yaml in it")
        if unknown := ",".join(sorted(set(options.ids) - set(found))):
            raise QuestionError(f"ids={unknown}: not there; {root} has {', '.join(found)}")
        names = options.ids or tuple(found)
        with meter("references", len(names), show=True) as progress:
            for name in names:
                reports.append(await checker.check(found[name], write=options.write))
                text = printable(reports[-1].text)
                console.print(text, markup=False, highlight=False, soft_wrap=True)
                progress.advance()
    bad = sum(bool(report.findings) for report in reports)
    total = sum(report.properties for report in reports)
    print(f"{len(reports)} questions, {total} properties, {bad} questions with findings")
    return 1 if bad else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0: all is well, 1: findings (see `matsmith.core.command`)."""
    program = "matsmith folder"
    check = Command(f"{program} check", ABOUT, Options, _check)
    return run_one_of(program, str(__doc__), {"check": check}, arguments)


if __name__ == "__main__":
    sys.exit(main())

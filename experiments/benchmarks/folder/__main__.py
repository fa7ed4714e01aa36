"""Questions in a folder of one's own (``benchmark=folder``)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console

from experiments.benchmarks.folder.benchmark import BuiltSpec, read_manifest
from experiments.benchmarks.question_check import Checker, check_all, conclude
from experiments.benchmarks.question_format import QuestionError, question_folders
from sandbox import environments
from sandbox.command import Command, Commas, Word, run_one_of

_ABOUT = """\
Proves questions (docs/questions.md says how they are written). Every reference runs twice in the
sandbox (different hash seeds); its values must pass their own verification, and None, zero, empty
and perturbed ones must fail. write=true stores the values of the questions that pass as their
gold.json; without it they are compared with the stored ones."""


class Options(BaseModel):
    """Arguments of ``check``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Annotated[Path, Word()] = Field(description="folder with benchmark.yaml and questions/")
    ids: Annotated[tuple[str, ...], Commas] = Field((), description="only these questions")
    backend: str = Field("auto", description="sandbox")
    write: bool = Field(False, description="store the values of questions that pass")


async def _check(options: Options) -> int:
    manifest, folders = read_manifest(options.path), _select(options.path, options.ids)
    console = Console(stderr=True)
    env = manifest.environment_seen_from(options.path)
    await asyncio.to_thread(environments.build, env, say=console.print)
    recorded = sorted({*manifest.versions, manifest.package, "numpy", "scipy", environments.OWN})
    async with Checker(options.backend, env=env, form=BuiltSpec, recorded=recorded) as checker:
        return conclude(await check_all(checker, folders, write=options.write, console=console))


def _select(root: Path, ids: Sequence[str]) -> list[Path]:
    found = {folder.name: folder for folder in question_folders(root / "questions")}
    if not found:
        msg = f"{root / 'questions'}: no folder with a task.yaml in it"
        raise QuestionError(msg)
    unknown = sorted(set(ids) - set(found))
    if unknown:
        msg = f"ids={','.join(unknown)}: not there; {root / 'questions'} has {', '.join(found)}"
        raise QuestionError(msg)
    return [found[name] for name in ids] if ids else list(found.values())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0: all is well, 1: findings (see `sandbox.command`)."""
    program = "python -m experiments.benchmarks.folder"
    check = Command(f"{program} check", _ABOUT, Options, _check, errors=(QuestionError,))
    return run_one_of(program, str(__doc__), {"check": check}, arguments)


if __name__ == "__main__":
    sys.exit(main())

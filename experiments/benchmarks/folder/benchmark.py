"""A folder of questions: written by hand, or made of unit tests (`matsmith questions`).

``benchmark.yaml`` says which package and environment they are for; ``questions/<id>/`` is a
question as :mod:`experiments.benchmarks.question_format` reads it. `matsmith folder check` proves
questions that have a reference solution: those of a folder, or ours.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field
from rich.console import Console

from experiments.benchmarks.question_check import Checker
from experiments.benchmarks.question_format import (
    ENVIRONMENT,
    MANIFEST,
    QUESTIONS,
    RECORDED,
    Level,
    QuestionError,
    question_folders,
    read_file,
    read_tasks,
)
from experiments.benchmarks.question_gold import ReferenceGold
from experiments.samples import Sample
from experiments.scorers.properties import PropertyScorer
from foundation.command import Command, Commas, Word, run_one_of
from foundation.progress import meter
from foundation.terminal import printable
from sandbox import environments, libraries, stoppable

_COMMANDS = "Check questions that have a reference solution: those in your own folder, and ours."
ABOUT = """\
Proves questions (docs/questions.md says how they are written). Every reference runs twice in the
sandbox (different hash seeds); its values must pass their own verification, and None, zero, empty
and perturbed ones must fail. write=true stores the values of the questions that pass as their
gold.json; without it they are compared with the stored ones."""
_ROLE = (
    "You solve tasks in Python with the package {package}. Write one function that computes these "
    "properties:"
)


#: Name of an import package.
Dotted = Annotated[
    str, Field(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*\z", max_length=200)
]


class QuestionSet(BaseModel, extra="forbid", frozen=True):
    """The content of ``benchmark.yaml``; paths are relative to it, and stay below its folder."""

    package: Dotted  # import name under test
    packages: tuple[
        Dotted, ...
    ] = ()  # those whose documentation is retrieved (without: that one)
    environment: str = "live"  # name, also of a learnt library, or path
    overlay: str = (
        ""  # folder of import packages that are put in front of the environment
    )
    versions: dict[
        str, str
    ] = {}  # of the distributions that the golds were computed with
    writer: str = "hand"  # or ``tests``: made from unit tests

    def environment_seen_from(self, folder: Path) -> str:
        """The environment as `sandbox.environments` takes it.

        A `QuestionError` when a path leaves the folder, or the code that is tested would see the
        golds.
        """
        if self.overlay:
            own = self._below(folder, "overlay", self.overlay)
            questions = (folder / "questions").resolve()
            if questions.is_relative_to(own) or own.is_relative_to(questions):
                raise QuestionError(
                    f"{folder / MANIFEST}: overlay: {self.overlay}: code that is tested would see"
                    " the golds; put the packages into a folder of their own"
                )
            return libraries.overlay(self.package, base=self.environment, folder=own)
        if "/" not in self.environment:
            learnt = {library.name: library.env for library in libraries.all_learnt()}
            return learnt.get(self.environment, self.environment)
        return str(self._below(folder, "environment", self.environment))

    @staticmethod
    def _below(folder: Path, key: str, path: str) -> Path:
        """Where a path leads; what others wrote names no file of the reader's."""
        target = (folder / path).resolve()
        if not target.is_relative_to(folder.resolve()):
            msg = f"{folder / MANIFEST}: {key}: {path!r} leads out of the folder; copy it there"
            raise QuestionError(msg)
        return target


def portable_environment(env: str, folder: Path) -> str:
    """The counterpart of `QuestionSet.environment_seen_from`; one from elsewhere is copied."""
    if "/" not in env:
        return env
    place, folder = Path(env).expanduser().resolve(), folder.resolve()
    if not place.is_relative_to(folder):
        place = shutil.copytree(
            place, folder / "environment", symlinks=True, dirs_exist_ok=True
        )
    return f"./{place.relative_to(folder).as_posix()}"


def read_manifest(folder: Path) -> QuestionSet:
    """Read ``benchmark.yaml``."""
    path = folder / MANIFEST
    if path.exists():
        return read_file(path, QuestionSet)
    raise QuestionError(
        f"{path}: not found; write it by hand (docs/questions.md), or let"
        f" `matsmith questions tests=PATH package=NAME out={folder}` make it"
    )


class FolderBenchmark:
    """Tasks in a folder; ``conf/benchmark/folder.yaml`` explains its keys."""

    scorer = PropertyScorer()

    def __init__(
        self,
        path: Path | None = None,
        level: Level | None = None,
        name: str = "folder",
        library: str | None = None,
    ) -> None:
        if library is not None:
            path = libraries.learnt(library).tasks
            name = library
        if path is None:
            msg = "give benchmark.path=DIR, a folder with benchmark.yaml and questions/, or library"
            raise QuestionError(msg)
        self.name = name
        self._path = Path(path)
        self._level = level
        self._manifest = read_manifest(self._path)
        self.packages: Sequence[str] = self._manifest.packages or (
            self._manifest.package,
        )

    def load(self) -> list[Sample]:
        """All samples, sorted by question id."""
        return read_tasks(
            self._path / "questions",
            self._level,
            environment=self._manifest.environment_seen_from(self._path),
            labels={"package": self._manifest.package},
            role=_ROLE.format(package=self._manifest.package),
        )

    def gold(self, *, trace: bool = True) -> ReferenceGold:
        """What retrieval is measured against."""
        questions = self._path / "questions"
        return ReferenceGold(
            self.name, questions, self.load(), self.packages, trace=trace
        )


class FolderOptions(BaseModel, extra="forbid", frozen=True):
    """Arguments of ``check``."""

    ids: Annotated[tuple[str, ...], Commas] = Field(
        (), description="only these questions"
    )
    backend: str = Field("auto", description="sandbox")
    write: bool = Field(False, description="store the values of questions that pass")
    path: Annotated[Path | None, Word()] = Field(
        None,
        description="folder with benchmark.yaml and questions/; without: those of `live`",
    )


async def _check(options: FolderOptions) -> int:
    """Check questions and print what is found; 1 when there is anything."""
    root = QUESTIONS
    env = ENVIRONMENT
    recorded = set(RECORDED)
    if options.path is not None:
        manifest = read_manifest(options.path)
        root = options.path / "questions"
        env = manifest.environment_seen_from(options.path)
        recorded = {
            *manifest.versions,
            manifest.package,
            "numpy",
            "scipy",
            environments.OWN,
        }
    console = Console(stderr=True)
    reports = []
    await stoppable.in_thread(environments.build, env, say=console.print)
    async with Checker(options.backend, env=env, recorded=sorted(recorded)) as checker:
        folders = {folder.name: folder for folder in question_folders(root)}
        if not folders:
            raise QuestionError(f"{root}: no folder with a task.yaml in it")
        if unknown := ",".join(sorted(set(options.ids) - set(folders))):
            raise QuestionError(
                f"ids={unknown}: not there; {root} has {', '.join(folders)}"
            )
        names = options.ids or tuple(folders)
        with meter("references", len(names), show=True) as progress:
            for name in names:
                reports.append(await checker.check(folders[name], write=options.write))
                text = printable(reports[-1].text)
                console.print(text, markup=False, highlight=False, soft_wrap=True)
                progress.advance()
    bad = sum(bool(report.findings) for report in reports)
    total = sum(report.properties for report in reports)
    print(
        f"{len(reports)} questions, {total} properties, {bad} questions with findings"
    )
    return 1 if bad else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0: all is well, 1: findings (see `foundation.command`)."""
    program = "matsmith folder"
    check = Command(f"{program} check", ABOUT, FolderOptions, _check)
    return run_one_of(program, _COMMANDS, {"check": check}, arguments)

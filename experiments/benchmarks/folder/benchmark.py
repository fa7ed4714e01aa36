"""A folder of samples that `python -m experiments.build_tasks` made from a library's unit tests.

``benchmark.yaml`` says which package and environment they are for; ``questions/<id>/`` is a
question as :mod:`experiments.benchmarks.question_format` reads it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from experiments.benchmarks.question_format import (
    Level,
    PropertySpec,
    QuestionError,
    TaskSpec,
    check_level,
    question_folders,
    read_task,
)
from experiments.benchmarks.question_gold import ReferenceGold
from experiments.samples import Sample
from experiments.scorers.properties import PropertyScorer

MANIFEST = "benchmark.yaml"
_ROLE = (
    "You solve tasks in Python with the package {package}. Write one function that computes these "
    "properties:"
)


class BuiltSpec(TaskSpec):
    """A ``task.yaml`` made from a unit test: one property is enough, the goal may be missing."""

    properties: Annotated[list[PropertySpec], Field(min_length=1, max_length=40)]
    goal: str = ""


class Manifest(BaseModel):
    """The content of ``benchmark.yaml``.

    Attributes
    ----------
    package, packages
        Import name under test, and those whose documentation is retrieved.
    environment
        Name of a sandbox environment, or a path relative to this file.
    versions
        Of the distributions that the golds were computed with.
    writer
        ``rules`` or the name of the chat model.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    package: str
    packages: tuple[str, ...]
    environment: str
    versions: dict[str, str]
    writer: str

    def environment_seen_from(self, folder: Path) -> str:
        """The environment as `sandbox.environments` takes it."""
        if "/" not in self.environment:
            return self.environment
        return str((folder / self.environment).resolve())


def portable_environment(env: str, folder: Path) -> str:
    """The counterpart of `Manifest.environment_seen_from`: a path as ``folder`` sees it."""
    if "/" not in env:
        return env
    seen = os.path.relpath(Path(env).expanduser().resolve(), folder.resolve())
    return seen if "/" in seen else f"./{seen}"


def read_manifest(folder: Path) -> Manifest:
    """Read ``benchmark.yaml``.

    Raises
    ------
    QuestionError
        When it is absent or wrong; names the file.
    """
    path = folder / MANIFEST
    try:
        content: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        return Manifest.model_validate(content)
    except FileNotFoundError:
        msg = f"{path}: not found; `python -m experiments.build_tasks ... out={folder}` makes it"
        raise QuestionError(msg) from None
    except (OSError, yaml.YAMLError, ValidationError) as error:
        msg = f"{path}: cannot be read: {error}"
        raise QuestionError(msg) from error


class FolderBenchmark:
    """Tasks in a folder.

    Parameters
    ----------
    path
        The folder.
    level
        ``scaffold``: code with masked names; ``goal``: in words (not written by ``model=rules``).
    name
        In tables.
    """

    scorer = PropertyScorer()

    def __init__(
        self, path: Path | None = None, level: Level = "scaffold", name: str = "folder"
    ) -> None:
        if path is None:
            msg = "benchmark.path=DIR must be given: what experiments.benchmarks.folder.build wrote"
            raise QuestionError(msg)
        self.name = name
        self._level: Level = level
        self._path = Path(path)
        self._manifest = read_manifest(self._path)
        self.packages: Sequence[str] = self._manifest.packages

    def load(self) -> list[Sample]:
        """All samples, sorted by question id.

        Raises
        ------
        QuestionError
            When a question is wrong, has no gold or no text of this level, or none is there.
        """
        check_level(self._level)
        folders = question_folders(self._path / "questions")
        if not folders:
            msg = f"{self._path}: no questions (see {self._path / 'rejected.jsonl'})"
            raise QuestionError(msg)
        return [
            read_task(
                folder,
                self._level,
                environment=self._manifest.environment_seen_from(self._path),
                labels={"package": self._manifest.package},
                form=BuiltSpec,
                role=_ROLE.format(package=self._manifest.package),
            )
            for folder in folders
        ]

    def gold(self, *, trace: bool = True) -> ReferenceGold:
        """What retrieval is measured against.

        Raises
        ------
        QuestionError
            As :meth:`load`.
        """
        questions = self._path / "questions"
        return ReferenceGold(self.name, questions, self.load(), self.packages, trace=trace)


@dataclass(frozen=True)
class BuiltFolder:
    """Where `experiments.benchmarks.folder.build` writes, and `FolderBenchmark` reads."""

    root: Path

    @property
    def questions(self) -> Path:
        """One folder per question."""
        return self.root / "questions"

    @property
    def rejected(self) -> Path:
        """One line per rejected test or assertion."""
        return self.root / "rejected.jsonl"

    def write_manifest(self, manifest: Manifest) -> None:
        """Write ``benchmark.yaml``."""
        text = yaml.safe_dump(manifest.model_dump(mode="json"), sort_keys=False)
        (self.root / MANIFEST).write_text(text, encoding="utf-8")

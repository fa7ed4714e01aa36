"""A folder of questions: written by hand, or made of unit tests (`experiments.build_tasks`).

``benchmark.yaml`` says which package and environment they are for; ``questions/<id>/`` is a
question as :mod:`experiments.benchmarks.question_format` reads it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from experiments.benchmarks.question_format import (
    MANIFEST,
    Level,
    PropertySpec,
    QuestionError,
    TaskSpec,
    check_level,
    faults,
    question_folders,
    read_task,
)
from experiments.benchmarks.question_gold import ReferenceGold
from experiments.samples import Sample
from experiments.scorers.properties import PropertyScorer
from sandbox import environments

SHORTEST = 40  # characters of a text that can be a question
_ROLE = (
    "You solve tasks in Python with the package {package}. Write one function that computes these "
    "properties:"
)


class BuiltSpec(TaskSpec):
    """A ``task.yaml`` of one's own: one property is enough, and one of the two texts.

    Other keys are allowed; they become labels of the answers.
    """

    model_config = ConfigDict(extra="allow")

    properties: Annotated[list[PropertySpec], Field(min_length=1, max_length=40)]
    scaffold: str = ""
    goal: str = ""

    @model_validator(mode="after")
    def _some_text(self) -> Self:
        near = {key: get_close_matches(key, type(self).model_fields, n=1, cutoff=0.8)
                for key in self.model_extra or {}}  # fmt: skip
        for key, known in near.items():
            if known and known[0] not in self.model_fields_set:
                msg = f"{key}: no such key; did you mean {known[0]}? Other keys are labels"
                raise ValueError(msg)
        if max(len(self.scaffold.strip()), len(self.goal.strip())) < SHORTEST:
            msg = f"write a scaffold or a goal, of {SHORTEST} characters or more"
            raise ValueError(msg)
        return self


class QuestionSet(BaseModel):
    """The content of ``benchmark.yaml``.

    Attributes
    ----------
    package, packages
        Import name under test, and those whose documentation is retrieved (without: that one).
    environment
        Name of a sandbox environment, or a path relative to this file.
    overlay
        Folder of import packages, relative to this file, that are put in front of the environment;
        empty where it has them.
    versions
        Of the distributions that the golds were computed with.
    writer
        ``rules``, the name of the chat model, or ``hand``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    package: str
    packages: tuple[str, ...] = ()
    environment: str = "live"
    overlay: str = ""
    versions: dict[str, str] = {}
    writer: str = "hand"

    def environment_seen_from(self, folder: Path) -> str:
        """The environment as `sandbox.environments` takes it.

        Raises
        ------
        QuestionError
            When the code that is tested would see the golds.
        SandboxError
            When there is nothing to put in front of it.
        """
        if self.overlay:
            own = (folder / self.overlay).resolve()
            questions = (folder / "questions").resolve()
            if questions.is_relative_to(own) or own.is_relative_to(questions):
                msg = (
                    f"{folder / MANIFEST}: overlay: {self.overlay}: code that is tested would see"
                    " the golds; put the packages into a folder of their own"
                )
                raise QuestionError(msg)
            return environments.overlay(self.package, base=self.environment, folder=own)
        if "/" not in self.environment:
            return self.environment
        return str((folder / self.environment).resolve())


def portable_environment(env: str, folder: Path) -> str:
    """The counterpart of `QuestionSet.environment_seen_from`: a path as ``folder`` sees it."""
    if "/" not in env:
        return env
    seen = os.path.relpath(Path(env).expanduser().resolve(), folder.resolve())
    return seen if "/" in seen else f"./{seen}"


def read_manifest(folder: Path) -> QuestionSet:
    """Read ``benchmark.yaml``.

    Raises
    ------
    QuestionError
        When it is absent or wrong; names the file.
    """
    path = folder / MANIFEST
    try:
        content: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        return QuestionSet.model_validate(content)
    except FileNotFoundError:
        msg = (
            f"{path}: not found; write it by hand (docs/questions.md), or let"
            f" `python -m experiments.build_tasks tests=PATH package=NAME out={folder}` make it"
        )
        raise QuestionError(msg) from None
    except (OSError, yaml.YAMLError) as error:
        msg = f"{path}: cannot be read: {error}"
        raise QuestionError(msg) from error
    except ValidationError as error:
        raise QuestionError(f"{path}: {faults(error)}") from error


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
            msg = "benchmark.path=DIR must be given: a folder with benchmark.yaml and questions/"
            raise QuestionError(msg)
        self.name = name
        self._level: Level = level
        self._path = Path(path)
        self._manifest = read_manifest(self._path)
        self.packages: Sequence[str] = self._manifest.packages or (self._manifest.package,)

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
            why = (
                f" (see {rejected})" if (rejected := self._path / "rejected.jsonl").exists() else ""
            )
            msg = f"{self._path / 'questions'}: no folder with a task.yaml in it{why}"
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

    def write_manifest(self, manifest: QuestionSet) -> None:
        """Write ``benchmark.yaml``."""
        text = yaml.safe_dump(manifest.model_dump(mode="json"), sort_keys=False)
        (self.root / MANIFEST).write_text(text, encoding="utf-8")

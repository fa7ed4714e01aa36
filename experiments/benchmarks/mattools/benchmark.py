"""MatTools, real-world tool usage (arXiv 2505.10852).

Two layouts are read: the published one (`experiments.benchmarks.mattools.layout`), and a
``tasks.jsonl`` with one JSON object per line (`TaskLine`), whose input files lie in
``test_files/`` next to it. In both, a unit test judges; that of a ``tasks.jsonl`` is made of its
table of properties.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from experiments.benchmarks.mattools.errata import annotate, verified, warn_of_unused
from experiments.benchmarks.mattools.gold import RECORDED, MatToolsGold
from experiments.benchmarks.mattools.inputs import FILES_INSIDE
from experiments.benchmarks.mattools.layout import (
    MatToolsError,
    first_fault,
    locate,
    make_sample,
    question_folders,
    read_question,
)
from experiments.benchmarks.mattools.published import MatToolsScorer, table_test
from experiments.samples import Sample
from sandbox.environments import cache_folder

__all__ = ["FILES_INSIDE", "MatToolsBenchmark", "MatToolsError"]


def _expression(text: str) -> str:
    try:
        ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise ValueError(f"{text!r:.80} is not a Python expression") from error
    return text


def _below_files(text: str) -> str:
    path = PurePosixPath(text)
    if not path.is_relative_to(FILES_INSIDE) or ".." in path.parts:
        raise ValueError(f"{text!r} is not below {FILES_INSIDE}")
    return text


class PropertyLine(BaseModel):
    """One property of a line of ``tasks.jsonl``.

    Attributes
    ----------
    expected
        A Python expression; evaluated inside the verification sandbox only.
    accepts
        Names of the types that ``allclose`` permits.
    """

    model_config = ConfigDict(extra="forbid")

    name: str
    description: str
    format: str
    expected: Annotated[str, AfterValidator(_expression)]
    compare: Literal["equal", "allclose"]
    rtol: float = 1e-5
    atol: float = 1e-8
    accepts: list[str] = []


class TaskLine(BaseModel):
    """One line of ``tasks.jsonl``; files are named as the question names them."""

    model_config = ConfigDict(extra="forbid")

    id: str
    question: str
    properties: list[PropertyLine]
    data_files: list[Annotated[str, AfterValidator(_below_files)]]


@dataclass(frozen=True)
class MatToolsBenchmark:
    """The benchmark ``mattools``.

    Parameters
    ----------
    path
        Folder with ``tasks.jsonl`` and ``test_files/``; or a checkout of the authors' repository,
        its ``question_segments``, or a zip of either.
    url, checksum
        Archive to fetch when ``path`` is not given, and its ``sha256:...``.
    subset
        ``published``: every property; ``verified``: without those that are known to be faulty.
    environment
        Sandbox environment; the published one, or ``live``.
    timeout
        Seconds of processor time that one execution may take, unless ``sandbox.timeout`` is set.
    """

    path: str | None = None
    url: str | None = None
    checksum: str | None = None
    subset: Literal["published", "verified"] = "published"
    environment: str = "mattools-2024"
    timeout: float = 300.0
    name: str = "mattools"
    scorer = MatToolsScorer()
    packages: Sequence[str] = ("pymatgen",)

    def load(self) -> list[Sample]:
        """All samples: in the order of ``tasks.jsonl``, or sorted by id.

        Raises
        ------
        MatToolsError
            When there are no data, or something in them is not a sample.
        """
        root = self._root()
        file = root / "tasks.jsonl"
        if file.is_file():
            samples = read_lines(file, self.environment)
        else:
            folders = question_folders(root)
            samples = [read_question(folder, root, self.environment) for folder in folders]
        samples = [annotate(sample) for sample in samples]
        warn_of_unused(samples)
        if self.subset == "verified":
            samples = [kept for kept in map(verified, samples) if kept.properties]
        return samples

    def gold(self, recorded: Path | None = None) -> MatToolsGold:
        """What retrieval is measured against.

        Parameters
        ----------
        recorded
            Answers with their outcomes; ``recorded_round1.jsonl`` beside the questions when not
            given.

        Raises
        ------
        MatToolsError
            When there are no questions, or no folder that could hold recorded answers is given.
        """
        if self.path is None and recorded is None:
            raise MatToolsError("path=FOLDER with the questions must be given")
        answers = recorded or self._root() / RECORDED
        return MatToolsGold(answers, self.load(), self.packages, self.environment)

    def _root(self) -> Path:
        return locate(self.path, self.url, self.checksum, cache_folder() / "benchmarks")


def read_lines(file: Path, environment: str) -> list[Sample]:
    """The samples of a ``tasks.jsonl``.

    Raises
    ------
    MatToolsError
        When a line is not a sample; names file, line and field.
    """
    samples = []
    for number, text in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if not text.strip():
            continue
        try:
            line = TaskLine.model_validate_json(text)
        except ValidationError as error:
            raise MatToolsError(f"{file}, line {number}, {first_fault(error)}") from error
        files = file.with_name("test_files")
        mounts = {inside: files / Path(inside).relative_to(FILES_INSIDE)
                  for inside in line.data_files}  # fmt: skip
        samples.append(
            make_sample(
                line.id,
                line.question,
                [(p.name, p.description, p.format, p.expected) for p in line.properties],
                unit_test=table_test(line.id, [prop.model_dump() for prop in line.properties]),
                environment=environment,
                mounts=mounts,
                missing=[str(path) for path in mounts.values() if not path.is_file()],
            )
        )
    return samples

"""MatTools, real-world tool usage (arXiv 2505.10852).

Two layouts are read: the published one (`experiments.benchmarks.mattools.layout`), and a
``tasks.jsonl`` with one JSON object per line (`TaskLine`), whose input files lie in
``test_files/`` next to it. In both, a unit test judges; that of a ``tasks.jsonl`` is made of its
table of properties.
"""

from __future__ import annotations

import ast
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ValidationError

from agents.answer import Answer
from agents.base import Question
from docgen.calls import CodeResolver
from docgen.sources import read_sources
from experiments.benchmarks.mattools.layout import (
    FILES_INSIDE,
    MatToolsError,
    annotate,
    formats_of,
    make_sample,
    question_folders,
    read_question,
)
from experiments.benchmarks.mattools.published import MatToolsScorer, PrintedScorer, table_test
from experiments.benchmarks.question_gold import public_symbols
from experiments.samples import Property, Sample, json_entries
from matsmith.core.targets import describe
from sandbox import environments

RECORDED = "recorded_round1.jsonl"

#: What the expected values of a ``tasks.jsonl`` are written with, as `unit_tests.by_table` has it.
_REFERENCE = """\
def reference():
    import numpy as np
    from numpy import array, inf, nan
    from pymatgen.core import Element

"""


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


class PropertyLine(BaseModel, extra="forbid"):
    """One property of a line of ``tasks.jsonl``."""

    name: str
    description: str
    format: str
    #: A Python expression; evaluated inside the verification sandbox only.
    expected: Annotated[str, AfterValidator(_expression)]
    compare: Literal["equal", "allclose"]
    rtol: float = 1e-5
    atol: float = 1e-8
    accepts: list[str] = []  # names of the types that ``allclose`` permits


class TaskLine(BaseModel, extra="forbid"):
    """One line of ``tasks.jsonl``; files are named as the question names them."""

    id: str
    question: str
    properties: list[PropertyLine]
    data_files: list[Annotated[str, AfterValidator(_below_files)]]


@dataclass(frozen=True)
class MatToolsBenchmark:
    """The benchmark ``mattools``; ``conf/benchmark/mattools.yaml`` explains its keys."""

    path: str | None = None
    subset: Literal["published", "verified"] = "published"
    environment: str = "mattools-2024"
    rules: Literal["typed", "published"] = "typed"
    name: str = "mattools"
    packages: Sequence[str] = ("pymatgen",)

    @property
    def scorer(self) -> MatToolsScorer:
        """By the rules that are asked for."""
        return PrintedScorer() if self.rules == "published" else MatToolsScorer()

    def load(self) -> list[Sample]:
        """All samples: in the order of ``tasks.jsonl``, or sorted by id."""
        root = self._root()
        file = root / "tasks.jsonl"
        if file.is_file():
            samples = read_lines(file, self.environment)
        else:
            folders = question_folders(root)
            samples = [read_question(folder, root, self.environment) for folder in folders]
        sound = self.subset == "verified"
        marked = [annotate(sample, sound=sound) for sample in samples]
        return [sample for sample in marked if sample.properties or not sound]

    def gold(self, recorded: Path | None = None) -> MatToolsGold:
        """What retrieval is measured against.

        ``recorded`` are answers with their outcomes, else ``recorded_round1.jsonl`` beside the
        questions.
        """
        if self.path is None and recorded is None:
            raise MatToolsError("path=FOLDER with the questions must be given")
        answers = recorded or self._root() / RECORDED
        return MatToolsGold(answers, self.load(), self.packages, self.environment)

    def _root(self) -> Path:
        what = (
            "benchmark.path must name a checkout of the authors' repository, with its "
            "question_segments, or a folder with tasks.jsonl and test_files/"
        )
        if self.path is None:
            raise MatToolsError(f"the questions are not shipped: {what}")
        root = Path(self.path).expanduser()
        if not root.is_dir():
            raise MatToolsError(f"{root}: no such folder; {what}")
        return root


def read_lines(file: Path, environment: str) -> list[Sample]:
    """The samples of a ``tasks.jsonl``."""
    samples = []
    for where, entry in json_entries(file):
        try:
            line = TaskLine.model_validate(entry)
        except ValidationError as error:
            raise MatToolsError(f"{where}, {describe(error)}") from error
        files = file.with_name("test_files")
        mounts = {inside: str(files / Path(inside).relative_to(FILES_INSIDE))
                  for inside in line.data_files}  # fmt: skip
        sample = make_sample(
            Question(line.id, line.question, formats=formats_of(line.id), mounts=mounts),
            [Property(p.name, p.description, p.format, json.dumps(p.expected))
             for p in line.properties],
            [path for path in mounts.values() if not Path(path).is_file()],
            table_test(line.id, [prop.model_dump() for prop in line.properties]),
            environment,
        )  # fmt: skip
        values = ", ".join(f"{prop.name!r}: {prop.expected}" for prop in line.properties)
        code = f"{_REFERENCE}    return {{{values}}}\n"
        samples.append(replace(sample, reference=Answer(code, "reference", "strict")))
    return samples


@dataclass(frozen=True)
class MatToolsGold:
    """What retrieval is measured against: what at least half of the recorded right answers use.

    Questions without any right answer are left out: their gold is unknown.
    """

    recorded: Path  # JSONL with answers and their outcomes, as `matsmith replay` writes it
    samples: Sequence[Sample]
    packages: Sequence[str]
    environment: str
    name: str = "mattools"

    def prompts(self) -> Mapping[str, str]:
        """Question -> its whole text."""
        return {sample.question.id: sample.question.prompt for sample in self.samples}

    def gold(self) -> Mapping[str, Mapping[str, str]]:
        """Question -> qualified name -> kind."""
        folder = environments.site_packages(self.environment)
        usage = CodeResolver(read_sources(self.packages, folder))
        used: dict[str, list[dict[str, str]]] = defaultdict(list)  # by each right answer
        for row in self.right_answers():
            used[row["task"]].append(public_symbols(usage.symbols(row["code"])))
        found = {}
        for sample, answers in used.items():
            kinds = {name: kind for names in answers for name, kind in names.items()}
            counts = Counter(name for names in answers for name in names)
            found[sample] = {n: kinds[n] for n in sorted(counts) if 2 * counts[n] >= len(answers)}
        return {sample: names for sample, names in found.items() if names}

    def right_answers(self) -> Iterator[dict[str, Any]]:
        """The recorded ones."""
        if not self.recorded.is_file():
            raise MatToolsError(
                f"{self.recorded}: not found; without recorded answers and their outcomes the gold "
                "is unknown. `matsmith replay` writes them: give its outcomes.jsonl as "
                "recorded=FILE"
            )
        rows = (row for _, row in json_entries(self.recorded))
        yield from (row for row in rows if row["replayed"]["outcome"] == "all_correct")

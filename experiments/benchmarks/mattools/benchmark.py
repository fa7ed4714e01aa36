"""MatTools, real-world tool usage (arXiv 2505.10852).

Two layouts are read: the published one (`experiments.benchmarks.mattools.layout`), and a
``tasks.jsonl`` with one JSON object per line: ``id``, ``question``, ``properties`` (``name``,
``description``, ``format``, ``expected`` as a Python literal or expression, ``compare`` equal or
allclose with ``rtol`` and ``atol``) and ``data_files`` as the question names them; the files
themselves lie in ``test_files/`` next to it.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from agents.base import Question
from agents.models.rules.reading import formats
from experiments.benchmarks.mattools.errata import annotate, verified, warn_of_unused
from experiments.benchmarks.mattools.gold import RECORDED, MatToolsGold
from experiments.benchmarks.mattools.inputs import FILES_INSIDE
from experiments.benchmarks.mattools.layout import (
    MatToolsError,
    PublishedQuestion,
    locate,
    question_folders,
    read_question,
)
from experiments.benchmarks.mattools.published import MatToolsScorer, table_test
from experiments.samples import Property, Sample
from sandbox.environments import cache_folder

__all__ = ["FILES_INSIDE", "MatToolsBenchmark", "MatToolsError"]


class PropertyLine(BaseModel):
    """One property of a line of ``tasks.jsonl``."""

    model_config = ConfigDict(extra="forbid")

    name: str
    description: str
    format: str
    expected: str
    compare: Literal["equal", "allclose"]
    rtol: float = 1e-5
    atol: float = 1e-8
    accepts: list[str] = []


class TaskLine(BaseModel):
    """One line of ``tasks.jsonl``."""

    model_config = ConfigDict(extra="forbid")

    id: str
    question: str
    properties: list[PropertyLine]
    data_files: list[str]


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
            samples = [self._sample(line, root) for line in read_lines(file)]
        else:
            folders = _published_folders(root)
            samples = [self._published(read_question(folder, root)) for folder in folders]
        samples = [annotate(sample) for sample in samples]
        warn_of_unused(samples)
        if self.subset == "verified":
            samples = [kept for kept in map(verified, samples) if kept.properties]
        return samples

    def unit_tests(self) -> dict[str, str]:
        """Question id to the source of its published unit test, or of what stands for it.

        Raises
        ------
        MatToolsError
            As `load`.
        """
        root = self._root()
        file = root / "tasks.jsonl"
        if not file.is_file():
            questions = (read_question(folder, root) for folder in _published_folders(root))
            return {question.id: question.unit_test for question in questions}
        return {
            line.id: table_test(line.id, [prop.model_dump() for prop in line.properties])
            for line in read_lines(file)
        }

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
        samples, tests = self.load(), self.unit_tests()
        return MatToolsGold(answers, samples, tests, self.packages, self.environment)

    def _root(self) -> Path:
        return locate(self.path, self.url, self.checksum, cache_folder() / "benchmarks")

    def _published(self, question: PublishedQuestion) -> Sample:
        mounts = {target: str(source) for target, source in question.mounts.items()}
        return Sample(
            question=Question(
                id=question.id,
                prompt=question.prompt,
                formats=formats(question.prompt),  # `properties.json` is not part of the question
                mounts=mounts,
            ),
            properties=tuple(
                # The value is only shown: the unit test decides.
                Property(name, prop.description, prop.format, json.dumps(repr(prop.value)))
                for name, prop in question.properties.items()
            ),
            environment=self.environment,
            labels={"area": "defects", "level": "published"},
            unavailable=_absent(question.missing),
            target=question.unit_test,
        )

    def _sample(self, line: TaskLine, folder: Path) -> Sample:
        mounts = {inside: str(host_path(inside, folder)) for inside in line.data_files}
        absent = [path for path in mounts.values() if not Path(path).is_file()]
        return Sample(
            question=Question(
                id=line.id,
                prompt=line.question,
                formats=formats(line.question),
                mounts=mounts,
            ),
            properties=tuple(make_property(prop) for prop in line.properties),
            environment=self.environment,
            labels={"area": "defects", "level": "published"},
            unavailable=_absent(absent),
        )


def _absent(files: Sequence[str]) -> str | None:
    return f"input files are missing: {', '.join(files)}" if files else None


def _published_folders(root: Path) -> list[Path]:
    folders = question_folders(root)
    if not folders:
        raise MatToolsError(
            f"{root}: contains neither tasks.jsonl nor question folders with new_unit_test.py; "
            "benchmark.path must name one of these"
        )
    return folders


def read_lines(file: Path) -> list[TaskLine]:
    """The lines of a ``tasks.jsonl``.

    Raises
    ------
    MatToolsError
        When a line is not a sample; names file, line and field.
    """
    lines = []
    for number, text in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if not text.strip():
            continue
        try:
            line = TaskLine.model_validate_json(text)
            for inside in line.data_files:
                host_path(inside, file.parent)
            for prop in line.properties:
                make_property(prop)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise MatToolsError(f"{file}, line {number}, {where}: {first['msg']}") from error
        except ValueError as error:
            raise MatToolsError(f"{file}, line {number}: {error}") from error
        lines.append(line)
    return lines


def host_path(inside: str, folder: Path) -> Path:
    """Where a file that a question names lies on the host.

    Raises
    ------
    ValueError
        When the name leads elsewhere than into ``test_files/``.
    """
    path = PurePosixPath(inside)
    if not path.is_relative_to(FILES_INSIDE) or ".." in path.parts:
        raise ValueError(f"data file {inside!r} is not below {FILES_INSIDE}")
    return folder / "test_files" / path.relative_to(FILES_INSIDE)


def make_property(line: PropertyLine) -> Property:
    """What verification needs."""
    close = line.compare == "allclose"
    return Property(
        name=line.name,
        description=line.description,
        format=line.format,
        expected=json.dumps(tagged(line.expected)),
        compare="close" if close else "equal",
        rtol=line.rtol if close else 0.0,
        atol=line.atol if close else 0.0,
    )


def tagged(expression: str) -> Any:
    """Turn an expected value written in Python into tagged JSON, without evaluating it.

    Parameters
    ----------
    expression
        A literal; inside it ``Element('Ga')``, ``np.array(...)``, ``np.nan``, ``np.inf`` too.

    Raises
    ------
    ValueError
        When it is anything else.
    """
    try:
        return _node(ast.parse(expression.strip(), mode="eval").body)
    except SyntaxError as error:
        raise ValueError(f"expected value {expression!r:.80} is not a Python expression") from error


def _node(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return _constant(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _negative(_node(node.operand))
    if isinstance(node, ast.List):
        return [_node(item) for item in node.elts]
    if isinstance(node, ast.Tuple | ast.Set):
        kind = "tuple" if isinstance(node, ast.Tuple) else "set"
        return {"$": kind, "v": [_node(item) for item in node.elts]}
    if isinstance(node, ast.Dict):
        if any(key is None for key in node.keys):
            raise ValueError("expected value: ** in a dict")
        pairs = [[_node(key), _node(value)] for key, value in
                 zip(node.keys, node.values, strict=True) if key is not None]  # fmt: skip
        return {"$": "dict", "v": pairs}
    name = ast.unparse(node.func if isinstance(node, ast.Call) else node)
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        argument = _node(node.args[0])
        if name == "Element" and isinstance(argument, str):
            return {"$": "element", "v": argument}
        # An array is compared by its content, as a list is.
        if name in ("np.array", "array"):
            return argument
    elif name in _NAMES:
        return {"$": "float", "v": _NAMES[name]}
    raise ValueError(f"expected value: {ast.unparse(node)!r:.80} is not supported")


_NAMES: Mapping[str, str] = {
    "np.nan": "nan", "nan": "nan", "np.inf": "inf", "inf": "inf",
}  # fmt: skip


def _constant(value: object) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, complex):
        return {"$": "complex", "v": [value.real, value.imag]}
    raise ValueError(f"expected value: {value!r:.80} is not supported")


def _negative(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return -value
    if value == {"$": "float", "v": "inf"}:
        return {"$": "float", "v": "-inf"}
    raise ValueError("expected value: a minus before something that is not a number")

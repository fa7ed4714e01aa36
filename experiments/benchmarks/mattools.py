"""MatTools, real-world tool usage: questions from a ``tasks.jsonl``.

One JSON object per line: ``id``, ``question``, ``properties`` (``name``, ``description``,
``format``, ``expected`` as a Python literal or expression, ``compare`` equal or allclose with
``rtol`` and ``atol``) and ``data_files`` as the question names them. The files themselves lie
in ``test_files/`` next to it.
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
from experiments.tasks import Property, Task

#: Where the questions expect their files, relative to the working directory.
FILES_INSIDE = PurePosixPath("tool_source_code/pymatgen-analysis-defects/tests/test_files")


class MatToolsError(ValueError):
    """The data are missing or wrong; names the file and line."""


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
        Folder that holds ``tasks.jsonl`` and ``test_files/``.
    environment
        Sandbox environment; the published one, or ``live``.
    """

    path: str | None = None
    environment: str = "mattools-2024"
    name: str = "mattools"
    packages: Sequence[str] = ("pymatgen",)

    def load(self) -> list[Task]:
        """All tasks, in the order of the file.

        Raises
        ------
        MatToolsError
            When there is no such file, or a line of it is no task.
        """
        if self.path is None:
            raise MatToolsError(
                "benchmark.path must name the folder with tasks.jsonl and test_files/"
            )
        file = Path(self.path) / "tasks.jsonl"
        if not file.is_file():
            raise MatToolsError(f"{file}: no such file; benchmark.path must name its folder")
        tasks = []
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
            if not line.strip():
                continue
            try:
                tasks.append(self._task(TaskLine.model_validate_json(line), file.parent))
            except ValidationError as error:
                first = error.errors()[0]
                where = ".".join(map(str, first["loc"]))
                raise MatToolsError(f"{file}, line {number}, {where}: {first['msg']}") from error
            except ValueError as error:
                raise MatToolsError(f"{file}, line {number}: {error}") from error
        return tasks

    def _task(self, line: TaskLine, folder: Path) -> Task:
        mounts = {inside: str(host_path(inside, folder)) for inside in line.data_files}
        absent = [path for path in mounts.values() if not Path(path).is_file()]
        return Task(
            question=Question(
                id=line.id,
                prompt=line.question,
                formats={prop.name: prop.format.strip("`") for prop in line.properties},
                mounts=mounts,
            ),
            properties=tuple(make_property(prop) for prop in line.properties),
            environment=self.environment,
            labels={"area": "defects", "level": "published"},
            unavailable=f"input files are missing: {', '.join(absent)}" if absent else None,
        )


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
        raise ValueError(f"expected value {expression!r:.80} is no Python expression") from error


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
    raise ValueError(f"expected value: {ast.unparse(node)!r:.80} is not understood")


_NAMES: Mapping[str, str] = {
    "np.nan": "nan", "nan": "nan", "np.inf": "inf", "inf": "inf",
}  # fmt: skip


def _constant(value: object) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, complex):
        return {"$": "complex", "v": [value.real, value.imag]}
    raise ValueError(f"expected value: {value!r:.80} is not understood")


def _negative(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return -value
    if value == {"$": "float", "v": "inf"}:
        return {"$": "float", "v": "-inf"}
    raise ValueError("expected value: a minus before something that is no number")

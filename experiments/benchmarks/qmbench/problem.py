"""A problem and its answer, and the YAML file that holds one."""

from __future__ import annotations

import string
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import (
    BaseModel,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)
from yaml.nodes import MappingNode, Node, SequenceNode

from foundation.configuration import read_yaml
from foundation.errors import UsageError

Kind = Literal["choice", "number", "text", "poscar"]
_PICTURES = {".png", ".jpg", ".jpeg", ".webp"}
_Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,80}$")]


class ProblemError(ValueError):
    """A problem file is wrong: one line with the file, the line and what to change."""


class _Strict(BaseModel, extra="forbid", frozen=True, allow_inf_nan=False):
    pass


class Integer(_Strict):
    """An exact integer."""

    value: int
    unit: str = ""


class NumberRange(_Strict):
    """A number between two others, ends included."""

    low: float
    high: float
    unit: str = ""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


class RubricPoint(_Strict):
    """What an answer must say, and what that is worth."""

    points: Annotated[float, Field(gt=0)]
    text: Annotated[str, Field(min_length=1)]


class Rubric(_Strict):
    """What a judge looks for in prose."""

    rubric: Annotated[tuple[RubricPoint, ...], Field(min_length=1, max_length=30)]


class Poscar(_Strict):
    """A structure (in a file: the name of a file), and how far from it an answer may be.

    ``length`` is relative, ``angle`` in degrees, ``site`` in Å.
    """

    poscar: str
    length: Annotated[float, Field(gt=0, le=0.2)] = 0.05
    angle: Annotated[float, Field(gt=0, le=10)] = 1.0
    site: Annotated[float, Field(gt=0, le=1)] = 0.10


def _form(answer: Any) -> str:
    """Which form an answer has, by its keys."""
    if not isinstance(answer, dict):
        form: type[Any] = type(answer)
        return form.__name__ if form in _KINDS else "str"
    forms = {"value": Integer, "rubric": Rubric, "poscar": Poscar}
    return next(
        (form.__name__ for key, form in forms.items() if key in answer), "NumberRange"
    )


_KINDS: dict[type[object], Kind] = {
    str: "choice",
    Integer: "number",
    NumberRange: "number",
    Rubric: "text",
    Poscar: "poscar",
}
_FORMS = {form.__name__ for form in _KINDS}
Answer = Annotated[
    Annotated[str, Tag("str")]
    | Annotated[Integer, Tag("Integer")]
    | Annotated[NumberRange, Tag("NumberRange")]
    | Annotated[Rubric, Tag("Rubric")]
    | Annotated[Poscar, Tag("Poscar")],
    Discriminator(_form),
]


class Problem(_Strict):
    """One problem; docs/qmbench.md explains its keys.

    ``frequent`` is the share of the most frequent answer among generated problems like it.
    """

    id: _Word
    title: str = ""
    topics: Annotated[tuple[_Word, ...], Field(min_length=1)]
    difficulty: Literal["easy", "medium", "hard"] | None = None
    type: Kind
    prompt: Annotated[str, Field(min_length=10)]
    images: tuple[str, ...] = ()
    choices: dict[str, str] = {}
    points: Annotated[float, Field(gt=0)] = 10.0
    source: str = ""
    licence: str = ""
    canary: str = ""
    tools: bool = True
    frequent: Annotated[float, Field(ge=0, le=1)] = 0.0
    answer: Answer

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        kind = _KINDS[type(self.answer)]
        if kind != self.type:
            raise ValueError(f"type is {self.type}, but the answer is one of {kind}")
        if self.type == "choice":
            letters = string.ascii_uppercase[: len(self.choices)]
            if len(self.choices) < 2 or "".join(sorted(self.choices)) != letters:
                raise ValueError("choices must be two or more, lettered from A")
            if not self.answer or not set(self.letters) <= set(letters):
                raise ValueError(f"answer must be letters of {letters}")
        elif self.choices:
            raise ValueError(f"choices are for type: choice, not {self.type}")
        return self

    @property
    def letters(self) -> str:
        """The right letters, each once, in alphabetical order."""
        assert isinstance(self.answer, str)
        return "".join(sorted(set(self.answer)))

    @property
    def guess(self) -> float:
        """Expected share for one letter at random (of ``k``, each right one gives 1/t of t)."""
        return 1 / len(self.choices) if self.choices else self.frequent


def _wrong(path: Path, place: tuple[Any, ...], fault: str) -> ProblemError:
    """What is wrong, with the line of a place, else of the mapping that lacks it."""
    lines = _lines(
        path, yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    )
    numbers = (
        lines[place[:end]] for end in range(len(place), 0, -1) if place[:end] in lines
    )
    return ProblemError(f"{path}:{next(numbers, 1)}: {fault}")


def _lines(
    path: Path, node: Node | None, place: tuple[Any, ...] = ()
) -> dict[Any, int]:
    """The line of every place; refuses equal keys, of which PyYAML takes the last in silence."""
    pairs: list[tuple[Any, Node, Node]] = []
    if isinstance(node, MappingNode):
        pairs = [(key.value, key, value) for key, value in node.value]
    elif isinstance(node, SequenceNode):
        pairs = [(number, value, value) for number, value in enumerate(node.value)]
    line_of: dict[Any, int] = {}
    for name, at, value in pairs:
        inside = (*place, name)
        line = at.start_mark.line + 1
        if inside in line_of:
            raise ProblemError(f"{path}:{line}: {name}: given twice")
        line_of |= {inside: line, **_lines(path, value, inside)}
    return line_of


def read_problem(path: Path) -> Problem:
    """Read a problem file; an answer ``{poscar: FILE}`` holds the file's text afterwards."""
    try:
        content = read_yaml(path)
        _lines(
            path, yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
        )
    except UsageError as error:
        raise ProblemError(str(error)) from error
    if not isinstance(content, dict):
        raise ProblemError(f"{path}:1: a problem is a mapping of keys to values")
    try:
        problem = Problem.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        # pydantic puts names of forms between the keys
        place = tuple(part for part in first["loc"] if part not in _FORMS)
        fault = first["msg"].removeprefix("Value error, ")
        fault = "no such key" if first["type"] == "extra_forbidden" else fault
        raise _wrong(
            path, place, f"{'.'.join(map(str, place)) or 'problem'}: {fault}"
        ) from error
    for number, name in enumerate(problem.images):
        if (
            Path(name).suffix.lower() not in _PICTURES
            or not _beside(path, name).is_file()
        ):
            fault = f"images: {name} is not a picture beside the file"
            raise _wrong(path, ("images", number), fault)
    if not isinstance(problem.answer, Poscar):
        return problem
    name = problem.answer.poscar
    try:
        text = _beside(path, name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        fault = f"answer.poscar: {name[:80]!r} is not a text file beside it"
        raise _wrong(path, ("answer", "poscar"), fault) from None
    answer = problem.answer.model_copy(update={"poscar": text})
    return problem.model_copy(update={"answer": answer})


def _beside(path: Path, name: str) -> Path:
    """A file of the same folder; nothing leads out of it."""
    return path.parent / (name if Path(name).name == name else "")


def read_folder(folder: Path) -> Iterator[tuple[Path, Problem]]:
    """Every problem file below a folder, sorted, with its problem."""
    files = sorted(p for ending in ("*.yaml", "*.yml") for p in folder.rglob(ending))
    if not files:
        raise ProblemError(
            f"{folder}: no problem files (*.yaml) in it; docs/qmbench.md has one"
        )
    path_of: dict[str, Path] = {}
    for path in files:
        problem = read_problem(path)
        first = path_of.setdefault(problem.id, path)
        if first != path:
            raise _wrong(path, ("id",), f"id: {problem.id} is also that of {first}")
        yield path, problem

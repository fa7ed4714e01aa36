"""A problem and its answer, and the YAML file that holds one."""

from __future__ import annotations

import hashlib
import string
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

Kind = Literal["choice", "number", "text", "poscar"]
MAX_CHARACTERS = 1_000_000  # of a problem file
MAX_DEPTH = 20
_MIME = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}
_Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,80}$")]


class ProblemError(ValueError):
    """A problem file is wrong: one line with the file, the line and what to change."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Integer(_Strict):
    """An exact integer."""

    value: int
    unit: str = ""


class Interval(_Strict):
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
    """A structure, and how far from it an answer may be.

    Attributes
    ----------
    poscar
        The text; in a file, the name of a file beside it.
    length, angle, site
        Relative; degrees; Å.
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
    return next((form.__name__ for key, form in forms.items() if key in answer), "Interval")


_KINDS: dict[type[object], Kind] = {
    str: "choice", Integer: "number", Interval: "number", Rubric: "text", Poscar: "poscar",
}  # fmt: skip
_FORMS = {form.__name__ for form in _KINDS}
Answer = Annotated[
    Annotated[str, Tag("str")]
    | Annotated[Integer, Tag("Integer")]
    | Annotated[Interval, Tag("Interval")]
    | Annotated[Rubric, Tag("Rubric")]
    | Annotated[Poscar, Tag("Poscar")],
    Discriminator(_form),
]


class Problem(_Strict):
    """One problem.

    Attributes
    ----------
    topics
        Every one counts in the results by topic.
    choices
        Text by letter, from A; for ``type: choice``.
    images
        Names of files beside the problem's.
    points
        What a full answer is worth; scores are means over problems, whatever that is.
    canary
        A text that no prompt may ever hold.
    tools
        Whether it may be asked in the arm ``tool``.
    answer
        Letters, ``{value}``, ``{low, high}``, ``{rubric}`` or ``{poscar}``.
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
        """Expected share for one letter at random: of ``k``, each right one gives 1/t of t."""
        return 1 / len(self.choices) if self.choices else 0.0

    @property
    def digest(self) -> str:
        """Of everything in it, pictures by name."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]


class _Loader(yaml.SafeLoader):
    """YAML without aliases: a few lines of them can stand for gigabytes."""

    depth = 0

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.MarkedYAMLError(problem="aliases are refused", problem_mark=self._mark())
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise yaml.MarkedYAMLError(problem="nested too deeply", problem_mark=self._mark())
        node: Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def _mark(self) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        return event.start_mark


def read_problem(path: Path) -> Problem:
    """Read a problem file; an answer ``{poscar: FILE}`` holds the file's text afterwards.

    Raises
    ------
    ProblemError
        In one line that names the file and the line.
    """
    try:
        if path.stat().st_size > MAX_CHARACTERS:
            raise ProblemError(f"{path}:1: larger than {MAX_CHARACTERS:,} bytes")
        loader = _Loader(path.read_text(encoding="utf-8"))
        node = loader.get_single_node()
        twice = _duplicate(node)
        if twice is not None:
            raise ProblemError(f"{path}:{twice.start_mark.line + 1}: {twice.value}: given twice")
        content = None if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise ProblemError(f"{path}:{line}: {error.problem}") from error
    except (OSError, UnicodeDecodeError, ValueError, yaml.YAMLError) as error:
        if isinstance(error, ProblemError):
            raise
        raise ProblemError(f"{path}:1: cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise ProblemError(f"{path}:1: a problem is a mapping of keys to values")
    try:
        problem = Problem.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        where = _keys(content, first["loc"])
        key = ".".join(map(str, where)) or "problem"
        raise ProblemError(f"{path}:{_line(node, where)}: {key}: {_said(first)}") from error
    return _with_files(path, node, problem)


def _keys(content: Any, where: Sequence[Any]) -> list[Any]:
    """The keys of a location in the file; pydantic puts names of forms between them."""
    found: list[Any] = []
    for part in where:
        known = isinstance(content, list) or (isinstance(content, dict) and part in content)
        if known or part not in _FORMS:
            found.append(part)
            content = content[part] if known else None
    return found


def _said(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        return "no such key"
    return str(error["msg"]).removeprefix("Value error, ")


def _line(node: Node | None, where: Sequence[Any]) -> int:
    """The line of a key, else of the mapping that lacks it."""
    line = 1
    for part in where:
        found = None
        if isinstance(node, MappingNode):
            found = next(((k, v) for k, v in node.value if k.value == part), None)
            line = found[0].start_mark.line + 1 if found else line
        elif isinstance(node, SequenceNode) and isinstance(part, int):
            found = (node.value[part],) * 2
            line = found[0].start_mark.line + 1
        if found is None:
            break
        node = found[1]
    return line


def _duplicate(node: Node | None) -> ScalarNode | None:
    """A key that a mapping has twice; YAML would keep the last one in silence."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        if isinstance(here, MappingNode):
            seen: set[str] = set()
            for key, value in here.value:
                if isinstance(key, ScalarNode):
                    if key.value in seen:
                        return key
                    seen.add(key.value)
                waiting.append(value)
        elif isinstance(here, SequenceNode):
            waiting.extend(here.value)
    return None


def _with_files(path: Path, node: Node | None, problem: Problem) -> Problem:
    """Check that named files are there; take in the POSCAR."""
    for number, name in enumerate(problem.images):
        if Path(name).suffix.lower() not in _MIME or not _beside(path, name).is_file():
            line = _line(node, ("images", number))
            raise ProblemError(f"{path}:{line}: images: {name} is no picture beside the file")
    if not isinstance(problem.answer, Poscar):
        return problem
    file = _beside(path, problem.answer.poscar)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        line = _line(node, ("answer", "poscar"))
        name = problem.answer.poscar[:80]
        raise ProblemError(
            f"{path}:{line}: answer.poscar: {name!r} is no text file beside it"
        ) from None
    answer = problem.answer.model_copy(update={"poscar": text})
    return problem.model_copy(update={"answer": answer})


def _beside(path: Path, name: str) -> Path:
    """A file of the same folder; nothing leads out of it."""
    return path.parent / (name if Path(name).name == name else "")


def mime(name: str) -> str:
    """Of a picture, by its name."""
    return _MIME[Path(name).suffix.lower()]


def problem_files(folder: Path) -> list[Path]:
    """The problem files below a folder, sorted.

    Raises
    ------
    ProblemError
        When there are none.
    """
    found = sorted(p for ending in ("*.yaml", "*.yml") for p in folder.rglob(ending))
    if not found:
        raise ProblemError(f"{folder}: no problem files (*.yaml) in it; docs/qmbench.md has one")
    return found


def read_folder(folder: Path) -> Iterator[tuple[Path, Problem | ProblemError]]:
    """Every file with its problem, or with what is wrong with it.

    Raises
    ------
    ProblemError
        As `problem_files`.
    """
    seen: dict[str, Path] = {}
    for path in problem_files(folder):
        try:
            problem = read_problem(path)
        except ProblemError as error:
            yield path, error
            continue
        first = seen.setdefault(problem.id, path)
        if first != path:
            lines = path.read_text(encoding="utf-8").splitlines()
            line = next((n for n, text in enumerate(lines, 1) if text.startswith("id:")), 1)
            yield path, ProblemError(f"{path}:{line}: id: {problem.id} is also that of {first}")
        else:
            yield path, problem

"""The format of a question that has a reference solution: a folder ``questions/<id>/``.

It holds ``task.yaml`` (both prompt levels and the properties), ``reference.py`` (the solution of
an expert), ``gold.json`` (what the reference returned, written by a checker) and optionally
``data/`` (input files). Only ``data/`` is ever shown to a sandbox that runs a model's code.
The benchmarks ``live``, ``unseen`` and ``folder`` read it, and know nothing of each other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from agents.base import Question
from experiments.samples import Property, Sample

Level = Literal["scaffold", "goal"]

#: The questions of this project, where their references run, and what is retrieved from there.
QUESTIONS = Path(__file__).parent / "live" / "questions"
ENVIRONMENT = "live"
PACKAGES = ("pymatgen", "matminer", "robocrys", "phonopy")
#: Stands beside ``questions/``; ``python -m experiments.benchmarks.live difficulty`` writes it.
DIFFICULTY = "difficulty.json"

#: Stands beside ``questions/`` in a folder of somebody's own (``benchmark=folder``).
MANIFEST = "benchmark.yaml"

_ELEMENTARY = r"(?:bool|int|float|str)"
_INNER = rf"(?:{_ELEMENTARY}|list\[{_ELEMENTARY}\]|dict\[str, {_ELEMENTARY}\])"
_FORMAT = re.compile(
    rf"(?:{_INNER}|list\[{_INNER}\]|list\[list\[{_INNER}\]\]|dict\[str, {_INNER}\])"
)

_ROLE = (
    "You are a materials scientist who solves research tasks in Python with pymatgen and its "
    "add-on packages. Write one function that computes these properties:"
)
_LEVEL_INTRO: Mapping[Level, str] = {
    "scaffold": "Inputs and set-up:",
    "goal": "The task:",
}
_MASKED = "Inputs and set-up. Every [MASK] stands for a name of the library that you have to find:"
MASK = "[MASK"  # [MASK] and [MASK_1]
_FILES = "Input files, relative to the working directory:"
_CONTRACT = """\
What the function must be like:
- It takes no arguments and contains everything it needs: its imports, the inputs given above, \
and all calculations.
- It returns one dictionary. The keys are the property names above, spelled exactly so; each \
value has the format that its property asks for.
- If one property cannot be calculated, its value is None and all the others are still calculated \
and returned.
- It prints nothing, plots nothing, needs no network and writes no files."""


class QuestionError(ValueError):
    """A question is wrong or incomplete; the message names the file and what to do."""


class PropertySpec(BaseModel):
    """One entry of ``properties`` in a ``task.yaml``."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$")]
    description: Annotated[str, Field(min_length=20)]
    format: str
    compare: Literal["equal", "close"]
    rtol: Annotated[float, Field(ge=0, le=5e-3)] = 1e-3
    atol: Annotated[float, Field(ge=0)] = 0.0
    choices: list[str] = []

    @model_validator(mode="before")
    @classmethod
    def _compare_follows_from_format(cls, content: Any) -> Any:
        if isinstance(content, dict) and isinstance(content.get("format"), str):
            return {"compare": "close" if "float" in content["format"] else "equal", **content}
        return content

    @field_validator("format")
    @classmethod
    def _known_format(cls, value: str) -> str:
        if not _FORMAT.fullmatch(value):
            msg = "use float, int, str, bool, list[...] of these or dict[str, ...] of these"
            raise ValueError(msg)
        return value

    @model_validator(mode="after")
    def _compare_fits_format(self) -> Self:
        if ("float" in self.format) != (self.compare == "close"):
            msg = (
                f"compare is {self.compare!r}: floats are compared by 'close', the rest by 'equal'"
            )
            raise ValueError(msg)
        if self.choices and (self.format != "str" or len(set(self.choices)) < 3):
            msg = "choices are at least three different values of a property with format str"
            raise ValueError(msg)
        return self

    @property
    def text(self) -> str:
        """The description as one line, with the choices."""
        line = " ".join(self.description.split())
        return f"{line} One of: {', '.join(self.choices)}." if self.choices else line


class TaskSpec(BaseModel):
    """The content of a ``task.yaml``.

    Attributes
    ----------
    area
        Field of research, for break-downs.
    packages
        Distributions that the reference needs besides pymatgen.
    masks
        What stands behind each mask of the scaffold (``MASK_1: SlabGenerator``), for the checker
        only: it fills them in and runs the code.
    properties, scaffold, goal
        What is asked for, and the two levels of the prompt.
    """

    model_config = ConfigDict(extra="forbid")

    area: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    packages: list[str] = []
    masks: dict[str, str] = {}
    properties: Annotated[list[PropertySpec], Field(min_length=2, max_length=5)]
    scaffold: Annotated[str, Field(min_length=40)]
    goal: Annotated[str, Field(min_length=40)]

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        names = [prop.name for prop in self.properties]
        if len(set(names)) != len(names):
            msg = "two properties have the same name"
            raise ValueError(msg)
        return self


def question_folders(root: Path = QUESTIONS) -> list[Path]:
    """All folders with a ``task.yaml``, by name."""
    return sorted(path.parent for path in root.glob("*/task.yaml"))


def read_spec(folder: Path, form: type[TaskSpec] = TaskSpec) -> TaskSpec:
    """Read and validate ``task.yaml``, as ``form``.

    Raises
    ------
    QuestionError
        When the file is absent, is no YAML, or has a wrong key or value.
    """
    path = folder / "task.yaml"
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        msg = f"{path}: cannot be read: {error}"
        raise QuestionError(msg) from error
    try:
        return form.model_validate(content)
    except ValidationError as error:
        raise QuestionError(f"{path}: {faults(error)}") from error


def faults(error: ValidationError) -> str:
    """What is wrong with a file, on one line."""
    found = [
        (".".join(map(str, fault["loc"])) or "top level", fault["msg"]) for fault in error.errors()
    ]
    return "; ".join(f"{where}: {what.removeprefix('Value error, ')}" for where, what in found)


def read_gold(folder: Path, spec: TaskSpec) -> dict[str, Any]:
    """The expected value of every property of ``spec``, as tagged JSON values.

    Raises
    ------
    QuestionError
        When ``gold.json`` is absent or does not hold exactly the properties of ``spec``.
    """
    path = folder / "gold.json"
    rewrite = f"run: {check_command(folder)} ids={folder.name} write=true"
    try:
        gold = json.loads(path.read_text(encoding="utf-8"))["properties"]
    except FileNotFoundError:
        msg = f"{path}: no gold yet; {rewrite}"
        raise QuestionError(msg) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = f"{path}: cannot be read ({error!r}); {rewrite}"
        raise QuestionError(msg) from error
    names = {prop.name for prop in spec.properties}
    if not isinstance(gold, dict) or set(gold) != names:
        msg = f"{path}: its properties are not those of task.yaml ({sorted(names)}); {rewrite}"
        raise QuestionError(msg)
    return gold


def check_command(folder: Path) -> str:
    """The command that checks the question in ``folder``, as a user types it."""
    root = folder.parent.parent
    if (root / MANIFEST).is_file():
        return f"python -m experiments.benchmarks.folder check {root}"
    return "python -m experiments.benchmarks.live check"


def data_files(folder: Path) -> dict[str, str]:
    """Input files of a question: path inside the sandbox to path on the host.

    Raises
    ------
    QuestionError
        When a link leads out of the folder: it could name any file of the reader's.
    """
    data = folder / "data"
    inside = data.resolve()
    if inside != folder.resolve() / "data":
        msg = f"{data}: is a link; copy the files instead"
        raise QuestionError(msg)
    found: dict[str, str] = {}
    for path in sorted(data.rglob("*")):
        if not path.resolve().is_relative_to(inside):
            msg = f"{path}: is a link out of {data}; copy the file instead"
            raise QuestionError(msg)
        if path.is_file():
            found[str(path.relative_to(folder))] = str(path)
    return found


def build_prompt(
    spec: TaskSpec, level: Level, files: Sequence[str] = (), *, role: str = _ROLE
) -> str:
    """The whole question as text: role, properties, the text of ``level``, contract."""
    properties = "\n".join(
        f"- `{prop.name}`: {prop.text} Format: `{prop.format}`." for prop in spec.properties
    )
    parts = [f"{role}\n{properties}"]
    if files:
        parts.append("\n".join([_FILES, *(f"- `{name}`" for name in files)]))
    text = getattr(spec, level).strip()
    parts.append(f"{_MASKED if MASK in text else _LEVEL_INTRO[level]}\n{text}")
    parts.append(_CONTRACT)
    return "\n\n".join(parts) + "\n"


def make_properties(spec: TaskSpec, gold: Mapping[str, Any]) -> tuple[Property, ...]:
    """What verification needs, from the specification and the gold values."""
    return tuple(
        Property(
            name=prop.name,
            description=prop.text,
            format=prop.format,
            expected=json.dumps(gold[prop.name]),
            compare=prop.compare,
            rtol=prop.rtol,
            atol=prop.atol,
        )
        for prop in spec.properties
    )


def check_level(level: str) -> None:
    """Refuse a level that there is not.

    Raises
    ------
    QuestionError
        Names those that there are.
    """
    if level not in _LEVEL_INTRO:
        msg = f"benchmark.level={level}: choose one of {', '.join(_LEVEL_INTRO)}"
        raise QuestionError(msg)


def read_task(
    folder: Path,
    level: Level,
    *,
    environment: str,
    labels: Mapping[str, str],
    form: type[TaskSpec] = TaskSpec,
    role: str = _ROLE,
) -> Sample:
    """The sample of one question, with its gold.

    Parameters
    ----------
    environment
        Sandbox environment.
    labels
        For break-downs, besides area and level.
    form, role
        What ``task.yaml`` must hold; how the prompt begins.

    Raises
    ------
    QuestionError
        When the question is wrong, has no gold, or no text of this level.
    """
    spec = read_spec(folder, form)
    if not getattr(spec, level):
        there = [f"benchmark.level={name}" for name in _LEVEL_INTRO if getattr(spec, name)]
        msg = f"{folder / 'task.yaml'}: no text of level {level}; there is {' and '.join(there)}"
        raise QuestionError(msg)
    mounts = data_files(folder)
    question = Question(
        id=folder.name,
        prompt=build_prompt(spec, level, list(mounts), role=role),
        formats={prop.name: prop.format for prop in spec.properties},
        mounts=mounts,
    )
    return Sample(
        question=question,
        properties=make_properties(spec, read_gold(folder, spec)),
        environment=environment,
        labels={
            **{name: str(value) for name, value in (spec.model_extra or {}).items()},
            "area": spec.area,
            "level": level,
            "package": "+".join(spec.packages) or "pymatgen",
            **labels,
        },
    )


@cache
def _difficulty(root: Path) -> dict[str, Any]:
    file = root.parent / DIFFICULTY
    if not file.is_file():
        return {}
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["questions"]
    return content


def difficulty_labels(root: Path, question_id: str, level: Level) -> dict[str, str]:
    """Labels for break-downs; none for a question that is not in `DIFFICULTY` beside ``root``.

    ``calls`` (library calls in the reference), ``names_given`` (share of its library names that
    the prompt gives away) and ``api`` (``same``, ``signature`` or ``absent`` in an older version:
    the largest change among the names of the reference).
    """
    row = _difficulty(root).get(question_id)
    if row is None:
        return {}
    share = row["given"][level] / row["names"] if row["names"] else 1.0
    return {
        "calls": _bin(row["calls"], (10, 20), ("up to 10", "11 to 20", "over 20")),
        "names_given": _bin(share, (0.0, 0.5), ("none", "up to half", "over half")),
        "api": row["api"],
    }


def _bin(value: float, limits: Sequence[float], words: Sequence[str]) -> str:
    return next((word for limit, word in zip(limits, words, strict=False) if value <= limit),
                words[-1])  # fmt: skip

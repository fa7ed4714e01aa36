"""The format of a question that has a reference solution: a folder ``questions/<id>/``.

It holds ``task.yaml`` (both prompt levels and the properties), ``reference.py`` (the solution of
an expert), ``gold.json`` (what the reference returned, written by a checker) and optionally
``data/`` (input files). Only ``data/`` is ever shown to a sandbox that runs a model's code.
The benchmarks ``live``, ``invented`` and ``folder`` read it, and know nothing of each other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from agents.answer import CodeAnswer
from agents.base import Question
from experiments.samples import Property, Sample
from foundation.configuration import data_of, read_yaml
from foundation.errors import UsageError

Level = Literal["scaffold", "goal"]
Form = TypeVar("Form", bound=BaseModel)

#: The questions of this project, where their references run, and what is retrieved from there.
QUESTIONS = Path(__file__).parent / "live" / "questions"
ENVIRONMENT = "live"
PACKAGES = ("pymatgen", "matminer", "robocrys", "phonopy")
#: Distributions that decide a value of theirs; the versions stand next to the golds.
RECORDED = (
    "pymatgen",
    "pymatgen-core",
    "pymatgen-analysis-defects",
    "pymatgen-analysis-diffusion",
    "pymatgen-analysis-alloys",
    "matminer",
    "robocrys",
    "phonopy",
    "numpy",
    "scipy",
    "spglib",
)
#: Stands beside ``questions/`` in a folder of somebody's own (``benchmark=folder``).
MANIFEST = "benchmark.yaml"

_ELEMENTARY = r"(?:bool|int|float|str)"
_INNER = rf"(?:{_ELEMENTARY}|list\[{_ELEMENTARY}\]|dict\[str, {_ELEMENTARY}\])"
FORMAT = re.compile(
    rf"(?:{_INNER}|list\[{_INNER}\]|list\[list\[{_INNER}\]\]|dict\[str, {_INNER}\])"
)

#: What every prompt says.
_TEXTS = data_of(__file__)
_LEVEL_INTRO: Mapping[Level, str] = _TEXTS["intro"]
MASK = "[MASK"  # [MASK] and [MASK_1]
SHORTEST = 40  # characters of a text that can be a question


class QuestionError(UsageError, ValueError):
    """A question is wrong or incomplete; the message names the file and what to do."""


class PropertySpec(BaseModel, extra="forbid"):
    """One entry of ``properties`` in a ``task.yaml``."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$")]
    description: Annotated[str, Field(min_length=20)]
    format: str
    compare: Literal["equal", "close", ""] = ""  # follows from the format
    rtol: Annotated[float, Field(ge=0, le=5e-3)] = 1e-3
    atol: Annotated[float, Field(ge=0)] = 0.0
    choices: list[str] = []

    @field_validator("format")
    @classmethod
    def _known_format(cls, value: str) -> str:
        if not FORMAT.fullmatch(value):
            raise ValueError(
                "use float, int, str, bool, list[...] or dict[str, ...] of these"
            )
        return value

    @model_validator(mode="after")
    def _compare_fits_format(self) -> Self:
        rule: Literal["equal", "close"] = "close" if "float" in self.format else "equal"
        if self.compare not in {"", rule}:
            raise ValueError(
                f"compare is {self.compare!r}: {self.format} is compared by {rule!r}"
            )
        self.compare = rule
        if self.choices and (self.format != "str" or len(set(self.choices)) < 3):
            msg = "choices are at least three different values of a property with format str"
            raise ValueError(msg)
        return self

    @property
    def text(self) -> str:
        """The description as one line, with the choices."""
        line = " ".join(self.description.split())
        return f"{line} One of: {', '.join(self.choices)}." if self.choices else line


class TaskSpec(BaseModel, extra="allow"):
    """The content of a ``task.yaml``: what is asked for, and one or two levels of the prompt.

    Other keys are allowed; they become labels of the answers.
    """

    area: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]  # field of research
    packages: list[str] = []  # distributions that the reference needs besides pymatgen
    #: What stands behind each mask of the scaffold (``MASK_1: SlabGenerator``), for the checker
    #: only: it fills them in and runs the code.
    masks: dict[str, str] = {}
    properties: Annotated[list[PropertySpec], Field(min_length=1, max_length=40)]
    scaffold: str = ""
    goal: str = ""

    @model_validator(mode="after")
    def _can_be_asked(self) -> Self:
        names = [prop.name for prop in self.properties]
        if len(set(names)) != len(names):
            raise ValueError("two properties have the same name")
        for key in self.model_extra or {}:
            close = get_close_matches(key, type(self).model_fields, n=1, cutoff=0.8)
            if close and close[0] not in self.model_fields_set:
                msg = f"{key}: no such key; did you mean {close[0]}? Other keys are labels"
                raise ValueError(msg)
        if max(len(self.scaffold.strip()), len(self.goal.strip())) < SHORTEST:
            raise ValueError(
                f"write a scaffold or a goal, of {SHORTEST} characters or more"
            )
        return self


def question_folders(root: Path = QUESTIONS) -> list[Path]:
    """All folders with a ``task.yaml``, by name; no link in them leads out of ``root``."""
    folders = sorted(path.parent for path in root.glob("*/task.yaml"))
    for folder in folders:
        _stay_below(
            root, (path for path in (folder, *folder.rglob("*")) if path.is_symlink())
        )
    return folders


def _stay_below(root: Path, paths: Iterable[Path]) -> None:
    """Refuse links that lead elsewhere: they could name any file of the reader's."""
    for path in paths:
        if not path.resolve().is_relative_to(root.resolve()):
            raise QuestionError(
                f"{path}: is a link out of {root}; copy the file instead"
            )


def read_file(path: Path, form: type[Form]) -> Form:
    """A YAML file as ``form``; a `QuestionError` names every wrong key or value."""
    try:
        return form.model_validate(read_yaml(path))
    except ValidationError as error:
        faults = [
            f"{'.'.join(map(str, fault['loc'])) or 'top level'}: "
            + fault["msg"].removeprefix("Value error, ")
            for fault in error.errors()
        ]
        raise QuestionError(f"{path}: {'; '.join(faults)}") from error
    except UsageError as error:
        raise QuestionError(str(error)) from error


def read_gold(folder: Path, spec: TaskSpec) -> dict[str, Any]:
    """The expected value of every property of ``spec``, as tagged JSON values."""
    path = folder / "gold.json"
    root = folder.parent.parent
    own = f"{root} " if (root / MANIFEST).is_file() else ""
    rewrite = f"run: matsmith folder check {own}ids={folder.name} write=true"
    try:
        gold = json.loads(path.read_text(encoding="utf-8"))["properties"]
    except FileNotFoundError:
        raise QuestionError(f"{path}: no gold yet; {rewrite}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise QuestionError(f"{path}: cannot be read ({error!r}); {rewrite}") from error
    names = {prop.name for prop in spec.properties}
    if not isinstance(gold, dict) or set(gold) != names:
        msg = f"{path}: its properties are not those of task.yaml ({sorted(names)}); {rewrite}"
        raise QuestionError(msg)
    return gold


def data_files(folder: Path) -> dict[str, str]:
    """Input files of a question: path inside the sandbox to path on the host."""
    data = folder / "data"
    if data.resolve() != folder.resolve() / "data":
        raise QuestionError(f"{data}: is a link; copy the files instead")
    paths = sorted(data.rglob("*"))
    _stay_below(data, paths)
    files = {
        str(path.relative_to(folder)): str(path) for path in paths if path.is_file()
    }
    for name in files:
        if not name.isprintable():  # it stands in the prompt
            msg = (
                f"{folder}: {name!r}: a file's name holds signs that cannot be printed"
            )
            raise QuestionError(msg)
    return files


def build_prompt(
    spec: TaskSpec,
    level: Level,
    files: Sequence[str] = (),
    *,
    role: str = _TEXTS["role"],
) -> str:
    """The whole question as text: role, properties, the text of ``level``, contract."""
    properties = "\n".join(
        f"- `{prop.name}`: {prop.text} Format: `{prop.format}`."
        for prop in spec.properties
    )
    parts = [f"{role}\n{properties}"]
    if files:
        parts.append("\n".join([_TEXTS["files"], *(f"- `{name}`" for name in files)]))
    text = getattr(spec, level).strip()
    parts.append(f"{_TEXTS['masked'] if MASK in text else _LEVEL_INTRO[level]}\n{text}")
    parts.append(_TEXTS["contract"])
    return "\n\n".join(parts) + "\n"


def make_properties(spec: TaskSpec, gold: Mapping[str, Any]) -> tuple[Property, ...]:
    """What verification needs, from the specification and the gold values."""
    return tuple(
        Property(
            **prop.model_dump(exclude={"description", "choices"}),
            description=prop.text,
            expected=json.dumps(gold[prop.name]),
        )
        for prop in spec.properties
    )


def read_tasks(
    root: Path,
    level: Level | None,
    *,
    environment: str,
    labels: Mapping[str, str] = {},
    role: str = _TEXTS["role"],
) -> list[Sample]:
    """All questions below a folder, by name, with their golds; a `QuestionError` when one is wrong.

    ``labels`` are those of all, besides area and level; the prompt begins with ``role``. No level:
    scaffold where every question has one, else goal.
    """
    if level not in {None, *_LEVEL_INTRO}:
        raise QuestionError(
            f"benchmark.level={level}: choose one of {', '.join(_LEVEL_INTRO)}"
        )
    folders = question_folders(root)
    if not folders:
        lost = root.with_name("rejected.jsonl")
        why = f" (see {lost})" if lost.exists() else ""
        raise QuestionError(f"{root}: no folder with a task.yaml in it{why}")
    specs = {folder: read_file(folder / "task.yaml", TaskSpec) for folder in folders}
    common = level or (
        "scaffold" if all(spec.scaffold for spec in specs.values()) else "goal"
    )
    samples = (_sample(folder, spec, common, role) for folder, spec in specs.items())
    return [
        replace(sample, environment=environment, labels={**sample.labels, **labels})
        for sample in samples
    ]


def _sample(folder: Path, spec: TaskSpec, level: Level, role: str) -> Sample:
    if not getattr(spec, level):
        there = [
            f"benchmark.level={name}" for name in _LEVEL_INTRO if getattr(spec, name)
        ]
        msg = f"{folder / 'task.yaml'}: no text of level {level}; there is {' and '.join(there)}"
        raise QuestionError(msg)
    own = {  # one that depends on the level has a value for each
        name: str(value[level] if isinstance(value, dict) and level in value else value)
        for name, value in (spec.model_extra or {}).items()
    }
    package = "+".join(spec.packages) or "pymatgen"
    mounts = data_files(folder)
    file = folder / "reference.py"
    question = Question(
        id=folder.name,
        prompt=build_prompt(spec, level, list(mounts), role=role),
        formats={prop.name: prop.format for prop in spec.properties},
        mounts=mounts,
    )
    sample = Sample(
        question,
        make_properties(spec, read_gold(folder, spec)),
        labels={**own, "area": spec.area, "level": level, "package": package},
    )
    if not file.is_file():
        return sample
    return replace(
        sample, reference=CodeAnswer(file.read_text("utf-8"), "reference", "strict")
    )

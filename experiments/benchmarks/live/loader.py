"""Reads the questions of ``live`` from ``questions/<id>/``.

A question is a folder: ``task.yaml`` (both prompt levels and the properties), ``reference.py``
(the solution of an expert), ``gold.json`` (what the reference returned, written by
``python -m experiments.benchmarks.live check --write``) and optionally ``data/`` (input files).
Only ``data/`` is ever shown to a sandbox that runs a model's code.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from agents.base import Question
from experiments.tasks import Property, Task

if TYPE_CHECKING:
    from experiments.unseen.build import UnseenLibrary

log = logging.getLogger(__name__)
Level = Literal["scaffold", "goal"]

QUESTIONS = Path(__file__).parent / "questions"
#: Written by ``python -m experiments.build_tasks difficulty``.
DIFFICULTY = Path(__file__).parent / "difficulty.json"
ENVIRONMENT = "live"
PACKAGES = ("pymatgen", "matminer", "robocrys", "phonopy")
#: What the unseen library is made from.
RENAMED = (
    "pymatgen.analysis.defects",
    "pymatgen.analysis.diffusion",
    "pymatgen.analysis.alloys",
)

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
    "scaffold": (
        "Inputs and set-up. Every [MASK] stands for a name of the library that you have to find:"
    ),
    "goal": "The task:",
}
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


class LiveError(ValueError):
    """A question of ``live`` is wrong or incomplete; the message names the file and what to do."""


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

    area: Annotated[str, Field(pattern=r"^[a-z][a-z_]*$")]
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
    LiveError
        When the file is absent, is no YAML, or has a wrong key or value.
    """
    path = folder / "task.yaml"
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        msg = f"{path}: cannot be read: {error}"
        raise LiveError(msg) from error
    try:
        return form.model_validate(content)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'top level'}: {fault['msg']}"
            for fault in error.errors()
        )
        msg = f"{path}: {faults}"
        raise LiveError(msg) from error


def read_gold(folder: Path, spec: TaskSpec) -> dict[str, Any]:
    """The expected value of every property of ``spec``, as tagged JSON values.

    Raises
    ------
    LiveError
        When ``gold.json`` is absent or does not hold exactly the properties of ``spec``.
    """
    path = folder / "gold.json"
    rewrite = f"run: python -m experiments.benchmarks.live check ids={folder.name} --write"
    try:
        gold = json.loads(path.read_text(encoding="utf-8"))["properties"]
    except FileNotFoundError:
        msg = f"{path}: there is no gold yet; {rewrite}"
        raise LiveError(msg) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = f"{path}: cannot be read ({error!r}); {rewrite}"
        raise LiveError(msg) from error
    names = {prop.name for prop in spec.properties}
    if not isinstance(gold, dict) or set(gold) != names:
        msg = f"{path}: its properties are not those of task.yaml ({sorted(names)}); {rewrite}"
        raise LiveError(msg)
    return gold


def data_files(folder: Path) -> dict[str, str]:
    """Input files of a question: path inside the sandbox to path on the host."""
    data = folder / "data"
    return {
        str(path.relative_to(folder)): str(path)
        for path in sorted(data.rglob("*"))
        if path.is_file()
    }


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
    parts.append(f"{_LEVEL_INTRO[level]}\n{getattr(spec, level).strip()}")
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


@cache
def _difficulty() -> dict[str, Any]:
    if not DIFFICULTY.is_file():
        return {}
    content: dict[str, Any] = json.loads(DIFFICULTY.read_text(encoding="utf-8"))["questions"]
    return content


def difficulty_labels(question_id: str, level: Level) -> dict[str, str]:
    """Labels for break-downs; none for a question that is not in `DIFFICULTY`.

    ``calls`` (library calls in the reference), ``names_given`` (share of its library names that
    the prompt gives away) and ``api`` (``same``, ``signature`` or ``absent`` in an older version:
    the largest change among the names of the reference).
    """
    row = _difficulty().get(question_id)
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


@dataclass(frozen=True)
class LiveBenchmark:
    """The benchmark ``live``.

    Parameters
    ----------
    level
        ``scaffold``: set-up code with masked names; ``goal``: the same tasks in words.
    root
        Folder that holds one folder per question.
    library
        ``installed``: the packages as they are; ``unseen``: add-ons with all names changed
        (:mod:`experiments.unseen`), and the questions that use them.
    seed
        Which unseen library.
    renamed
        Import names of the packages that are renamed for ``unseen``.
    """

    level: Level = "scaffold"
    root: Path = QUESTIONS
    name: str = "live"
    library: Literal["installed", "unseen"] = "installed"
    seed: int = 1
    renamed: tuple[str, ...] = RENAMED

    @property
    def packages(self) -> tuple[str, ...]:
        """Import names of what is retrieved from."""
        return PACKAGES if self.library == "installed" else (*PACKAGES, *self._unseen.packages)

    @property
    def questions(self) -> Path:
        """Folder that holds one folder per question that is asked."""
        return self.root if self.library == "installed" else self._unseen.questions

    @cached_property
    def _unseen(self) -> UnseenLibrary:
        # It is built on this module; and only this track needs libcst and mypy.
        from experiments.unseen.progress import ready_with_progress  # noqa: PLC0415

        return ready_with_progress(self.renamed, seed=self.seed, questions=self.root)

    def load(self) -> list[Task]:
        """All tasks, sorted by question id.

        Raises
        ------
        LiveError
            When a question is wrong, has no gold, or there are no questions at all.
        """
        if self.level not in _LEVEL_INTRO:
            msg = f"benchmark.level={self.level}: choose one of {', '.join(_LEVEL_INTRO)}"
            raise LiveError(msg)
        folders = question_folders(self.root)
        if not folders:
            msg = f"{self.root}: no questions here (expected <id>/task.yaml)"
            raise LiveError(msg)
        if self.library == "unseen":
            asked = question_folders(self._unseen.questions)
            log.warning(
                "benchmark.library=unseen: %d questions use %s; the other %d of live are left out",
                len(asked), " or ".join(self.renamed), len(folders) - len(asked),
            )  # fmt: skip
            folders = asked
        return [self._task(folder) for folder in folders]

    def _task(self, folder: Path) -> Task:
        spec = read_spec(folder)
        mounts = data_files(folder)
        question = Question(
            id=folder.name,
            prompt=build_prompt(spec, self.level, list(mounts)),
            formats={prop.name: prop.format for prop in spec.properties},
            mounts=mounts,
        )
        return Task(
            question=question,
            properties=make_properties(spec, read_gold(folder, spec)),
            environment=ENVIRONMENT if self.library == "installed" else self._unseen.environment,
            labels={
                "area": spec.area,
                "level": self.level,
                **self._library_label(),
                "package": "+".join(spec.packages) or "pymatgen",
                **difficulty_labels(folder.name, self.level),
            },
        )

    def _library_label(self) -> dict[str, str]:
        return {} if self.library == "installed" else {"library": f"unseen {self.seed}"}

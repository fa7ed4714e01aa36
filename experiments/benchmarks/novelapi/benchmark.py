"""The benchmark ``novelapi``: NovelAPIBench (arXiv 2606.03657), out of the authors' checkout.

A task shows code with a gap and asks for the missing lines, which have to call one function or
class that came into a library, or changed there, lately.
"""

from __future__ import annotations

import ast
import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from agents.answer_formats import Reading
from agents.base import Question, Trajectory
from docgen.reading import fences, spoken
from experiments.benchmarks.novelapi import check
from experiments.samples import Sample, json_entries
from experiments.scorers.base import PARTS, Metric, Score, Tools
from experiments.scorers.grading import given
from experiments.scorers.properties import ANSWERS_FAULT
from sandbox.base import Outcome, SandboxError

Knowledge = Literal[
    "none", "S_name", "S", "E", "M", "C", "S+M", "S+E", "S+C", "S+M+C", "S+E+C", "Full"
]
Line = TypeVar("Line", bound=BaseModel)
MAX_COMPLETION = 100_000  # characters
_PYTHON = frozenset({"py", "py3", "python", "python3"})

_PROMPT = """\
Some lines are missing at the end of a Python program. What stands before them:
```python
{context}
```

What they have to do: {task}

Reply with the missing lines in one block of Python, without those above. They may import and
define what they need."""


class NovelApiError(ValueError):
    """The checkout is not where or what it should be, or a key is wrong."""


class Harness(BaseModel):
    """The tests of a task."""

    setup_code: str = ""
    execution_test: str = ""


class Task(BaseModel):
    """A line of ``tasks.jsonl``, as far as it is read."""

    task_id: str
    api_name: str
    library: str
    domain: str = ""
    difficulty: str = ""
    description: str
    context_code: str = ""
    masked_region: str = ""
    reference_solution: str = ""
    test_harness: Harness


class Recorded(BaseModel):
    """A line of ``expected_calls.jsonl``."""

    task_id: str
    status: str
    expected: list[dict[str, Any]] = []
    reference_source: Literal["masked_region", "reference_solution"] = "masked_region"


class Parameter(BaseModel):
    """A parameter of a bundle."""

    name: str
    type: str | None = None
    default: Any = None
    description: str = ""


class Bundle(BaseModel):
    """A line of ``bundles.jsonl``: what there is to know of an API."""

    api_name: str
    s_name: str
    s_param: list[Parameter] = []
    examples: list[dict[str, str]] = []
    mechanism: dict[str, Any] = {}
    implementation: str | None = None
    is_modified: bool = False

    def shown(self, knowledge: Knowledge) -> str:
        """The parts that a condition of the paper gives, in its order."""
        wanted = {"S", "E", "M", "C"} if knowledge == "Full" else set(knowledge.split("+"))
        parts = [f"Name: {self.s_name}"] if wanted & {"S", "S_name"} else []
        if "S" in wanted and self.s_param:
            parts.append("\n".join(["Parameters:", *map(_parameter, self.s_param)]))
        if "E" in wanted:
            parts += [f"Example:\n```python\n{each['code']}\n```" for each in self.examples]
        if "M" in wanted and self.mechanism.get("text"):
            parts.append(f"How it works: {self.mechanism['text']}")
        if "C" in wanted and self.implementation:
            parts.append(f"Source:\n```python\n{self.implementation}\n```")
        return "\n\n".join(parts)


def _parameter(one: Parameter) -> str:
    default = "" if one.default is None else f" = {one.default}"
    return f"- {one.name}{f': {one.type}' if one.type else ''}{default}: {one.description}"


@dataclass(frozen=True)
class Completion:
    """Lines of Python: the longest block that is some, first of those that say so."""

    name: str = "completion"
    instruction: str = ""

    def read(self, reply: str) -> Reading | None:
        """See :class:`agents.answer_formats.AnswerFormat`."""
        text = spoken(reply)
        blocks = list(fences(text))
        tagged = [code for language, code in blocks if language in _PYTHON]
        for found in (tagged, [code for _, code in blocks], [] if blocks else [text]):
            if right := [code for code in found if code.strip() and _parses(code)]:
                return Reading(max(right, key=len), "strict" if found is tagged else "repaired")
        return None


def _parses(code: str) -> bool:
    try:
        return len(code) <= MAX_COMPLETION and bool(ast.parse(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError):
        return False


@dataclass(frozen=True)
class NovelApiScorer:
    """Runs a completion between the task's own code and its tests.

    Attributes
    ----------
    modules
        Source of what is run of the checkout, by module.
    """

    modules: Mapping[str, str]
    metrics: Sequence[Metric] = (
        Metric(PARTS, "pass@1", "completions that run, call the target as the reference does, and "
               "pass the task's tests"),
    )  # fmt: skip
    executes: bool = True
    warmup: str = ""

    def parts(self, sample: Sample) -> Sequence[str]:  # noqa: ARG002 -- the protocol's
        """One."""
        return ["completion"]

    async def score(self, sample: Sample, trajectory: Trajectory, tools: Tools) -> Score:
        """See :class:`experiments.scorers.base.Scorer`."""
        answer = await given(sample, trajectory, tools)
        if answer.value is None:
            return _failed("no_answer", answer.reason or "the reply holds no Python")
        if tools.sandbox is None:
            raise SandboxError("a completion is run in a sandbox, but there is none")
        task, calls = sample.target["task"], sample.target["calls"]
        arguments = [dict(self.modules), task, str(answer.value), calls]
        run = await tools.sandbox.call(check.__name__, "check", arguments, timeout=tools.timeout)
        if run.outcome in ANSWERS_FAULT:
            return _failed(str(run.outcome), f"it ended with {run.outcome}")
        result = run.result
        if run.outcome is not Outcome.OK or not isinstance(result, Mapping):
            raise SandboxError(f"the authors' harness ended with {run.outcome}: {run.error}")
        if result.get("passed") is True:
            return Score("ok", passed={"completion": True}, execution=run)
        return _failed("ok", str(result.get("error")))


def _failed(outcome: str, reason: str) -> Score:
    return Score(outcome, passed={"completion": False}, reasons={"completion": reason},
                 artefacts={"failure": reason.partition(":")[0]})  # fmt: skip


@dataclass(frozen=True)
class NovelApiBenchmark:
    """The benchmark ``novelapi``; ``conf/benchmark/novelapi.yaml`` explains its keys."""

    path: str | None = None
    libraries: Sequence[str] = ("pymatgen", "ase")
    instance: str | None = None
    knowledge: Knowledge = "none"
    calls: bool = True
    environment: str = "live"
    name: str = "novelapi"

    @property
    def packages(self) -> Sequence[str]:
        """Import names of the libraries."""
        return tuple(self.libraries)

    @property
    def scorer(self) -> NovelApiScorer:
        """With the harness of the checkout."""
        root = self._root()
        files = {name: root / f"{name.replace('.', '/')}.py" for name in check.MODULES}
        return NovelApiScorer({name: _text(file) for name, file in files.items()})

    def load(self) -> list[Sample]:
        """The tasks of the libraries, without those that the authors took out, in their order."""
        data = self._root() / "data" / "benchmark"
        tasks = list(_lines(data / "tasks.jsonl", Task))
        known = {task.library for task in tasks}
        for library in self.libraries:
            if library not in known:
                raise NovelApiError(
                    f"libraries: no {library}; there are {', '.join(sorted(known))}"
                )
        excluded = csv.DictReader(_text(data / "excluded_tasks.tsv").splitlines(), delimiter="\t")
        out = {row["task_id"] for row in excluded}
        if self.instance is not None:
            out |= {task.task_id for task in tasks} - self._instance(data / "instances")
        chosen = [t for t in tasks if t.library in self.libraries and t.task_id not in out]
        records = {each.task_id: each for each in _lines(data / "expected_calls.jsonl", Recorded)}
        bundles = {each.api_name: each for each in _lines(data / "bundles.jsonl", Bundle)}
        return [self._sample(t, records.get(t.task_id), bundles.get(t.api_name)) for t in chosen]

    def _sample(self, task: Task, record: Recorded | None, bundle: Bundle | None) -> Sample:
        prompt = _PROMPT.format(context=task.context_code.strip(), task=task.description.strip())
        unavailable = None
        if self.calls and (record is None or record.status != "ok"):
            unavailable = "the calls of its reference are not on record"
        if self.knowledge != "none":
            if bundle is None:
                unavailable = f"there is no bundle of {task.api_name}"
            else:
                prompt = f"{bundle.shown(self.knowledge)}\n\n---\n\n{prompt}"
        novelty = "" if bundle is None else "changed" if bundle.is_modified else "new"
        labels = {"library": task.library, "domain": task.domain, "difficulty": task.difficulty,
                  "novelty": novelty}  # fmt: skip
        source = "masked_region" if record is None else record.reference_source
        run = {"api_name": task.api_name, "context_code": task.context_code,
               **task.test_harness.model_dump()}  # fmt: skip
        return Sample(
            Question(task.task_id, prompt, search=task.description, answer=Completion()),
            environment=self.environment, labels=labels, cluster=task.api_name,
            target={"task": run, "calls": record.expected if self.calls and record else None},
            unavailable=unavailable, reference=f"```python\n{getattr(task, source)}\n```",
        )  # fmt: skip

    def _root(self) -> Path:
        if self.path is None:
            raise NovelApiError("path=CHECKOUT of github.com/MAPS-research/NovelAPIBench is needed")
        root = Path(self.path).expanduser()
        if not (root / "data" / "benchmark" / "tasks.jsonl").is_file():
            raise NovelApiError(f"{self.path}: has no data/benchmark/tasks.jsonl")
        return root

    def _instance(self, folder: Path) -> set[str]:
        file = folder / f"{self.instance}.txt"
        if not file.is_file() or file.parent != folder:
            there = ", ".join(sorted(each.stem for each in folder.glob("*.txt")))
            raise NovelApiError(f"instance={self.instance}: choose one of {there}")
        return set(_text(file).split())


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise NovelApiError(f"{file}: {error.strerror}") from error


def _lines(file: Path, kind: type[Line]) -> Iterator[Line]:
    try:
        entries = list(json_entries(file))
    except (OSError, ValueError) as error:
        raise NovelApiError(str(error)) from error
    for where, entry in entries:
        try:
            yield kind.model_validate(entry)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise NovelApiError(f"{where}, {place}: {first['msg']}") from error

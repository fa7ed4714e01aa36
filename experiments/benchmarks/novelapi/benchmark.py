"""The benchmark ``novelapi``: NovelAPIBench (arXiv 2606.03657), out of the authors' checkout.

A task shows code with a gap and asks for the missing lines, which have to call one function or
class that came into a library, or changed there, lately.
"""

from __future__ import annotations

import ast
import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from agents.answer_formats import Reading
from agents.base import Question, Trajectory
from docgen.reading import fences, spoken
from experiments.benchmarks.novelapi import check
from experiments.benchmarks.own import Task
from experiments.benchmarks.release import ReleaseError, entries
from experiments.samples import Sample
from experiments.scorers.base import CRITERIA, Metric, Score, Scorer, ScoringContext
from experiments.scorers.grading import extract_answer
from sandbox import environments
from sandbox.base import Outcome, SandboxError

Knowledge = Literal[
    "none", "S_name", "S", "E", "M", "C", "S+M", "S+E", "S+C", "S+M+C", "S+E+C", "Full"
]
_Entry = Mapping[str, Any]  # a line of a file of the checkout
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


def knowledge_text(bundle: Mapping[str, Any], knowledge: Knowledge) -> str:
    """The parts of what there is to know of an API that a condition gives, in the paper's order."""
    wanted = {"S", "E", "M", "C"} if knowledge == "Full" else set(knowledge.split("+"))
    parts = [f"Name: {bundle['s_name']}"] if wanted & {"S", "S_name"} else []
    if "S" in wanted and bundle.get("s_param"):
        parts.append("\n".join(["Parameters:", *map(_parameter, bundle["s_param"])]))
    if "E" in wanted:
        examples = bundle.get("examples") or []
        parts += [f"Example:\n```python\n{each['code']}\n```" for each in examples]
    if "M" in wanted and (text := (bundle.get("mechanism") or {}).get("text")):
        parts.append(f"How it works: {text}")
    if "C" in wanted and bundle.get("implementation"):
        parts.append(f"Source:\n```python\n{bundle['implementation']}\n```")
    return "\n\n".join(parts)


def _parameter(parameter: Mapping[str, Any]) -> str:
    kind = f": {parameter['type']}" if parameter.get("type") else ""
    default = "" if parameter.get("default") is None else f" = {parameter['default']}"
    return f"- {parameter['name']}{kind}{default}: {parameter.get('description') or ''}"


@dataclass(frozen=True)
class Completion:
    """Lines of Python: the longest block that is some, first of those that say so."""

    instruction: str = ""

    def read(self, reply: str) -> Reading | None:
        """See :class:`agents.answer_formats.AnswerFormat`."""
        text = spoken(reply)
        blocks = list(fences(text))
        tagged = [code for language, code in blocks if language in _PYTHON]
        for codes in (tagged, [code for _, code in blocks], [] if blocks else [text]):
            if right := [code for code in codes if code.strip() and _parses(code)]:
                return Reading(
                    max(right, key=len), "strict" if codes is tagged else "repaired"
                )
        return None


def _parses(code: str) -> bool:
    try:
        return len(code) <= MAX_COMPLETION and bool(ast.parse(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError):
        return False


@dataclass(frozen=True)
class NovelApiScorer(Scorer):
    """Runs a completion between the task's own code and its tests."""

    modules: Mapping[str, str]  # source of what is run of the checkout, by module
    warmup: str = ""  # what tests and completions import
    metrics: Sequence[Metric] = (
        Metric(
            CRITERIA,
            "pass@1",
            "completions that run, call the target as the reference does, and "
            "pass the task's tests",
        ),
    )

    def criteria(self, sample: Sample) -> Sequence[str]:  # noqa: ARG002 -- the protocol's
        """One."""
        return ["completion"]

    async def score(
        self, sample: Sample, trajectory: Trajectory, context: ScoringContext
    ) -> Score:
        """See :class:`experiments.scorers.base.Scorer`."""
        answer = await extract_answer(sample, trajectory, context)
        if answer.value is None:
            return _failed("no_answer", answer.reason or "the reply holds no Python")
        if context.verifier is None:
            raise SandboxError("a completion is run in a sandbox, but there is none")
        task = sample.target["task"]
        calls = sample.target["calls"]
        modules = dict(self.modules)
        reference = sample.target["reference"]
        # Tests and completion share an interpreter, so it is the verifier's: what the tests know
        # never comes near the sandbox where answers run on their own.
        run = await context.verifier.judge(
            check.__name__,
            "check",
            [modules, task, str(answer.value), calls],
            control=[modules, task, reference, calls],
            timeout=context.timeout,
        )
        if run.outcome is not Outcome.OK or not isinstance(run.result, Mapping):
            return _failed(str(run.outcome), f"it ended with {run.outcome}")
        if run.result.get("passed") is True:
            return Score("ok", passed={"completion": True}, execution=run)
        return _failed("ok", str(run.result.get("error")))


def _failed(outcome: str, reason: str) -> Score:
    return Score(
        outcome,
        passed={"completion": False},
        reasons={"completion": reason},
        artefacts={"failure": reason.partition(":")[0]},
    )


def novelapi(
    path: str | None = None,
    libraries: Sequence[str] = ("pymatgen", "ase"),
    instance: str | None = None,
    knowledge: Knowledge = "none",
    *,
    calls: bool = True,
    environment: str = "live",
    name: str = "novelapi",
) -> Task:
    """The tasks of the libraries, without those that the authors took out, in their order.

    ``conf/benchmark/novelapi.yaml`` explains the keys.
    """
    if path is None:
        raise ReleaseError(
            "path=CHECKOUT of github.com/MAPS-research/NovelAPIBench is needed"
        )
    root = Path(path).expanduser()
    data = root / "data" / "benchmark"
    if not (data / "tasks.jsonl").is_file():
        raise ReleaseError(f"{path}: has no data/benchmark/tasks.jsonl")
    needed = {"task_id", "api_name", "library", "description", "test_harness"}
    tasks = entries(data / "tasks.jsonl", needed)
    available = {task["library"] for task in tasks}
    if strangers := ", ".join(sorted(set(libraries) - available)):
        raise ReleaseError(
            f"libraries: no {strangers}; there are {', '.join(sorted(available))}"
        )
    excluded = csv.DictReader(
        _text(data / "excluded_tasks.tsv").splitlines(), delimiter="\t"
    )
    out = {row["task_id"] for row in excluded}
    if instance is not None:
        there = {file.stem: file for file in sorted((data / "instances").glob("*.txt"))}
        if instance not in there:
            raise ReleaseError(f"instance={instance}: choose one of {', '.join(there)}")
        out |= {task["task_id"] for task in tasks} - set(_text(there[instance]).split())
    listed = entries(data / "expected_calls.jsonl", {"task_id", "status"})
    records = {each["task_id"]: each for each in listed}
    bundles = {
        each["api_name"]: each
        for each in entries(data / "bundles.jsonl", {"api_name", "s_name"})
    }
    samples = []
    for task in tasks:
        if task["library"] in libraries and task["task_id"] not in out:
            own = records.get(task["task_id"], {}), bundles.get(task["api_name"])
            sample = _sample(task, *own, knowledge, calls=calls)
            samples.append(replace(sample, environment=environment))
    files = {name: root / f"{name.replace('.', '/')}.py" for name in check.MODULES}
    sources = {name: _text(file) for name, file in files.items()}
    scorer = NovelApiScorer(sources, environments.warmup(environment))
    return Task(samples, scorer, tuple(libraries), name)


def _sample(
    task: _Entry,
    record: _Entry,
    bundle: _Entry | None,
    knowledge: Knowledge,
    *,
    calls: bool,
) -> Sample:
    context = task.get("context_code", "")
    api = task["api_name"]
    prompt = _PROMPT.format(context=context.strip(), task=task["description"].strip())
    unrecorded = calls and record.get("status") != "ok"
    unavailable = "the calls of its reference are not on record" if unrecorded else None
    if knowledge != "none" and bundle is not None:
        prompt = f"{knowledge_text(bundle, knowledge)}\n\n---\n\n{prompt}"
    elif knowledge != "none":
        unavailable = f"there is no bundle of {api}"
    novelty = (
        "" if bundle is None else "changed" if bundle.get("is_modified") else "new"
    )
    labels = {name: task.get(name, "") for name in ("library", "domain", "difficulty")}
    run = {
        name: task["test_harness"].get(name, "")
        for name in ("setup_code", "execution_test")
    }
    run |= {"api_name": api, "context_code": context}
    expected = record.get("expected") or [] if calls and record else None
    right = task.get(record.get("reference_source", "masked_region"), "")
    return Sample(
        Question(
            task["task_id"], prompt, search=task["description"], answer=Completion()
        ),
        labels={**labels, "novelty": novelty},
        cluster=api,
        target={"task": run, "calls": expected, "reference": right},
        unavailable=unavailable,
        reference=f"```python\n{right}\n```",
    )


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ReleaseError(f"{file}: {error.strerror}") from error

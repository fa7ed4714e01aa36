"""What a scorer is, and what it says of an answer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from agents.base import Trajectory
from experiments.judge import Judge
from experiments.rows import Row
from experiments.samples import Sample
from sandbox.base import Execution, Mount, Outcome, Sandbox, SandboxError


@dataclass(frozen=True)
class Metric:
    """One number of a run, as a ratio of sums over its answers.

    Attributes
    ----------
    name
        Of the value in `Score.values`; ``parts`` counts the parts that passed instead, and
        ``all_correct`` the answers with every part right.
    title
        Heading of its column.
    bounded
        Whether it lies between 0 and 1, and is shown in per cent.
    of_parts
        Whether the value is a number of parts, to be shown as a share of them.
    about
        What it means, in one sentence for the report.
    of, baseline
        Names of two values: shown is by how much the first is above the second, as a share of
        what is possible, (of - baseline) / (1 - baseline).
    out_of
        Name of the value that says what ``name`` is out of, where that differs by answer.
    macro
        A label: the metric is the mean over its groups, each as a ratio of sums; two labels with a
        comma between: the mean over the first one's groups of such means.
    minor
        Whether a terminal has no room for it; pages and files show it.
    """

    name: str
    title: str
    about: str
    bounded: bool = True
    of_parts: bool = False
    of: str = ""
    baseline: str = ""
    out_of: str = ""
    macro: str = ""
    minor: bool = False


#: Share of the parts (properties, slots, ...) that are right.
PARTS: Literal["parts"] = "parts"
#: Artefact of scorers that follow the calls of an answer: ``2 of 4`` when calls two deep are the
#: first of which one is missing or gave a wrong value, ``none`` when all are right.
FIRST_WRONG = "first wrong link"
ALL_CORRECT: Literal["all_correct"] = "all_correct"


def measure(row: Row, metric: Metric) -> tuple[float, float]:
    """What an answer contributes to a metric, as a sum and what it is out of.

    An answer without a verdict, or with an unknown value, contributes nothing to either.
    """
    if not row.scored:
        return 0.0, 0.0
    if metric.name == PARTS:
        return row.passed_count, row.parts
    value = _value(row, metric.of or metric.name)
    base = _value(row, metric.baseline) if metric.baseline else 0.0
    total = _value(row, metric.out_of) if metric.out_of else row.parts if metric.of_parts else 1.0
    if value is None or base is None or total is None:
        return 0.0, 0.0
    return value - base, total - base


def _value(row: Row, name: str) -> float | None:
    return float(row.all_correct) if name == ALL_CORRECT else row.values.get(name)


def measuring(rows: Iterable[Row], metric: Metric) -> Callable[[Row], tuple[float, float]]:
    """How answers of one set are measured: as `measure`, each group of a macro mean alike."""
    if not metric.macro:
        return lambda row: measure(row, metric)
    labels = metric.macro.split(",")

    def group(row: Row) -> tuple[str, ...]:
        return tuple(row.labels.get(label, "") for label in labels)

    totals: dict[tuple[str, ...], float] = defaultdict(float)
    for row in rows:
        totals[group(row)] += measure(row, metric)[1]
    siblings = Counter(key[:-1] for key, total in totals.items() if total)

    def weighed(row: Row) -> tuple[float, float]:
        gained, total = measure(row, metric)
        weight = totals[group(row)] * (siblings[group(row)[:-1]] if len(labels) > 1 else 1)
        return (gained / weight, total / weight) if weight else (0.0, 0.0)

    return weighed


def amount(value: float) -> str:
    """A sum of values: whole where it is a count."""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.4g}"


@dataclass(frozen=True)
class Score:
    """The verdict on one answer.

    Attributes
    ----------
    outcome
        How it came about: how the execution ended, ``no_answer``, ``infra``, ``not_finished``.
    values
        Named numbers; ``None`` is unknown, never zero.
    passed
        Verdict by part; ``None`` when infrastructure failed: unknown, not wrong.
    reasons
        Why a part is not right.
    artefacts
        Short texts that a report shows or counts (which letter was given).
    figures
        Title to SVG text that our own code has made, or to a ``data:image/png;base64,`` URI; up to
        `experiments.record.MAX_FIGURE` characters each. They may show what is expected: nothing
        that answers questions reads them.
    execution
        The final run of the code, where there was one.
    error
        What failed on our side.
    """

    outcome: str
    values: Mapping[str, float | None] = field(default_factory=dict)
    passed: Mapping[str, bool] | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    artefacts: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, str] = field(default_factory=dict)
    execution: Execution | None = None
    error: str | None = None


@dataclass(frozen=True)
class Tools:
    """What a scorer may use.

    Attributes
    ----------
    sandbox
        Runs the code of models; ``None`` for a scorer that executes nothing.
    verifier
        Compares with expected values, never runs a model's code.
    timeout
        Seconds of processor time for the code.
    judge
        A model that judges prose, ``None`` for none.
    """

    sandbox: Sandbox | None = None
    verifier: Sandbox | None = None
    timeout: float = 60.0
    judge: Judge | None = None

    async def run(self, sample: Sample, code: str, entry: str) -> Execution:
        """Run the code of an answer afresh, with the input files of its question.

        Raises
        ------
        SandboxError
            When there is no sandbox, or it failed: the answer stays without a verdict.
        """
        if self.sandbox is None:
            raise SandboxError("the code of an answer is executed in a sandbox, but there is none")
        mounts = [Mount(Path(source), target) for target, source in sample.question.mounts.items()]
        execution = await self.sandbox.run(code, entry, timeout=self.timeout, mounts=mounts)
        if execution.outcome is Outcome.INFRA:
            raise SandboxError(execution.error or "the sandbox failed")
        return execution


class Scorer(Protocol):
    """Turns the answer to a question into a score."""

    @property
    def metrics(self) -> Sequence[Metric]:
        """What a run reports; the first one is the primary metric."""
        ...

    @property
    def warmup(self) -> str:
        """Python source that the sandbox for verification executes once; mostly empty."""
        ...

    @property
    def executes(self) -> bool:
        """Whether it needs the sandboxes of a question's environment."""
        ...

    def parts(self, sample: Sample) -> Sequence[str]:
        """Names of what is judged apart in an answer to ``sample``."""
        ...

    async def score(self, sample: Sample, trajectory: Trajectory, tools: Tools) -> Score:
        """Judge an answer that exists; failures of matsmith itself are raised.

        Raises
        ------
        SandboxError, ModelError
            When a sandbox or the judge failed: the answer stays without a verdict.
        """
        ...

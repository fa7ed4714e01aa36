"""What a scorer is, and what it says of an answer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from agents.base import Trajectory
from experiments.record import Row
from experiments.samples import Sample
from experiments.scorers.judge import Judge
from foundation.configuration import data_of
from sandbox.base import AnswerSandbox, Execution, Mount, SandboxError, Verifier


@dataclass(frozen=True)
class Metric:
    """One number of a run, as a ratio of sums over its answers.

    Attributes
    ----------
    name
        Of the value in `Score.values`; ``criteria`` counts the criteria that passed instead, and
        ``all_correct`` the answers that meet every criterion. ``a - b``: by how much ``a`` is above
        ``b``, as a share of what is possible.
    title
        Heading of its column.
    about
        What it means, in one sentence for the report.
    out_of
        What the value is out of: another value, ``criteria``, or one.
    macro
        A label: the metric is the mean over its groups, each as a ratio of sums; two labels with a
        comma between: the mean over the first one's groups of such means.
    unit
        ``%`` for a share; anything else has no bounds.
    every
        A label: a group of its answers counts once, and only where each of them has the full value.
    """

    name: str
    title: str
    about: str
    out_of: str = ""
    macro: str = ""
    unit: str = "%"
    every: str = ""


def read_metrics(module: str) -> Mapping[str, tuple[Metric, ...]]:
    """The metrics in the ``metrics.yaml`` beside a module, by the name of their list."""
    lists = data_of(module, "metrics").items()
    return {
        name: tuple(Metric(**entry) for entry in entries) for name, entries in lists
    }


#: Share of the criteria (properties, slots, ...) that are met.
CRITERIA: Literal["criteria"] = "criteria"
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
    name, _, baseline = metric.name.partition(" - ")
    value, base = _value(row, name), _value(row, baseline) if baseline else 0.0
    out_of = metric.out_of or (CRITERIA if name == CRITERIA else "")
    total = (
        float(row.criteria)
        if out_of == CRITERIA
        else _value(row, out_of)
        if out_of
        else 1.0
    )
    if value is None or base is None or total is None:
        return 0.0, 0.0
    return value - base, total - base


def _value(row: Row, name: str) -> float | None:
    if name == CRITERIA:
        return float(row.passed_count)
    if name == ALL_CORRECT:
        return float(row.all_correct) if row.criteria else None
    return row.values.get(name)


def measuring(
    rows: Iterable[Row], metric: Metric
) -> Callable[[Row], tuple[float, float]]:
    """How answers of one set are measured: as `measure`, each group of a macro mean alike."""
    if metric.every:
        return _measuring_all(rows, metric)
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
        weight = totals[group(row)] * (
            siblings[group(row)[:-1]] if len(labels) > 1 else 1
        )
        return (gained / weight, total / weight) if weight else (0.0, 0.0)

    return weighed


def _measuring_all(
    rows: Iterable[Row], metric: Metric
) -> Callable[[Row], tuple[float, float]]:
    """Each of a group's ``n`` answers contributes ``1/n``: to both sums, or to the total alone."""
    sizes: Counter[str] = Counter()
    missed: set[str] = set()
    for row in rows:
        value, total = measure(row, metric)
        group = row.labels.get(metric.every, row.question_id)
        sizes[group] += bool(total)
        if value < total:
            missed.add(group)

    def weighed(row: Row) -> tuple[float, float]:
        _, total = measure(row, metric)
        group = row.labels.get(metric.every, row.question_id)
        if not total:
            return 0.0, 0.0
        share = 1 / sizes[group]
        return (0.0 if group in missed else share), share

    return weighed


def amount(value: float) -> str:
    """A sum of values: whole where it is a count."""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.4g}"


@dataclass(frozen=True)
class Score:
    """The verdict on one answer.

    Attributes
    ----------
    outcome, values, passed, reasons
        See `experiments.record.Row`.
    artefacts
        Short texts that a report shows or counts (which letter was given).
    figures
        Title to SVG text that our own code has made, or to a ``data:image/png;base64,`` URI, of a
        bounded size (`experiments.run.answering.MAX_FIGURE`). They may show what is expected:
        nothing that answers questions reads them.
    execution
        The final run of the code, where there was one.
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
class ScoringContext:
    """What a scorer may use.

    ``sandbox`` runs the code of models for at most ``timeout`` seconds of processor time, and takes
    nothing else; ``verifier`` is where an answer meets expected values.
    """

    sandbox: AnswerSandbox | None = None
    verifier: Verifier | None = None
    timeout: float = 60.0
    judge: Judge | None = None

    async def run(self, sample: Sample, code: str, entry: str) -> Execution:
        """Run the code of an answer afresh, with the input files of its question.

        A `SandboxError` where there is none or it failed: the answer stays without a verdict.
        """
        if self.sandbox is None:
            raise SandboxError(
                "the code of an answer is executed in a sandbox, but there is none"
            )
        mounts = [
            Mount(Path(source), target)
            for target, source in sample.question.mounts.items()
        ]
        return await self.sandbox.run(code, entry, timeout=self.timeout, mounts=mounts)


class Scorer(Protocol):
    """Turns the answer to a question into a score."""

    @property
    def metrics(self) -> Sequence[Metric]:
        """What a run reports; the first one is the primary metric."""
        ...

    @property
    def warmup(self) -> str:
        """Python source that the sandbox for verification executes once."""
        return ""

    @property
    def executes(self) -> bool:
        """Whether it needs the sandboxes of a question's environment."""
        return True

    def criteria(self, sample: Sample) -> Sequence[str]:  # noqa: ARG002 -- mostly the same for all
        """Names of what is judged apart in an answer to ``sample``."""
        return ("answer",)

    async def score(
        self, sample: Sample, trajectory: Trajectory, context: ScoringContext
    ) -> Score:
        """Judge an answer that exists.

        A `SandboxError` or `ModelError` leaves it without a verdict.
        """
        ...

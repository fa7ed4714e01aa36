"""Break-downs of results: by label, by budget, by failure reason."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from experiments.record import Row
from experiments.report.plots import drawn
from experiments.report.runs import Run, group_names, groups, tally
from experiments.report.tables import (
    Comparison,
    Table,
    compare_runs,
    csv_text,
    filled,
    heading_of,
    metrics_of,
    number,
    percent,
)
from experiments.scorers.base import Metric, measuring
from experiments.scorers.grading import GIVEN_LETTER, RIGHT_LETTER
from experiments.stats import Interval, ratio_interval
from foundation.configuration import data_of

_ABOUT = ("system", "retrieval", "model", "benchmark")
_KNOWN = data_of(__file__, "taxonomy")
_KINDS = [(re.compile(pattern), kind) for pattern, kind in _KNOWN["reasons"]]
_OUTCOMES: Mapping[str, str] = _KNOWN["outcomes"]
#: Of system=command, where it left no answer.
_ENDS: Mapping[str, str] = _KNOWN["ends"]

Spent = Literal["tokens", "calls"]


def grouped_by(runs: Iterable[Run]) -> list[str]:
    """Labels whose groups metrics are means over."""
    labels = {
        metric.macro
        for run in runs
        for metric in run.metrics
        if "," not in metric.macro
    }
    return sorted(labels - {""})


def groups_of(runs: Sequence[Run], label: str) -> Iterator[tuple[str, Run]]:
    """Group by group, run by run: runs whose rows are those of the group.

    A metric is what it is of these alone.
    """
    for name in group_names(runs, label):
        for run in runs:
            mine = tuple(row for row in run.scored if name in groups(row, label))
            yield name, replace(run, rows=mine)


def _counts(run: Run) -> list[str]:
    """Answers, and clusters where these are fewer."""
    answers = len(run.rows)
    clusters = len({row.cluster or row.question_id for row in run.rows})
    return [str(answers), str(clusters) if clusters < answers else "-"]


def _measured(run: Run, metric: Metric) -> tuple[float | None, Interval | None]:
    """The mean, and the interval of a share; ``None``: no data."""
    tallies = list(tally(run.rows, measuring(run.rows, metric)).values())
    total = sum(cluster.total for cluster in tallies)
    if not total:
        return None, None
    share = ratio_interval(tallies) if metric.unit == "%" else None
    return sum(cluster.passed for cluster in tallies) / total, share


def _cell(run: Run, metric: Metric) -> str:
    mean, share = _measured(run, metric)
    if mean is None or share is not None:
        return percent(share)
    return f"{mean:.4g}"


def breakdown(runs: Sequence[Run], label: str) -> Table:
    """Every metric of each group with its interval, without columns that nobody has values of."""
    metrics = metrics_of(runs)
    lines = [
        [
            f"{name}: {run.label}" if len(runs) > 1 else name,
            *_counts(run),
            *(_cell(run, metric) for metric in metrics),
        ]
        for name, run in groups_of(runs, label)
    ]
    return filled([label, "answers", "clusters", *map(heading_of, metrics)], lines)


def statistics_csv(runs: Sequence[Run]) -> str:
    """A line for each run, group and metric with its interval, and for each paired test.

    Values of shares are between 0 and 1; what is unknown is empty.
    """
    labels = grouped_by(runs) or ["area"]
    values = [
        _statistic(run, metric, answers=_counts(run)[0])
        for run in runs
        for metric in run.metrics
    ]
    grouped = [
        _statistic(part, metric, answers=_counts(part)[0], by=label, group=name)
        for label in labels
        for name, part in groups_of(runs, label)
        for metric in part.metrics
    ]
    return csv_text([*values, *grouped, *map(_tested, compare_runs(runs))])


def _statistic(
    run: Run, metric: Metric, *, answers: str, by: str = "", group: str = ""
) -> dict[str, object]:
    value, share = _measured(run, metric)
    low, high = (share.limits if share else None) or (None, None)
    return {
        "kind": "group" if group else "run",
        "run": run.label,
        "folder": run.folder.name,
        **{name: run.summary[name] for name in _ABOUT},
        "by": by,
        "group": group,
        "answers": answers,
        "clusters": len({row.cluster or row.question_id for row in run.rows}),
        "metric": metric.title,
        "unit": metric.unit,
        "value": value,
        "low": low,
        "high": high,
        "compared_with": None,
        "p": None,
        "p_holm": None,
    }


def _tested(test: Comparison) -> dict[str, object]:
    """A paired test: the second run against the first one."""
    run, difference = test.second, test.difference
    low, high = (difference.limits if difference else None) or (None, None)
    return _statistic(run, run.primary, answers="") | {
        "kind": "comparison",
        "clusters": difference.clusters if difference else None,
        "answers": test.shared,
        "value": difference.estimate if difference else None,
        "low": low,
        "high": high,
        "compared_with": test.first.label,
        "p": test.probability,
        "p_holm": test.corrected,
    }


def over_budget(runs: Sequence[Run], spent: Spent) -> tuple[Table, str]:
    """Primary metric at equal budgets: what each run answered within so much per answer; drawn.

    An answer over the budget counts as wrong, whatever its verdict. Budgets
    are powers of two of the smallest that any answer took.
    """
    runs = [
        run for run in runs if all(_spent(row, spent) < math.inf for row in run.scored)
    ]
    taken = [_spent(row, spent) for run in runs for row in run.scored]
    if len(runs) < 2 or not any(taken):
        return ([], []), ""
    least = min(value for value in taken if value)
    steps = max(1, math.ceil(math.log2(max(taken) / least)))
    budgets = [least * 2**step for step in range(steps + 1)]
    shares = {
        run.label: [within(run, spent, budget) for budget in budgets] for run in runs
    }
    lines = [[label, *map(percent, found)] for label, found in shares.items()]
    curves = {
        label: [
            (place, share) for place, share in zip(budgets, found, strict=True) if share
        ]
        for label, found in shares.items()
    }
    headings = [f"{spent} per answer", *(number(int(budget)) for budget in budgets)]
    return (headings, lines), drawn(curves, headings[0])


def within(run: Run, spent: Spent, budget: float) -> Interval | None:
    """Primary metric where an answer that took more than a budget counts as wrong."""
    primary = measuring(run.scored, run.primary)

    def measured(row: Row) -> tuple[float, float]:
        gained, total = primary(row)
        return (gained if _spent(row, spent) <= budget else 0.0), total

    return ratio_interval(list(tally(run.scored, measured).values()))


def _spent(row: Row, spent: Spent) -> float:
    """What is unknown is within no budget."""
    amount = row.calls if spent == "calls" else row.tokens
    return math.inf if amount is None else amount


def letters_given(runs: Sequence[Run]) -> Table:
    """How often each letter was given to questions of one choice, beside how often it is right.

    Models lean towards a letter: counts that differ from those of the right ones show it.
    """
    headings = (GIVEN_LETTER, RIGHT_LETTER)
    counts = {
        (run.label, kind): Counter(
            row.artefacts[kind] for row in run.scored if GIVEN_LETTER in row.artefacts
        )
        for run in runs
        for kind in headings
    }
    letters = sorted({letter for count in counts.values() for letter in count})
    if not letters:
        return [], []
    lines = [
        [f"{label}: {kind}", *(str(count[letter]) for letter in letters)]
        for (label, kind), count in counts.items()
    ]
    return ["letters", *letters], lines


def failures(runs: Sequence[Run]) -> Table:
    """How many criteria failed for which reason, most frequent first."""
    counts = [count_failures(run.scored) for run in runs]
    together = sum(counts, Counter[str]())
    kinds = sorted(together, key=lambda kind: (-together[kind], kind))
    lines = [[kind, *(str(count[kind]) for count in counts)] for kind in kinds]
    return ["why", *(run.label for run in runs)], lines


def count_failures(rows: Iterable[Row]) -> Counter[str]:
    """How many criteria failed for which kind of reason."""
    kinds = (failure(row, name) for row in rows for name in row.passed or {})
    return Counter(kind for kind in kinds if kind is not None)


def failure(row: Row, name: str) -> str | None:
    """In a few words why a criterion failed; ``None`` when it passed or is unknown."""
    if row.passed is None or row.passed.get(name, False):
        return None
    reason = row.reasons.get(name, "")
    if row.outcome == "exception":
        exception = re.match(r"exception: ([\w.]+)", reason)
        kind = exception[1].rpartition(".")[2] if exception else "exception"
        return f"raised {kind}"
    if row.fault == "context":
        return "the prompt is longer than the model's window"
    if end := _ENDS.get(row.ending.reason):
        return end
    if row.outcome in _OUTCOMES:
        return _OUTCOMES[row.outcome]
    if row.values.get("runnable") == 0:
        return "returned no dict, or an empty one"
    if re.fullmatch(r"(?:[A-Z]+[a-z]+){2,}", reason):
        return reason  # the name of a verdict: AtomCountMismatch
    return next(
        (kind for pattern, kind in _KINDS if pattern.search(reason)), "another value"
    )

"""Results by what questions are labelled with: actions, tasks, subfields, sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from rich.table import Table as RichTable

from experiments.report.cells import csv_text, percent
from experiments.report.runs import Run, group_names, groups, tally
from experiments.report.tables import Table, heading_of, metrics_of
from experiments.scorers.base import Metric, measuring
from experiments.stats import Interval, ratio_interval
from matsmith.core.terminal import printable

_COLUMNS = 7  # metrics that fit beside each other in 80 columns
_ABOUT = ("system", "retrieval", "model", "benchmark")


def grouped_by(runs: Iterable[Run]) -> list[str]:
    """Labels whose groups metrics are means over."""
    found = {metric.macro for run in runs for metric in run.metrics if "," not in metric.macro}
    return sorted(found - {""})


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


def _measured(
    run: Run, metric: Metric, *, limits: bool = True
) -> tuple[float | None, Interval | None]:
    """A metric, and of a share its interval where ``limits`` are wanted."""
    tallies = tally(run.rows, measuring(run.rows, metric)).values()
    total = sum(one.total for one in tallies)
    share = ratio_interval(list(tallies)) if limits and metric.unit == "%" else None
    return (sum(one.passed for one in tallies) / total if total else None), share


def _shown(run: Run, metric: Metric, *, limits: bool) -> str:
    """A metric as a cell."""
    mean, share = _measured(run, metric, limits=limits)
    if share or mean is None:
        return percent(share)
    return f"{100 * mean:.1f}" if metric.unit == "%" else f"{mean:.4g}"


def breakdown(runs: Sequence[Run], label: str) -> Table:
    """Every metric of each group, without columns that nobody has values of.

    With intervals where metrics are means over these groups.
    """
    metrics, limits = metrics_of(runs), label in grouped_by(runs)
    lines = [
        [f"{name}: {run.label}" if len(runs) > 1 else name, *_counts(run),
         *(_shown(run, metric, limits=limits) for metric in metrics)]
        for name, run in groups_of(runs, label)
    ]  # fmt: skip
    headings = [label, "answers", "clusters", *(heading_of(metric) for metric in metrics)]
    kept = [n for n in range(len(headings)) if {line[n] for line in lines} != {"-"}]
    return [headings[n] for n in kept], [[line[n] for n in kept] for line in lines]


def drawn_groups(runs: Sequence[Run], label: str) -> RichTable:
    """For a terminal: the first columns, intervals below their shares."""
    headings, lines = breakdown(runs, label)
    table = RichTable(title=f"by {label}", box=None)
    for heading in headings[: _COLUMNS + 2]:
        table.add_column(heading, justify="right" if table.columns else "left")
    for line in lines:
        table.add_row(*(printable(cell).replace(" [", "\n[") for cell in line[: _COLUMNS + 2]))
    return table


def group_csv(runs: Sequence[Run]) -> str:
    """A line for each run, group and metric; what is unknown is empty."""
    return csv_text(
        _line(run, label, name, metric)
        for label in grouped_by(runs)
        for name, run in groups_of(runs, label)
        for metric in metrics_of(runs)
    )


def _line(run: Run, label: str, name: str, metric: Metric) -> dict[str, object]:
    mean, share = _measured(run, metric)
    low, high = (share.limits if share else None) or (None, None)
    answers, clusters = _counts(run)
    return {
        "run": run.folder.name, **{name: run.summary[name] for name in _ABOUT},
        "by": label, "group": name, "answers": answers, "clusters": clusters,
        "metric": metric.title, "unit": metric.unit, "mean": mean, "low": low, "high": high,
    }  # fmt: skip

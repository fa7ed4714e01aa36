"""Results by what questions are labelled with: actions, tasks, subfields, sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rich.table import Table as RichTable

from experiments.report.cells import csv_text, percent
from experiments.report.runs import Run, group_names, groups, tally
from experiments.report.tables import Table, metrics_of
from experiments.scorers.base import Metric, measuring
from experiments.stats import Interval, ratio_interval
from matsmith.core.terminal import printable

_SHOWN = 7  # metrics that fit beside each other in 80 columns
_ABOUT = ("system", "retrieval", "model", "benchmark")


@dataclass(frozen=True)
class Group:
    """The answers of a run in one group; a metric is what it is of them alone."""

    run: Run
    name: str

    @property
    def counts(self) -> tuple[str, str]:
        """Answers, and clusters where these are fewer."""
        answers = len(self.run.rows)
        clusters = len({row.cluster or row.question_id for row in self.run.rows})
        return str(answers), str(clusters) if clusters < answers else "-"

    def measured(self, metric: Metric, *, limits: bool) -> tuple[float | None, Interval | None]:
        """A metric, and of a share its interval where ``limits`` are wanted."""
        tallies = tally(self.run.rows, measuring(self.run.rows, metric)).values()
        total = sum(one.total for one in tallies)
        share = ratio_interval(list(tallies)) if limits and metric.unit == "%" else None
        return (sum(one.passed for one in tallies) / total if total else None), share

    def shown(self, metric: Metric, *, limits: bool) -> str:
        """A metric as a cell."""
        mean, share = self.measured(metric, limits=limits)
        if share or mean is None:
            return percent(share)
        return f"{100 * mean:.1f}" if metric.unit == "%" else f"{mean:.4g}"


def grouped_by(runs: Iterable[Run]) -> list[str]:
    """Labels whose groups metrics are means over."""
    found = {metric.macro for run in runs for metric in run.metrics if "," not in metric.macro}
    return sorted(found - {""})


def groups_of(runs: Sequence[Run], label: str) -> Iterator[Group]:
    """Group by group, run by run."""
    for name in group_names(runs, label):
        for run in runs:
            mine = tuple(row for row in run.scored if name in groups(row, label))
            yield Group(replace(run, rows=mine), name)


def breakdown(runs: Sequence[Run], label: str) -> Table:
    """Every metric of each group, without columns that nobody has values of.

    With intervals where metrics are means over these groups.
    """
    metrics, limits = metrics_of(runs), label in grouped_by(runs)
    lines = [
        [f"{one.name}: {one.run.label}" if len(runs) > 1 else one.name, *one.counts,
         *(one.shown(metric, limits=limits) for metric in metrics)]
        for one in groups_of(runs, label)
    ]  # fmt: skip
    headings = [label, "answers", "clusters", *map(_titled, metrics)]
    kept = [n for n in range(len(headings)) if {line[n] for line in lines} != {"-"}]
    return [headings[n] for n in kept], [[line[n] for n in kept] for line in lines]


def _titled(metric: Metric) -> str:
    return f"{metric.title} {metric.unit}".strip()


def drawn_groups(runs: Sequence[Run], label: str) -> RichTable:
    """For a terminal: the first columns, intervals below their shares."""
    headings, lines = breakdown(runs, label)
    table = RichTable(title=f"by {label}", box=None)
    for heading in headings[: _SHOWN + 2]:
        table.add_column(heading, justify="right" if table.columns else "left")
    for line in lines:
        table.add_row(*(printable(cell).replace(" [", "\n[") for cell in line[: _SHOWN + 2]))
    return table


def group_csv(runs: Sequence[Run]) -> str:
    """A line for each run, group and metric; what is unknown is empty."""
    return csv_text(
        _line(one, label, metric)
        for label in grouped_by(runs)
        for one in groups_of(runs, label)
        for metric in metrics_of(runs)
    )


def _line(one: Group, label: str, metric: Metric) -> dict[str, object]:
    mean, share = one.measured(metric, limits=True)
    low, high = (share.limits if share else None) or (None, None)
    answers, clusters = one.counts
    return {
        "run": one.run.folder.name, **{name: one.run.summary[name] for name in _ABOUT},
        "by": label, "group": one.name, "answers": answers, "clusters": clusters,
        "metric": metric.title, "unit": metric.unit, "mean": mean, "low": low, "high": high,
    }  # fmt: skip

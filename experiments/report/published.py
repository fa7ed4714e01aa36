"""Figures that papers report, beside those of runs on the same benchmark and metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from pydantic import BaseModel

from experiments.benchmarks.mattools import benchmark as mattools
from experiments.report.runs import Run, groups
from experiments.report.tables import Table, percent
from foundation.configuration import data_of

#: Properties that the figures of MatTools are out of.
MATTOOLS_PROPERTIES = 138


class PublishedTable(BaseModel, extra="forbid", frozen=True):
    """One table of a paper; figures in percent.

    Attributes
    ----------
    family
        Of ``benchmark=atomworld``: the questions around the actions.
    metric
        The name of ours that measures the same.
    group
        ``label=name`` of the questions that the figures are about; empty: all.
    human
        What people reach on the same items and metric.
    differs
        What makes the figures another measurement than that of a run here.
    """

    benchmark: str
    family: str = "actions"
    source: str
    table: str
    metric: str
    group: str = ""
    items: int
    human: float | None = None
    differs: str
    rows: Mapping[str, float]


def published_tables(benchmark: str) -> list[PublishedTable]:
    """The tables about a benchmark."""
    tables = [PublishedTable(**entry) for entry in data_of(__file__)]
    return [
        table
        for table in [*tables, *_mattools_tables()]
        if table.benchmark == benchmark
    ]


def _mattools_tables() -> Iterator[PublishedTable]:
    """Tables 2 to 7 of MatTools: the mean of three rounds."""
    entries = data_of(mattools.__file__, "paper")
    for number in sorted({entry["table"] for entry in entries}):
        rows = {
            f"{entry['system']} + {entry['retrieval']}, {entry['model']}": round(
                100 * fmean(entry["properties"]) / MATTOOLS_PROPERTIES, 1
            )
            for entry in entries
            if entry["table"] == number
        }
        yield PublishedTable(
            benchmark="mattools",
            source="arXiv 2505.10852",
            table=f"Table {number}, mean of 3 rounds",
            metric="published",
            items=49,
            differs="printed answers, pymatgen of 2024 (benchmark.rules=published)",
            rows=rows,
        )


def beside_published(runs: Sequence[Run]) -> Table:
    """Runs and published figures by metric, the runs first; what differs in the last column."""
    lines = [
        line
        for benchmark in dict.fromkeys(run.summary["benchmark"] for run in runs)
        for table in published_tables(benchmark)
        for line in _lines(table, [r for r in runs if _measures(r, table)])
    ]
    return ["metric", "who", "%", "items", "source", "what differs"], lines


def _measures(run: Run, table: PublishedTable) -> bool:
    """Whether a run asked questions of the kind that a table is about."""
    configured = run.summary["config"]["benchmark"]
    return bool(
        run.summary["benchmark"] == table.benchmark
        and configured.get("family", table.family) == table.family
        and any(metric.name == table.metric for metric in run.metrics)
    )


def _lines(table: PublishedTable, runs: Sequence[Run]) -> Iterator[list[str]]:
    measured = [(run, line) for run in runs if (line := _measured(run, table))]
    if not measured:
        return
    run, _ = measured[0]
    metric = next(metric for metric in run.metrics if metric.name == table.metric)
    title = metric.title + (f", {table.group}" if table.group else "")
    for each, (share, items) in measured:
        yield [title, each.label, share, items, "this report", ""]
    source = f"{table.source}, {table.table}"
    ranked = sorted(table.rows.items(), key=lambda row: -row[1])
    for model, figure in ranked:
        yield [title, model, f"{figure:.1f}", str(table.items), source, table.differs]
    if table.human is not None:
        yield [
            title,
            "people",
            f"{table.human:.1f}",
            str(table.items),
            source,
            table.differs,
        ]


def _measured(run: Run, table: PublishedTable) -> tuple[str, str] | None:
    """A run's figure and how many questions it is of; ``None`` where it has none of them."""
    metric = next(metric for metric in run.metrics if metric.name == table.metric)
    label, _, name = table.group.partition("=")
    rows = run.scored
    if label:
        rows = tuple(row for row in rows if name in groups(row, label))
    if not rows:
        return None
    share = replace(run, rows=rows).interval(metric)
    if share is None:
        return None
    return percent(share), str(len({row.question_id for row in rows}))


def unmatched(runs: Sequence[Run]) -> list[str]:
    """Benchmarks of the runs about which no published figures are at hand."""
    named = dict.fromkeys(run.summary["benchmark"] for run in runs)
    return [name for name in named if not published_tables(name)]

"""Reads run folders, and counts what the tables show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from agents.models.recordings import remark
from experiments.files import path_text, read_json
from experiments.record import Record, Row, mismatch, read_record, read_rows
from experiments.report.labels import run_names
from experiments.run.store import figures_path, trajectory_path
from experiments.scorers.base import CRITERIA, Metric, measuring
from experiments.stats import Interval, Tally, ratio_interval
from foundation.errors import UsageError

GROUPS = 20  # of a break-down
#: What was chosen for a run in a sweep; several choices may come to the same run.
Choices = Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class Run:
    """A finished (or interrupted) run; ``label`` is unique among the runs of one report.

    ``rows`` are the verdicts that count: the latest of each selected question and seed; ``values``
    what was chosen for it in a sweep; ``distinction`` what tells it apart from runs of the same
    system, retrieval and model.
    """

    folder: Path
    summary: dict[str, Any]
    rows: tuple[Row, ...]
    label: str
    values: Choices = ({},)
    distinction: str = ""

    @cached_property
    def scored(self) -> tuple[Row, ...]:
        """Rows with a verdict."""
        return tuple(row for row in self.rows if row.scored)

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """What its benchmark reports."""
        fields = Metric.__dataclass_fields__
        return tuple(
            Metric(**{name: entry[name] for name in fields if name in entry})
            for entry in self.summary["metrics"]
        )

    @property
    def primary(self) -> Metric:
        """The metric by which systems are compared."""
        return self.metrics[0]

    @property
    def model(self) -> str:
        """Name of the model; ``none`` where none was asked."""
        return (
            str(self.summary["model"])
            if self.summary["model_kind"] == "LLM"
            else "none"
        )

    @property
    def played(self) -> str:
        """Of recorded replies: whether the prompts are still those that they were given to."""
        return remark(self.summary.get("recorded", {}))

    def interval(self, metric: Metric) -> Interval | None:
        """A metric with its 95 % interval, by resampling clusters."""
        if metric not in self._intervals:
            tallies = tally(self.scored, measuring(self.scored, metric))
            self._intervals[metric] = ratio_interval(list(tallies.values()))
        return self._intervals[metric]

    @cached_property
    def _intervals(self) -> dict[Metric, Interval | None]:
        """Those asked for so far: table, caption, figure and page ask for the same."""
        return {}

    def sound(self, row: Row) -> tuple[float, float]:
        """Criteria that passed, of those without a known-faulty reference."""
        faulty = self.summary.get("faulty", {}).get(row.question_id, ())
        passed = row.passed or {}
        gained = sum(passed.get(name, False) for name in faulty)
        return row.passed_count - gained, row.criteria - len(faulty)

    def record(self, row: Row) -> Record:
        """Everything that led to a row."""
        return read_record(trajectory_path(self.folder, row.question_id, row.seed))

    def mismatch(self, row: Row) -> str | None:
        """How a row differs from the record of its answer, if it does."""
        return mismatch(row, trajectory_path(self.folder, row.question_id, row.seed))

    def figures(self, row: Row) -> dict[str, str]:
        """Pictures of an answer, by their titles."""
        path = figures_path(self.folder, row.question_id, row.seed)
        return read_json(path) if path.exists() else {}


def has_intervals(runs: Iterable[Run]) -> bool:
    """Whether any share has confidence limits: of few questions there are none."""
    intervals = (run.interval(metric) for run in runs for metric in run.metrics)
    return any(interval is not None and interval.limits for interval in intervals)


def groups(row: Row, label: str) -> list[str]:
    """Where a row counts in a break-down: under each of several (``symmetry, optical``)."""
    return [name for name in row.labels.get(label, "").split(", ") if name]


def group_names(runs: Iterable[Run], label: str) -> list[str]:
    """The largest groups; ranges of numbers (9-16, 17-32, > 64) in the order of their numbers."""
    sizes = Counter(
        name for run in runs for row in run.scored for name in groups(row, label)
    )
    names = [name for name, _ in sizes.most_common(GROUPS)]
    return sorted(
        names, key=lambda name: ([*map(int, re.findall(r"\d{1,9}", name))], name)
    )


def tally(
    rows: Iterable[Row], measured: Callable[[Row], tuple[float, float]]
) -> dict[str, Tally]:
    """Sums by cluster."""
    sums: dict[str, tuple[float, float]] = {}
    for row in rows:
        gained, total = measured(row)
        cluster = row.cluster or row.question_id
        before = sums.get(cluster, (0.0, 0.0))
        sums[cluster] = (before[0] + gained, before[1] + total)
    return {key: Tally(*values) for key, values in sums.items()}


def load_runs(folders: Sequence[Path], values: Sequence[Choices] = ()) -> list[Run]:
    """Read run folders; labels tell them apart by what differs between them."""
    summaries = []
    for folder in folders:
        if not (folder / "summary.json").exists():
            raise UsageError(
                f"{path_text(folder)}: is not a run folder (no summary.json in it)"
            )
        summary = read_json(folder / "summary.json")
        _rename(summary)
        if any("unit" not in metric for metric in summary.get("metrics", [{}])):
            raise UsageError(f"{folder}: was written by another version of matsmith")
        summaries.append(summary)
    values = values or [({},)] * len(folders)
    names = run_names(summaries, [folder.name for folder in folders])
    return [
        Run(
            folder,
            summary,
            tuple(_selected(folder, summary)),
            name.label,
            chosen,
            name.distinction,
        )
        for folder, summary, name, chosen in zip(
            folders, summaries, names, values, strict=True
        )
    ]


def _rename(summary: dict[str, Any]) -> None:
    """Give the fields of an earlier run the names that they have now."""
    for metric in summary.get("metrics", ()):
        for key in ("name", "out_of"):
            if metric.get(key) == "parts":
                metric[key] = CRITERIA


def _selected(folder: Path, summary: dict[str, Any]) -> list[Row]:
    ids, seeds = list(summary["question_ids"]), list(summary["seeds"])
    latest = {
        row.key: row
        for row in read_rows(folder / "results.jsonl")
        if row.config_hash == summary["config_hash"]
    }
    wanted = [(question, seed) for question in ids for seed in seeds]
    return [latest[key] for key in wanted if key in latest]

"""Points of 10, as the paper counts them: means over problems with standard errors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from rich.table import Table

from experiments.report.cells import probability
from experiments.report.runs import Run
from experiments.rows import Row
from experiments.stats import Tally, paired_permutation

#: Kinds of groups, in the order of the table.
_ORDER = ("all", "without images", "type", "topic", "difficulty", "guessing")


@dataclass(frozen=True)
class Result:
    """Points of one problem, its mean over seeds, and the groups that it belongs to."""

    points: float
    guess: float
    groups: frozenset[str]


def points(runs: Sequence[Run]) -> Table:
    """A line per group, a column per run; of two runs also the gain of the second, with p."""
    found = [results(run) for run in runs]
    paired = len(runs) == 2
    table = Table(title="points of 10 ± standard error (problems)")
    for heading in ("", *(run.label for run in runs), *(("gain", "p") if paired else ())):
        table.add_column(heading, justify="right" if heading else "left")
    groups = {group for run in found for one in run.values() for group in one.groups}
    for group in sorted(groups, key=lambda g: (_ORDER.index(g.partition(":")[0]), g)):
        cells = [told([one.points for one in run.values() if group in one.groups]) for run in found]
        table.add_row(group, *cells, *(gain(found[0], found[1], group) if paired else ()))
    table.add_row("guessing", *(told([one.guess for one in run.values()]) for run in found))
    return table


def results(run: Run) -> dict[str, Result]:
    """Of every problem that has a verdict."""
    rows: dict[str, list[Row]] = {}
    for row in run.scored:
        if row.values.get("score") is not None:
            rows.setdefault(row.question_id, []).append(row)
    return {
        name: Result(
            mean(10 * float(row.values["score"] or 0.0) for row in own),
            10 * float(own[0].values["guess"] or 0.0),
            frozenset(_groups(own[0])),
        )
        for name, own in rows.items()
    }


def _groups(row: Row) -> Iterator[str]:
    yield "all"
    if "text_only" in row.values:
        yield "without images"
    yield f"type: {row.labels['type']}"
    yield from (f"topic: {topic}" for topic in row.labels["topics"].split(", "))
    if row.labels["difficulty"]:
        yield f"difficulty: {row.labels['difficulty']}"


def told(values: Sequence[float], *, signed: bool = False) -> str:
    """Mean ± standard error (how many); a single value has no error, and none is unknown."""
    if not values:
        return "unknown"
    sign = "+" if signed else ""
    error = f" ± {stdev(values) / math.sqrt(len(values)):.2f}" if len(values) > 1 else ""
    return f"{mean(values):{sign}.2f}{error} ({len(values)})"


def gain(first: Mapping[str, Result], second: Mapping[str, Result], group: str) -> tuple[str, str]:
    """What the second run has more on the problems of a group that both have, and its p-value."""
    shared = [name for name in first if name in second and group in first[name].groups]
    if not shared:
        return "-", "-"
    one, two = ({name: Tally(run[name].points, 10.0) for name in shared} for run in (first, second))
    gains = [second[name].points - first[name].points for name in shared]
    return told(gains, signed=True), probability(paired_permutation(one, two))

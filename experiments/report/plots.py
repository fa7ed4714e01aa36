"""Plots as HTML and inline SVG: no library, no script, nothing to load.

Names and numbers are text of the page, so that they wrap and never overlap; what is drawn has its
places in percent, so that it fits any width. Everything that varies is escaped; colours come from
the page's style sheet by class.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from markupsafe import Markup

from experiments.report.cells import percent
from experiments.report.lines import COLOURS, Point, lines
from experiments.report.runs import Run, tally
from experiments.report.taxonomy import count_failures
from experiments.report.templates import shapes
from experiments.run.rows import Row
from experiments.scorers.base import measuring
from experiments.stats import Interval, ratio_interval

#: Name, drawing, value, and whether it is thin.
_Row = tuple[str, str, str, bool]
Spent = Literal["tokens", "calls"]


def forest(estimates: Sequence[tuple[str, Interval | None]], *, about: str) -> Markup:
    """Shares with their intervals, one line each, on a common 0-100 % axis."""
    rows: list[_Row] = []
    for index, (label, interval) in enumerate(estimates):
        if interval is None:
            rows.append((label, "", "no data", False))
            continue
        low, high, at = (
            100 * min(1.0, max(0.0, value))
            for value in (*(interval.limits or [interval.estimate] * 2), interval.estimate)
        )
        told = f"{label}: {percent(interval)} %"
        drawn = shapes().whisker(low, high, at, index % COLOURS, told)
        rows.append((label, drawn, f"{100 * interval.estimate:.1f} %", False))
    return _figure(rows, about, scaled=True)


def failures(runs: Sequence[Run]) -> Markup:
    """How many properties failed for which reason, most frequent first."""
    counts = [count_failures(run.scored) for run in runs]
    kinds = sorted(
        {kind for count in counts for kind in count},
        key=lambda kind: (-sum(count[kind] for count in counts), kind),
    )
    if not kinds:
        return Markup("")
    most = max(count[kind] for count in counts for kind in kinds)
    rows: list[_Row] = []
    for kind in kinds:
        bars = [
            (
                _bar(100 * count[kind] / most, index, f"{run.label}: {count[kind]}, {kind}"),
                str(count[kind]),
            )
            for index, (run, count) in enumerate(zip(runs, counts, strict=True))
            if count[kind]
        ]
        rows += _group(kind, bars)
    return _figure(rows, "why properties failed")


def over_budget(runs: Sequence[Run], spent: Spent) -> Markup:
    """Primary metric at equal budgets, one curve per run: what was answered within each budget.

    An answer that took more than a budget counts as wrong there, whatever its verdict. Budgets
    are powers of two of the smallest that any answer took.
    """
    runs = [run for run in runs if all(_spent(row, spent) < math.inf for row in run.scored)]
    taken = [_spent(row, spent) for run in runs for row in run.scored]
    if len(runs) < 2 or not any(taken):
        return Markup("")
    least = min(value for value in taken if value)
    steps = max(1, math.ceil(math.log2(max(taken) / least)))
    budgets = [least * 2.0**step for step in range(steps + 1)]
    curves = {
        run.label: [
            Point(budget, share)
            for budget in budgets
            if (share := within(run, spent, budget)) is not None
        ]
        for run in runs
    }
    return lines(curves, about=f"score over {spent}", axis=f"{spent} per answer", ticks=budgets)


def within(run: Run, spent: Spent, budget: float) -> Interval | None:
    """Primary metric where an answer that took more than a budget counts as wrong."""
    primary = measuring(run.scored, run.primary)

    def measured(row: Row) -> tuple[float, float]:
        gained, total = primary(row)
        return (gained if _spent(row, spent) <= budget else 0.0), total

    return ratio_interval(list(tally(run.scored, measured).values()))


def _spent(row: Row, spent: Spent) -> float:
    """What is unknown is within no budget."""
    found = row.calls if spent == "calls" else row.tokens
    return math.inf if found is None else found


def _group(name: str, bars: Iterable[tuple[Markup, str]]) -> list[_Row]:
    """Bars below each other; the first has the name."""
    return [
        ("" if position else name, bar, value, True) for position, (bar, value) in enumerate(bars)
    ]


def _bar(percent: float, index: int, told: str) -> Markup:
    bar: Markup = shapes().bar(min(100.0, max(0.2, percent)), index % COLOURS, told)
    return bar


def _figure(rows: Sequence[_Row], about: str, *, scaled: bool = False) -> Markup:
    figure: Markup = shapes().bars(rows, about, scaled)
    return figure

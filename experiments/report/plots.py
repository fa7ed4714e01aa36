"""Plots as HTML and inline SVG: no library, no script, nothing to load.

Names and numbers are text of the page, so that they wrap and never overlap; what is drawn has its
places in percent, so that it fits any width. Everything that varies is escaped; colours come from
the page's style sheet by class.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from markupsafe import Markup

from experiments.report.cells import percent
from experiments.report.runs import Run, tally
from experiments.report.taxonomy import count_failures
from experiments.report.templates import shape
from experiments.run.rows import Row
from experiments.scorers.base import measuring
from experiments.stats import Interval, Tally, ratio_interval

COLOURS = 6  # classes c0 ... c5 of the style sheet
SEED = "seed"  # a key whose values are pooled: another world of the same kind
_LABELS = 8  # numbers below the axis that have room on a phone
_SPREAD = 1.2  # percent of the width between the whiskers of neighbouring series

Spent = Literal["tokens", "calls"]
#: A place on the axis, and the share there.
Point = tuple[float, Interval]


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
    rows = []
    for kind in kinds:
        name = kind  # the first bar has it
        for index, (run, count) in enumerate(zip(runs, counts, strict=True)):
            if count[kind]:
                width = max(0.2, 100 * count[kind] / most)
                told = f"{run.label}: {count[kind]}, {kind}"
                drawn = shape("bar", width, index % COLOURS, told)
                rows.append((name, drawn, str(count[kind])))
                name = ""
    return shape("bars", rows, "why properties failed")


def over_choices(runs: Sequence[Run]) -> Iterator[tuple[str, Markup]]:
    """Headings and plots: the primary metric over every number that was chosen for the runs.

    There is one plot for each combination of the other numbers. What is no number is a line.
    """
    cells = [(run, each) for run in runs for each in run.values]
    keys = dict.fromkeys(key for _, each in cells for key in each if key != SEED)
    numbers = [key for key in keys if all(_numeric(each.get(key, "")) for _, each in cells)]
    series: dict[str, list[tuple[Run, Mapping[str, str]]]] = defaultdict(list)
    for run, each in cells:
        chosen = [value for key, value in each.items() if key not in (*numbers, SEED)]
        series[" + ".join(chosen) or "all"].append((run, each))
    for axis in numbers:
        others = [key for key in numbers if key != axis]
        for fixed in dict.fromkeys(tuple(each[key] for key in others) for _, each in cells):
            curves: dict[str, list[Point]] = {}
            ticks: set[float] = set()
            for name, members in series.items():
                tallies: dict[float, list[Tally]] = defaultdict(list)
                for run, each in members:
                    if tuple(each[key] for key in others) == fixed:
                        found = tally(run.scored, measuring(run.scored, run.primary))
                        tallies[float(each[axis])] += found.values()
                ticks |= tallies.keys()
                shares = ((x, ratio_interval(pooled)) for x, pooled in tallies.items())
                curves[name] = [(x, share) for x, share in shares if share is not None]
            told = (f"{key} {value}" for key, value in zip(others, fixed, strict=True))
            heading = ", ".join([f"Over {axis}", *told])
            yield heading, lines(curves, about=heading, axis=axis, ticks=ticks)


def _numeric(value: str) -> bool:
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


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
    curves = {}
    for run in runs:
        shares = ((budget, within(run, spent, budget)) for budget in budgets)
        curves[run.label] = [(budget, share) for budget, share in shares if share is not None]
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


def lines(
    series: Mapping[str, Sequence[Point]], *, about: str, axis: str, ticks: Iterable[float]
) -> Markup:
    """One line per series, from its smallest place to its largest; nothing without a point.

    ``ticks`` are the places, drawn equally far apart (1, 2, 4, 8).
    """
    if not any(series.values()):
        return Markup("")
    order = {value: place for place, value in enumerate(sorted(ticks))}
    across = {value: 100 * (place + 0.5) / len(order) for value, place in order.items()}
    joined: list[tuple[str, int]] = []
    marks: list[tuple[object, ...]] = []
    spread = min(_SPREAD, 60 / len(series) / len(order))
    for index, (label, found) in enumerate(series.items()):
        shift, colour = spread * (index - (len(series) - 1) / 2), index % COLOURS
        path = []
        for x, share in sorted(found, key=lambda point: point[0]):
            left, top = f"{across[x] + shift:.2f}", f"{_down(share.estimate):.1f}"
            low, high = map(_down, share.limits or [share.estimate] * 2)
            told = f"{label}, {axis} {x:,.6g}: {percent(share)} %"
            path.append(f"{left},{top}")
            marks.append((left, f"{low:.1f}", f"{high:.1f}", top, colour, told))
        joined.append((" ".join(path), colour))
    numbers = [(place, short(x)) for x, place in across.items()]
    numbers = numbers[:: math.ceil(len(numbers) / _LABELS)]
    grid = [(100 - percent, percent) for percent in (0, 25, 50, 75, 100)]
    return shape("lines", about, legend(list(series)), grid, joined, marks, numbers, axis)


def legend(labels: Sequence[str]) -> Markup:
    """The colour of each series."""
    return shape("legend", labels, COLOURS)


def short(value: float) -> str:
    """A number in at most five characters: 0.25, 40, 1.5k, 131k."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g}{unit}"
    return f"{value:.3g}"


def _down(share: float) -> float:
    """Percent of the height, from the top."""
    return 100 * (1 - min(1.0, max(0.0, share)))

"""Plots as HTML and inline SVG: no library, no script, nothing to load.

Names and numbers are text of the page, so that they wrap and never overlap; what is drawn has its
places in percent, so that it fits any width. Everything that varies is escaped; colours come from
the page's style sheet by class.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from markupsafe import Markup

from experiments.report.lines import COLOURS, Point, describe, lines
from experiments.report.runs import Run, tally
from experiments.report.taxonomy import count_failures
from experiments.rows import Row
from experiments.scorers.base import amount, measure, measuring
from experiments.stats import Interval, ratio_interval

Spent = Literal["tokens", "calls"]
GROUPS = 20
#: Labels of questions that the report breaks a score down by.
LABELS = (
    "area", "group", "kind", "action", "atoms", "cell", "type", "topics", "difficulty", "task",
    "words", "position", "subfield",
)  # fmt: skip


def forest(estimates: Sequence[tuple[str, Interval | None]], *, about: str) -> Markup:
    """Shares with their intervals, one line each, on a common 0-100 % axis."""
    rows = [_axis()]
    for index, (label, interval) in enumerate(estimates):
        if interval is None:
            rows.append(_row(label, "", "no data"))
            continue
        low, high, at = (
            100 * min(1.0, max(0.0, value))
            for value in (interval.low, interval.high, interval.estimate)
        )
        drawn = Markup(
            '<line x1="{:.1f}%" x2="{:.1f}%" y1="50%" y2="50%" class="whisker"/>'
            '<circle cx="{:.1f}%" cy="50%" r="5" class="c{}"><title>{}</title></circle>'
        ).format(low, high, at, index % COLOURS, f"{label}: {describe(interval)}")
        rows.append(_row(label, drawn, f"{100 * interval.estimate:.1f} %"))
    return _figure(rows, about, scaled=True)


def _natural(name: str) -> tuple[list[int], str]:
    """Ranges of numbers (9-16, 17-32, > 64) in the order of their numbers."""
    return [int(number) for number in re.findall(r"\d{1,9}", name)], name


def areas(runs: Sequence[Run], label: str) -> Markup:
    """Primary metric by ``label`` (area, kind), one bar per run in each of the largest groups.

    A question with several (``symmetry, optical``) counts under each of them.
    """

    def groups(row: Row) -> list[str]:
        return row.labels.get(label, "").split(", ")

    sizes = Counter(group for run in runs for row in run.scored for group in groups(row))
    del sizes[""]
    names = sorted((name for name, _ in sizes.most_common(GROUPS)), key=_natural)
    if not names:
        return Markup("")
    rows = [_axis()]
    for name in names:
        questions = len({r.question_id for run in runs for r in run.rows
                         if name in groups(r)})  # fmt: skip
        bars = []
        for index, run in enumerate(runs):
            mine = [row for row in run.scored if name in groups(row)]
            tallies = tally(mine, lambda row: measure(row, run.primary))  # noqa: B023
            interval = ratio_interval(list(tallies.values()))
            if interval is None:
                continue
            passed = sum(item.passed for item in tallies.values())
            total = sum(item.total for item in tallies.values())
            told = f"{run.label}, {name}: {amount(passed)} of {total:.0f}"
            bar = _bar(100 * interval.estimate, index, told)
            bars.append((bar, f"{amount(passed)}/{total:.0f}"))
        rows += _group(f"{name.replace('_', ' ')} ({questions})", bars)
    return _figure(rows, f"score by {label}", scaled=True)


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
    rows: list[Markup] = []
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


def _spent(row: Row, spent: Spent) -> int:
    return row.calls if spent == "calls" else row.prompt_tokens + row.completion_tokens


def heatmap(runs: Sequence[Run]) -> Markup:
    """Primary metric by system and retrieval; needs at least two of either."""
    cells: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        key = (str(run.summary["system"]), str(run.summary["retrieval"]))
        cells.setdefault(key, []).append(run)
    systems = sorted({system for system, _ in cells})
    sources = sorted({source for _, source in cells})
    if len(systems) < 2 or len(sources) < 2 or any(len(found) > 1 for found in cells.values()):
        return Markup("")

    def cell(found: Sequence[Run]) -> Markup:
        interval = found[0].interval(found[0].primary) if found else None
        if interval is None:
            return Markup("<td>-</td>")
        share = interval.estimate
        return Markup('<td class="h{}">{:.1f} %</td>').format(
            round(10 * min(1.0, max(0.0, share))), 100 * share
        )

    heading = Markup("").join(Markup("<th>{}</th>").format(source) for source in sources)
    body = Markup("").join(
        Markup("<tr><th>{}</th>{}</tr>").format(
            system, Markup("").join(cell(cells.get((system, source), [])) for source in sources)
        )
        for system in systems
    )
    table = Markup('<div class="wide"><table class="heat"><tr><th></th>{}</tr>{}</table></div>')
    return table.format(heading, body)


def _group(name: str, bars: Iterable[tuple[Markup, str]]) -> list[Markup]:
    """Bars below each other; the first has the name."""
    return [
        _row("" if position else name, bar, value, thin=True)
        for position, (bar, value) in enumerate(bars)
    ]


def _bar(percent: float, index: int, told: str) -> Markup:
    return Markup(
        '<rect x="0" y="1" width="{:.1f}%" height="11" class="c{}"><title>{}</title></rect>'
    ).format(min(100.0, max(0.2, percent)), index % COLOURS, told)


def _row(name: str, drawn: str, value: str, *, thin: bool = False) -> Markup:
    return Markup(
        '<div class="name">{}</div><svg class="track{}" aria-hidden="true">{}</svg>'
        '<div class="value">{}</div>'
    ).format(name, " thin" if thin else "", drawn, value)


def _axis() -> Markup:
    ticks = Markup("").join(
        Markup('<text x="{0}%" y="13" class="mid">{0} %</text>').format(tick)
        for tick in range(0, 101, 20)
    )
    return Markup('<svg class="axis" aria-hidden="true">{}</svg>').format(ticks)


def _figure(rows: Sequence[Markup], about: str, *, scaled: bool = False) -> Markup:
    return Markup('<figure class="bars{}" aria-label="{}">{}</figure>').format(
        " scaled" if scaled else "", about, Markup("").join(rows)
    )

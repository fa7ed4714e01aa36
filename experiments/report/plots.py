"""Plots as inline SVG: no library, no script, nothing to load.

Everything that varies is escaped; colours come from the page's style sheet by class.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from markupsafe import Markup, escape

from experiments.report.runs import Run, tally
from experiments.report.taxonomy import count_failures
from experiments.scorers.base import amount, measure, measuring
from experiments.stats import Interval, ratio_interval
from experiments.store import Row

Spent = Literal["tokens", "calls"]
LABEL = 230  # width of the column of names
PLOT = 520
ROW = 26
GROUPS = 20
COLOURS = 6  # classes c0 ... c5 of the style sheet


def forest(lines: Sequence[tuple[str, Interval | None]], *, about: str) -> Markup:
    """Shares with their intervals, one line each, on a common 0-100 % axis."""
    top = 24
    parts = [_axis(top, len(lines))]
    for index, (label, interval) in enumerate(lines):
        middle = top + index * ROW + ROW / 2
        parts.append(_name(label, middle))
        if interval is None:
            parts.append(_text(LABEL + 6, middle, "no data", "faint"))
            continue
        low, high, at = (
            LABEL + PLOT * min(1.0, max(0.0, v))
            for v in (interval.low, interval.high, interval.estimate)
        )
        parts.append(
            Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="whisker"/>').format(
                _n(low), _n(high), _n(middle), _n(middle)
            )
        )
        parts.append(
            Markup('<circle cx="{}" cy="{}" r="5" class="c{}"><title>{}</title></circle>').format(
                _n(at), _n(middle), index % COLOURS, _describe(label, interval)
            )
        )
        parts.append(_text(LABEL + PLOT + 10, middle, f"{100 * interval.estimate:.1f} %", ""))
    return _svg(top + len(lines) * ROW + 6, parts, about)


def _describe(label: str, interval: Interval) -> str:
    return (
        f"{label}: {100 * interval.estimate:.1f} % "
        f"[{100 * interval.low:.1f}, {100 * interval.high:.1f}]"
    )


def areas(runs: Sequence[Run], label: str) -> Markup:
    """Primary metric by ``label`` (area, kind), one bar per run in each of the largest groups."""
    sizes = Counter(row.labels.get(label, "") for run in runs for row in run.scored)
    del sizes[""]
    names = sorted(name for name, _ in sizes.most_common(GROUPS))
    if not names:
        return Markup("")
    top, bar = 24, 14
    group = bar * len(runs) + 10
    parts = [_axis(top, 0, height=group * len(names))]
    for position, name in enumerate(names):
        start = top + position * group + 4
        counts = ""
        for index, run in enumerate(runs):
            rows = [row for row in run.scored if row.labels.get(label) == name]
            tallies = tally(rows, lambda row: measure(row, run.primary))  # noqa: B023
            interval = ratio_interval(list(tallies.values()))
            if interval is None:
                continue
            passed = sum(item.passed for item in tallies.values())
            total = sum(item.total for item in tallies.values())
            y = start + index * bar
            parts.append(
                Markup(
                    '<rect x="{}" y="{}" width="{}" height="{}" class="c{}">'
                    "<title>{}</title></rect>"
                ).format(
                    LABEL,
                    _n(y),
                    _n(max(1.0, PLOT * interval.estimate)),
                    bar - 3,
                    index % COLOURS,
                    f"{run.label}, {name}: {amount(passed)} of {total:.0f}",
                )
            )
            counts = f"{amount(passed)}/{total:.0f}"
            parts.append(_text(LABEL + PLOT + 10, y + bar / 2 - 1, counts, "small"))
        questions = len({r.question_id for run in runs for r in run.rows
                         if r.labels.get(label) == name})  # fmt: skip
        shown = f"{name.replace('_', ' ')} ({questions})"
        parts.append(_name(shown, start + bar * len(runs) / 2 - 1))
    return _svg(top + group * len(names) + 8, parts, f"score by {label}")


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
    bar = 14
    group = bar * len(runs) + 8
    parts = []
    for position, kind in enumerate(kinds):
        start = 4 + position * group
        parts.append(_name(kind, start + bar * len(runs) / 2 - 1))
        for index, (run, count) in enumerate(zip(runs, counts, strict=True)):
            if count[kind] == 0:
                continue
            width, y = PLOT * count[kind] / most, start + index * bar
            parts.append(
                Markup(
                    '<rect x="{}" y="{}" width="{}" height="{}" class="c{}">'
                    "<title>{}</title></rect>"
                ).format(
                    LABEL,
                    _n(y),
                    _n(width),
                    bar - 3,
                    index % COLOURS,
                    f"{run.label}: {count[kind]} properties, {kind}",
                )
            )
            parts.append(_text(LABEL + width + 6, y + bar / 2 - 1, str(count[kind]), "small"))
    return _svg(group * len(kinds) + 8, parts, "why properties failed")


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
    budgets = [least * 2**step for step in range(steps + 1)]
    left, top, width, height = 60, 16, LABEL + PLOT - 80, 240
    parts = []
    for tick in range(0, 101, 25):
        y = top + height * (1 - tick / 100)
        parts.append(
            Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="grid"/>').format(
                left, left + width, _n(y), _n(y)
            )
        )
        parts.append(_text(left - 8, y, f"{tick} %", "small end"))
    places = {b: left + 12 + 0.85 * width * i / steps for i, b in enumerate(budgets)}
    for budget, x in places.items():
        parts.append(_text(x, top + height + 16, _amount(budget), "small mid"))
    parts.append(_text(left + width * 0.45, top + height + 34, f"{spent} per answer", "small mid"))
    for index, run in enumerate(runs):
        parts += _curve(run, index, spent, places, (top, height))
    return _svg(top + height + 44, parts, f"score over {spent}")


def _curve(
    run: Run, index: int, spent: Spent, places: Mapping[float, float], frame: tuple[float, float]
) -> list[Markup]:
    """Points with intervals at the places of budgets, joined by a line with the run's name."""
    top, height = frame
    points, parts = [], []
    for budget, place in places.items():
        interval = within(run, spent, budget)
        if interval is None:
            continue
        x = place + 3 * (index - 1)  # beside those of the other runs
        low, high, y = (
            top + height * (1 - v) for v in (interval.low, interval.high, interval.estimate)
        )
        points.append(f"{_n(x)},{_n(y)}")
        parts += [
            Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="whisker"/>').format(
                _n(x), _n(x), _n(low), _n(high)
            ),
            Markup('<circle cx="{}" cy="{}" r="4" class="c{}"><title>{}</title></circle>').format(
                _n(x), _n(y), index % COLOURS,
                f"{_describe(run.label, interval)} within {_amount(budget)} {spent}",
            ),
        ]  # fmt: skip
    if points:
        line = Markup('<polyline points="{}" class="curve s{}"/>').format(
            " ".join(points), index % COLOURS
        )
        x, y = map(float, points[-1].split(","))
        parts = [line, *parts, _text(x + 9, y + 12 * (index % 2), run.label, "small")]
    return parts


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
    cell, height, top = PLOT / max(len(sources), 3), 34, 26
    parts = [
        _text(LABEL + cell * (i + 0.5), 14, source, "small mid") for i, source in enumerate(sources)
    ]
    for row, system in enumerate(systems):
        y = top + row * height
        parts.append(_name(system, y + height / 2))
        for column, source in enumerate(sources):
            found = cells.get((system, source))
            interval = found[0].interval(found[0].primary) if found else None
            x = LABEL + column * cell
            share = 0.0 if interval is None else interval.estimate
            parts.append(
                Markup(
                    '<rect x="{}" y="{}" width="{}" height="{}" class="heat" fill-opacity="{}"/>'
                ).format(_n(x), _n(y), _n(cell - 3), height - 3, _n(0.08 + 0.85 * share))
            )
            text = "-" if interval is None else f"{100 * interval.estimate:.1f} %"
            style = "mid" if share < 0.55 else "mid onheat"
            parts.append(_text(x + cell / 2, y + height / 2 - 1, text, style))
    return _svg(top + height * len(systems) + 4, parts, "score by system and retrieval")


def _axis(top: float, rows: int, *, height: float | None = None) -> Markup:
    bottom = top + (rows * ROW if height is None else height)
    lines = Markup("")
    for tick in range(0, 101, 20):
        x = LABEL + PLOT * tick / 100
        lines += Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="grid"/>').format(
            _n(x), _n(x), top, _n(bottom)
        )
        lines += _text(x, 12, f"{tick} %", "small mid")
    return lines


def _name(label: str, middle: float) -> Markup:
    shown = label if len(label) <= 34 else label[:32] + " …"
    return Markup('<text x="{}" y="{}" class="end"><title>{}</title>{}</text>').format(
        LABEL - 10, _n(middle + 4), label, shown
    )


def _text(x: float, middle: float, text: str, style: str) -> Markup:
    return Markup('<text x="{}" y="{}" class="{}">{}</text>').format(
        _n(x), _n(middle + 4), style, text
    )


def _svg(height: float, parts: Sequence[Markup], about: str) -> Markup:
    width = LABEL + PLOT + 90
    return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        width, _n(height), escape(about), Markup("").join(parts)
    )


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _n(value: float) -> str:
    return f"{value:.1f}"

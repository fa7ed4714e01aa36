"""Plots as inline SVG: no library, no script, nothing to load.

Everything that varies is escaped; colours come from the page's style sheet by class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from markupsafe import Markup, escape

from experiments.report.runs import Run, tally
from experiments.report.taxonomy import count_failures
from experiments.scorers.base import amount, measure
from experiments.stats import Interval, ratio_interval

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
        low, high, at = (LABEL + PLOT * v for v in (interval.low, interval.high, interval.estimate))
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


def against_spend(runs: Sequence[Run], spend: Mapping[str, float], unit: str) -> Markup:
    """Primary metric over what each answer took; ``spend`` by label, in ``unit``."""
    points = [
        (run, interval, spend[run.label])
        for run in runs
        if (interval := run.interval(run.primary)) is not None and run.label in spend
    ]
    if len(points) < 2:
        return Markup("")
    left, top, width, height = 60, 16, LABEL + PLOT - 80, 240
    most = max(value for _, _, value in points) or 1.0
    parts = []
    for tick in range(0, 101, 25):
        y = top + height * (1 - tick / 100)
        parts.append(
            Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="grid"/>').format(
                left, left + width, _n(y), _n(y)
            )
        )
        parts.append(_text(left - 8, y, f"{tick} %", "small end"))
    for share in (0.0, 0.5, 1.0):
        x = left + share * width * 0.9
        parts.append(_text(x, top + height + 16, _amount(most * share), "small mid"))
    parts.append(_text(left + width * 0.45, top + height + 34, unit, "small mid"))
    for index, (run, interval, value) in enumerate(points):
        x = left + width * 0.9 * value / most
        low, high, y = (
            top + height * (1 - v) for v in (interval.low, interval.high, interval.estimate)
        )
        parts.append(
            Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="whisker"/>').format(
                _n(x), _n(x), _n(low), _n(high)
            )
        )
        parts.append(
            Markup('<circle cx="{}" cy="{}" r="5" class="c{}"><title>{}</title></circle>').format(
                _n(x), _n(y), index % COLOURS, _describe(run.label, interval)
            )
        )
        near_edge = x > left + width * 0.7
        parts.append(_text(x - 9 if near_edge else x + 9, y, run.label, "end" if near_edge else ""))
    return _svg(top + height + 44, parts, f"score over {unit}")


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

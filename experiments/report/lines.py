"""Shares over a number, as lines with intervals: inline SVG as in `experiments.report.plots`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from experiments.report.cells import percent
from experiments.report.templates import shapes
from experiments.stats import Interval

COLOURS = 6  # classes c0 ... c5 of the style sheet
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
_LABELS = 8  # numbers below the axis that have room on a phone
_SPREAD = 1.2  # percent of the width between the whiskers of neighbouring series


@dataclass(frozen=True)
class Point:
    """A share at a place."""

    x: float
    share: Interval


def lines(
    series: Mapping[str, Sequence[Point]],
    *,
    about: str,
    axis: str,
    ticks: Sequence[float] | None = None,
) -> Markup:
    """One line per series, from its smallest ``x`` to its largest; nothing without a point.

    ``ticks`` are the values of ``x``, drawn equally far apart (1, 2, 4, 8); without them ``x`` is
    drawn to scale from zero, and the points are not joined.
    """
    points = [point for found in series.values() for point in found]
    if not points:
        return Markup("")
    most = max(point.x for point in points) or 1.0
    order = None if ticks is None else {value: place for place, value in enumerate(sorted(ticks))}

    def across(x: float) -> float:
        """Percent of the width."""
        if order is None:
            return 97 * x / most
        return 100 * (order[x] + 0.5) / len(order)

    joined: list[tuple[str, int]] = []
    marks: list[tuple[object, ...]] = []
    spread = min(_SPREAD, 60 / len(series) / len(order)) if order else 0.0
    for index, (label, found) in enumerate(series.items()):
        shift, colour = spread * (index - (len(series) - 1) / 2), index % COLOURS
        places = [
            (across(point.x) + shift, point) for point in sorted(found, key=lambda point: point.x)
        ]
        if order is not None:
            path = " ".join(f"{x:.2f},{_down(point.share.estimate):.1f}" for x, point in places)
            joined.append((path, colour))
        for x, point in places:
            share = point.share
            low, high = map(_down, share.limits or [share.estimate] * 2)
            told = f"{label}, {axis} {point.x:,.6g}: {percent(share)} %"
            drawn = (f"{x:.2f}", f"{low:.1f}", f"{high:.1f}", f"{_down(share.estimate):.1f}")
            marks.append((*drawn, colour, told))
    numbers = [(across(x), short(x)) for x in order or dict.fromkeys((0.0, most / 2, most))]
    grid = [(f"{_down(share):.0f}", f"{100 * share:.0f}") for share in SHARES]
    key, every = legend(list(series)), math.ceil(len(numbers) / _LABELS)
    drawn_lines: Markup = shapes().lines(about, key, grid, joined, marks, numbers[::every], axis)
    return drawn_lines


def legend(labels: Sequence[str]) -> Markup:
    """The colour of each series."""
    key: Markup = shapes().legend(labels, COLOURS)
    return key


def short(value: float) -> str:
    """A number in at most five characters: 0.25, 40, 1.5k, 131k."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g}{unit}"
    return f"{value:.3g}"


def _down(share: float) -> float:
    """Percent of the height, from the top."""
    return 100 * (1 - min(1.0, max(0.0, share)))

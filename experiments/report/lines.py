"""Shares over a number, as lines with intervals: inline SVG as in `experiments.report.plots`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

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

    Parameters
    ----------
    series
        Points by label; a colour each, in this order.
    about, axis
        What the plot shows; what ``x`` is.
    ticks
        The values of ``x``, drawn equally far apart (1, 2, 4, 8); without them ``x`` is drawn to
        scale from zero, and the points are not joined.
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

    joined, marks = [], []
    spread = min(_SPREAD, 60 / len(series) / len(order)) if order else 0.0
    for index, (label, found) in enumerate(series.items()):
        shift = spread * (index - (len(series) - 1) / 2)
        places = [
            (across(point.x) + shift, point) for point in sorted(found, key=lambda point: point.x)
        ]
        if order is not None:
            path = " ".join(f"{x:.2f},{_down(point.share.estimate):.1f}" for x, point in places)
            joined.append(
                Markup('<polyline points="{}" class="line s{}"/>').format(path, index % COLOURS)
            )
        marks += [_point(x, point, f"{label}, {axis}", index % COLOURS) for x, point in places]
    numbers = _numbers({x: across(x) for x in order or (0.0, most / 2, most)})
    return Markup(
        '<figure class="lines" aria-label="{}">{}<svg class="plot">{}'
        '<svg class="frame" width="100%" height="100%" viewBox="0 0 100 100" '
        'preserveAspectRatio="none">{}</svg>{}</svg>'
        '<svg class="axis">{}</svg><figcaption>{}</figcaption></figure>'
    ).format(about, legend(list(series)), _grid(), Markup("").join(joined),
             Markup("").join(marks), numbers, axis)  # fmt: skip


def legend(labels: Sequence[str]) -> Markup:
    """The colour of each series."""
    keys = (
        Markup(
            '<span class="key"><svg viewBox="0 0 10 10"><rect width="10" height="10" class="c{}"/>'
            "</svg>{}</span>"
        ).format(index % COLOURS, label)
        for index, label in enumerate(labels)
    )
    return Markup("<p>{}</p>").format(Markup("").join(keys))


def describe(interval: Interval) -> str:
    """An estimate with its limits, in percent."""
    return f"{100 * interval.estimate:.1f} % [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def _grid() -> Markup:
    return Markup("").join(
        Markup(
            '<line x1="0" x2="100%" y1="{0:.0f}%" y2="{0:.0f}%" class="grid"/>'
            '<text x="-7" y="{0:.0f}%" dy="4" class="end">{1:.0f} %</text>'
        ).format(_down(share), 100 * share)
        for share in SHARES
    )


def _numbers(places: Mapping[float, float]) -> Markup:
    every = math.ceil(len(places) / _LABELS)
    return Markup("").join(
        Markup('<text x="{:.2f}%" y="13" class="mid">{}</text>').format(place, short(x))
        for position, (x, place) in enumerate(places.items())
        if position % every == 0
    )


def short(value: float) -> str:
    """A number in at most five characters: 0.25, 40, 1.5k, 131k."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g}{unit}"
    return f"{value:.3g}"


def _point(x: float, point: Point, label: str, colour: int) -> Markup:
    share = point.share
    return Markup(
        '<line x1="{x:.2f}%" x2="{x:.2f}%" y1="{low:.1f}%" y2="{high:.1f}%" class="whisker"/>'
        '<circle cx="{x:.2f}%" cy="{y:.1f}%" r="4.5" class="c{c}"><title>{title}</title></circle>'
    ).format(
        x=x, low=_down(share.low), high=_down(share.high), y=_down(share.estimate), c=colour,
        title=f"{label} {point.x:,.6g}: {describe(share)}",
    )  # fmt: skip


def _down(share: float) -> float:
    """Percent of the height, from the top."""
    return 100 * (1 - min(1.0, max(0.0, share)))

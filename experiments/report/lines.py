"""Shares over a number, as lines with intervals: inline SVG as in `experiments.report.plots`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from experiments.stats import Interval

COLOURS = 6  # classes c0 ... c5 of the style sheet
LEFT, TOP, WIDTH, HEIGHT = 60, 16, 700, 240
_SPREAD = 5  # pixels between the whiskers of neighbouring series


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
        if order is None:
            return LEFT + WIDTH * 0.95 * x / most
        return LEFT + WIDTH * (order[x] + 0.5) / len(order)

    parts = [_grid()]
    marks = {x: f"{x:,g}" for x in order or (0.0, most / 2, most)}
    parts += [_text(across(x), TOP + HEIGHT + 16, name, "small mid") for x, name in marks.items()]
    parts.append(_text(LEFT + WIDTH / 2, TOP + HEIGHT + 34, axis, "small mid"))
    for index, (label, found) in enumerate(series.items()):
        shift = 0.0 if order is None else _SPREAD * (index - (len(series) - 1) / 2)
        places = [
            (across(point.x) + shift, point) for point in sorted(found, key=lambda point: point.x)
        ]
        if order is not None:
            path = " ".join(f"{x:.1f},{_down(point.share.estimate):.1f}" for x, point in places)
            parts.append(
                Markup('<polyline points="{}" class="line s{}"/>').format(path, index % COLOURS)
            )
        parts += [_point(x, point, label, axis, index % COLOURS) for x, point in places]
    return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        LEFT + WIDTH + 80, TOP + HEIGHT + 44, escape(about), Markup("").join(parts)
    )


def _grid() -> Markup:
    return Markup("").join(
        Markup('<line x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}" class="grid"/>').format(
            LEFT, LEFT + WIDTH, _down(share), _down(share)
        )
        + _text(LEFT - 8, _down(share), f"{100 * share:.0f} %", "small end")
        for share in (0.0, 0.25, 0.5, 0.75, 1.0)
    )


def _point(x: float, point: Point, label: str, axis: str, colour: int) -> Markup:
    share = point.share
    title = (
        f"{label}, {axis} {point.x:,g}: {100 * share.estimate:.1f} % "
        f"[{100 * share.low:.1f}, {100 * share.high:.1f}]"
    )
    return Markup(
        '<line x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}" class="whisker"/>'
        '<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="c{c}"><title>{title}</title></circle>'
    ).format(
        x=x, low=_down(share.low), high=_down(share.high), y=_down(share.estimate), c=colour,
        title=title,
    )  # fmt: skip


def _down(share: float) -> float:
    return TOP + HEIGHT * (1 - share)


def _text(x: float, y: float, text: str, style: str) -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" class="{}">{}</text>').format(x, y + 4, style, text)

"""Curves of a comparison, drawn by matplotlib: SVG in a data URI, which loads and runs nothing."""

from __future__ import annotations

import base64
import io
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from experiments.report.runs import Run, tally
from experiments.scorers.base import measuring
from experiments.stats import Interval, Tally, ratio_interval
from foundation.terminal import printable

LABELS = 12  # of places, that fit beside each other
SEED = "seed"  # a key whose values are pooled: another world of the same kind
#: Names of lines, and the places of each with the share there.
Curves = Mapping[str, Sequence[tuple[float, Interval]]]


def over_choices(runs: Sequence[Run]) -> Iterator[tuple[str, str]]:
    """Headings and plots: the primary metric over every number that was chosen for the runs.

    There is one plot for each combination of the other numbers. What is no number is a line.
    """
    cells = [(run, each) for run in runs for each in run.values]
    keys = dict.fromkeys(key for _, each in cells for key in each if key != SEED)
    numbers = [
        key for key in keys if all(_numeric(each.get(key, "")) for _, each in cells)
    ]
    for axis in numbers:
        others = [key for key in numbers if key != axis]
        plots: dict[str, dict[str, dict[float, list[Tally]]]] = defaultdict(dict)
        for run, each in cells:
            heading = ", ".join(
                [f"Over {axis}", *(f"{key} {each[key]}" for key in others)]
            )
            chosen = [
                value for key, value in each.items() if key not in (*numbers, SEED)
            ]
            places = plots[heading].setdefault(
                " + ".join(chosen) or run.primary.title, {}
            )
            sums = tally(run.scored, measuring(run.scored, run.primary))
            places.setdefault(float(each[axis]), []).extend(sums.values())
        for heading, lines in plots.items():
            yield (
                heading,
                drawn({name: _shares(places) for name, places in lines.items()}, axis),
            )


def _shares(places: Mapping[float, Sequence[Tally]]) -> list[tuple[float, Interval]]:
    intervals = ((place, ratio_interval(places[place])) for place in sorted(places))
    return [(place, share) for place, share in intervals if share is not None]


def _numeric(value: str) -> bool:
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


def drawn(curves: Curves, axis: str) -> str:
    """Percent with intervals, one line per name; places are equally far apart (1, 2, 4, 8).

    Empty where there is nothing to draw.
    """
    from matplotlib import rc_context  # noqa: PLC0415 -- slow, and only pages with curves need it
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    places = sorted({place for line in curves.values() for place, _ in line})
    if not places:
        return ""
    made, every = io.BytesIO(), math.ceil(len(places) / LABELS)
    # Names are text of a run: no mathematics in them, and no font of this machine.
    style = {
        "text.parse_math": False,
        "svg.fonttype": "none",
        "svg.hashsalt": "matsmith",
    }
    with rc_context(style):  # type: ignore[arg-type]
        figure = Figure(figsize=(8, 4), layout="constrained")
        axes = figure.add_subplot()
        for index, (name, line) in enumerate(curves.items()):
            beside = 0.04 * (
                index - (len(curves) - 1) / 2
            )  # intervals do not hide each other
            shares = [(s.estimate, *(s.limits or [s.estimate] * 2)) for _, s in line]
            middle, low, high = 100 * np.array(shares).reshape(-1, 3).T
            across, about = (
                [places.index(place) + beside for place, _ in line],
                printable(name),
            )
            spread = (middle - low, high - middle)
            axes.errorbar(
                across, middle, yerr=spread, marker="o", capsize=3, label=about
            )
        axes.set(xlabel=axis, ylabel="%", ylim=(-4, 104))
        labels = [f"{place:,.6g}" for place in places[::every]]
        axes.set_xticks(range(0, len(places), every), labels)
        axes.grid(axis="y", alpha=0.4)
        axes.legend()
        FigureCanvasSVG(figure).print_svg(made, metadata={"Date": None})  # type: ignore[no-untyped-call]
    return f"data:image/svg+xml;base64,{base64.b64encode(made.getvalue()).decode()}"

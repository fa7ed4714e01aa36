"""Figures of a report for a paper, by matplotlib: one column or two columns of a journal wide."""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.report.groups import count_failures, groups_of
from experiments.report.runs import Run, has_intervals
from experiments.stats import Interval
from foundation.terminal import printable

if TYPE_CHECKING:  # slow to import
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches: one column, two columns.
WIDTHS = (3.4, 7.0)
#: Okabe and Ito (2008): told apart with every common kind of colour vision.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
REASONS = 8  # bars of failure reasons
DOTS_PER_INCH = 300
_STYLE = {
    "text.parse_math": False,  # names are text of a run
    "svg.fonttype": "none",
    "svg.hashsalt": "matsmith",
    "pdf.fonttype": 42,
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def write_figure(runs: Sequence[Run], path: Path, width: float) -> None:
    """Draw runs into a file, whose ending says the format (svg, pdf, png)."""
    from matplotlib import rc_context  # noqa: PLC0415 -- slow

    with rc_context(_STYLE):  # type: ignore[arg-type]
        figure = draw_run(runs[0], width) if len(runs) == 1 else draw_runs(runs, width)
        undated: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
        ending = path.suffix.removeprefix(".")
        figure.savefig(path, dpi=DOTS_PER_INCH, metadata=undated.get(ending))


def run_figure(run: Run) -> str:
    """The figure of one run as a data URI of SVG, which loads and runs nothing; or empty."""
    from matplotlib import rc_context  # noqa: PLC0415 -- slow

    if not run.scored:
        return ""
    drawn = io.BytesIO()
    with rc_context(_STYLE):  # type: ignore[arg-type]
        draw_run(run, WIDTHS[1]).savefig(drawn, format="svg", metadata={"Date": None})
    encoded = base64.b64encode(drawn.getvalue()).decode()
    return f"data:image/svg+xml;base64,{encoded}"


def draw_runs(runs: Sequence[Run], width: float) -> Figure:
    """The primary metric of each run with its interval."""
    figure = _figure(width, rows=len(runs))
    axes = figure.add_subplot()
    shares = [(run.label, run.interval(run.primary)) for run in runs]
    _draw_shares(axes, [(name, share) for name, share in shares if share])
    axes.set_title(_benchmarks(runs))
    axes.set_xlabel(_axis(runs[0]))
    return figure


def draw_run(run: Run, width: float) -> Figure:
    """The primary metric of one run by area with intervals, and why criteria were not met."""
    label = _label_of(run)
    areas = [
        (name.replace("_", " "), part.interval(part.primary))
        for name, part in groups_of([run], label)
    ]
    shares = [(name, share) for name, share in areas if share]
    shares = shares or [
        ("all", share) for share in [run.interval(run.primary)] if share
    ]
    reasons = count_failures(run.scored)
    figure = _figure(width, rows=len(shares) + min(len(reasons), REASONS) + 2)
    heights = [len(shares) + 1]
    if reasons:  # nothing is drawn where nothing failed
        heights.append(min(len(reasons), REASONS) + 1)
    panels = figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False)
    upper = panels[0, 0]
    _draw_shares(upper, shares)
    upper.set_title(f"{run.label} on {_benchmarks([run])}")
    upper.set(xlabel=_axis(run), ylabel=label)
    if reasons:
        _draw_reasons(panels[1, 0], reasons)
    return figure


def _label_of(run: Run) -> str:
    """The label whose groups are shown: the area, or the first that tells questions apart."""
    labels = dict.fromkeys(label for row in run.scored for label in row.labels)
    several = [
        label
        for label in labels
        if len({row.labels.get(label) for row in run.scored}) > 1
    ]
    return "area" if "area" in several else next(iter(several), "area")


def _figure(width: float, rows: int) -> Figure:
    from matplotlib.figure import Figure  # noqa: PLC0415 -- slow

    return Figure(figsize=(width, 1.0 + 0.22 * max(rows, 3)), layout="constrained")


def _draw_shares(axes: Axes, shares: Sequence[tuple[str, Interval]]) -> None:
    """Points with 95 % confidence intervals, in percent, the first uppermost."""
    for place, (_, share) in enumerate(shares):
        low, high = share.limits or (share.estimate, share.estimate)
        axes.errorbar(
            100 * share.estimate,
            place,
            xerr=[[100 * (share.estimate - low)], [100 * (high - share.estimate)]],
            marker="o",
            markersize=4,
            capsize=2,
            color=PALETTE[place % len(PALETTE)],
        )
    axes.set_yticks(range(len(shares)), [printable(name) for name, _ in shares])
    axes.set_ylim(max(len(shares), 1) - 0.5, -0.5)
    lowest = min(
        [100 * (share.limits or (0.0,))[0] for _, share in shares], default=0.0
    )
    axes.set_xlim(min(-2.0, lowest - 2.0), 102)
    axes.grid(axis="x", alpha=0.4)


def _draw_reasons(axes: Axes, reasons: Counter[str]) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 -- slow

    most = reasons.most_common(REASONS)
    axes.barh(range(len(most)), [count for _, count in most], color=PALETTE[4])
    axes.set_yticks(range(len(most)), [printable(reason) for reason, _ in most])
    axes.set_ylim(max(len(most), 1) - 0.5, -0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("criteria that were not met (number)")


def _axis(run: Run) -> str:
    unit = f" ({run.primary.unit})" if run.primary.unit else ""
    limits = ", 95 % confidence interval" if has_intervals([run]) else ""
    return f"{run.primary.title}{unit}{limits}"


def _benchmarks(runs: Sequence[Run]) -> str:
    return ", ".join(dict.fromkeys(str(run.summary["benchmark"]) for run in runs))

"""The table of a report in LaTeX, with booktabs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from experiments.report.runs import Run, has_intervals
from experiments.report.show import HERE
from experiments.report.tables import (
    compare_runs,
    heading_of,
    metric_cell,
    metrics_of,
    percent,
    probability,
)
from foundation.terminal import printable

#: Metrics of the table: a benchmark names the important ones first.
COLUMNS = 4
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "<": r"$<$",
    ">": r"$>$",
} | {sign: f"\\{sign}" for sign in "&%$#_{}"}


def escape_latex(text: object) -> str:
    """Text as LaTeX prints it."""
    return re.sub(
        "[" + re.escape("".join(_SPECIAL)) + "]",
        lambda match: _SPECIAL[match[0]],
        " ".join(printable(text).split()),
    )


def latex_table(runs: Sequence[Run]) -> str:
    """Runs with their first metrics and intervals, and the paired tests below."""
    metrics = metrics_of(runs)[:COLUMNS]
    environment = Environment(
        loader=FileSystemLoader(HERE),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 -- LaTeX, which the filter escapes
        trim_blocks=True,
        lstrip_blocks=True,
        comment_start_string="<#",
        comment_end_string="#>",
    )
    environment.filters["tex"] = escape_latex
    return environment.get_template("table.tex.j2").render(
        benchmarks=", ".join(dict.fromkeys(run.summary["benchmark"] for run in runs)),
        headings=["run", *map(heading_of, metrics), "questions"],
        lines=[
            [
                run.label,
                *(metric_cell(run, metric) for metric in metrics),
                str(len({row.question_id for row in run.scored})),
            ]
            for run in runs
        ],
        intervals=has_intervals(runs),
        tests=[
            (
                test.label,
                str(test.shared),
                percent(test.difference),
                probability(test.probability),
                probability(test.corrected),
            )
            for test in compare_runs(runs)
        ],
    )

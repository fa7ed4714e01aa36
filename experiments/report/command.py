"""Tables and one HTML page (opens offline) about one or several runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field
from rich.console import Console

from experiments.files import write_text
from experiments.report.figures import write_figure
from experiments.report.groups import breakdown, grouped_by, statistics_csv
from experiments.report.latex import latex_table
from experiments.report.methods import methods_text
from experiments.report.page import write_report
from experiments.report.published import beside_published, unmatched
from experiments.report.runs import Run, load_runs
from experiments.report.tables import (
    comma_separated,
    drawn_table,
    markdown,
    mismatches,
    print_table,
)
from foundation.command import Command, Word
from foundation.errors import UsageError
from foundation.terminal import printable

#: Of a break-down that fit beside each other in 80 columns.
COLUMNS = 9


class ReportOptions(BaseModel, extra="forbid", frozen=True):
    """Arguments of ``matsmith report``."""

    runs: Annotated[tuple[Path, ...], Word()] = Field(description="run folders")
    html: Path | None = Field(
        None,
        description="page; default: report.html in the run folder, or here for several runs",
    )
    markdown: Path | None = Field(None, description="tables as Markdown")
    latex: Path | None = Field(None, description="table as LaTeX (booktabs)")
    csv: Path | None = Field(
        None, description="metrics and groups with intervals, and paired tests"
    )
    answers: Path | None = Field(None, description="CSV with one line per answer")
    svg: Path | None = Field(None, description="figure as SVG")
    pdf: Path | None = Field(None, description="figure as PDF")
    png: Path | None = Field(None, description="figure as PNG, 300 dots per inch")
    width: float = Field(
        7.0,
        ge=2.0,
        le=20.0,
        description="width of figures in inches: 3.4 for one column of a journal, 7 for two",
    )
    methods: bool = Field(False, description="print text for a methods section")
    published: bool = Field(
        False, description="add the figures that papers report on the same metrics"
    )


def _action(options: ReportOptions) -> int:
    # `runs/sweep/*` also names the pages that a sweep writes beside its runs.
    folders = [
        run for run in options.runs if not (run.is_file() and run.suffix == ".html")
    ]
    if not folders:
        raise UsageError("no run folder among the arguments")
    html = options.html or (folders[0] if len(folders) == 1 else Path()) / "report.html"
    runs = load_runs(folders)
    console = Console()
    write_report(folders, html, published=options.published)
    written = [html, *_write_files(runs, options)]
    print_table(folders, console)
    for label in grouped_by(runs):
        headings, lines = breakdown(runs, label)
        first = [line[:COLUMNS] for line in lines]
        table = drawn_table(f"by {label}", headings[:COLUMNS], first)
        table.box = None
        console.print(table)
    for line in (line for run in runs for line in mismatches(run)):
        console.print(printable(line), markup=False, highlight=False)
    if options.published:
        _print_published(runs, console)
    if options.methods:
        console.print(methods_text(runs), markup=False, highlight=False)
    for path in written:
        console.print(f"written: {path}", highlight=False, soft_wrap=True)
    return 0


def _write_files(runs: Sequence[Run], options: ReportOptions) -> Iterator[Path]:
    """Write what was asked for beside the page; yields where."""
    texts: dict[Path | None, Callable[[], str]] = {
        options.markdown: lambda: _markdown(runs, published=options.published),
        options.latex: lambda: latex_table(runs),
        options.csv: lambda: statistics_csv(runs),
        options.answers: lambda: comma_separated(runs),
    }
    for path, text in texts.items():
        if path is not None:
            write_text(path, text())
            yield path
    for path, ending in (
        (options.svg, ".svg"),
        (options.pdf, ".pdf"),
        (options.png, ".png"),
    ):
        if path is None:
            continue
        if path.suffix != ending:
            raise UsageError(f"{ending[1:]}={path}: name a file that ends in {ending}")
        write_figure(runs, path, options.width)
        yield path


def _markdown(runs: Sequence[Run], *, published: bool) -> str:
    groups = [breakdown(runs, label) for label in grouped_by(runs)]
    more = [beside_published(runs)] if published else []
    return markdown(runs, *groups, *more)


def _print_published(runs: Sequence[Run], console: Console) -> None:
    (metric, who, figure, items, *_), lines = beside_published(runs)
    notes: dict[tuple[str, ...], int] = {}
    short = []
    for *first, source, differs in lines:
        note = notes.setdefault((source, differs), len(notes) + 1) if differs else ""
        short.append([*first, str(note)])
    if lines:
        headings = [metric, who, figure, items, "note"]
        console.print(drawn_table("Published figures", headings, short))
    for (source, differs), note in notes.items():
        text = f"{note}: {source}; what differs: {differs}"
        console.print(text, markup=False, highlight=False)
    for benchmark in unmatched(runs):
        console.print(f"{benchmark}: no published figures are at hand", markup=False)


main = Command(
    "matsmith report", str(__doc__), ReportOptions, _action, errors=(OSError,)
)

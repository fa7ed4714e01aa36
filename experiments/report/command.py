"""Tables and one HTML page (opens offline) about one or several runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field
from rich.console import Console

from experiments.files import write_text
from experiments.report.groups import breakdown, group_csv, grouped_by
from experiments.report.page import write_report
from experiments.report.runs import load_runs
from experiments.report.tables import (
    comma_separated,
    drawn_table,
    markdown,
    print_table,
)
from matsmith.core.command import Command, Word
from matsmith.core.errors import UsageError

#: Of a break-down that fit beside each other in 80 columns.
COLUMNS = 9


class Options(BaseModel, extra="forbid", frozen=True):
    """Arguments of ``matsmith report``."""

    runs: Annotated[tuple[Path, ...], Word()] = Field(description="run folders")
    html: Path | None = Field(
        None,
        description="the page; none: report.html in the run folder, or here for several runs",
    )
    markdown: Path | None = Field(None, description="the tables as Markdown")
    csv: Path | None = Field(None, description="one line per answer")
    groups: Path | None = Field(None, description="CSV by action, task or subfield")


def _action(options: Options) -> int:
    # `runs/sweep/*` also names the pages that a sweep writes beside its runs.
    folders = [
        run for run in options.runs if not (run.is_file() and run.suffix == ".html")
    ]
    if not folders:
        raise UsageError("no run folder among the arguments")
    html = options.html or (folders[0] if len(folders) == 1 else Path()) / "report.html"
    console = Console()
    runs = load_runs(folders)
    write_report(folders, html)
    means = {label: breakdown(runs, label) for label in grouped_by(runs)}
    if options.markdown:
        write_text(options.markdown, markdown(runs, *means.values()))
    if options.csv:
        write_text(options.csv, comma_separated(runs))
    if options.groups:
        write_text(options.groups, group_csv(runs))
    print_table(folders, console)
    for label, (headings, lines) in means.items():
        first = [line[:COLUMNS] for line in lines]
        table = drawn_table(f"by {label}", headings[:COLUMNS], first)
        table.box = None
        console.print(table)
    for written in (html, options.markdown, options.csv, options.groups):
        if written:
            console.print(f"written: {written}", highlight=False, soft_wrap=True)
    return 0


main = Command("matsmith report", str(__doc__), Options, _action, errors=(OSError,))

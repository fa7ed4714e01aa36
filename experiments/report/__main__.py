"""Tables and one HTML page (opens offline) about one or several runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console

from experiments.report.page import write_report
from experiments.report.runs import load_runs
from experiments.report.tables import comma_separated, markdown, print_table
from experiments.store import write_text
from sandbox.command import UsageError, Word, run


class Options(BaseModel):
    """Arguments of ``python -m experiments.report``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    runs: Annotated[tuple[Path, ...], Word()] = Field(description="run folders")
    html: Path | None = Field(
        None, description="the page; none: report.html in the run folder, or here for several runs"
    )
    markdown: Path | None = Field(None, description="the tables as Markdown")
    csv: Path | None = Field(None, description="one line per answer")


def _action(options: Options) -> int:
    # `runs/sweep/*` also names the pages that a sweep writes beside its runs.
    folders = [run for run in options.runs if not (run.is_file() and run.suffix == ".html")]
    if not folders:
        raise UsageError("no run folder among the arguments")
    html = options.html or (folders[0] if len(folders) == 1 else Path()) / "report.html"
    console = Console()
    runs = load_runs(folders)
    write_report(folders, html)
    if options.markdown:
        write_text(options.markdown, markdown(runs))
    if options.csv:
        write_text(options.csv, comma_separated(runs))
    print_table(folders, console)
    for written in (html, options.markdown, options.csv):
        if written:
            console.print(f"written: {written}", highlight=False, soft_wrap=True)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see ``--help``."""
    return run(
        "python -m experiments.report", str(__doc__), Options, _action, arguments, errors=(OSError,)
    )


if __name__ == "__main__":
    sys.exit(main())

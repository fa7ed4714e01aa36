"""Compare runs: ``python -m experiments.report RUN...``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from experiments.report.page import write_report
from experiments.report.runs import load_runs
from experiments.report.tables import comma_separated, markdown, print_table
from experiments.store import write_text
from sandbox.command import UsageError
from sandbox.terminal import printable


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see ``--help``. Returns 2 when a folder is not a run folder."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.report",
        description="Tables and one HTML page (opens offline) about one or several runs.",
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run folder")
    parser.add_argument(
        "--html",
        type=Path,
        metavar="FILE",
        help="the page; default: report.html in the run folder, or here for several runs",
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="the tables as Markdown")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="one line per answer")
    given = parser.parse_args(arguments)
    # `runs/sweep/*` also names the pages that a sweep writes beside its runs.
    folders = [run for run in given.runs if not (run.is_file() and run.suffix == ".html")]
    if not folders:
        parser.error("no run folder among the arguments")
    html = given.html or (folders[0] if len(folders) == 1 else Path()) / "report.html"
    console = Console()
    try:
        runs = load_runs(folders)
        write_report(folders, html)
        if given.markdown:
            write_text(given.markdown, markdown(runs))
        if given.csv:
            write_text(given.csv, comma_separated(runs))
    except (UsageError, OSError) as error:
        sys.stderr.write(f"error: {printable(error)}\n")
        return 2
    print_table(folders, console)
    for written in (html, given.markdown, given.csv):
        if written:
            console.print(f"written: {written}", highlight=False, soft_wrap=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs as one list of work, and the tables and pages about them."""

from __future__ import annotations

import asyncio
import hashlib
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.run.config import RunConfig
from matsmith.core.command import cancelled_by_term
from matsmith.core.errors import ActionableError
from matsmith.core.terminal import printable

if TYPE_CHECKING:  # slow to import
    from rich.console import Console


def open_console() -> Console:
    """A console for tables; a log file has room for them."""
    from rich.console import Console  # noqa: PLC0415 -- slow to import

    console = Console()
    return console if console.is_terminal else Console(width=100)


def run_all(configs: Sequence[RunConfig], values: Sequence[Mapping[str, str]] = ()) -> int:
    """Run what is not finished, and show tables and reports; returns the exit code.

    Of several runs one that fails leaves the others be. ``values`` are what was chosen for each of
    them: where numbers vary, the score is drawn over them.
    """
    # They take seconds to import: not for --help or a wrong argument.
    from experiments.report import print_table, write_report  # noqa: PLC0415
    from experiments.run.loop import execute_all  # noqa: PLC0415
    from experiments.run.setup import check_prices  # noqa: PLC0415
    from experiments.run.store import read_json  # noqa: PLC0415

    console = open_console()
    runs: list[RunConfig] = []  # what comes to the same run is run once
    for config in configs:
        check_prices(config)
        if config not in runs:
            runs.append(config)
    ended = asyncio.run(cancelled_by_term(execute_all(runs, console)))
    for error in ended:
        if isinstance(error, Exception) and not isinstance(error, ActionableError):
            text = "".join(traceback.format_exception(error))
            console.print(printable(text), markup=False, highlight=False)
    results = [ended[runs.index(config)] for config in configs]
    chosen: dict[Path, list[Mapping[str, str]]] = {}  # several choices may come to one run
    for one, each in zip(results, values or [{}] * len(results), strict=True):
        if isinstance(one, Path):
            chosen.setdefault(one, []).append(each)
    folders = list(chosen)
    with console.status("Writing the report"):
        reports = [folder / "report.html" for folder in folders]
        for folder, report in zip(folders, reports, strict=True):
            write_report([folder], report)
        if len(folders) > 1:
            digest = hashlib.sha256("".join(sorted(f.name for f in folders)).encode()).hexdigest()
            reports.append(folders[0].parent / f"comparison-{digest[:8]}.html")
            write_report(folders, reports[-1], list(chosen.values()))
    if folders:
        print_table(folders, console)
    for report in reports:
        console.print(f"report: {report}", highlight=False)
    summaries = {folder: read_json(folder / "summary.json") for folder in folders}
    lines = [f"{folder}: {line}" for folder, one in summaries.items() for line in _ended(one)]
    failed = [one for one in results if isinstance(one, Exception)]
    for line in [*lines, *(f"failed: {error}" for error in failed)]:
        console.print(printable(line), markup=False, highlight=False, soft_wrap=True)
    if any(summary["recorded"].get("failed") for summary in summaries.values()):
        return 2
    return int(bool(failed) or not all(summary["complete"] for summary in summaries.values()))


def _ended(summary: Mapping[str, Any]) -> Iterator[str]:
    """What a budget ended, and what to do about it."""
    if count := summary.get("not_finished"):
        limits = ", ".join(f"{limit} ({n})" for limit, n in summary["limits"].items())
        yield (
            f"not finished: {count} questions, never scored. Limits: {limits}. The same command "
            "with a higher limit retries them"
        )
    if stopped := summary.get("stopped"):
        how = " with a higher limit" if stopped.startswith("run_budget") else ""
        yield f"stopped: {stopped}. The same command{how} resumes"

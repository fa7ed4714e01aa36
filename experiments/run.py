"""The main job: ``python -m experiments.run system=reflect retrieval=llm_doc``."""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from agents.composition import expand, parse
from experiments.command import help_text
from experiments.config import RunConfig, compose, validate
from retrieval.base import RetrievalError
from sandbox.command import HELP, guarded

if TYPE_CHECKING:  # slow to import
    from rich.console import Console


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see ``--help``.

    Returns
    -------
    int
        0: everything has a verdict; 1: something has none (a component of matsmith failed, or a
        budget ended a question or the run: the last lines say which); 2: the user has to
        change something; 130: interrupted.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    flags = {"-m", "--multirun", "--cfg", *HELP} & set(given)
    if flags & HELP:
        sys.stdout.write(help_text() + "\n")
        return 0
    overrides = [argument for argument in given if argument not in flags]
    return guarded(lambda: _run(overrides, flags), (RetrievalError,))


def _run(overrides: Sequence[str], flags: set[str]) -> int:
    runs = expand(parse(overrides), multirun=bool(flags & {"-m", "--multirun"}))
    configs = [validate(compose(run)) for run in runs]
    if "--cfg" not in flags:
        return run_all(_separate(configs))
    for config in configs:
        sys.stdout.write(yaml.safe_dump(config.plain(), sort_keys=False) + "\n")
    return 0


def _separate(configs: Sequence[RunConfig]) -> list[RunConfig]:
    """Give each run of a sweep its own folder under ``out``."""
    if len(configs) == 1:
        return list(configs)
    separate = []
    for config in configs:
        out = config.out
        if out is not None:
            digest = config.hash("")[:8]
            out = out / f"{config.system.name}-{config.retrieval.name}-{digest}"
        separate.append(config.model_copy(update={"out": out}))
    return separate


def run_all(configs: Sequence[RunConfig]) -> int:
    """Run them one after another, and show tables and reports; returns the exit code."""
    # They take seconds to import: not for --help or a wrong argument.
    from rich.console import Console  # noqa: PLC0415

    from experiments.report import print_table, write_report  # noqa: PLC0415
    from experiments.setup import check_prices  # noqa: PLC0415
    from experiments.store import read_json  # noqa: PLC0415

    console = Console()
    if not console.is_terminal:
        console = Console(width=100)  # a log file has room for the tables
    for config in configs:
        check_prices(config)
    folders = asyncio.run(_execute(configs, console))
    reports = [folder / "report.html" for folder in folders]
    with console.status("Writing the report"):
        for folder, report in zip(folders, reports, strict=True):
            write_report([folder], report)
        if len(folders) > 1:
            digest = hashlib.sha256("".join(sorted(f.name for f in folders)).encode()).hexdigest()
            reports.append(folders[0].parent / f"comparison-{digest[:8]}.html")
            write_report(folders, reports[-1])
    print_table(folders, console)
    for report in reports:
        console.print(f"report: {report}", highlight=False)
    summaries = {folder: read_json(folder / "summary.json") for folder in folders}
    for folder, summary in summaries.items():
        for line in _ended(summary):
            console.print(f"{folder}: {line}", markup=False, highlight=False, soft_wrap=True)
    return 0 if all(summary["complete"] for summary in summaries.values()) else 1


async def _execute(configs: Sequence[RunConfig], console: Console) -> list[Path]:
    from experiments.cluster import open_crew  # noqa: PLC0415
    from experiments.job import execute_all  # noqa: PLC0415

    async with open_crew(configs, console) as crew:
        return await execute_all(configs, console, crew)


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


if __name__ == "__main__":
    sys.exit(main())

"""The main job: ``matsmith run system=reflect retrieval=llm_doc``."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from agents import config as configuration
from experiments.run.config import RunConfig, read_runs
from foundation.command import HELP, guarded, tell
from foundation.errors import ActionableError
from foundation.signals import cancelled_by_signals
from foundation.terminal import printable

if TYPE_CHECKING:  # slow to import
    from rich.console import Console

_HELP = Path(__file__).with_name("help.md").read_text(encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; the exit code is 0 where everything has a verdict (docs/running.md)."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    flags = {"-m", "--multirun", "--cfg", *HELP} & set(words)
    if flags & HELP:
        return guarded(
            lambda: tell(configuration.choice_help(words, RunConfig) or help_text())
        )
    overrides = [word for word in words if word not in flags]
    return guarded(lambda: _run(overrides, flags))


def _run(words: Sequence[str], flags: set[str]) -> int:
    runs = read_runs(words, several=bool(flags & {"-m", "--multirun"}))
    configs = [config for _, config in runs]
    if "--cfg" in flags:
        for config in configs:
            sys.stdout.write(yaml.safe_dump(config.plain(), sort_keys=False) + "\n")
        return 0
    keys = [key for key in runs[0][0] if len({values[key] for values, _ in runs}) > 1]
    titles = {key: key.lstrip("+").removeprefix("benchmark.") for key in keys}
    values = [{titles[key]: values[key] for key in keys} for values, _ in runs]
    return run_all(list(map(_apart, configs)) if len(configs) > 1 else configs, values)


def _apart(config: RunConfig) -> RunConfig:
    """A run of a sweep, in a folder of its own under ``out``."""
    if config.out is None:
        return config
    folder = f"{config.system.name}-{config.retrieval.name}-{config.hash('')[:8]}"
    return config.model_copy(update={"out": config.out / folder})


def open_console() -> Console:
    """A console for tables; a log file has room for them."""
    from rich.console import Console  # noqa: PLC0415 -- slow to import

    console = Console()
    return console if console.is_terminal else Console(width=100)


def run_all(
    configs: Sequence[RunConfig], values: Sequence[Mapping[str, str]] = ()
) -> int:
    """Run what is not finished, and show tables and reports; returns the exit code.

    Of several runs one that fails leaves the others be. ``values`` are what was chosen for each.
    """
    # They take seconds to import: not for --help or a wrong argument.
    from experiments.files import read_json  # noqa: PLC0415
    from experiments.report.page import write_report  # noqa: PLC0415
    from experiments.report.tables import print_table  # noqa: PLC0415
    from experiments.run.loop import execute_all  # noqa: PLC0415
    from experiments.run.setup import check_prices  # noqa: PLC0415

    console = open_console()
    runs: list[RunConfig] = []  # what comes to the same run is run once
    for config in configs:
        check_prices(config)
        if config not in runs:
            runs.append(config)
    ended = asyncio.run(cancelled_by_signals(execute_all(runs, console)))
    for error in ended:
        if isinstance(error, Exception) and not isinstance(error, ActionableError):
            text = "".join(traceback.format_exception(error))
            console.print(printable(text), markup=False, highlight=False)
    results = [ended[runs.index(config)] for config in configs]
    chosen: dict[
        Path, list[Mapping[str, str]]
    ] = {}  # several choices may come to one run
    for one, each in zip(results, values or [{}] * len(results), strict=True):
        if isinstance(one, Path):
            chosen.setdefault(one, []).append(each)
    folders = list(chosen)
    with console.status("Writing the report"):
        reports = [folder / "report.html" for folder in folders]
        for folder, report in zip(folders, reports, strict=True):
            write_report([folder], report)
        if len(folders) > 1:
            digest = hashlib.sha256(
                "".join(sorted(f.name for f in folders)).encode()
            ).hexdigest()
            reports.append(folders[0].parent / f"comparison-{digest[:8]}.html")
            write_report(folders, reports[-1], list(chosen.values()))
    if folders:
        print_table(folders, console)
    for report in reports:
        console.print(f"report: {report}", highlight=False)
    summaries = {folder: read_json(folder / "summary.json") for folder in folders}
    lines = [
        f"{folder}: {line}" for folder, one in summaries.items() for line in _ended(one)
    ]
    failed = [one for one in results if isinstance(one, Exception)]
    for line in [*lines, *(f"failed: {error}" for error in failed)]:
        console.print(printable(line), markup=False, highlight=False, soft_wrap=True)
    if any(summary["recorded"].get("failed") for summary in summaries.values()):
        return 2
    return int(
        bool(failed) or not all(summary["complete"] for summary in summaries.values())
    )


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


def help_text(model: str | None = None) -> str:
    """Everything that one needs to use the command; ``model`` overrides the default shown."""
    usage, examples = _HELP.split("{groups and keys}")
    listed = configuration.help_text(
        RunConfig, [usage.strip()], root="config", model=model
    )
    return f"{listed}\n\n{examples.strip()}"

"""``live`` rebuilt from its references: which committed golds no longer hold, and since when."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator
from rich.console import Console
from rich.table import Table

from experiments.benchmarks.live.selection import RECORDED, select
from experiments.benchmarks.question_check import Checker, Report
from experiments.benchmarks.question_format import ENVIRONMENT, QUESTIONS, QuestionError
from sandbox.base import SandboxError
from sandbox.command import UsageError, run
from sandbox.progress import meter

_ABOUT = """\
Runs every reference of live again, twice, and compares with the committed golds.

Exit code 0: every gold holds, 1: some do not, 2: wrong usage or no sandbox."""


class Options(BaseModel):
    """Arguments of ``python -m experiments.benchmarks.live drift``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ids: tuple[str, ...] = Field((), description="only these questions: ids=a,b")
    questions: Path = Field(QUESTIONS, description="folder with one folder per question")
    out: Path | None = Field(None, description="JSON file for the report")
    env: str = Field(ENVIRONMENT, description="sandbox environment")
    backend: str = Field("auto", description="isolation: auto, docker, podman, bubblewrap")

    @field_validator("ids", mode="before")
    @classmethod
    def _comma_separated(cls, value: object) -> object:
        return value.split(",") if isinstance(value, str) else value


async def rebuild(options: Options, console: Console) -> list[dict[str, Any]]:
    """Check the selected questions.

    Returns
    -------
    list of dict
        ``question``, ``properties``, ``findings``, and ``versions``: distribution to the
        versions then and now, where they differ.

    Raises
    ------
    QuestionError
        When an id is unknown.
    SandboxError
        When no sandbox works here.
    """
    folders = select(options.ids, options.questions)
    rows = []
    async with Checker(options.backend, env=options.env, recorded=RECORDED) as checker:
        with meter("rebuilding live", len(folders), console=console) as progress:
            for folder in folders:
                report = await checker.check(folder)
                rows.append(_row(report, folder, checker.versions))
                drifted = sum(bool(row["findings"]) for row in rows)
                progress.advance(note=f"{drifted} drifted")
    return rows


def _row(report: Report, folder: Path, now: Mapping[str, str]) -> dict[str, Any]:
    try:
        then = json.loads((folder / "gold.json").read_text(encoding="utf-8"))["versions"]
    except (OSError, ValueError, KeyError):
        then = {}  # the report's findings name the fault of the file
    changed = {name: [then[name], now.get(name)] for name in then if then[name] != now.get(name)}
    return {
        "question": report.question_id,
        "properties": report.properties,
        "findings": list(report.findings),
        "versions": changed,
    }


def _action(options: Options) -> int:
    console = Console()
    try:
        rows = asyncio.run(rebuild(options, console))
    except (QuestionError, SandboxError) as error:
        raise UsageError(str(error)) from error
    drifted = [row for row in rows if row["findings"]]
    if drifted:
        table = Table("question", "finding", "versions then and now")
        for row in drifted:
            changes = ", ".join(f"{n} {a} -> {b}" for n, (a, b) in row["versions"].items())
            table.add_row(row["question"], "\n".join(row["findings"]), changes or "the same")
        console.print(table)
    if options.out is not None:
        options.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    total = sum(row["properties"] for row in rows)
    print(f"{len(rows)} questions, {total} properties, {len(drifted)} questions drifted")
    return 1 if drifted else 0


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    return run("experiments.benchmarks.live drift", _ABOUT, Options, _action, arguments)

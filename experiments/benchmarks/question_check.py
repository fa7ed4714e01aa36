"""Proves questions that have a reference solution, and computes their golds by execution.

Each reference runs twice, in two fresh sandboxes with different hash seeds. Its values pass
every gate (:mod:`experiments.benchmarks.question_gates`) or the question is not fit to be asked.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field
from rich.console import Console

from experiments.benchmarks import question_gates as gates
from experiments.benchmarks.question_format import (
    QuestionError,
    TaskSpec,
    data_files,
    question_folders,
    read_gold,
    read_spec,
)
from experiments.scorers.properties import not_runnable
from matsmith.core.command import Commas
from matsmith.core.progress import meter
from matsmith.core.terminal import printable
from sandbox.base import Execution, Mount, Outcome, SandboxConfig
from sandbox.environments import installed_versions
from sandbox.factory import get_sandbox

ABOUT = """\
Proves questions (docs/questions.md says how they are written). Every reference runs twice in the
sandbox (different hash seeds); its values must pass their own verification, and None, zero, empty
and perturbed ones must fail. write=true stores the values of the questions that pass as their
gold.json; without it they are compared with the stored ones."""
#: Seconds a reference may take; a first run also pays for importing the library.
TIMEOUT = 60.0


@dataclass(frozen=True)
class Report:
    """What the check of one question found: reasons why it is not fit."""

    question_id: str
    findings: tuple[str, ...]
    properties: int  # how many
    seconds: tuple[float, ...] = ()  # of the reference in each of the two sandboxes
    written: bool = False  # a new gold.json

    @property
    def text(self) -> str:
        """What a user reads of it: a line, and one per finding."""
        times = "/".join(f"{seconds:.1f}" for seconds in self.seconds)
        state = "findings" if self.findings else "written" if self.written else "ok"
        head = f"{self.question_id}: {self.properties} properties, {times or '-'} s, {state}"
        return "\n".join([head, *(f"    {finding}" for finding in self.findings)])


class Checker:
    """Checks questions in two sandboxes that live as long as it does.

    Use it as ``async with Checker("auto", env="live") as checker:``. The versions of the
    distributions ``recorded`` stand next to the golds.
    """

    def __init__(self, backend: str = "auto", *, env: str, recorded: Sequence[str] = ()) -> None:
        seeds = ({"hash_seed": seed} for seed in ("1", "4242"))
        self._sandboxes = [
            get_sandbox(SandboxConfig(backend=backend, env=env, workers=1, options=options))
            for options in seeds
        ]
        installed = installed_versions(env)
        self.versions = {name: installed[name] for name in recorded if name in installed}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        for sandbox in self._sandboxes:
            await sandbox.close()

    async def check(self, folder: Path, *, write: bool = False) -> Report:
        """Check one question, and with ``write`` store the gold if nothing was found."""
        try:
            spec = read_spec(folder)
            source = (folder / "reference.py").read_text(encoding="utf-8")
        except (QuestionError, OSError) as error:
            return Report(folder.name, (str(error),), 0)
        findings = gates.check_reference(source)
        if spec.scaffold:
            findings += gates.check_scaffold(spec)
        report = partial(Report, folder.name, properties=len(spec.properties))
        if findings:
            return report(tuple(findings))
        findings += gates.check_goal(spec, source)
        runs = await self.run(source, folder)
        if spec.masks:
            scaffold, _ = await self.run(gates.scaffold_code(spec), folder, entry="")
            if scaffold.outcome is not Outcome.OK:
                findings.append(f"scaffold: {not_runnable(scaffold)}")
        report = partial(report, seconds=tuple(run.seconds for run in runs))
        if lost := next((run for run in runs if run.outcome is not Outcome.OK), None):
            return report((*findings, f"reference.py: {not_runnable(lost)}"))
        first, other = (json.loads(run.payload or "null") for run in runs)
        findings += _compare_runs(spec, first, other)
        if findings or not write:
            findings += [] if findings else _compare_with_gold(spec, folder, first)
            return report(tuple(findings))
        gold = {"versions": self.versions, "properties": first}
        text = json.dumps(gold, indent=2, ensure_ascii=False) + "\n"
        (folder / "gold.json").write_text(text, encoding="utf-8")
        return report((), written=True)

    async def run(self, source: str, folder: Path, entry: str = "reference") -> list[Execution]:
        """Run a source in each of the two sandboxes, with the input files of ``folder``."""
        mounts = [Mount(Path(path), target) for target, path in data_files(folder).items()]
        return await asyncio.gather(
            *(one.run(source, entry, timeout=TIMEOUT, mounts=mounts) for one in self._sandboxes)
        )


class CheckOptions(BaseModel, extra="forbid", frozen=True):
    """Arguments of ``check``."""

    ids: Annotated[tuple[str, ...], Commas] = Field((), description="only these questions")
    backend: str = Field("auto", description="sandbox")
    write: bool = Field(False, description="store the values of questions that pass")


async def check_all(checker: Checker, root: Path, options: CheckOptions) -> int:
    """Check the questions below ``root`` and print what is found; 1 when there is anything."""
    found = {folder.name: folder for folder in question_folders(root)}
    if not found:
        raise QuestionError(f"{root}: no folder with a task.yaml in it")
    unknown = ",".join(sorted(set(options.ids) - set(found)))
    if unknown:
        raise QuestionError(f"ids={unknown}: not there; {root} has {', '.join(found)}")
    console, reports = Console(stderr=True), []
    names = options.ids or tuple(found)
    with meter("references", len(names), show=True) as progress:
        for name in names:
            reports.append(await checker.check(found[name], write=options.write))
            text = printable(reports[-1].text)
            console.print(text, markup=False, highlight=False, soft_wrap=True)
            progress.advance()
    bad = sum(bool(report.findings) for report in reports)
    total = sum(report.properties for report in reports)
    print(f"{len(reports)} questions, {total} properties, {bad} questions with findings")
    return 1 if bad else 0


def _compare_runs(spec: TaskSpec, first: Any, other: Any) -> list[str]:
    """Findings on what the runs returned: right properties, plain, reproducible, not vacuous."""
    names = [prop.name for prop in spec.properties]
    for value in (first, other):
        if not isinstance(value, dict) or sorted(value) != sorted(names):
            return [f"reference.py: it does not return exactly {', '.join(names)}"]
    if findings := gates.check_plain(first):
        return findings
    return [
        *_differences(spec, first, other, "differs between hash seeds"),
        *gates.check_verification(spec, first),
        *gates.check_answers_hidden(spec, first),
    ]


def _compare_with_gold(spec: TaskSpec, folder: Path, values: Mapping[str, Any]) -> list[str]:
    """Findings on drift: the committed gold against what the reference returns now."""
    try:
        gold = read_gold(folder, spec)
    except QuestionError as error:
        return [str(error)]
    drift = "the committed gold is no longer what the reference returns"
    return _differences(spec, gold, values, drift)


def _differences(
    spec: TaskSpec, gold: Mapping[str, Any], values: Mapping[str, Any], what: str
) -> list[str]:
    found = gates.verdicts(spec, gold, dict(values))
    return [f"{name}: {what}: {reason}" for name, reason in found.items() if reason]

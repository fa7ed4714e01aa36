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
from typing import Any, Self

from experiments.benchmarks import question_gates as gates
from experiments.benchmarks.question_format import (
    QuestionError,
    TaskSpec,
    data_files,
    read_file,
    read_gold,
)
from experiments.scorers.properties import not_runnable
from sandbox.base import Execution, Mount, Outcome, SandboxConfig
from sandbox.environments import installed_versions
from sandbox.factory import get_sandbox

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

    def __init__(
        self, backend: str = "auto", *, env: str, recorded: Sequence[str] = ()
    ) -> None:
        seeds = ({"hash_seed": seed} for seed in ("1", "4242"))
        self._sandboxes = [
            get_sandbox(
                SandboxConfig(backend=backend, env=env, workers=1, options=options)
            )
            for options in seeds
        ]
        installed = installed_versions(env)
        self.versions = {
            name: installed[name] for name in recorded if name in installed
        }

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        for sandbox in self._sandboxes:
            await sandbox.close()

    async def check(self, folder: Path, *, write: bool = False) -> Report:
        """Check one question, and with ``write`` store the gold if nothing was found."""
        try:
            spec = read_file(folder / "task.yaml", TaskSpec)
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
        if findings := [*findings, *_compare_runs(spec, first, other)]:
            return report(tuple(findings))
        if not write:
            drift = "the committed gold is no longer what the reference returns"
            try:
                return report(
                    tuple(_differences(spec, read_gold(folder, spec), first, drift))
                )
            except QuestionError as error:
                return report((str(error),))
        written = {"versions": self.versions, "properties": first}
        text = json.dumps(written, indent=2, ensure_ascii=False) + "\n"
        (folder / "gold.json").write_text(text, encoding="utf-8")
        return report((), written=True)

    async def run(
        self, source: str, folder: Path, entry: str = "reference"
    ) -> list[Execution]:
        """Run a source in each of the two sandboxes, with the input files of ``folder``."""
        mounts = [
            Mount(Path(path), target) for target, path in data_files(folder).items()
        ]
        return await asyncio.gather(
            *(
                sandbox.run(source, entry, timeout=TIMEOUT, mounts=mounts)
                for sandbox in self._sandboxes
            )
        )


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


def _differences(
    spec: TaskSpec, gold: Mapping[str, Any], values: Mapping[str, Any], what: str
) -> list[str]:
    reasons = gates.verdicts(spec, gold, dict(values))
    return [f"{name}: {what}: {reason}" for name, reason in reasons.items() if reason]

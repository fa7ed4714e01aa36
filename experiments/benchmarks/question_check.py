"""Proves questions that have a reference solution, and computes their golds by execution.

Each reference runs twice, in two fresh sandboxes with different hash seeds. Its values pass
every gate (:mod:`experiments.benchmarks.question_gates`) or the question is not fit to be asked.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from rich.console import Console

from experiments.benchmarks import question_gates as gates
from experiments.benchmarks.question_format import (
    QuestionError,
    TaskSpec,
    build_prompt,
    data_files,
    read_gold,
    read_spec,
)
from sandbox.base import Execution, Mount, Outcome, Sandbox, SandboxConfig
from sandbox.environments import installed_versions
from sandbox.factory import get_sandbox
from sandbox.progress import meter
from sandbox.terminal import printable

#: Seconds a reference may take; a first run also pays for importing the library.
TIMEOUT = 60.0
_HASH_SEEDS = ("1", "4242")


@dataclass(frozen=True)
class Report:
    """What the check of one question found.

    Attributes
    ----------
    findings
        Reasons why the question is not fit; empty when it is.
    properties
        Number of properties.
    seconds
        Wall time of the reference in each of the two sandboxes.
    written
        Whether a new ``gold.json`` was written.
    """

    question_id: str
    findings: tuple[str, ...]
    properties: int
    seconds: tuple[float, ...] = ()
    written: bool = False

    @property
    def text(self) -> str:
        """What a user reads of it: a line, and one per finding."""
        times = "/".join(f"{seconds:.1f}" for seconds in self.seconds)
        state = "findings" if self.findings else "written" if self.written else "ok"
        head = f"{self.question_id}: {self.properties} properties, {times or '-'} s, {state}"
        return "\n".join([head, *(f"    {finding}" for finding in self.findings)])


class Checker:
    """Checks questions in two sandboxes that live as long as it does.

    Use it as ``async with Checker("auto", env="live") as checker:``.

    Parameters
    ----------
    backend
        Isolation to use, as in :class:`sandbox.base.SandboxConfig`.
    env
        Sandbox environment.
    form
        What a ``task.yaml`` must hold.
    recorded
        Distributions whose versions stand next to the golds.

    Raises
    ------
    SandboxError
        When no sandbox works here.
    """

    def __init__(
        self,
        backend: str = "auto",
        *,
        env: str,
        form: type[TaskSpec] = TaskSpec,
        recorded: Sequence[str] = (),
    ) -> None:
        self._form = form
        self._sandboxes = [
            get_sandbox(
                SandboxConfig(backend=backend, env=env, workers=1, options={"hash_seed": seed})
            )
            for seed in _HASH_SEEDS
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
            spec = read_spec(folder, self._form)
            source = (folder / "reference.py").read_text(encoding="utf-8")
        except (QuestionError, OSError) as error:
            return Report(folder.name, (str(error),), 0)
        findings = gates.check_reference(source)
        if spec.scaffold:
            findings += gates.check_scaffold(spec)
        if findings:
            return Report(folder.name, tuple(findings), len(spec.properties))
        findings += gates.check_goal(spec, source)
        if spec.scaffold:
            prompt = build_prompt(spec, "scaffold")
            findings += gates.check_announcement(prompt, spec.scaffold)
        runs = await self.run(source, folder)
        seconds = tuple(run.seconds for run in runs)
        if spec.masks:
            scaffold = await _run(self._sandboxes[0], folder, gates.scaffold_code(spec), entry="")
            if scaffold.outcome is not Outcome.OK:
                findings.append(_failure(scaffold, "scaffold"))
        failed = [_failure(run, "reference.py") for run in runs if run.outcome is not Outcome.OK]
        if failed:
            return Report(folder.name, (*findings, failed[0]), len(spec.properties), seconds)
        values = [json.loads(run.payload or "null") for run in runs]
        findings += compare_runs(spec, values)
        if not findings and not write:
            findings += compare_with_gold(spec, folder, values[0])
        written = write and not findings
        if written:
            _write_gold(folder, self.versions, values[0])
        return Report(folder.name, tuple(findings), len(spec.properties), seconds, written)

    async def run(self, source: str, folder: Path, entry: str = "reference") -> list[Execution]:
        """Run a source in each of the two sandboxes, with the input files of ``folder``."""
        runs = (_run(sandbox, folder, source, entry) for sandbox in self._sandboxes)
        return await asyncio.gather(*runs)


async def check_all(
    checker: Checker, folders: Sequence[Path], *, write: bool, console: Console
) -> list[Report]:
    """Check questions one after the other, and show each report as it comes."""
    reports = []
    with meter("references", len(folders), show=True) as progress:
        for folder in folders:
            reports.append(await checker.check(folder, write=write))
            console.print(
                printable(reports[-1].text), markup=False, highlight=False, soft_wrap=True
            )
            progress.advance()
    return reports


def conclude(reports: Sequence[Report]) -> int:
    """Print the sums; returns the exit code: 1 when anything was found."""
    bad = sum(bool(report.findings) for report in reports)
    total = sum(report.properties for report in reports)
    print(f"{len(reports)} questions, {total} properties, {bad} questions with findings")
    return 1 if bad else 0


def _write_gold(folder: Path, versions: Mapping[str, str], values: Mapping[str, Any]) -> None:
    gold = {"versions": versions, "properties": values}
    text = json.dumps(gold, indent=2, ensure_ascii=False) + "\n"
    (folder / "gold.json").write_text(text, encoding="utf-8")


async def _run(sandbox: Sandbox, folder: Path, source: str, entry: str = "reference") -> Execution:
    mounts = [Mount(Path(path), target) for target, path in data_files(folder).items()]
    return await sandbox.run(source, entry, timeout=TIMEOUT, mounts=mounts)


def _failure(run: Execution, what: str) -> str:
    lines = (run.error or "").strip().splitlines()
    return f"{what}: {run.outcome}: {lines[-1] if lines else 'no message'}"


def compare_runs(spec: TaskSpec, values: Sequence[Any]) -> list[str]:
    """Findings on what the runs returned: right properties, plain, reproducible, not vacuous."""
    names = [prop.name for prop in spec.properties]
    for value in values:
        if not isinstance(value, dict) or sorted(value) != sorted(names):
            return [f"reference.py: it does not return exactly {', '.join(names)}"]
    findings = gates.check_plain(values[0])
    if findings:
        return findings
    for other in values[1:]:
        findings += [
            f"{name}: differs between hash seeds: {reason}"
            for name, reason in gates.verdicts(spec, values[0], other).items()
            if reason
        ]
    return [
        *findings,
        *gates.check_verification(spec, values[0]),
        *gates.check_answers_hidden(spec, values[0]),
    ]


def compare_with_gold(spec: TaskSpec, folder: Path, values: Mapping[str, Any]) -> list[str]:
    """Findings on drift: the committed gold against what the reference returns now."""
    try:
        gold = read_gold(folder, spec)
    except QuestionError as error:
        return [str(error)]
    return [
        f"{name}: the committed gold is no longer what the reference returns: {reason}"
        for name, reason in gates.verdicts(spec, gold, dict(values)).items()
        if reason
    ]

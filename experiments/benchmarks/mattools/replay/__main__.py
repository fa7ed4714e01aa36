"""Regrade recorded generations: ``python -m experiments.replay recorded=PATH``.

Every function runs again in the sandbox and is judged by the published rules (its printed text,
`mattools.published`), by the returned dict itself (``typed``), or both. The same command resumes
an interrupted one.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt
from rich.console import Console

from agents.composition import expand, parse
from agents.config import load_class
from experiments.benchmarks.mattools import published, stdout_rules, unit_tests
from experiments.benchmarks.mattools.benchmark import MatToolsBenchmark
from experiments.benchmarks.mattools.errata import errata_found
from experiments.benchmarks.mattools.journal import Journal
from experiments.benchmarks.mattools.published import source_of
from experiments.benchmarks.mattools.replay import grade as grading
from experiments.benchmarks.mattools.replay.compare import Replayed
from experiments.benchmarks.mattools.replay.grade import Graded, Grader, grade
from experiments.benchmarks.mattools.replay.recorded import Recorded, RecordedError, read_recorded
from experiments.benchmarks.mattools.replay.schedule import Group, Schedule, groups
from experiments.benchmarks.mattools.replay.tables import print_comparison, seconds_by_question
from experiments.config import RunConfig, compose, validate
from experiments.samples import Sample
from experiments.summary import samples_digest
from sandbox import environments
from sandbox.base import SandboxError
from sandbox.command import HELP, UsageError, guarded, read_options
from sandbox.factory import get_sandbox
from sandbox.progress import meter

USAGE = """\
usage: python -m experiments.replay recorded=PATH [KEY=VALUE ...]

Regrades recorded generations of MatTools. The last line printed is `agree N/M`: how many of the
M recorded outcomes were found again by the first scorer; where the recording has no outcomes, how
many of the M published values of its runs (runnable, properties) the replay can account for.

keys [default]:
  recorded         JSONL file, or folder with function_generation_results.jsonl files below it
  benchmark.path   the questions, see benchmark=mattools (other benchmark.* keys work too)
  scorer           published, typed or both [published]
  out              where the folder replay-<digest> of the results goes [runs]
  workers          executions at once [one and a half per core: they wait for files, too]
  limit            only the first N generations [none]
  sandbox.*        as in experiments.run; sandbox.timeout is benchmark.timeout if not given"""

#: Other rules, other results: their sources are part of what a replay is known by.
_RULES: tuple[Any, ...] = (published, stdout_rules, unit_tests, grading)


class Settings(BaseModel):
    """The keys of this command."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    recorded: Path
    scorer: Literal["published", "typed", "both"] = "published"
    out: Path | None = None
    workers: PositiveInt = Field(default_factory=lambda: 3 * (os.cpu_count() or 2) // 2)
    limit: PositiveInt | None = None

    @property
    def scorers(self) -> tuple[str, ...]:
        """Names of the scorers that are asked for."""
        return ("published", "typed") if self.scorer == "both" else (self.scorer,)


async def replay(settings: Settings, config: RunConfig, console: Console) -> int:
    """Grade what is not graded yet, and print the comparison.

    Returns
    -------
    int
        0: everything is graded; 1: a sandbox failed on something.

    Raises
    ------
    UsageError, RecordedError, SandboxError
        When it cannot start; the message says what to do.
    """
    samples = {sample.question.id: sample for sample in _benchmark(config).load()}
    rows = read_recorded(settings.recorded, samples)[: settings.limit]
    known = [row for row in rows if row.question_id in samples]
    strangers = sorted({row.question_id for row in rows} - set(samples))
    if not known:
        raise RecordedError(
            f"recorded={settings.recorded}: none of its questions is in benchmark.path "
            f"({', '.join(strangers[:3])}, ...)"
        )
    digest = _digest(known, samples.values(), config.sandbox.timeout)
    folder = (settings.out or Path("runs")) / f"replay-{digest}"
    journal = Journal(folder / "results.jsonl", Graded)
    results = {(row.key, row.scorer): row for row in journal.rows}
    replayed = Replayed(known, samples, results, settings.scorers)
    try:
        failures = await _grade_all(settings, config, console, replayed, journal)
    finally:
        journal.close()
    if strangers:
        console.print(
            f"{len(rows) - len(known)} generations are left out because benchmark.path "
            f"lacks their questions: {', '.join(strangers)}",
            markup=False,
        )
    outcomes = folder / "outcomes.jsonl"
    write_outcomes(outcomes, replayed)
    for line in (
        f"results: {journal.path}",
        f"recorded with their outcomes: {outcomes}",
        errata_found(tuple(samples.values())),
    ):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    for failure, count in Counter(failures).most_common(5):
        console.print(f"not graded ({count}): {failure}", markup=False)
    if failures:
        console.print(f"{len(failures)} not graded; the same command retries them")
    print_comparison(replayed, console, workers=settings.workers)
    return 1 if failures else 0


async def _grade_all(
    settings: Settings,
    config: RunConfig,
    console: Console,
    replayed: Replayed,
    journal: Journal[Graded],
) -> list[str]:
    """Grade what is not graded yet; returns what could not be, one line each."""
    rows, results, scorers = replayed.rows, replayed.results, settings.scorers
    waiting = [
        group for group in groups(rows)
        if any((row.key, scorer) not in results for row in group for scorer in scorers)
    ]  # fmt: skip
    if not waiting:
        return []
    schedule = Schedule(waiting, seconds_by_question(replayed))
    environment = next(iter(replayed.samples.values())).environment
    limits = config.sandbox.model_copy(update={"env": environment, "workers": settings.workers})
    await asyncio.to_thread(environments.build, environment, say=console.print)
    done = len(rows) - sum(map(len, waiting))
    failures = Failures()
    async with AsyncExitStack() as stack:
        bench = Grader(replayed.samples, get_sandbox(limits), get_sandbox(limits), limits.timeout)
        stack.push_async_callback(bench.sandbox.close)
        stack.push_async_callback(bench.verifier.close)
        with console.status("Starting the sandboxes"):
            # Before anything is timed; one that cannot start says so now.
            for sandbox in (bench.sandbox, bench.verifier):
                starts = (sandbox.run("", "", timeout=60) for _ in range(settings.workers))
                await asyncio.gather(*starts)
        started = time.monotonic()
        runnable = sum(row.outcome != "not_runnable" for row in results.values())
        finished = 0

        async def work() -> None:
            nonlocal runnable, finished
            while (group := schedule.next()) is not None:
                begun = time.monotonic()
                try:
                    found = await grade(group[0], scorers, bench)
                    shared = [_shared(row, one) for row in group for one in found]
                    journal.add(*shared)
                    results.update({(one.key, one.scorer): one for one in shared})
                    runnable += len(group) * (found[0].outcome != "not_runnable")
                    failures.none()
                except SandboxError as error:
                    failures.add(group, error)
                schedule.finished(group, time.monotonic() - begun)
                finished += len(group)
                rate = finished / (time.monotonic() - started)
                left = _span(schedule.left(settings.workers))
                note = f"{runnable} runnable, {rate:.1f} per second, {left}"
                progress.advance(len(group), note=note)

        progress = stack.enter_context(
            meter("replay", len(rows), done=done, console=console, estimates=False)
        )
        await asyncio.gather(*(work() for _ in range(settings.workers)))
    return failures.lines


def _shared(row: Recorded, found: Graded) -> Graded:
    """What was found about the first of a group, for another one of it."""
    if row.key == found.key:
        return found
    same = {"key": row.key, "same_as": found.key, "seconds": 0.0, "cpu_seconds": None}
    return found.model_copy(update=same)


def _span(left: tuple[float, float] | None) -> str:
    if left is None:
        return "time left not known yet"
    low, high = (math.ceil(seconds / 60) for seconds in left)
    return f"{low} to {high} min left" if low != high else f"about {high} min left"


def write_outcomes(path: Path, replayed: Replayed) -> None:
    """Write what was recorded together with what became of it, as `read_recorded` reads it."""
    lines = []
    for row, found in replayed.graded():
        run = {"system": row.run} if row.run_key is None else row.run_key._asdict()
        outcome = {"outcome": found.outcome, "wrong": found.wrong}
        lines.append({**run, "task": row.question_id, "function_name": row.entry,
                      "code": row.code, "replayed": outcome})  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


class Failures:
    """Generations that a sandbox failed on; many in succession, on several questions, end it."""

    IN_A_ROW = 20

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._row: list[str] = []

    def add(self, group: Group, error: SandboxError) -> None:
        """Note a failure.

        Raises
        ------
        SandboxError
            When nothing seems to work any more.
        """
        self.lines += [f"{group[0].question_id}: {error}"] * len(group)
        self._row.append(group[0].question_id)
        if len(self._row) >= self.IN_A_ROW and len(set(self._row)) > 1:
            raise error

    def none(self) -> None:
        """Something worked."""
        self._row.clear()


def _benchmark(config: RunConfig) -> MatToolsBenchmark:
    cls = load_class(config.benchmark.target, key="benchmark")
    if not issubclass(cls, MatToolsBenchmark):
        raise UsageError(f"benchmark={config.benchmark.name}: only mattools can be replayed")
    return cls(**config.benchmark.params)


def _digest(rows: Sequence[Recorded], samples: Collection[Sample], timeout: float) -> str:
    """Name of everything that decides an outcome: changed rules or data never resume old rows."""
    functions = [[row.key, row.question_id, row.code, row.entry] for row in rows]
    digest = hashlib.sha256(json.dumps([functions, samples_digest(samples), timeout]).encode())
    for rules in _RULES:
        digest.update(source_of(rules).encode())
    return digest.hexdigest()[:12]


def settings_from(arguments: Sequence[str]) -> tuple[Settings, RunConfig]:
    """Read the command line: own keys here, all others as `experiments.run` reads them."""
    own: list[str] = []
    others: list[str] = []
    for argument in arguments:
        key, sign, _ = argument.partition("=")
        (own if sign and key in Settings.model_fields else others).append(argument)
    settings = read_options(own, Settings)
    if not any(argument.startswith("benchmark=") for argument in others):
        others.insert(0, "benchmark=mattools")
    (overrides,) = expand(parse(["system=single", "retrieval=none", *others]), multirun=False)
    return settings, validate(compose(overrides))


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see ``--help``. Returns 1 when a sandbox failed on something."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if HELP & set(given):
        sys.stdout.write(USAGE + "\n")
        return 0
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)
    return guarded(lambda: replay(*settings_from(given), console), (ValueError,))


if __name__ == "__main__":
    sys.exit(main())

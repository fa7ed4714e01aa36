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
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError
from rich.console import Console

from agents.composition import expand, parse
from agents.config import load_class
from experiments.benchmarks.mattools import published, stdout_rules, unit_tests
from experiments.benchmarks.mattools.benchmark import MatToolsBenchmark
from experiments.benchmarks.mattools.errata import errata_found
from experiments.benchmarks.mattools.replay import grade as grading
from experiments.benchmarks.mattools.replay.grade import Bench, Graded, grade
from experiments.benchmarks.mattools.replay.recorded import Recorded, RecordedError, read_recorded
from experiments.benchmarks.mattools.replay.schedule import Group, Schedule, groups
from experiments.benchmarks.mattools.replay.tables import print_comparison, seconds_by_question
from experiments.config import RunConfig, compose, validate
from experiments.samples import Sample
from experiments.scorers import verify
from experiments.summary import mounted
from sandbox import environments
from sandbox.base import SandboxError
from sandbox.command import UsageError
from sandbox.factory import get_sandbox
from sandbox.progress import meter
from sandbox.terminal import printable

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
_RULES: tuple[Any, ...] = (published, stdout_rules, unit_tests, verify, grading)


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


class Results:
    """The results file: one line per generation and scorer, kept as soon as it is known."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "results.jsonl"
        self._file = self.path.open("a+b")
        self._file.seek(0)
        whole, end, _ = self._file.read().rpartition(b"\n")
        self._file.truncate(len(whole) + len(end))  # half a line of a killed process
        self.graded: dict[tuple[str, str], Graded] = {}
        for line in whole.splitlines():
            row = Graded.model_validate_json(line)
            self.graded[row.key, row.scorer] = row

    def add(self, group: Group, found: Sequence[Graded]) -> None:
        """Keep what was found about the first of a group, for each of its generations."""
        lines = []
        for recorded in group:
            for row in found:
                one = row
                if recorded.key != row.key:
                    one = row.model_copy(
                        update={
                            "key": recorded.key,
                            "same_as": row.key,
                            "seconds": 0.0,
                            "cpu_seconds": None,
                        }
                    )
                self.graded[one.key, one.scorer] = one
                lines.append(one.model_dump_json().encode("utf-8", "replace") + b"\n")
        self._file.write(b"".join(lines))
        self._file.flush()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


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
    benchmark = _benchmark(config)
    samples = {sample.question.id: sample for sample in benchmark.load()}
    tests = benchmark.unit_tests()
    rows = read_recorded(settings.recorded, samples)[: settings.limit]
    known = [row for row in rows if row.question_id in samples]
    strangers = sorted({row.question_id for row in rows} - set(samples))
    if not known:
        raise RecordedError(
            f"recorded={settings.recorded}: none of its questions is in benchmark.path "
            f"({', '.join(strangers[:3])}, ...)"
        )
    digest = _digest(known, samples, tests, config.sandbox.timeout, benchmark)
    results = Results((settings.out or Path("runs")) / f"replay-{digest}")
    try:
        failures = await _grade_all(settings, config, console, rows=known, samples=samples,
                                    tests=tests, results=results)  # fmt: skip
    finally:
        results.close()
    if strangers:
        console.print(
            f"{len(rows) - len(known)} generations are left out because benchmark.path "
            f"lacks their questions: {', '.join(strangers)}",
            markup=False,
        )
    outcomes = results.path.with_name("outcomes.jsonl")
    write_outcomes(outcomes, known, results.graded, settings.scorers[0])
    console.print(f"results: {results.path}", highlight=False, soft_wrap=True)
    console.print(f"recorded with their outcomes: {outcomes}", highlight=False, soft_wrap=True)
    console.print(errata_found(samples.values()), markup=False, highlight=False, soft_wrap=True)
    for failure, count in Counter(failures).most_common(5):
        console.print(f"not graded ({count}): {failure}", markup=False)
    if failures:
        console.print(f"{len(failures)} not graded; the same command retries them")
    print_comparison(
        known, samples, results.graded, settings.scorers, console, workers=settings.workers
    )
    return 1 if failures else 0


async def _grade_all(
    settings: Settings,
    config: RunConfig,
    console: Console,
    *,
    rows: Sequence[Recorded],
    samples: Mapping[str, Sample],
    tests: Mapping[str, str],
    results: Results,
) -> list[str]:
    """Grade what is not graded yet; returns what could not be, one line each."""

    def graded(row: Recorded) -> bool:
        return all((row.key, scorer) in results.graded for scorer in settings.scorers)

    waiting = [group for group in groups(rows) if not all(map(graded, group))]
    schedule = Schedule(waiting, seconds_by_question(rows, results.graded))
    environment = next(iter(samples.values())).environment
    limits = config.sandbox.model_copy(update={"env": environment, "workers": settings.workers})
    if waiting:
        await asyncio.to_thread(environments.build, environment, say=console.print)
    done = len(rows) - sum(map(len, waiting))
    failures = Failures()
    async with AsyncExitStack() as stack:
        bench = Bench(samples, tests, get_sandbox(limits), get_sandbox(limits), limits.timeout)
        stack.push_async_callback(bench.sandbox.close)
        stack.push_async_callback(bench.verifier.close)
        if waiting:
            await _start(bench, settings.workers, console)
        started = time.monotonic()
        runnable = sum(row.outcome != "not_runnable" for row in results.graded.values())
        finished = 0

        async def work() -> None:
            nonlocal runnable, finished
            while (group := schedule.next()) is not None:
                begun = time.monotonic()
                try:
                    found = await grade(group[0], settings.scorers, bench)
                    results.add(group, found)
                    runnable += len(group) * (found[0].outcome != "not_runnable")
                    failures.none()
                except SandboxError as error:
                    failures.add(group, error)
                schedule.finished(group, time.monotonic() - begun)
                finished += len(group)
                rate = finished / (time.monotonic() - started)
                left = _span(schedule.left(settings.workers))
                for _ in group:
                    progress.advance(note=f"{runnable} runnable, {rate:.1f} per second, {left}")

        progress = stack.enter_context(
            meter("replay", len(rows), done=done, console=console, estimates=False)
        )
        await asyncio.gather(*(work() for _ in range(settings.workers)))
    return failures.lines


def _span(left: tuple[float, float] | None) -> str:
    if left is None:
        return "time left not known yet"
    low, high = (math.ceil(seconds / 60) for seconds in left)
    return f"{low} to {high} min left" if low != high else f"about {high} min left"


async def _start(bench: Bench, workers: int, console: Console) -> None:
    """Start every worker before anything is timed; a sandbox that cannot start says so now."""
    with console.status("Starting the sandboxes"):
        for sandbox in (bench.sandbox, bench.verifier):
            await asyncio.gather(*(sandbox.run("", "", timeout=60) for _ in range(workers)))


def write_outcomes(
    path: Path,
    rows: Sequence[Recorded],
    graded: Mapping[tuple[str, str], Graded],
    scorer: str,
) -> None:
    """Write what was recorded together with what became of it, as `read_recorded` reads it."""
    lines = []
    for row in rows:
        found = graded.get((row.key, scorer))
        if found is not None:
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


def _digest(
    rows: Sequence[Recorded],
    samples: Mapping[str, Sample],
    tests: Mapping[str, str],
    timeout: float,
    benchmark: MatToolsBenchmark,
) -> str:
    """Name of everything that decides an outcome: changed rules or data never resume old rows."""
    files = mounted(samples.values())
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps([row.key, row.question_id, row.code, row.entry]).encode())
    for name, sample in sorted(samples.items()):
        wanted = [vars(prop) for prop in sample.properties]
        parts = [name, wanted, files[sample.question.id], tests[name]]
        digest.update(json.dumps(parts).encode())
    for rules in _RULES:
        digest.update(Path(rules.__file__).read_bytes())
    digest.update(json.dumps([timeout, benchmark.environment]).encode())
    return digest.hexdigest()[:12]


def settings_from(arguments: Sequence[str]) -> tuple[Settings, RunConfig]:
    """Read the command line: own keys here, all others as `experiments.run` reads them.

    Raises
    ------
    UsageError
        With one line that names the key.
    """
    own, others = {}, []
    for argument in arguments:
        key, sign, value = argument.partition("=")
        if sign and key in Settings.model_fields:
            own[key] = value
        else:
            others.append(argument)
    try:
        settings = Settings.model_validate(own)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        text = "must be given" if first["type"] == "missing" else first["msg"]
        raise UsageError(f"{key}: {text}; --help shows the keys") from error
    if not any(argument.startswith("benchmark=") for argument in others):
        others.insert(0, "benchmark=mattools")
    (overrides,) = expand(parse(["system=single", "retrieval=none", *others]), multirun=False)
    return settings, validate(compose(overrides))


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see ``--help``.

    Returns
    -------
    int
        0: everything is graded; 1: a sandbox failed on something; 2: the user has to change
        something; 130: interrupted.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)
    if {"-h", "--help"} & set(given):
        sys.stdout.write(USAGE + "\n")
        return 0
    try:
        return asyncio.run(replay(*settings_from(given), console))
    except (UsageError, ValueError, SandboxError) as error:
        sys.stderr.write(f"error: {printable(error)}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted. Everything graded is kept; the same command resumes.\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())

"""Regrade recorded generations: ``python -m experiments.replay recorded=PATH``.

Every function runs again in the sandbox and is judged by the published rules (its printed text,
`experiments.published`), by the returned dict itself (``typed``), or both. The same command goes
on where an interrupted one stopped.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, PositiveFloat, PositiveInt, ValidationError
from rich.console import Console

from experiments.benchmarks.mattools import MatToolsBenchmark
from experiments.command import compose_plain, expand, parse
from experiments.config import ConfigError, RunConfig, load_class, validate
from experiments.progress import CountProgress
from experiments.published import score_published
from experiments.recorded import Recorded, RecordedError, read_recorded
from experiments.replay_table import Graded, print_comparison
from experiments.scoring import not_runnable, verify_task
from experiments.tasks import Task
from sandbox import environments
from sandbox.base import Mount, Outcome, Sandbox, SandboxConfig, SandboxError
from sandbox.factory import get_sandbox

USAGE = """\
usage: python -m experiments.replay recorded=PATH [KEY=VALUE ...]

Regrades recorded generations of MatTools; the last line printed is `agree N/M`: how many of the
M recorded outcomes were found again by the published scorer (by the typed one if it is alone).

keys [default]:
  recorded         JSONL file, or folder with function_generation_results.jsonl files
  benchmark.path   the questions, see benchmark=mattools (other benchmark.* keys work too)
  scorer           published, typed or both [published]
  out              where the folder replay-<digest> of the results goes [runs]
  workers          executions at once [2]
  timeout          seconds per execution [120]
  limit            only the first N generations [none]
  sandbox.*        as in experiments.run"""


class Settings(BaseModel):
    """The keys of this command."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    recorded: Path
    scorer: Literal["published", "typed", "both"] = "published"
    out: Path | None = None
    workers: PositiveInt = 2
    timeout: PositiveFloat = 120.0
    limit: PositiveInt | None = None

    @property
    def scorers(self) -> tuple[str, ...]:
        """Names of the scorers that are asked for."""
        return ("published", "typed") if self.scorer == "both" else (self.scorer,)


@dataclass(frozen=True)
class Bench:
    """Where functions run, where they are judged, and by what."""

    tasks: Mapping[str, Task]
    unit_tests: Mapping[str, str]
    sandbox: Sandbox
    verifier: Sandbox
    timeout: float


async def grade(recorded: Recorded, scorer: str, bench: Bench) -> Graded:
    """Judge one generation by one scorer.

    Raises
    ------
    SandboxError
        When a sandbox failed: nothing is known then.
    """
    task = bench.tasks[recorded.question_id]
    mounts = _present(task)
    if scorer == "typed":
        return await _grade_typed(recorded, task, bench, mounts)
    score = await score_published(
        recorded.code,
        recorded.entry,
        bench.unit_tests[recorded.question_id],
        name=recorded.question_id,
        sandbox=bench.sandbox,
        verifier=bench.verifier,
        timeout=bench.timeout,
        mounts=mounts,
    )
    failed = [p.name for p in task.properties if any(e.startswith(p.name) for e in score.errors)]
    total = score.properties or len(task.properties)
    return Graded(
        key=recorded.key,
        scorer=scorer,
        outcome=score.outcome,
        reason=score.reason,
        passed=0 if score.wrong is None else total - score.wrong,
        wrong=score.wrong,
        failed=failed if score.outcome == "some_wrong" else [],
        detail="; ".join(score.errors) or score.detail,
        seconds=round(score.seconds, 3),
    )


def _present(task: Task) -> list[Mount]:
    """The input files that are here; what was recorded ran without the others, too."""
    sources = ((target, Path(source)) for target, source in task.question.mounts.items())
    return [Mount(source, target) for target, source in sources if source.exists()]


async def _grade_typed(
    recorded: Recorded, task: Task, bench: Bench, mounts: Sequence[Mount]
) -> Graded:
    def graded(outcome: str, reason: str, **rest: Any) -> Graded:
        return Graded(key=recorded.key, scorer="typed", outcome=outcome, reason=reason, **rest)

    if not recorded.code.strip() or not recorded.entry.strip():
        return graded("not_runnable", "no_code")
    execution = await bench.sandbox.run(
        recorded.code, recorded.entry, timeout=bench.timeout, mounts=mounts
    )
    if execution.outcome is Outcome.INFRA:
        raise SandboxError(execution.error or "the sandbox failed")
    seconds = round(execution.seconds, 3)
    fault = not_runnable(execution)
    if fault is not None or execution.payload is None:
        ended = execution.outcome
        reason = "no_dict" if ended is Outcome.OK else str(ended)
        return graded("not_runnable", reason, detail=fault or "no result", seconds=seconds)
    verdicts = await verify_task(bench.verifier, task, execution.payload)
    failed = [name for name, (passed, _) in verdicts.items() if not passed]
    return graded(
        "some_wrong" if failed else "all_correct",
        "wrong_value" if failed else "",
        passed=len(verdicts) - len(failed),
        wrong=len(failed),
        failed=failed,
        detail="; ".join(f"{name}: {verdicts[name][1]}" for name in failed),
        seconds=seconds,
    )


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

    def add(self, row: Graded) -> None:
        """Keep a line."""
        self.graded[row.key, row.scorer] = row
        self._file.write(row.model_dump_json().encode("utf-8", "replace") + b"\n")
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
    ConfigError, RecordedError, SandboxError
        When it cannot start; the message says what to do.
    """
    rows = read_recorded(settings.recorded)[: settings.limit]
    benchmark = _benchmark(config)
    tasks = {task.question.id: task for task in benchmark.load()}
    unit_tests = benchmark.unit_tests()
    known = [row for row in rows if row.question_id in tasks]
    strangers = sorted({row.question_id for row in rows} - set(tasks))
    if not known:
        raise RecordedError(
            f"recorded={settings.recorded}: none of its questions is in benchmark.path "
            f"({', '.join(strangers[:3])}, ...)"
        )
    digest = _digest(known, tasks, unit_tests, settings, benchmark)
    results = Results((settings.out or Path("runs")) / f"replay-{digest}")
    try:
        failures = await _grade_all(settings, config, console, rows=known, tasks=tasks,
                                    unit_tests=unit_tests, results=results)  # fmt: skip
    finally:
        results.close()
    if strangers:
        console.print(
            f"{len(rows) - len(known)} generations are left out, benchmark.path has no such "
            f"questions: {', '.join(strangers)}",
            markup=False,
        )
    console.print(f"results: {results.path}", highlight=False, soft_wrap=True)
    for failure in failures[:5]:
        console.print(f"not graded: {failure}", markup=False)
    if failures:
        console.print(f"{len(failures)} not graded; the same command tries them again")
    print_comparison(known, tasks, results.graded, settings.scorers, console)
    return 1 if failures else 0


async def _grade_all(
    settings: Settings,
    config: RunConfig,
    console: Console,
    *,
    rows: Sequence[Recorded],
    tasks: Mapping[str, Task],
    unit_tests: Mapping[str, str],
    results: Results,
) -> list[str]:
    jobs = [(row, scorer) for row in rows for scorer in settings.scorers]
    waiting = iter([job for job in jobs if (job[0].key, job[1]) not in results.graded])
    failures: list[str] = []
    environment = next(iter(tasks.values())).environment
    limits = SandboxConfig(
        env=environment,
        **config.sandbox.model_dump(exclude={"workers", "timeout"}),
        workers=settings.workers,
        timeout=settings.timeout,
    )
    if len(results.graded) < len(jobs):
        await asyncio.to_thread(environments.build, environment, say=console.print)
    progress = CountProgress(
        console, "replay", total=len(jobs), done=len(results.graded), unit="executions"
    )
    async with AsyncExitStack() as stack:
        bench = Bench(tasks, unit_tests, get_sandbox(limits), get_sandbox(limits), settings.timeout)
        stack.push_async_callback(bench.sandbox.close)
        stack.push_async_callback(bench.verifier.close)

        runnable = sum(row.outcome != "not_runnable" for row in results.graded.values())

        async def work() -> None:
            nonlocal runnable
            for recorded, scorer in waiting:
                try:
                    graded = await grade(recorded, scorer, bench)
                    results.add(graded)
                    runnable += graded.outcome != "not_runnable"
                except SandboxError as error:
                    failures.append(f"{recorded.key}: {error}")
                    if len(failures) > max(20, len(jobs) // 100):
                        raise
                progress.advance(f"{runnable} runnable")

        stack.enter_context(progress)
        await asyncio.gather(*(work() for _ in range(settings.workers)))
    return failures


def _benchmark(config: RunConfig) -> MatToolsBenchmark:
    cls = load_class(config.benchmark.target, key="benchmark")
    if not issubclass(cls, MatToolsBenchmark):
        raise ConfigError(f"benchmark={config.benchmark.name}: only mattools can be replayed")
    return cls(**config.benchmark.params)


def _digest(
    rows: Sequence[Recorded],
    tasks: Mapping[str, Task],
    unit_tests: Mapping[str, str],
    settings: Settings,
    benchmark: MatToolsBenchmark,
) -> str:
    """Name of everything that decides an outcome: changed rules or data never resume old rows."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps([row.key, row.question_id, row.code, row.entry]).encode())
    for name in sorted(tasks):
        wanted = [vars(prop) for prop in tasks[name].properties]
        files = sorted(map(str, tasks[name].question.mounts))
        digest.update(json.dumps([name, wanted, files, unit_tests[name]]).encode())
    here = Path(__file__).parent
    for module in ("published.py", "stdout_rules.py", "unit_tests.py", "verify.py"):
        digest.update((here / module).read_bytes())
    digest.update(json.dumps([settings.timeout, benchmark.environment]).encode())
    return digest.hexdigest()[:12]


def settings_from(arguments: Sequence[str]) -> tuple[Settings, RunConfig]:
    """Read the command line: own keys here, all others as `experiments.run` reads them.

    Raises
    ------
    ConfigError
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
        raise ConfigError(f"{key}: {text}; --help shows the keys") from error
    if not any(argument.startswith("benchmark=") for argument in others):
        others.insert(0, "benchmark=mattools")
    (overrides,) = expand(parse(["system=single", "retrieval=none", *others]), multirun=False)
    return settings, validate(compose_plain(overrides))


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
    except (ConfigError, ValueError, SandboxError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted. What is graded is kept; the same command goes on.\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())

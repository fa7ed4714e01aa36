"""One run: every question answered, scored and stored once, and a summary at the end."""

from __future__ import annotations

import asyncio
import traceback
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from agents.base import INFRASTRUCTURE, Image, Trajectory, Usage
from agents.budget import Meter
from agents.models import ModelClient, ModelError
from agents.runtime import Runtime, open_client, open_runtime, open_writer
from experiments.config import RunConfig
from experiments.judge import Judge
from experiments.record import make_figures, make_row, make_trajectory
from experiments.samples import Sample
from experiments.scorers.base import Score, Scorer, Tools, amount, measure
from experiments.setup import build_benchmark, check_answers, load_samples, select
from experiments.store import Row, Store, run_folder, write_json
from experiments.summary import samples_digest, summarise
from sandbox.base import SandboxError
from sandbox.command import UsageError
from sandbox.progress import Progressing
from sandbox.progress import meter as counting

#: Consecutive questions that fail because of a component before a run stops: the endpoint is
#: gone then.
FAILURES = 100


@dataclass(frozen=True)
class Job:
    """A question to be answered once."""

    sample: Sample
    seed: int


async def execute(config: RunConfig, console: Console) -> Path:
    """Run whatever is not finished yet, and write the summary.

    Returns
    -------
    Path
        The run folder.

    Raises
    ------
    UsageError, SandboxError, RetrievalError
        When the run cannot start; the message says what to do.
    """
    benchmark = build_benchmark(config)
    all_samples = load_samples(benchmark, config)
    samples = select(all_samples, config)
    check_answers(config, samples)
    try:
        config_hash = config.hash(samples_digest(all_samples))
    except OSError as error:
        raise UsageError(f"benchmark={config.benchmark.name}: {error}") from error
    client = open_client(config.model, concurrency=config.concurrency)
    judge = None
    if config.judge is not None:
        judge = open_client(config.judge, concurrency=config.concurrency, role="judge: ")
    folder = run_folder(config, config_hash)
    with Store(folder, config_hash, config.plain()) as store:
        finished = store.finished(config.budget)
        jobs = [
            Job(sample, seed)
            for seed in config.seeds
            for sample in samples
            if sample.unavailable is None and (sample.question.id, seed) not in finished
        ]
        total = len(config.seeds) * sum(sample.unavailable is None for sample in samples)
        console.print(_headline(config, folder, llm=client.llm, total=total, jobs=len(jobs)))
        stopped: str | None = None
        meter = Meter(config.run_budget, group="run_budget")
        for row in store.lines():
            _count(row, meter)
        writer = open_writer(config, client, meter)
        try:
            async with AsyncExitStack() as stack:
                stack.push_async_callback(client.close)
                if judge is not None:
                    stack.push_async_callback(judge.close)
                stack.callback(lambda: store.remember_spent(config.writer, writer.spent))
                runtimes = {}
                for environment in sorted({job.sample.environment for job in jobs}):
                    opened = open_runtime(
                        config,
                        environment,
                        benchmark.packages,
                        client=client,
                        writer=writer,
                        say=partial(_say, console, environment),
                        executes=benchmark.scorer.executes or None,
                        verifies=benchmark.scorer.warmup,
                    )
                    runtimes[environment] = await stack.enter_async_context(opened)
                store.remember_packages({n: made.versions for n, made in runtimes.items()})
                with counting(
                    config.system.name, total, done=total - len(jobs), console=console
                ) as progress:
                    work = _Work(config, benchmark.scorer, store, runtimes, judge, meter, progress)
                    stopped = await work.through(jobs)
        finally:
            wanted = {(sample.question.id, seed) for sample in samples for seed in config.seeds}
            summary = summarise(
                config,
                config_hash=config_hash,
                llm=client.llm,
                metrics=benchmark.scorer.metrics,
                samples=samples,
                rows=[row for row in store.lines() if (row.question_id, row.seed) in wanted],
                packages=store.packages,
                outside=store.spent,
                stopped=stopped,
            )
            write_json(folder / "summary.json", summary)
    return folder


def _headline(config: RunConfig, folder: Path, *, llm: bool, total: int, jobs: int) -> str:
    model = config.model.name if llm else f"{config.model.name} (no LLM)"
    resumed = f", {total - jobs} of them finished before" if jobs != total else ""
    return (
        f"{config.system.name} + {config.retrieval.name} + {model} on {config.benchmark.name}: "
        f"{total} questions{resumed} -> {folder}"
    )


def _say(console: Console, environment: str, line: str) -> None:
    console.print(f"Environment {environment}: {line}", highlight=False)


def _count(row: Row, meter: Meter) -> None:
    known = row.cost_usd is not None and row.judge_cost_usd is not None
    meter.usage += Usage(
        calls=row.calls + row.judge_calls,
        prompt_tokens=row.prompt_tokens + row.completion_tokens + row.judge_tokens,
        cost_usd=(row.cost_usd or 0.0) + (row.judge_cost_usd or 0.0) if known else None,
    )
    meter.sandbox_seconds += row.sandbox_seconds


@dataclass
class _Work:
    """Answers, scores and stores questions."""

    config: RunConfig
    scorer: Scorer
    store: Store
    runtimes: Mapping[str, Runtime]
    judge: ModelClient | None
    meter: Meter
    progress: Progressing
    failures: int = 0  # consecutive
    gained: float = 0.0  # of the primary metric
    out_of: float = 0.0

    async def through(self, jobs: Sequence[Job]) -> str | None:
        """Do all jobs in their order, ``concurrency`` at a time.

        Returns
        -------
        str or None
            What left questions unasked.
        """
        waiting = deque(jobs)

        async def worker() -> None:
            while waiting and not self.meter.exceeded() and self.failures < FAILURES:
                row = await self._do(waiting.popleft())
                self.failures = self.failures + 1 if row.infra else 0
                _count(row, self.meter)
                self._show(row)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(self.config.concurrency, len(jobs))):
                group.create_task(worker())
        if not waiting:
            return None
        exceeded = self.meter.exceeded()
        return str(exceeded) if exceeded else f"{self.failures} consecutive questions failed"

    def _show(self, row: Row) -> None:
        metric = self.scorer.metrics[0]
        gained, out_of = measure(row, metric)
        self.gained += gained
        self.out_of += out_of
        self.progress.advance(note=f"{amount(self.gained)}/{self.out_of:.0f} {metric.title}")

    async def _do(self, job: Job) -> Row:
        """Answer, score and store one question.

        Whatever an agent, the scoring or the record raises belongs to this answer: it is stored
        as unknown, with the traceback, and tried again on resume.
        """
        agent = self.runtimes[job.sample.environment].agent
        try:
            trajectory = await agent.solve(job.sample.question, seed=job.seed)
        except Exception:  # noqa: BLE001 -- see above
            trajectory = _broken(job, traceback.format_exc())
        judge = Judge(self.judge) if self.judge is not None else None
        score = await self._score(job, trajectory, judge)
        try:
            return self._keep(job, trajectory, score, judge)
        except OSError:
            raise  # the disk is full or gone: no answer can be kept
        except Exception:  # noqa: BLE001 -- see above
            # What cannot be written is in the answer or in a step; what was spent is numbers.
            error = f"the record failed: {traceback.format_exc()}"
            bare = replace(_broken(job, error), usage=trajectory.usage, seconds=trajectory.seconds)
            return self._keep(job, bare, Score("infra", error=error), judge)

    async def _score(self, job: Job, trajectory: Trajectory, judge: Judge | None) -> Score:
        """The verdict; what a judge said and spent stays with ``judge``.

        There is none when a component of matsmith failed, or a limit ended the question: a
        draft that the architecture had not settled on is not an answer.
        """
        if trajectory.stop_reason in INFRASTRUCTURE:
            error = trajectory.error or trajectory.stop_reason
            return Score("infra", error=error)
        if trajectory.stop_reason == "budget":
            return Score("not_finished", error=trajectory.error)
        runtime = self.runtimes[job.sample.environment]
        tools = Tools(runtime.sandbox, runtime.verifier, runtime.timeout, judge)
        try:
            return await self.scorer.score(job.sample, trajectory, tools)
        except (SandboxError, ModelError) as error:
            return Score("infra", error=str(error))
        except Exception:  # noqa: BLE001 -- a fault of the scorer must not cost other answers
            return Score("infra", error=f"scoring failed: {traceback.format_exc()}")

    def _keep(self, job: Job, trajectory: Trajectory, score: Score, judge: Judge | None) -> Row:
        parts = len(self.scorer.parts(job.sample))
        spent = judge.usage if judge else Usage()
        row = make_row(
            self.store.config_hash, job.sample, trajectory, score, parts=parts, judge=spent
        )
        for part in job.sample.question.parts:
            if isinstance(part, Image):
                self.store.keep_image(part)
        verdicts = judge.verdicts if judge else ()
        made = make_trajectory(job.sample, trajectory, score, verdicts)
        self.store.append(row, made, make_figures(score))
        return row


def _broken(job: Job, error: str) -> Trajectory:
    """What an agent that raised leaves behind: unknown, and tried again on resume."""
    return Trajectory(
        question_id=job.sample.question.id,
        seed=job.seed,
        code=None,
        entry=None,
        answer="",
        steps=(),
        usage=Usage(),
        stop_reason="agent_error",
        format_status="error",
        error=error,
    )

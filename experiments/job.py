"""One run: every question answered, scored and stored once, and a summary at the end."""

from __future__ import annotations

import asyncio
import traceback
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from agents.base import Trajectory, Usage
from experiments.build import (
    Laboratory,
    build_benchmark,
    build_client,
    build_laboratory,
    build_writer,
    load_tasks,
    select,
)
from experiments.config import RunConfig
from experiments.meter import RunMeter
from experiments.progress import QuestionProgress
from experiments.record import make_row, make_trajectory
from experiments.scoring import Verdict, score_answer, unknown
from experiments.store import Row, Store, run_folder, write_json
from experiments.summary import summarise, tasks_digest
from experiments.tasks import RunsItself, Task


@dataclass(frozen=True)
class Job:
    """A question to be answered once."""

    task: Task
    seed: int


async def execute(config: RunConfig, console: Console) -> Path:
    """Run whatever is not finished yet, and write the summary.

    Returns
    -------
    Path
        The run folder.

    Raises
    ------
    ConfigError, SandboxError, RetrievalError
        When the run cannot start; the message says what to do.
    """
    benchmark = build_benchmark(config)
    if isinstance(benchmark, RunsItself):
        return await benchmark.run(config, console)
    all_tasks = load_tasks(benchmark, config)
    tasks = select(all_tasks, config)
    config_hash = config.hash(tasks_digest(all_tasks))
    client = build_client(config)
    folder = run_folder(config, config_hash)
    with Store(folder, config_hash, config.plain()) as store:
        finished = store.finished(config.budget)
        jobs = [
            Job(task, seed)
            for seed in config.seeds
            for task in tasks
            if task.unavailable is None and (task.question.id, seed) not in finished
        ]
        total = len(config.seeds) * sum(task.unavailable is None for task in tasks)
        console.print(_headline(config, folder, llm=client.llm, total=total, jobs=len(jobs)))
        stopped: str | None = None
        meter = RunMeter(config.run_budget)
        for row in store.lines():
            _count(row, meter)
        writer = build_writer(config, client, meter)
        try:
            async with AsyncExitStack() as stack:
                stack.push_async_callback(client.close)
                stack.callback(lambda: store.remember_spent(config.writer, writer.spent))
                laboratories = {}
                for environment in sorted({job.task.environment for job in jobs}):
                    laboratories[environment] = await build_laboratory(
                        config, benchmark, environment, client, writer, stack=stack, console=console
                    )
                store.remember_packages({n: lab.packages for n, lab in laboratories.items()})
                progress = QuestionProgress(
                    console, config.system.name, total=total, done=total - len(jobs)
                )
                with progress:
                    stopped = await _work(
                        config,
                        store,
                        jobs,
                        laboratories=laboratories,
                        meter=meter,
                        progress=progress,
                    )
        finally:
            wanted = {(task.question.id, seed) for task in tasks for seed in config.seeds}
            summary = summarise(
                config,
                config_hash=config_hash,
                llm=client.llm,
                tasks=tasks,
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


def _count(row: Row, meter: RunMeter) -> None:
    meter.add(
        calls=row.calls,
        tokens=row.prompt_tokens + row.completion_tokens,
        cost_usd=row.cost_usd,
        sandbox_seconds=row.sandbox_seconds,
    )


async def _work(
    config: RunConfig,
    store: Store,
    jobs: Sequence[Job],
    *,
    laboratories: Mapping[str, Laboratory],
    meter: RunMeter,
    progress: QuestionProgress,
) -> str | None:
    """Answer, score and store, ``concurrency`` questions at a time, in the order of ``jobs``.

    Returns
    -------
    str or None
        Which limit of the run left questions unasked.
    """
    waiting = deque(jobs)

    async def worker() -> None:
        while waiting and not meter.exhausted:
            job = waiting.popleft()
            row = await _answer(config, store, job, laboratories[job.task.environment])
            _count(row, meter)
            progress.finished(row)

    async with asyncio.TaskGroup() as group:
        for _ in range(min(config.concurrency, len(jobs))):
            group.create_task(worker())
    return meter.exhausted if waiting else None


async def _answer(config: RunConfig, store: Store, job: Job, laboratory: Laboratory) -> Row:
    """Answer, score and store one question.

    Whatever an agent, the scoring or the record raises belongs to this answer: it is stored as
    unknown, with the traceback, and tried again on resume.
    """
    try:
        trajectory = await laboratory.agent.solve(job.task.question, seed=job.seed)
    except Exception:  # noqa: BLE001 -- see above
        trajectory = _broken(job, traceback.format_exc())
    try:
        verdict = await score_answer(
            job.task,
            trajectory,
            sandbox=laboratory.sandbox,
            verifier=laboratory.verifier,
            timeout=config.sandbox.timeout,
        )
    except Exception:  # noqa: BLE001 -- see above
        verdict = unknown(job.task, trajectory, f"scoring failed: {traceback.format_exc()}")
    try:
        return _keep(store, job, trajectory, verdict)
    except OSError:
        raise  # the disk is full or gone: no answer can be kept
    except Exception:  # noqa: BLE001 -- see above
        # What cannot be written is in the answer or in a step; what was spent is numbers.
        error = f"the record failed: {traceback.format_exc()}"
        bare = replace(_broken(job, error), usage=trajectory.usage, seconds=trajectory.seconds)
        return _keep(store, job, bare, unknown(job.task, bare, error))


def _keep(store: Store, job: Job, trajectory: Trajectory, verdict: Verdict) -> Row:
    row = make_row(store.config_hash, job.task, trajectory, verdict)
    store.append(row, make_trajectory(job.task, trajectory, verdict))
    return row


def _broken(job: Job, error: str) -> Trajectory:
    """What an agent that raised leaves behind: unknown, and tried again on resume."""
    return Trajectory(
        question_id=job.task.question.id,
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

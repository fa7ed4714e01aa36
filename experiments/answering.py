"""Answers and scores one question at a time: what a run does here, and a worker elsewhere."""

from __future__ import annotations

import json
import os
import platform
import traceback
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256

from agents.base import INFRASTRUCTURE, Trajectory, Usage
from agents.budget import Meter
from agents.models import ModelClient, ModelError
from agents.models.pace import Reserve
from agents.runtime import Runtime, open_client, open_runtime, open_writer
from experiments.config import RunConfig
from experiments.judge import Judge
from experiments.record import make_figures, make_row, make_trajectory, veiled
from experiments.rows import Row
from experiments.samples import Benchmark, Sample
from experiments.scorers.base import Score, Scorer, Tools
from sandbox.base import SandboxError

#: Told what is being built: the environment, and a line about it.
Say = Callable[[str, str], None]


@dataclass(frozen=True)
class Job:
    """A question to be answered once."""

    sample: Sample
    seed: int


@dataclass(frozen=True)
class Answered:
    """What is kept of an answer; plain data, so that it can come from another machine.

    Attributes
    ----------
    trajectory
        Everything that led to the row, as JSON.
    figures
        What a scorer drew, by title.
    """

    row: Row
    trajectory: str
    figures: Mapping[str, str]


@dataclass(frozen=True)
class Answerer:
    """Answers and scores questions of one configuration.

    Attributes
    ----------
    runtimes
        What works on the questions, by environment.
    """

    config_hash: str
    scorer: Scorer
    runtimes: Mapping[str, Runtime]
    judge: ModelClient | None

    @property
    def packages(self) -> dict[str, Mapping[str, str]]:
        """Installed versions by environment."""
        return {name: runtime.versions for name, runtime in self.runtimes.items()}

    async def answer(self, job: Job) -> Answered:
        """Answer and score one question.

        Whatever an agent, the scoring or the record raises belongs to this answer: it is unknown,
        with the traceback, and tried again on resume.
        """
        agent = self.runtimes[job.sample.environment].agent
        try:
            trajectory = await agent.solve(job.sample.question, seed=job.seed)
        except Exception:  # noqa: BLE001 -- see above
            trajectory = _broken(job, traceback.format_exc())
        judge = Judge(self.judge) if self.judge is not None else None
        score = await self._score(job, trajectory, judge)
        parts = len(self.scorer.parts(job.sample))
        try:
            return record(self.config_hash, job, trajectory, score, parts=parts, judge=judge)
        except Exception:  # noqa: BLE001 -- see above
            # What cannot be written is in the answer or in a step; what was spent is numbers.
            error = f"the record failed: {traceback.format_exc()}"
            bare = replace(_broken(job, error), usage=trajectory.usage, seconds=trajectory.seconds)
            score = Score("infra", error=error)
            return record(self.config_hash, job, bare, score, parts=parts, judge=judge)

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


def record(
    config_hash: str,
    job: Job,
    trajectory: Trajectory,
    score: Score,
    *,
    parts: int,
    judge: Judge | None = None,
) -> Answered:
    """What is kept of an answer."""
    spent, steps = judge.usage if judge else Usage(), trajectory.steps
    sample, verdicts = job.sample, judge.verdicts if judge else ()
    if sample.private:
        (sample, trajectory, score), verdicts = veiled(sample, trajectory, score), ()
    counted = replace(trajectory, steps=steps)
    row = make_row(config_hash, sample, counted, score, parts=parts, judge=spent)
    row = row.model_copy(update={"machine": machine()})
    kept = make_trajectory(sample, trajectory, score, verdicts)
    # Encoded here, so that an answer that cannot be costs only its own record, and once.
    text = json.dumps(kept, indent=1, default=repr) + "\n"
    return Answered(row, text, make_figures(score) or {})


def unanswered(config_hash: str, job: Job, scorer: Scorer, error: str) -> Answered:
    """What is kept of a question that cost every worker its life: unknown, tried again."""
    parts = len(scorer.parts(job.sample))
    score = Score("infra", error=error)
    return record(config_hash, job, _broken(job, error), score, parts=parts)


def machine() -> str:
    """A short name of this machine that tells nobody its real one."""
    return sha256(f"{platform.node()}\0{os.name}".encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Models:
    """The model under test and the judge."""

    client: ModelClient
    judge: ModelClient | None


def open_models(
    config: RunConfig, *, concurrency: int | None = None, reserve: Reserve | None = None
) -> Models:
    """Make the clients of a configuration.

    Parameters
    ----------
    concurrency
        Model calls in flight at once, where that is not ``config.concurrency``.
    reserve
        Where requests are counted if not in this process; see `agents.models.pace`.

    Raises
    ------
    UsageError
        When one cannot be made (no key).
    """
    together = concurrency or config.concurrency
    client = open_client(config.model, concurrency=together, reserve=reserve)
    judge = None
    if config.judge is not None:
        judge = open_client(config.judge, concurrency=together, role="judge: ", reserve=reserve)
    return Models(client, judge)


@asynccontextmanager
async def open_answerer(
    config: RunConfig,
    config_hash: str,
    benchmark: Benchmark,
    environments: Sequence[str],
    *,
    models: Models,
    meter: Meter,
    say: Say,
    remember: Callable[[Mapping[str, Usage]], None] = lambda _: None,
    warm: bool = True,
) -> AsyncIterator[Answerer]:
    """Build everything that a configuration needs, and stop it at the end.

    Parameters
    ----------
    environments
        Sandbox environments of the questions.
    models
        Are closed at the end as well.
    meter
        What the model under test is asked for outside of questions counts there.
    remember
        Told in the end what was asked outside of questions, by purpose.
    warm
        Whether sandboxes import what answers will need.

    Raises
    ------
    UsageError, SandboxError, RetrievalError
        When a part is not available; the message says what to do.
    """
    client, judge = models.client, models.judge
    async with AsyncExitStack() as stack:
        stack.push_async_callback(client.close)
        if judge is not None:
            stack.push_async_callback(judge.close)
        writer = open_writer(config, client, meter)
        stack.callback(lambda: remember(writer.spent))
        runtimes = {}
        for environment in environments:
            opened = open_runtime(
                config,
                environment,
                benchmark.packages,
                client=client,
                writer=writer,
                say=partial(say, environment),
                executes=benchmark.scorer.executes or None,
                verifies=benchmark.scorer.warmup,
                warm=warm,
            )
            runtimes[environment] = await stack.enter_async_context(opened)
        yield Answerer(config_hash, benchmark.scorer, runtimes, judge)


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

"""Answers and scores one question at a time: what a run does here, and a worker elsewhere."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256

from agents.base import INFRASTRUCTURE, Trajectory, Usage
from agents.budget import Meter
from agents.episode import without_data
from agents.models import ModelClient, ModelError
from agents.runtime import Runtime, open_client, open_runtime, open_writer
from experiments.baselines import Baseline
from experiments.benchmarks import Benchmark
from experiments.run.config import RunConfig
from experiments.run.record import make_figures, make_row, make_trajectory, veiled
from experiments.run.rows import Row
from experiments.samples import Sample
from experiments.scorers.base import Score, Tools
from experiments.scorers.judge import Judge
from sandbox.base import SandboxError

#: The model under test, and the judge.
Models = tuple[ModelClient, ModelClient | None]


@dataclass(frozen=True)
class Job:
    """A question to be answered once."""

    sample: Sample
    seed: int


@dataclass(frozen=True)
class Answered:
    """What is kept of an answer; plain data, so that it can come from another machine.

    ``trajectory`` is JSON, ``figures`` what a scorer drew, by title.
    """

    row: Row
    trajectory: str
    figures: Mapping[str, str]


@dataclass(frozen=True)
class Plan:
    """What has to be known of a run to answer its questions.

    ``meter`` counts the whole run, also what the model is asked for outside of questions; ``say``
    is told what is being built: the environment, and a line about it. Sandboxes that are ``warm``
    import what answers will need: where some answer is code.
    """

    config: RunConfig
    config_hash: str
    benchmark: Benchmark
    environments: Sequence[str]
    say: Callable[[str, str], None]
    meter: Meter = field(default_factory=Meter)
    warm: bool = True


@dataclass(frozen=True)
class Answerer:
    """Answers and scores questions of one configuration, with a runtime for each environment."""

    plan: Plan
    runtimes: Mapping[str, Runtime]
    judge: ModelClient | None

    @property
    def packages(self) -> dict[str, Mapping[str, str]]:
        """Installed versions by environment."""
        return {name: runtime.versions for name, runtime in self.runtimes.items()}

    async def answer(self, job: Job) -> Answered:
        """Answer and score one question.

        Whatever an agent, the scoring or the record raises belongs to this answer: it is unknown,
        and tried again on resume.
        """
        agent = self.runtimes[job.sample.environment].agent
        if isinstance(agent, Baseline):
            agent = agent.knowing(job.sample)
        try:
            trajectory = await agent.solve(job.sample.question, seed=job.seed)
        except Exception as error:  # noqa: BLE001 -- see above
            trajectory = _broken(job, f"the agent failed: {without_data(error)}")
        judge = None
        if self.judge is not None:
            judge = Judge(self.judge, (job.sample.question.id, job.seed))
        score = await self._score(job, trajectory, judge)
        try:
            return record(self.plan, job, trajectory, score, judge)
        except Exception as error:  # noqa: BLE001 -- see above
            told = f"the record failed: {without_data(error)}"
            bare = replace(_broken(job, told), usage=trajectory.usage, seconds=trajectory.seconds)
            return record(self.plan, job, bare, Score("infra", error=told), judge)

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
            return await self.plan.benchmark.scorer.score(job.sample, trajectory, tools)
        except (SandboxError, ModelError) as error:
            return Score("infra", error=str(error))
        except Exception as error:  # noqa: BLE001 -- a fault of the scorer costs no other answers
            return Score("infra", error=f"scoring failed: {without_data(error)}")


def record(
    plan: Plan, job: Job, trajectory: Trajectory, score: Score, judge: Judge | None = None
) -> Answered:
    """What is kept of an answer."""
    spent, steps = judge.usage if judge else Usage(), trajectory.steps
    parts = len(plan.benchmark.scorer.parts(job.sample))
    sample, verdicts = job.sample, judge.verdicts if judge else ()
    if sample.private:
        (sample, trajectory, score), verdicts = veiled(sample, trajectory, score), ()
    counted = replace(trajectory, steps=steps)
    row = make_row(plan.config_hash, sample, counted, score, parts=parts, judge=spent)
    row = row.model_copy(update={"machine": machine()})
    kept = make_trajectory(sample, trajectory, score, verdicts)
    # Encoded here, so that an answer that cannot be costs only its own record, and once.
    text = json.dumps(kept, indent=1, default=repr) + "\n"
    return Answered(row, text, make_figures(score) or {})


def unanswered(plan: Plan, job: Job, error: str) -> Answered:
    """What is kept of a question that cost every worker its life: unknown, tried again."""
    return record(plan, job, _broken(job, error), Score("infra", error=error))


def machine() -> str:
    """A short name of this machine that tells nobody its real one."""
    return sha256(f"{platform.node()}\0{os.name}".encode()).hexdigest()[:8]


def open_models(config: RunConfig, *, concurrency: int | None = None) -> Models:
    """Make the clients of a configuration.

    ``concurrency`` is of model calls in flight, where it is not that of the configuration.
    """
    make = partial(open_client, concurrency=concurrency or config.concurrency, scene=config.scene)
    client = make(config.model)
    return client, make(config.judge, role="judge: ") if config.judge is not None else None


@asynccontextmanager
async def open_answerer(
    plan: Plan,
    models: Models,
    remember: Callable[[Mapping[str, Usage]], None] = lambda _: None,
) -> AsyncIterator[Answerer]:
    """Build everything that a run needs, and stop it at the end, the clients of models included.

    ``remember`` is told in the end what was asked outside of questions, by purpose.
    """
    config, scorer = plan.config, plan.benchmark.scorer
    client, judge = models
    async with AsyncExitStack() as stack:
        for each in filter(None, models):
            stack.push_async_callback(each.close)
        writer = open_writer(config, client, plan.meter)
        if writer is not None:
            stack.callback(
                lambda: remember({"documentation": writer.usage} if writer.usage.tokens else {})
            )
        runtimes = {}
        for environment in plan.environments:
            opened = open_runtime(
                config,
                environment,
                plan.benchmark.packages,
                client=client,
                writer=writer,
                say=partial(plan.say, environment),
                executes=scorer.executes or None,
                verifies=scorer.warmup,
                warm=plan.warm,
            )
            runtimes[environment] = await stack.enter_async_context(opened)
        yield Answerer(plan, runtimes, judge)


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

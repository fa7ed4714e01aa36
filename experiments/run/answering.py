"""Answers and scores one question at a time, and records it: here, or on a worker elsewhere."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from agents.base import Trajectory, Usage
from agents.budget import Meter
from agents.config import load_system
from agents.models import ModelClient, ModelError
from agents.runtime import Runtime, open_client, open_runtime, open_writer
from experiments.benchmarks import Benchmark
from experiments.record import Ending, Record, Row
from experiments.run.config import RunConfig
from experiments.run.recording import make_figures, make_record
from experiments.samples import Sample
from experiments.scorers.base import Score, ScoringContext
from experiments.scorers.judge import Judge
from foundation.errors import UsageError
from foundation.failures import describe_failure, from_plugin
from sandbox.base import SandboxError

#: The model under test, and the judge.
Models = tuple[ModelClient, ModelClient | None]


@dataclass(frozen=True)
class Trial:
    """A question to be answered once."""

    sample: Sample
    seed: int

    @property
    def key(self) -> tuple[str, int]:
        """Question and seed, as `experiments.record.Row.key`."""
        return self.sample.question.id, self.seed


@dataclass(frozen=True)
class Answered:
    """What is kept of an answer; plain data, so that it can come from another machine.

    ``record`` is a line of JSON, ``row`` what tables need of it, ``figures`` what a scorer drew,
    by title.
    """

    row: Row
    record: str
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

    async def answer(self, trial: Trial) -> Answered:
        """Answer and score one question.

        Whatever an agent, the scoring or the record raises belongs to this answer: it is unknown,
        and tried again on resume.
        """
        scorer = self.plan.benchmark.scorer
        trajectory = await self._solve(trial)
        judge = self._judge(trial)
        score, ending = await self._score(trial, trajectory, judge)
        try:
            return keep(self.plan, trial, trajectory, ending, score=score, judge=judge)
        except Exception as error:  # noqa: BLE001 -- see above
            ending = Ending(
                kind="infrastructure",
                reason="record_error",
                message=f"the record failed: {describe_failure(error, scorer)}",
            )
            bare = replace(
                broken(trial), usage=trajectory.usage, seconds=trajectory.seconds
            )
            return keep(self.plan, trial, bare, ending, judge=judge)

    async def _solve(self, trial: Trial) -> Trajectory:
        agent = self.runtimes[trial.sample.environment].agent
        if agent.needs_reference:
            agent = agent.knowing(trial.sample.reference)
        try:
            return await agent.solve(trial.sample.question, seed=trial.seed)
        except Exception as error:  # noqa: BLE001 -- see `answer`
            return broken(trial, f"the agent failed: {describe_failure(error, agent)}")

    def _judge(self, trial: Trial) -> Judge | None:
        if self.judge is None:
            return None
        return Judge(self.judge, (trial.sample.question.id, trial.seed))

    async def _score(
        self, trial: Trial, trajectory: Trajectory, judge: Judge | None
    ) -> tuple[Score | None, Ending]:
        """The verdict, and how the work on the question ended.

        There is no verdict when a component of matsmith failed, or a limit ended the question: a
        draft that the architecture had not settled on is not an answer. What a judge said and
        spent stays with ``judge``.
        """
        ending = Ending.of(trajectory.stop_reason, trajectory.error, trajectory.limit)
        if ending.kind != "completed":
            return None, ending
        runtime = self.runtimes[trial.sample.environment]
        context = ScoringContext(
            runtime.sandbox, runtime.verifier, runtime.timeout, judge
        )
        scorer = self.plan.benchmark.scorer
        try:
            score = await scorer.score(trial.sample, trajectory, context)
        except (SandboxError, ModelError) as error:
            message = str(error)
        except Exception as error:  # noqa: BLE001 -- a fault of the scorer costs no other answers
            message = f"scoring failed: {describe_failure(error, scorer)}"
        else:
            if score.error:
                ending = ending.model_copy(update={"message": score.error})
            return score, ending
        return None, Ending(
            kind="infrastructure", reason="scoring_error", message=message
        )


def keep(
    plan: Plan,
    trial: Trial,
    trajectory: Trajectory,
    ending: Ending,
    *,
    score: Score | None = None,
    judge: Judge | None = None,
) -> Answered:
    """What is kept of an answer."""
    record = make_record(
        plan.config_hash,
        trial.sample,
        trajectory,
        ending,
        score,
        criteria=len(plan.benchmark.scorer.criteria(trial.sample)),
        judge=judge,
    )
    # Encoded here, so that an answer that cannot be costs only its own record, and once.
    line = record.line()
    # What is read back decides: whatever happens on the way, the row fits the file.
    stored = Record.model_validate(json.loads(line))
    return Answered(Row.of(stored, line), line, make_figures(trial.sample, score))


def open_models(config: RunConfig, *, concurrency: int | None = None) -> Models:
    """Make the clients of a configuration.

    ``concurrency`` is of model calls in flight, where it is not that of the configuration.
    """
    make = partial(
        open_client,
        concurrency=concurrency or config.concurrency,
        scope=config.recording_scope,
    )
    client = make(config.model)
    return client, make(
        config.judge, role="judge: "
    ) if config.judge is not None else None


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
                lambda: remember(
                    {"documentation": writer.usage} if writer.usage.tokens else {}
                )
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
            try:
                runtimes[environment] = await stack.enter_async_context(opened)
            except Exception as error:
                system = load_system(config)
                if not from_plugin(error, system):
                    raise
                raise UsageError(
                    f"system={config.system.name}: {describe_failure(error, system)}"
                ) from error
        yield Answerer(plan, runtimes, judge)


def broken(trial: Trial, error: str | None = None) -> Trajectory:
    """What an agent that raised, or a worker that died, leaves behind: unknown, tried again."""
    return Trajectory(
        question_id=trial.sample.question.id,
        seed=trial.seed,
        code=None,
        entry=None,
        answer="",
        steps=(),
        usage=Usage(),
        stop_reason="agent_error",
        format_status="error",
        error=error,
    )

"""Answers and scores one question at a time, and records it: here, or on a worker elsewhere."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from agents.base import INFRASTRUCTURE, Image, Trajectory, Usage
from agents.budget import Meter
from agents.checks import show
from agents.episode import without_data
from agents.models import ModelClient, ModelError
from agents.models.recordings import counted
from agents.runtime import Runtime, open_client, open_runtime, open_writer
from experiments.benchmarks import Benchmark
from experiments.record import Row
from experiments.run.config import RunConfig
from experiments.run.store import image_name
from experiments.samples import Sample
from experiments.scorers.base import Score, ScoringContext
from experiments.scorers.judge import Judge, Verdict
from sandbox.base import SandboxError

#: Characters of a returned value in a trajectory.
SHOWN = 20_000
#: Characters of a reason or an error in a row; the trajectory holds more.
TOLD = 4000
#: Characters of a figure.
MAX_FIGURE = 60_000

#: What a row has of its trajectory as it is, and what a trajectory file has of it, of the final
#: execution and of the verdict.
_ENDED = ("seed", "stop_reason", "format_status", "fault", "limit")
_KEPT = (
    "seed",
    "code",
    "entry",
    "answer",
    "value",
    "stop_reason",
    "format_status",
    "fault",
    "seconds",
)
_EXECUTED = ("payload", "stdout", "stderr", "error", "seconds", "cpu_seconds", "tier")
_JUDGED = ("outcome", "values", "passed", "reasons")

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
        if agent.needs_reference:
            agent = agent.knowing(job.sample.reference)
        try:
            trajectory = await agent.solve(job.sample.question, seed=job.seed)
        except Exception as error:  # noqa: BLE001 -- see above
            trajectory = broken(job, f"the agent failed: {without_data(error)}")
        about = (job.sample.question.id, job.seed)
        judge = None if self.judge is None else Judge(self.judge, about)
        score = await self._score(job, trajectory, judge)
        try:
            return record(self.plan, job, trajectory, score, judge)
        except Exception as error:  # noqa: BLE001 -- see above
            reason = f"the record failed: {without_data(error)}"
            bare = replace(
                broken(job, reason), usage=trajectory.usage, seconds=trajectory.seconds
            )
            return record(self.plan, job, bare, Score("infra", error=reason), judge)

    async def _score(
        self, job: Job, trajectory: Trajectory, judge: Judge | None
    ) -> Score:
        """The verdict; what a judge said and spent stays with ``judge``.

        There is none when a component of matsmith failed, or a limit ended the question: a
        draft that the architecture had not settled on is not an answer.
        """
        if trajectory.stop_reason in INFRASTRUCTURE:
            return Score("infra", error=trajectory.error or trajectory.stop_reason)
        if trajectory.stop_reason == "budget":
            return Score("not_finished", error=trajectory.error)
        runtime = self.runtimes[job.sample.environment]
        context = ScoringContext(
            runtime.sandbox, runtime.verifier, runtime.timeout, judge
        )
        try:
            return await self.plan.benchmark.scorer.score(
                job.sample, trajectory, context
            )
        except (SandboxError, ModelError) as error:
            return Score("infra", error=str(error))
        except Exception as error:  # noqa: BLE001 -- a fault of the scorer costs no other answers
            return Score("infra", error=f"scoring failed: {without_data(error)}")


def record(
    plan: Plan,
    job: Job,
    trajectory: Trajectory,
    score: Score,
    judge: Judge | None = None,
) -> Answered:
    """What is kept of an answer."""
    spent, steps = judge.usage if judge else Usage(), trajectory.steps
    criteria = len(plan.benchmark.scorer.criteria(job.sample))
    sample, verdicts = job.sample, judge.verdicts if judge else ()
    if sample.private:
        (sample, trajectory, score), verdicts = redact(sample, trajectory, score), ()
    counted = replace(trajectory, steps=steps)
    row = make_row(
        plan.config_hash, sample, counted, score, criteria=criteria, judge=spent
    )
    whole = make_trajectory(sample, trajectory, score, verdicts)
    # Encoded here, so that an answer that cannot be costs only its own record, and once.
    text = json.dumps(whole, indent=1, default=repr) + "\n"
    return Answered(row, text, make_figures(score))


def open_models(config: RunConfig, *, concurrency: int | None = None) -> Models:
    """Make the clients of a configuration.

    ``concurrency`` is of model calls in flight, where it is not that of the configuration.
    """
    make = partial(
        open_client, concurrency=concurrency or config.concurrency, scene=config.scene
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
            runtimes[environment] = await stack.enter_async_context(opened)
        yield Answerer(plan, runtimes, judge)


def broken(job: Job, error: str) -> Trajectory:
    """What an agent that raised, or a worker that died, leaves behind: unknown, tried again."""
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


def make_row(
    config_hash: str,
    sample: Sample,
    trajectory: Trajectory,
    score: Score,
    *,
    criteria: int,
    judge: Usage = Usage(),  # noqa: B008 -- frozen
) -> Row:
    """One line of ``results.jsonl``; ``criteria`` is how many verdicts an answer has."""
    usage, execution = trajectory.usage, score.execution
    drafts = [step for step in trajectory.steps if step.kind == "execute"]
    ran = sum(
        s.detail.get("executions", 0) for s in trajectory.steps if s.kind == "tool"
    )
    final_seconds = execution.seconds if execution else 0.0
    tiers = (
        [execution.tier]
        if execution
        else [str(s.detail.get("tier") or "") for s in drafts]
    )
    counts = ("calls", "cached_calls", "prompt_tokens", "completion_tokens")
    return Row(
        config_hash=config_hash,
        question_id=sample.question.id,
        labels=dict(sample.labels),
        cluster=sample.cluster,
        criteria=criteria,
        outcome=score.outcome,
        values=dict(score.values),
        passed=None if score.passed is None else dict(score.passed),
        reasons={name: _clipped(reason) for name, reason in score.reasons.items()},
        artefacts={name: _clipped(text) for name, text in score.artefacts.items()},
        **{name: getattr(trajectory, name) for name in _ENDED},
        **{name: None if usage.unmetered else getattr(usage, name) for name in counts},
        tokens_estimated=usage.estimated,
        cost_usd=usage.cost_usd,
        executions=len(drafts) + ran,
        seconds=round(trajectory.seconds, 3),
        sandbox_seconds=round(trajectory.sandbox_seconds + final_seconds, 3),
        tier=tiers[-1] or None if tiers else None,
        error=_clipped(error) if (error := score.error or trajectory.error) else None,
        reply_faults=Counter(
            s.detail["fault"] for s in trajectory.steps if "fault" in s.detail
        ),
        judge_calls=judge.calls,
        judge_tokens=judge.tokens,
        judge_cost_usd=judge.cost_usd,
        recorded=counted(step.detail for step in trajectory.steps),
    )


def _clipped(text: str) -> str:
    """What a row can hold of any text: not without end, and no halves of characters."""
    whole = text.encode("utf-8", "backslashreplace").decode()
    return (
        whole
        if len(whole) <= TOLD
        else f"{whole[: TOLD // 2]} ... {whole[-TOLD // 2 :]}"
    )


def make_figures(score: Score) -> dict[str, str]:
    """The pictures of a verdict; a text says so in place of what a page should not hold."""
    return {
        title: figure
        if figure.startswith(("<svg ", "data:image/png;base64,"))
        and len(figure) <= MAX_FIGURE
        else _NO_FIGURE
        for title, figure in score.figures.items()
    }


_NO_FIGURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 40" width="300" height="40">'
    f'<text x="4" y="24" fill="#76808b">larger than {MAX_FIGURE} characters: not kept</text></svg>'
)


def redact(
    sample: Sample, trajectory: Trajectory, score: Score
) -> tuple[Sample, Trajectory, Score]:
    """What may be kept of a private question: verdicts and counts, and a digest of its text."""
    digest = hashlib.sha256(sample.question.prompt.encode()).hexdigest()
    question = replace(
        sample.question,
        prompt=f"private, SHA-256 {digest}",
        mounts={},
        attachments=(),
        search=None,
    )
    error = "private" if score.error or trajectory.error else None
    execution = score.execution and replace(
        score.execution,
        result=None,
        payload=None,
        stdout="",
        stderr="",
        error=None,
        caught=(),
    )
    return (
        replace(sample, question=question, target=None, reference=None),
        replace(
            trajectory,
            code=None,
            entry=None,
            answer="",
            value=None,
            steps=(),
            error=error,
        ),
        replace(
            score,
            reasons={},
            artefacts={},
            figures={},
            execution=execution,
            error=error,
        ),
    )


def make_trajectory(
    sample: Sample, trajectory: Trajectory, score: Score, judged: Sequence[Verdict] = ()
) -> dict[str, Any]:
    """Everything that led to the row, without the expected values, as JSON-able data."""
    execution = score.execution
    return {
        "question": {
            "id": sample.question.id,
            "prompt": sample.question.prompt,
            "formats": dict(sample.question.formats),
            "files": sorted(sample.question.mounts),
            "images": {
                part.key: image_name(part)
                for part in sample.question.attachments
                if isinstance(part, Image)
            },
            "labels": dict(sample.labels),
            "environment": sample.environment,
        },
        "steps": [{"kind": step.kind, **step.detail} for step in trajectory.steps],
        **{name: getattr(trajectory, name) for name in _KEPT},
        "usage": asdict(trajectory.usage),
        "error": score.error or trajectory.error,
        "execution": execution
        and {
            "outcome": str(execution.outcome),
            "result": show(execution.result, SHOWN),
            **{name: getattr(execution, name) for name in _EXECUTED},
        },
        "verdict": {name: getattr(score, name) for name in _JUDGED},
        "judged": [asdict(verdict) for verdict in judged],
    }

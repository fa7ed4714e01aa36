"""A benchmark as a task of inspect_ai: its questions, and its own scorer for any solver."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agents import prompts
from agents.base import Question
from experiments.baselines import Baseline
from experiments.run.answering import Plan, Trial, open_answerer, open_models
from experiments.run.config import RunConfig, read_run
from experiments.run.setup import build_benchmark, load_samples, select
from experiments.samples import Sample
from experiments.scorers.base import measure
from foundation.errors import UsageError

if TYPE_CHECKING:
    from inspect_ai import Task


class Fixed(Baseline):
    """A given text as the reply to any question."""

    text = ""

    def reply(self, question: Question) -> str:  # noqa: ARG002 -- the same for all
        """See `Baseline`."""
        return self.text


async def grade(config: RunConfig, sample: Sample, reply: str) -> dict[str, float]:
    """What a reply to a question gets of each metric of its benchmark, out of one."""
    benchmark = build_benchmark(config)
    plan = Plan(
        config, "", benchmark, [sample.environment], lambda *_: None, warm=False
    )
    async with open_answerer(plan, open_models(config)) as answerer:
        runtime = answerer.runtimes[sample.environment]
        agent = Fixed(runtime.agent.context)  # type: ignore[attr-defined]
        agent.text = reply
        runtimes = {sample.environment: replace(runtime, agent=agent)}
        row = (await replace(answerer, runtimes=runtimes).answer(Trial(sample, 0))).row
    if not row.scored:
        raise RuntimeError(row.error or row.outcome)
    measured = {
        metric.name: measure(row, metric) for metric in benchmark.scorer.metrics
    }
    return {name: gained / total for name, (gained, total) in measured.items() if total}


def inspect_task(*words: str) -> Task:
    """The questions of ``benchmark=NAME`` (and further words of ``matsmith run``).

    Each is asked as ``system=single`` asks it; a task with another solver keeps the scorer.
    """
    try:
        from inspect_ai import Task, dataset, model, scorer, solver  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            "inspect_ai is not installed: `uv pip install inspect-ai`"
        ) from error
    config = read_run([*words, "system=empty", "retrieval=none", "model=none"])
    samples = {
        sample.question.id: sample
        for sample in select(load_samples(build_benchmark(config), config), config)
        if sample.unavailable is None
    }
    kinds = {"system": model.ChatMessageSystem, "user": model.ChatMessageUser}

    def content(message: Any) -> Any:
        if isinstance(message.content, str):
            return message.content
        return [
            model.ContentText(text=block["text"])
            if block["type"] == "text"
            else model.ContentImage(
                image=f"data:{block['mime_type']};base64,{block['base64']}"
            )
            for block in message.content
        ]

    @scorer.scorer(metrics={"*": [scorer.mean()]})  # type: ignore[untyped-decorator]
    def verdict() -> scorer.Scorer:
        async def score(state: solver.TaskState, target: scorer.Target) -> scorer.Score:
            del target
            sample = samples[str(state.sample_id)]
            return scorer.Score(
                value=dict(await grade(config, sample, state.output.completion))
            )

        return score

    asked = [
        dataset.Sample(
            id=name,
            metadata=dict(sample.labels),
            input=[
                kinds[message.role](content=content(message))
                for message in prompts.request_answer(sample.question)
            ],
        )
        for name, sample in samples.items()
    ]
    return Task(
        dataset=asked,
        solver=solver.generate(),
        scorer=verdict(),
        name=config.benchmark.name,
    )

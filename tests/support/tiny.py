"""A benchmark of a few small questions with a scripted agent; many that cost nothing but time."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass

import yaml

from agents.answer_formats import Number
from agents.base import Agent, Question, Step, Trajectory, Usage
from agents.episode import Context
from experiments.samples import Property, Sample
from experiments.scorers.grading import FunctionScorer, accuracy
from experiments.scorers.properties import PropertyScorer
from sandbox.inside.tagged import dumps
from tests.support.paths import DATA

QUESTIONS = yaml.safe_load((DATA / "of_runs" / "tiny.yaml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class TinyBenchmark:
    """Six questions: whole, partly right, whole, timeout, exception, no code."""

    level: str = "scaffold"
    name: str = "tiny"
    packages: Sequence[str] = ("pymatgen",)
    scorer = PropertyScorer()

    def load(self) -> list[Sample]:
        """All tasks."""
        return [
            Sample(
                Question(
                    key,
                    f"Question {key} </script><script>alert(2)</script> of level {self.level}.",
                    {name: form for name, (_, form, _) in asked["asked"].items()},
                ),
                tuple(
                    Property(name, f"What {name} is.", form, dumps(value), compare)
                    for name, (value, form, compare) in asked["asked"].items()
                ),
                "live",
                {"area": "lattices" if key in ("cubic", "formula") else "other"},
            )
            for key, asked in QUESTIONS.items()
        ]


class Scripted(Agent):
    """Answers what is written there; raises, or reports a failed model, where it is told to."""

    name = "scripted"
    uses_retrieval = False

    def __init__(
        self,
        parts: Context,
        *,
        raises: Sequence[str] = (),
        model_fails: Sequence[str] = (),
        cost_usd: float | None = 0.01,
    ) -> None:
        self.context, self.raises, self.model_fails = parts, raises, model_fails
        self.cost_usd = cost_usd

    async def solve(self, question: Question, *, seed: int = 0) -> Trajectory:
        """See :class:`agents.base.Agent`."""
        if question.id in self.raises:
            raise RuntimeError("a planted bug")
        code, failed = QUESTIONS[question.id]["answer"], question.id in self.model_fails
        asked = {
            "purpose": "generate",
            "messages": [{"role": "human", "content": question.prompt}],
            "reply": f"```python\n{code}```",
            "usage": {"prompt_tokens": 10, "completion_tokens": 5},
        }
        return Trajectory(
            question_id=question.id,
            seed=seed,
            code=None if failed else code,
            entry=None if failed or code is None else "answer",
            answer=str(code),
            steps=[
                Step("retrieve", {"retriever": "none", "query": "q", "hits": []}),
                Step("model", asked),
            ],
            usage=Usage(1, 0, 10, 5, False, self.cost_usd),
            stop_reason="model_error"
            if failed
            else "answered"
            if code
            else "format_error",
            format_status="strict" if code else "error",
            seconds=0.1,
            error="the endpoint answered 500" if failed else None,
        )


@dataclass(frozen=True)
class Crowd:
    """Questions ``q0`` to ``q<questions - 1>``; on a machine where CROWD says so, others."""

    questions: int = 10
    level: str = "scaffold"
    name: str = "crowd"
    packages: Sequence[str] = ()
    scorer = FunctionScorer(accuracy)

    def load(self):
        wording = os.environ.get("CROWD", "Twice")
        return [
            Sample(
                Question(f"q{n}", f"{wording} {n}?", answer=Number()), target=2.0 * n
            )
            for n in range(self.questions)
        ]


class Patient(Agent):
    """Thinks for a while; is right."""

    name = "patient"
    writes_code = False
    uses_retrieval = False

    def __init__(
        self, parts: Context, *, seconds: float = 0.0, fatal: Sequence[str] = ()
    ) -> None:
        self.seconds, self.fatal = seconds, fatal

    async def solve(self, question, *, seed=0):
        if question.id in self.fatal:
            os.abort()
        await asyncio.sleep(self.seconds * random.uniform(0, 2))
        return Trajectory(
            question_id=question.id,
            seed=seed,
            code=None,
            entry=None,
            answer="",
            steps=(),
            usage=Usage(1, 0, 10, 5, False, 0.01),
            stop_reason="answered",
            format_status="strict",
            value=2.0 * int(question.id[1:]),
        )

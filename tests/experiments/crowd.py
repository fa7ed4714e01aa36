"""Many questions that cost nothing but time, for runs on several workers."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass

from agents.answer_formats import Number
from agents.base import Agent, Question, Trajectory, Usage
from agents.episode import Context
from experiments.samples import Sample
from experiments.scorers.grading import FunctionScorer, accuracy


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
            Sample(Question(f"q{n}", f"{wording} {n}?", answer=Number()), target=2.0 * n)
            for n in range(self.questions)
        ]


class Patient(Agent):
    """Thinks for a while; is right."""

    name = "patient"
    writes_code = False
    uses_retrieval = False

    def __init__(self, parts: Context, *, seconds: float = 0.0, fatal: Sequence[str] = ()) -> None:
        self.seconds, self.fatal = seconds, fatal

    async def solve(self, question, *, seed=0):
        if question.id in self.fatal:
            os.abort()
        await asyncio.sleep(self.seconds * random.uniform(0, 2))
        return Trajectory(
            question_id=question.id, seed=seed, code=None, entry=None, answer="", steps=(),
            usage=Usage(1, 0, 10, 5, False, 0.01), stop_reason="answered",
            format_status="strict", value=2.0 * int(question.id[1:]),
        )  # fmt: skip

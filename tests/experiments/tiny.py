"""A benchmark of a few small questions, and an agent whose answers are written here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents.base import Agent, Question, Step, Trajectory, Usage
from agents.episode import Context
from experiments.samples import Property, Sample
from experiments.scorers.properties import PropertyScorer
from sandbox.inside.tagged import dumps

GOLD: Mapping[str, Mapping[str, tuple[object, str, str]]] = {
    "cubic": {"volume": (64.0, "float", "close"), "is_cubic": (True, "bool", "equal")},
    "formula": {"reduced": ("Fe2O3", "str", "equal"), "atoms": (5, "int", "equal")},
    "lists": {"squares": ([0, 1, 4], "list[int]", "equal")},
    "loop": {"never": (1, "int", "equal")},
    "plain": {"one": (1, "int", "equal"), "two": (2, "int", "equal")},
    "words": {"word": ("spinel", "str", "equal")},
}

CODE: Mapping[str, str | None] = {
    "cubic": "def answer():\n    return {'volume': 4.0 ** 3 * 1.0001, 'is_cubic': True}\n",
    "formula": "def answer():\n    return {'reduced': 'Fe2O3', 'atoms': '5'}\n",
    "lists": "def answer():\n    print('stray')\n    return {'squares': (0, 1, 4)}\n",
    "loop": "def answer():\n    while True:\n        pass\n",
    "plain": "def answer():\n    raise ValueError('<script>alert(1)</script>')\n",
    "words": None,
}


@dataclass(frozen=True)
class TinyBenchmark:
    """Six questions: whole, partly right, whole, timeout, exception, no code."""

    level: str = "scaffold"
    name: str = "tiny"
    packages: Sequence[str] = ("pymatgen",)
    unavailable: Sequence[str] = ()
    scorer = PropertyScorer()

    def load(self) -> list[Sample]:
        """All tasks."""
        return [
            Sample(
                Question(
                    key,
                    f"Question {key} </script><script>alert(2)</script> of level {self.level}.",
                    {name: form for name, (_, form, _) in gold.items()},
                ),
                tuple(
                    Property(name, f"What {name} is.", form, dumps(value), compare)
                    for name, (value, form, compare) in gold.items()
                ),
                "live",
                {"area": "lattices" if key in ("cubic", "formula") else "other"},
                "a file is missing" if key in self.unavailable else None,
            )
            for key, gold in GOLD.items()
        ]


class Scripted(Agent):
    """Answers from `CODE`; raises, or reports a failed model, for the questions that it is told."""

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
        code, failed = CODE[question.id], question.id in self.model_fails
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
            stop_reason="model_error" if failed else "answered" if code else "format_error",
            format_status="strict" if code else "error",
            seconds=0.1,
            error="the endpoint answered 500" if failed else None,
        )

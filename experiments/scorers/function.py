"""A scorer that is one function of a sample and an answer."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.base import Trajectory
from experiments.samples import Sample
from experiments.scorers.base import Metric, Score, Tools

#: Gives a share between 0 and 1, whether an answer is right, or a whole `Score`.
Scoring = Callable[[Sample, Any], float | bool | Score]
#: How far a number that is no count may be off, as a share of it.
TOLERANCE = 1e-3


def accuracy(sample: Sample, answer: Any) -> bool:
    """Whether an answer is the target: numbers within `TOLERANCE`, words in any case."""
    return _same(sample.target, answer)


def _same(target: Any, answer: Any) -> bool:
    if isinstance(target, Mapping):
        return isinstance(answer, Mapping) and all(
            key in answer and _same(value, answer[key]) for key, value in target.items()
        )
    if isinstance(target, list):
        fits = isinstance(answer, list) and len(answer) == len(target)
        return fits and all(map(_same, target, answer))
    if isinstance(target, int | float) and not isinstance(target, bool):
        known = isinstance(answer, int | float) and not isinstance(answer, bool)
        tolerance = 0.0 if isinstance(target, int) else TOLERANCE
        return known and math.isclose(answer, target, rel_tol=tolerance)
    return str(answer).strip().casefold() == str(target).strip().casefold()


@dataclass(frozen=True)
class FunctionScorer:
    """What ``function`` says of each answer; a reply without a readable answer scores 0."""

    function: Scoring
    executes: bool = False
    warmup: str = ""

    @property
    def metrics(self) -> Sequence[Metric]:
        """See :class:`experiments.scorers.base.Scorer`."""
        about = (inspect.getdoc(self.function) or "what the scorer gives").splitlines()[0]
        return (Metric("score", getattr(self.function, "__name__", "score"), about),)

    def parts(self, sample: Sample) -> Sequence[str]:  # noqa: ARG002 -- the same for all
        """See :class:`experiments.scorers.base.Scorer`."""
        return ("answer",)

    async def score(self, sample: Sample, trajectory: Trajectory, tools: Tools) -> Score:  # noqa: ARG002
        """See :class:`experiments.scorers.base.Scorer`."""
        if trajectory.value is None:
            reasons = {"answer": "no answer could be read from the reply"}
            return Score("no_answer", {"score": 0.0}, {"answer": False}, reasons)
        found = self.function(sample, trajectory.value)
        if isinstance(found, Score):
            return found
        right = found >= 1
        reasons = {} if right else {"answer": f"the answer is {trajectory.value!r:.200}"}
        return Score("ok", {"score": float(found)}, {"answer": right}, reasons)

"""Multiple choice: one letter is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.base import Trajectory
from experiments.samples import Sample
from experiments.scorers.base import Metric, Score, Tools


@dataclass(frozen=True)
class ChoiceScorer:
    """Compares the letter of a reply with the right one.

    Both ways of reading count: *strict*, the reply is one letter in ``<answer>`` tags and nothing
    else; *lenient*, the letter that it most likely means.
    """

    metrics: Sequence[Metric] = (
        Metric("strict", "strict", "the reply is the right letter in tags and nothing else"),
        Metric(
            "lenient",
            "lenient",
            "the letter that the reply most likely means is right (guessing: 25 %)",
        ),
    )
    executes: bool = False
    warmup: str = ""

    def parts(self, sample: Sample) -> Sequence[str]:  # noqa: ARG002 -- the same for all
        """See :class:`experiments.scorers.base.Scorer`."""
        return ("letter",)

    async def score(self, sample: Sample, trajectory: Trajectory, tools: Tools) -> Score:  # noqa: ARG002
        """See :class:`experiments.scorers.base.Scorer`."""
        right = trajectory.value == sample.target
        strict = right and trajectory.format_status == "strict"
        given = "-" if trajectory.value is None else str(trajectory.value)
        reason = "the reply names no letter" if given == "-" else f"the letter is {given}"
        return Score(
            outcome="ok" if given != "-" else "no_answer",
            values={"strict": float(strict), "lenient": float(right)},
            passed={"letter": right},
            reasons={} if right else {"letter": reason},
            artefacts={"given": given, "right": str(sample.target)},
        )

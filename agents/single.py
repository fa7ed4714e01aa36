"""``single``: one prompt, no retrieval, no execution."""

from __future__ import annotations

from agents import prompts
from agents.base import Question, StopReason, Trajectory
from agents.episode import Episode, Parts, run_episode


class Single:
    """The model alone."""

    name = "single"
    uses_retrieval = False
    writes_code = False  # answers in whatever form a question wants
    reads_files = False

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    async def solve(self, question: Question, *, seed: int = 0) -> Trajectory:
        """See :class:`agents.base.Agent`."""
        return await run_episode(self.parts, question, seed, self._steps)

    async def _steps(self, episode: Episode) -> StopReason:
        return await episode.conclude(prompts.request_answer(episode.question))

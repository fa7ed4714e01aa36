"""``rag``: retrieve with the question, one prompt."""

from __future__ import annotations

from agents import prompts
from agents.base import Question, StopReason, Trajectory
from agents.episode import Episode, Parts, run_episode


class Rag:
    """Single retrieval-augmented generation.

    Parameters
    ----------
    parts
        Model and retriever.
    k
        Documents in the prompt (published: 5; ``None``: as many as the model is configured for).
    """

    name = "rag"
    uses_retrieval = True

    def __init__(self, parts: Parts, *, k: int | None = None) -> None:
        self.parts = parts
        self.k = k or parts.model.config.documents

    async def solve(self, question: Question, *, seed: int = 0) -> Trajectory:
        """See :class:`agents.base.Agent`."""
        return await run_episode(self.parts, question, seed, self._steps)

    async def _steps(self, episode: Episode) -> StopReason:
        prompt = episode.question.prompt
        documents = await episode.retrieve(episode.question.query, self.k)
        answer = await episode.draft(prompts.generate(prompt, documents))
        return "answered" if answer else "format_error"

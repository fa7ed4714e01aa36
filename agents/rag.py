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
    writes_code = False  # answers in whatever form a question wants
    reads_files = False

    def __init__(self, parts: Parts, *, k: int | None = None) -> None:
        self.parts = parts
        self.k = k or parts.model.config.documents

    async def solve(self, question: Question, *, seed: int = 0) -> Trajectory:
        """See :class:`agents.base.Agent`."""
        return await run_episode(self.parts, question, seed, self._steps)

    async def _steps(self, episode: Episode) -> StopReason:
        question = episode.question
        documents = await episode.retrieve(question.query, self.k)
        return await episode.conclude(prompts.request_answer(question, documents))

"""``resample``: the control without feedback. ``rag``, sampled until its result looks right.

It stops like ``reflect`` and may spend what ``reflect`` may spend, but no draft ever hears of
another one: what ``reflect`` gains over it is what feedback is worth.
"""

from __future__ import annotations

from agents import prompts
from agents.base import Question, StopReason, Trajectory
from agents.drafts import Drafts, Select
from agents.episode import Episode, Parts, run_episode
from agents.reflect import UNREADABLE
from agents.revision import formats_of


class Resample:
    """Independent samples of one prompt.

    Parameters
    ----------
    parts
        Model, retriever, sandbox.
    k
        Documents in the prompt (published: 5; ``None``: as many as the model is configured for).
    max_iterations
        Samples at most.
    check_contract
        Compare the returned dict with the formats in the question.
    select
        Which sample is the answer; see :class:`agents.drafts.Drafts`.
    """

    name = "resample"
    uses_retrieval = True

    def __init__(
        self,
        parts: Parts,
        *,
        k: int | None = None,
        max_iterations: int = 5,
        check_contract: bool = True,
        select: Select = "best",
    ) -> None:
        self.parts = parts
        self.k = k or parts.model.config.documents
        self.max_iterations = max_iterations
        self.check_contract = check_contract
        self.select = select

    async def solve(self, question: Question, *, seed: int = 0) -> Trajectory:
        """See :class:`agents.base.Agent`."""
        return await run_episode(self.parts, question, seed, self._steps)

    async def _steps(self, episode: Episode) -> StopReason:
        prompt = episode.question.prompt
        formats = formats_of(episode.question, checked=self.check_contract)
        drafts = Drafts(episode, select=self.select, formats=formats)
        documents = await episode.retrieve(episode.question.query, self.k)
        messages = prompts.generate(prompt, documents)
        for number in range(1, self.max_iterations + 1):
            draft = await drafts.attempt(messages)
            if not drafts.tried and number == UNREADABLE:
                return "format_error"
            if draft is not None and drafts.settled:
                return "answered"
        return "iterations" if drafts.tried else "format_error"

"""``reretrieve``: the control whose feedback only chooses the next documents.

This is what the code released with the published comparison does: a critic sees the draft and its
execution and asks for other documents; the generator starts over with those and sees neither
draft nor traceback nor critique.
"""

from __future__ import annotations

from dataclasses import replace

from agents import prompts
from agents.base import Question, StopReason, Trajectory
from agents.drafts import Drafts, Select
from agents.episode import Episode, Parts, run_episode
from agents.revision import attempt_of, critique, formats_of, look_up


class Reretrieve:
    """Retrieval by the critic, generation from scratch.

    Parameters
    ----------
    parts
        Model, retriever, sandbox.
    k
        Documents per retrieval (published: 5; ``None``: as many as the model is configured for).
    max_iterations
        Drafts at most (published: 5).
    check_contract
        Compare the returned dict with the formats in the question; the released code only looks
        for missing keys and ``None``.
    select
        Which draft is the answer; see :class:`agents.drafts.Drafts`.
    """

    name = "reretrieve"
    uses_retrieval = True

    def __init__(
        self,
        parts: Parts,
        *,
        k: int | None = None,
        max_iterations: int = 5,
        check_contract: bool = False,
        select: Select = "last",
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
        for number in range(1, self.max_iterations + 1):
            draft = await drafts.attempt(prompts.generate(prompt, documents))
            if draft is None:
                if drafts.tried:
                    continue
                return "format_error"  # nothing to build on, not even after a repair
            if drafts.settled:
                return "answered"
            if number == self.max_iterations or not draft.findings:
                continue
            seen = replace(attempt_of(number, draft), checks=draft.findings)
            _, queries = await critique(episode, documents, [seen])
            documents = await look_up(episode, queries, self.k) or documents
        return "iterations"

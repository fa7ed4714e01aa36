"""``reflect``: retrieve, generate, check, execute, critique, and again.

The generator really sees what happened: traceback, returned values, findings, critique. Each of
them is a switch, so that an ablation can take it away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from langchain_core.documents import Document

from agents import prompts
from agents.base import Question, StopReason, Trajectory
from agents.drafts import Drafts, Select
from agents.episode import Episode, Parts, run_episode
from agents.prompts import Attempt
from agents.revision import (
    QUERIES,
    attempt_of,
    concerned,
    critique,
    formats_of,
    look_up,
    merge,
    same_again,
    used_names,
)

NextRetrieval = Literal["critic", "draft", "traceback", "off"]
UNREADABLE = 2  # consecutive replies without code that end an episode which has no draft yet


class Reflect:
    """Self-reflection with real feedback.

    Parameters
    ----------
    parts
        Model, retriever, sandbox.
    k
        Documents per retrieval (published: 5; ``None``: as many as the model is configured for).
    max_iterations
        Drafts at most (published: 5).
    feedback_traceback, feedback_values, feedback_critic
        What of the last run the next prompt contains.
    retrieve_next
        Where the next query comes from: the ``critic``, the names that the ``draft`` uses, the
        ``traceback`` and the findings; ``off`` keeps the first documents.
    queries
        Search queries of a critique at most: one per missing item (published: 1).
    keep_documents
        Documents accumulate: what is found after an attempt stands behind it, so that a prompt
        begins with the one before it. Without it the next query replaces them (published), and
        so it always is for a model without an LLM.
    check_contract
        Compare the returned dict with the formats in the question; without it only a missing
        key, ``None`` or a failed run makes another iteration.
    check_introspection
        Look every import, attribute and argument of a draft that is not clean up in the installed
        libraries; the next prompt lists what does not exist and what is similar, and the
        documents of what was misused are retrieved. Unlike a traceback it names every mistake
        at once.
    select
        Which draft is the answer; see :class:`agents.drafts.Drafts`. With ``agreement`` a clean
        draft ends the episode only when another one returned the same.
    economical
        Spend a critique only where it is needed: after findings that say by themselves what to
        correct, the next prompt gains the findings and the documents of the names concerned. A
        draft that comes again is asked for once more and then ends the loop. The first holds with
        ``retrieve_next="critic"`` only: any other choice is obeyed. The published architecture
        does neither, and a model without an LLM cannot: it has no knowledge but the documents in
        its prompt.
    """

    name = "reflect"
    uses_retrieval = True

    def __init__(
        self,
        parts: Parts,
        *,
        k: int | None = None,
        max_iterations: int = 5,
        feedback_traceback: bool = True,
        feedback_values: bool = True,
        feedback_critic: bool = True,
        retrieve_next: NextRetrieval = "critic",
        queries: int = QUERIES,
        keep_documents: bool = True,
        check_contract: bool = True,
        check_introspection: bool = True,
        select: Select = "best",
        economical: bool = True,
    ) -> None:
        self.parts = parts
        self.k = k or parts.model.config.documents
        self.max_iterations = max_iterations
        self.feedback_traceback = feedback_traceback
        self.feedback_values = feedback_values
        self.feedback_critic = feedback_critic
        self.retrieve_next = retrieve_next
        # A model without an LLM cannot tell which of many documents matters: it sees the last ones.
        self.queries = queries if parts.model.llm else 1
        self.keep_documents = keep_documents and parts.model.llm
        self.check_contract = check_contract
        self.check_introspection = check_introspection
        self.select = select
        self.economical = economical and parts.model.llm

    async def solve(self, question: Question, *, seed: int = 0) -> Trajectory:
        """See :class:`agents.base.Agent`."""
        return await run_episode(self.parts, question, seed, self._steps)

    async def _steps(self, episode: Episode) -> StopReason:
        prompt = episode.question.prompt
        drafts = Drafts(
            episode,
            select=self.select,
            formats=formats_of(episode.question, checked=self.check_contract),
            introspect=self.check_introspection,
            distinct=self.economical,
        )
        documents = await self._first(episode)
        attempts: list[Attempt] = []
        for number in range(1, self.max_iterations + 1):
            draft = await drafts.attempt(prompts.generate(prompt, documents, attempts))
            if drafts.stuck:
                return "repeated"
            if draft is None:
                if drafts.tried or (self.economical and number < UNREADABLE):
                    continue
                return "format_error"  # nothing to build on, not even after a repair
            if drafts.settled:
                return "answered"
            if number == self.max_iterations or not draft.findings:
                continue
            attempts.append(
                attempt_of(
                    number,
                    draft,
                    traceback=self.feedback_traceback,
                    values=self.feedback_values,
                    checks=self.check_contract,
                )
            )
            found = await self._next(episode, documents, attempts, drafts)
            if self.keep_documents:
                attempts[-1] = replace(attempts[-1], documents=_new(found, documents, attempts))
            else:
                documents = found or documents
        return "iterations" if drafts.tried else "format_error"

    async def _first(self, episode: Episode) -> list[Document]:
        """Documents of the first prompt."""
        return await episode.retrieve(episode.question.query, self.k)

    async def _next(
        self,
        episode: Episode,
        documents: Sequence[Document],
        attempts: list[Attempt],
        drafts: Drafts,
    ) -> list[Document]:
        """What the next draft needs; a critique goes into the last attempt."""
        draft = drafts.tried[-1]
        if self._told(drafts):
            return await episode.lookup(concerned(draft), self.k)
        last = attempts[-1]
        queries: list[str] = []
        if self.feedback_critic or self.retrieve_next == "critic":
            feedback, asked = await critique(episode, documents, attempts, self.queries)
            if self.feedback_critic:
                attempts[-1] = replace(last, critique=feedback)
            if self.retrieve_next == "critic":
                queries = asked
        if self.retrieve_next == "draft":
            queries = [" ".join(used_names(last.code))]
        elif self.retrieve_next == "traceback":
            queries = [" ".join([*last.traceback.splitlines()[-1:], *draft.findings])]
        elif self.retrieve_next == "off":
            return []
        misused = [miss.owner for miss in draft.misses if miss.owner]
        return await look_up(episode, queries, self.k, also=misused)

    def _told(self, drafts: Drafts) -> bool:
        """Whether the findings of the last draft are all that the next one needs."""
        wanted = self.economical and self.retrieve_next == "critic"
        return wanted and drafts.tried[-1].concrete and not same_again(drafts.tried)


def _new(
    found: Sequence[Document], documents: Sequence[Document], attempts: Sequence[Attempt]
) -> tuple[Document, ...]:
    """The documents that no earlier part of the prompt shows."""
    shown = [*documents, *(document for attempt in attempts for document in attempt.documents)]
    return tuple(merge(shown, found)[len(merge(shown, [])) :])

"""``reflect``: retrieve, generate, check, execute, critique, and again.

The generator really sees what happened: traceback, returned values, findings, critique. Each of
them is a switch, so that an ablation can take it away. What a question about a small package needs
of its documentation is followed to the end first (:mod:`agents.systems.dependencies`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from agents import prompts
from agents.base import StopReason
from agents.drafts import (
    QUERIES,
    UNREADABLE,
    Draft,
    Drafting,
    Drafts,
    Select,
    concerned,
    critique,
    look_up,
    merge,
    same_again,
)
from agents.episode import Episode
from agents.prompts import Attempt
from agents.systems.dependencies import DependencyContext
from retrieval.base import Hit


@dataclass
class Reflect(Drafting):
    """Self-reflection with real feedback.

    Parameters
    ----------
    feedback_traceback, feedback_values, feedback_critic
        What of the last run the next prompt contains.
    retrieve_next
        Whether the ``critic`` says what to retrieve next; ``off`` keeps the first documents.
    queries
        Search queries of a critique at most: one per missing item (published: 1).
    keep_documents
        Documents accumulate: those found after an attempt are appended to it, so that a prompt
        begins with the one before it. Without it the next query replaces them (published).
    economical
        Spend a critique only where it is needed: first come documents of what the draft needs of a
        small package, then findings that say by themselves what to correct, with the documents of
        the names concerned. Where neither brings anything, nor the critic's queries, the loop
        ends: asked again with nothing new, a model sends the same code. A draft that comes again
        goes to the critic, and after a critique it ends the loop. All this with
        ``retrieve_next="critic"`` only. The published architecture does none of it.
    """

    name = "reflect"
    retrieves_first: ClassVar[bool] = True

    feedback_traceback: bool = True
    feedback_values: bool = True
    feedback_critic: bool = True
    retrieve_next: Literal["critic", "off"] = "critic"
    queries: int = QUERIES
    keep_documents: bool = True
    economical: bool = True

    async def _steps(self, episode: Episode) -> StopReason:
        unreadable = UNREADABLE if self.economical else 1
        drafts = Drafts(episode, self, distinct=self.economical, unreadable=unreadable)
        dependencies = DependencyContext(episode, opened=self._spares_critiques)
        work = _Work(episode, drafts, dependencies, await dependencies.begin())
        if not work.documents and self.retrieves_first:
            work.documents = await episode.retrieve(
                episode.question.query, self.documents
            )
        while True:
            messages = prompts.generate(
                episode.question.prompt, work.documents, work.attempts
            )
            draft = await drafts.failing(messages)
            if draft is not None:
                attempt = draft.attempt(
                    drafts.number,
                    traceback=self.feedback_traceback,
                    values=self.feedback_values,
                    checks=self.check_contract,
                )
                work.attempts.append(attempt)
                hits = await self._next(work, draft)
            elif drafts.reason == "repeated" and self._uncriticised(work):
                hits = await self._criticised(work)
            else:
                return drafts.reason
            if self.keep_documents:
                is_new = work.append(hits)
                if not is_new and self._brought_nothing(work):
                    return "repeated"
            else:
                work.documents = hits or work.documents

    async def _next(self, work: _Work, draft: Draft) -> list[Hit]:
        """What the next draft needs."""
        if hits := await work.dependencies.after(draft):
            return hits
        # Findings that say what to correct are enough, unless being told did not help.
        if (
            self._spares_critiques
            and draft.concrete
            and not same_again(work.drafts.tried)
        ):
            return await work.episode.lookup(concerned(draft), self.documents)
        if self.retrieve_next == "off" and not self.feedback_critic:
            return []
        return await self._criticised(work)

    async def _criticised(self, work: _Work) -> list[Hit]:
        """What a critic asks for; the critique goes into the last attempt."""
        feedback, queries = await critique(
            work.episode, work.documents, work.attempts, self.queries
        )
        if self.feedback_critic:
            work.attempts[-1] = replace(work.attempts[-1], critique=feedback)
        if self.retrieve_next == "off":
            return []
        if hits := await work.dependencies.about(queries, sought=True):
            return hits
        hits = await look_up(work.episode, queries, self.documents)
        return [hit for hit in hits if not work.dependencies.tells(hit)]

    def _uncriticised(self, work: _Work) -> bool:
        """Whether a critic may still bring a model on that repeats itself."""
        left = work.drafts.number < self.max_iterations
        return left and self.feedback_critic and not work.attempts[-1].critique

    @property
    def _spares_critiques(self) -> bool:
        return self.economical and self.retrieve_next == "critic"

    def _brought_nothing(self, work: _Work) -> bool:
        """Whether only documents could have brought anything new, and there are some to search."""
        searches = self.context.retriever is not None
        return (
            self._spares_critiques and searches and not work.drafts.tried[-1].concrete
        )


class Adaptive(Reflect):
    """Drafts first, documents on demand, unless nobody can know what a question is about.

    What a small package holds nobody knows by heart: a question that lists properties and names
    such a package gets the dossier of ``reflect`` at once. Any other is drafted without documents;
    what a draft got wrong brings the documents of exactly those names.
    """

    name = "adaptive"
    retrieves_first = False


class Resample(Drafting):
    """Control: ``rag``, sampled until its result looks right; no draft ever hears of another one.

    What ``reflect`` gains over the controls is what feedback is worth: both stop like it, and may
    spend what it may spend.
    """

    name = "resample"

    async def _steps(self, episode: Episode) -> StopReason:
        documents = await episode.retrieve(episode.question.query, self.documents)
        messages = prompts.generate(episode.question.prompt, documents)
        drafts = Drafts(episode, self, unreadable=UNREADABLE)
        while await drafts.failing(messages) is not None:
            pass  # the same request again: no draft hears of another one
        return drafts.reason


@dataclass
class Reretrieve(Drafting):
    """Control: retrieval by the critic, generation from scratch.

    It is what the code released with the published comparison does: a critic sees the draft and
    its execution and asks for other documents; the generator starts over with those and sees
    neither draft nor traceback nor critique.

    Parameters
    ----------
    check_contract
        As in ``reflect``; the released code only looks for missing keys and ``None``.
    """

    name = "reretrieve"

    check_contract: bool = False
    select: Select = "last"

    async def _steps(self, episode: Episode) -> StopReason:
        prompt = episode.question.prompt
        drafts = Drafts(episode, self)
        documents = await episode.retrieve(episode.question.query, self.documents)
        while draft := await drafts.failing(prompts.generate(prompt, documents)):
            attempt = replace(draft.attempt(drafts.number), checks=draft.findings)
            _, queries = await critique(episode, documents, [attempt])
            documents = await look_up(episode, queries, self.documents) or documents
        return drafts.reason


@dataclass
class _Work:
    """What the next prompt is made from."""

    episode: Episode
    drafts: Drafts
    dependencies: DependencyContext
    documents: list[Hit]
    attempts: list[Attempt] = field(default_factory=list)

    def append(self, hits: Sequence[Hit]) -> bool:
        """Append to the last attempt what no earlier part of the prompt shows; whether any is."""
        later = [
            document for attempt in self.attempts for document in attempt.documents
        ]
        earlier = merge(self.documents, later)
        new = merge(earlier, hits)[len(earlier) :]
        last = self.attempts[-1]
        self.attempts[-1] = replace(last, documents=(*last.documents, *new))
        return bool(new)

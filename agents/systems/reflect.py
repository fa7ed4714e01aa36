"""``reflect``: retrieve, generate, check, execute, critique, and again.

The generator really sees what happened: traceback, returned values, findings, critique. Each of
them is a switch, so that an ablation can take it away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from langchain_core.documents import Document

from agents import prompts
from agents.base import StopReason
from agents.dossier import Dossier
from agents.drafts import UNREADABLE, Drafting, Drafts
from agents.episode import Episode
from agents.prompts import Attempt
from agents.revision import (
    QUERIES,
    attempt_of,
    concerned,
    critique,
    look_up,
    merge,
    same_again,
)

NextRetrieval = Literal["critic", "off"]


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
        Spend a critique only where it is needed: the dossier of a small package first
        (:mod:`agents.dossier`), then findings that say by themselves what to correct, with the
        documents of the names concerned. Where neither brings anything, nor the critic's queries,
        the loop ends: asked again with nothing new, a model sends the same code. A draft that comes
        again goes to the critic, and after a critique it ends the loop. All this with
        ``retrieve_next="critic"`` only. The published architecture does none of it.
    """

    name = "reflect"
    retrieves_first: ClassVar[bool] = True

    feedback_traceback: bool = True
    feedback_values: bool = True
    feedback_critic: bool = True
    retrieve_next: NextRetrieval = "critic"
    queries: int = QUERIES
    keep_documents: bool = True
    economical: bool = True

    async def _steps(self, episode: Episode) -> StopReason:
        prompt = episode.question.prompt
        unreadable = UNREADABLE if self.economical else 1
        drafts = Drafts(episode, self, distinct=self.economical, unreadable=unreadable)
        dossier = Dossier(episode) if self._frugal else None
        documents = await self._first(episode, dossier)
        attempts: list[Attempt] = []
        while True:
            draft = await drafts.failing(prompts.generate(prompt, documents, attempts))
            if draft is not None:
                attempts.append(
                    attempt_of(
                        drafts.number,
                        draft,
                        traceback=self.feedback_traceback,
                        values=self.feedback_values,
                        checks=self.check_contract,
                    )
                )
                found = await self._next(episode, documents, attempts, drafts, dossier)
            elif drafts.reason == "repeated" and self._uncriticised(drafts, attempts):
                found = await self._criticised(episode, documents, attempts, dossier)
            else:
                return drafts.reason
            if self.keep_documents:
                new = _new(found, documents, attempts)
                if not new and self._idle(drafts):
                    return "repeated"
                attempts[-1] = replace(attempts[-1], documents=(*attempts[-1].documents, *new))
            else:
                documents = found or documents

    async def _first(self, episode: Episode, dossier: Dossier | None) -> list[Document]:
        """Documents of the first prompt."""
        found = await dossier.begin() if dossier else []
        if found or not self.retrieves_first:
            return found
        return await episode.retrieve(episode.question.query, self.documents)

    async def _next(
        self,
        episode: Episode,
        documents: Sequence[Document],
        attempts: list[Attempt],
        drafts: Drafts,
        dossier: Dossier | None,
    ) -> list[Document]:
        """What the next draft needs."""
        draft = drafts.tried[-1]
        if dossier and (found := await dossier.after(draft)):
            return found
        if self._told(drafts):
            return await episode.lookup(concerned(draft), self.documents)
        if self.retrieve_next == "off" and not self.feedback_critic:
            return []
        return await self._criticised(episode, documents, attempts, dossier)

    async def _criticised(
        self,
        episode: Episode,
        documents: Sequence[Document],
        attempts: list[Attempt],
        dossier: Dossier | None,
    ) -> list[Document]:
        """What a critic asks for; the critique goes into the last attempt."""
        feedback, queries = await critique(episode, documents, attempts, self.queries)
        if self.feedback_critic:
            attempts[-1] = replace(attempts[-1], critique=feedback)
        if self.retrieve_next == "off":
            return []
        if dossier and (found := await dossier.about(queries, sought=True)):
            return found
        found = await look_up(episode, queries, self.documents)
        return [one for one in found if dossier is None or not dossier.tells(one)]

    def _uncriticised(self, drafts: Drafts, attempts: Sequence[Attempt]) -> bool:
        """Whether a critic may still bring a model on that repeats itself."""
        left = drafts.number < self.max_iterations
        return left and self.feedback_critic and not attempts[-1].critique

    @property
    def _frugal(self) -> bool:
        return self.economical and self.retrieve_next == "critic"

    def _told(self, drafts: Drafts) -> bool:
        """Whether the findings of the last draft are all that the next one needs."""
        return self._frugal and drafts.tried[-1].concrete and not same_again(drafts.tried)

    def _idle(self, drafts: Drafts) -> bool:
        """Whether only documents could have brought anything new, and there are some to search."""
        return self._frugal and self.context.retriever is not None and not drafts.tried[-1].concrete


class Adaptive(Reflect):
    """Drafts first, documents on demand, unless nobody can know what a question is about.

    What a small package holds nobody knows by heart: a question that lists properties and names
    such a package gets the dossier of ``reflect`` at once. Any other is drafted without documents;
    what a draft got wrong brings the documents of exactly those names.
    """

    name = "adaptive"
    retrieves_first = False


def _new(
    found: Sequence[Document], documents: Sequence[Document], attempts: Sequence[Attempt]
) -> tuple[Document, ...]:
    """The documents that no earlier part of the prompt shows."""
    shown = [*documents, *(document for attempt in attempts for document in attempt.documents)]
    return tuple(merge(shown, found)[len(merge(shown, [])) :])

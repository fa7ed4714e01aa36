"""``reflect``: retrieve, generate, check, execute, critique, and again.

The generator really sees what happened: traceback, returned values, findings, critique. Each of
them is a switch, so that an ablation can take it away. What a question about a small package needs
of its documentation is followed to the end first (:class:`Dossier`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from agents import prompts
from agents.base import StopReason
from agents.checks import caught_findings
from agents.drafts import (
    MAX_QUERY,
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
    names_in,
    same_again,
    used_names,
)
from agents.episode import Episode
from agents.prompts import Attempt
from agents.systems.agentic import read_lines
from docgen.symbols import Chunk
from indexes.references import Documentation, OpenInput
from retrieval.base import Hit
from retrieval.config import SMALL_PACKAGE
from retrieval.scorers import properties

ROUNDS = 4  # requests for what descriptions mean, before one draft
_CHOICE = re.compile(r"(\d{1,3})\s*[:.]\s*(?:(\d{1,3})\b|none\b:?\s*(.*))")


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
        Spend a critique only where it is needed: the :class:`Dossier` of a small package first,
        then findings that say by themselves what to correct, with the documents of the names
        concerned. Where neither brings anything, nor the critic's queries,
        the loop ends: asked again with nothing new, a model sends the same code. A draft that comes
        again goes to the critic, and after a critique it ends the loop. All this with
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
        dossier = Dossier(episode, opened=self._frugal)
        work = _Work(episode, drafts, dossier, await dossier.begin())
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
                found = await self._next(work, draft)
            elif drafts.reason == "repeated" and self._uncriticised(work):
                found = await self._criticised(work)
            else:
                return drafts.reason
            if self.keep_documents:
                if not work.append(found) and self._idle(work):
                    return "repeated"
            else:
                work.documents = found or work.documents

    async def _next(self, work: _Work, draft: Draft) -> list[Hit]:
        """What the next draft needs."""
        if found := await work.dossier.after(draft):
            return found
        # Findings that say what to correct are enough, unless being told did not help.
        if self._frugal and draft.concrete and not same_again(work.drafts.tried):
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
        if found := await work.dossier.about(queries, sought=True):
            return found
        found = await look_up(work.episode, queries, self.documents)
        return [one for one in found if not work.dossier.tells(one)]

    def _uncriticised(self, work: _Work) -> bool:
        """Whether a critic may still bring a model on that repeats itself."""
        left = work.drafts.number < self.max_iterations
        return left and self.feedback_critic and not work.attempts[-1].critique

    @property
    def _frugal(self) -> bool:
        return self.economical and self.retrieve_next == "critic"

    def _idle(self, work: _Work) -> bool:
        """Whether only documents could have brought anything new, and there are some to search."""
        searches = self.context.retriever is not None
        return self._frugal and searches and not work.drafts.tried[-1].concrete


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
        while await drafts.failing(messages):
            pass
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
            seen = replace(draft.attempt(drafts.number), checks=draft.findings)
            _, queries = await critique(episode, documents, [seen])
            documents = await look_up(episode, queries, self.documents) or documents
        return drafts.reason


@dataclass
class _Work:
    """What the next prompt is made from."""

    episode: Episode
    drafts: Drafts
    dossier: Dossier
    documents: list[Hit]
    attempts: list[Attempt] = field(default_factory=list)

    def append(self, found: Sequence[Hit]) -> bool:
        """Append to the last attempt what no earlier part of the prompt shows; whether any is."""
        later = [
            document for attempt in self.attempts for document in attempt.documents
        ]
        shown = merge(self.documents, later)
        new = merge(shown, found)[len(shown) :]
        last = self.attempts[-1]
        self.attempts[-1] = replace(last, documents=(*last.documents, *new))
        return bool(new)


class Dossier:
    """What a question about a small package needs of its documentation, followed to the end.

    Nobody knows a small package by heart, and its documents name what they need: each property
    leads to a symbol, each input of that to another. Where a text describes an input without naming
    it, the model says which of the likeliest definitions is meant; it is asked about nothing else,
    so such a request is short, and the documentation stands in one prompt instead of many. One that
    is not ``opened`` finds nothing.
    """

    def __init__(self, episode: Episode, *, opened: bool) -> None:
        self._episode = episode
        self._links = self._read_documents() if opened else None
        self._roots: dict[str, None] = {}
        self._chosen: dict[tuple[str, str], str] = {}
        self._asked: set[tuple[str, str]] = set()
        self._told: frozenset[str] = frozenset()

    def _read_documents(self) -> Documentation | None:
        """The documents of the small packages that the question names."""
        retriever = self._episode.context.retriever
        if retriever is None or retriever.corpus is None:
            return None
        table = retriever.corpus.table
        packages = table.small(SMALL_PACKAGE, self._episode.question.query)
        return table.documentation(packages) if packages else None

    async def begin(self) -> list[Hit]:
        """What the properties that the question lists need; nothing where it lists none."""
        if self._links is None:
            return []
        unnamed = []
        for number, line in enumerate(properties(self._episode.question.query)):
            if roots := self._links.mentioned(line):
                self._roots[roots[0]] = None
            else:
                unnamed.append(OpenInput("", f"property {number + 1}", "", line))
        return await self._read(unnamed)

    async def after(self, draft: Draft) -> list[Hit]:
        """What is new of the symbols that a draft uses, or says to be missing."""
        execution = draft.execution
        said = [
            *draft.findings,
            *caught_findings(execution),
            (execution.error or "")[-1000:],
        ]
        lines = [
            line
            for line in draft.answer.code.splitlines()
            if "#" in line or '"' in line
        ]
        return await self.about([*used_names(draft.answer.code), *said, *lines])

    async def about(self, texts: Sequence[str], *, sought: bool = False) -> list[Hit]:
        """What is new of the symbols that texts name or describe.

        With ``sought`` the model is asked which definition a text means that leads to no symbol.
        """
        if self._links is None:
            return []
        unnamed: list[OpenInput] = []
        for text in texts:
            named = [
                found.qualname
                for name in names_in(text)
                if (found := self._links.find(name))
            ]
            meant = named + self._links.mentioned(text[:MAX_QUERY])
            self._roots.update(dict.fromkeys(meant))
            if sought and not meant:
                unnamed.append(
                    OpenInput("", f"sought {len(self._asked) + len(unnamed)}", "", text)
                )
        return await self._read(unnamed)

    def tells(self, document: Hit) -> bool:
        """Whether it has said what a document says."""
        return document.entry.qualname in self._told

    async def _read(self, unnamed: Sequence[OpenInput]) -> list[Hit]:
        assert self._links is not None
        again: list[tuple[OpenInput, str]] = []
        for left in reversed(range(ROUNDS + 1)):
            closure = self._links.closure(self._roots, self._chosen, self._told)
            fresh = [
                one for one in (*unnamed, *closure.open) if one.key not in self._asked
            ]
            wanted = [*again, *((one, "") for one in fresh)]
            if not wanted or not left:
                break
            again = await self._choose(wanted)
        names = [name for name in closure.names if name not in self._told]
        self._told |= set(names)
        if not names:
            return []
        symbol = self._links.find(names[0])
        assert symbol is not None
        package = names[0].partition(".")[0]
        chunk = Chunk(
            id=f"dossier:{len(self._told)}",
            qualname=package,
            text=closure.text,
            path=package,
            package=symbol.package,
            version=symbol.version,
        )
        hits, query = [{"name": name} for name in names], " ".join(self._roots)
        self._episode.record("retrieve", retriever="dossier", query=query, hits=hits)
        return [Hit(chunk)]

    async def _choose(
        self, wanted: Sequence[tuple[OpenInput, str]]
    ) -> list[tuple[OpenInput, str]]:
        """Ask what descriptions mean; those that none fits, once more with other words."""
        assert self._links is not None
        self._asked |= {one.key for one, _ in wanted}
        offered = [
            (one, words, self._links.candidates(one, words)) for one, words in wanted
        ]
        offered = [item for item in offered if item[2]]
        if not offered:
            return []
        shown = [
            (one.what, one.text, [text for _, text in near]) for one, _, near in offered
        ]
        again = []
        reply = await self._episode.ask("link", prompts.link(shown))
        for match in filter(None, map(_CHOICE.match, read_lines(reply, "links"))):
            number, choice = int(match[1]), int(match[2] or 0)
            if not 0 < number <= len(offered):
                continue
            one, words, near = offered[number - 1]
            if match[3] and not words:
                again.append((one, match[3][:MAX_QUERY]))
            elif 0 < choice <= len(near) and one.symbol:
                self._chosen[one.key] = near[choice - 1][0]
            elif 0 < choice <= len(near):
                self._roots[near[choice - 1][0]] = None
        return again

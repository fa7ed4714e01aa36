"""``reflect``: retrieve, generate, check, execute, critique, and again.

The generator really sees what happened: traceback, returned values, findings, critique. Each of
them is a switch, so that an ablation can take it away.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from langchain_core.documents import Document

from agents import prompts
from agents.base import Question, StopReason, Trajectory
from agents.checks import caught_findings
from agents.drafts import Draft, Drafts, Select
from agents.episode import Episode, Parts, returned, run_episode
from agents.prompts import Attempt
from docgen.reading import last_tagged, spoken
from sandbox.base import Execution

NextRetrieval = Literal["critic", "draft", "traceback", "off"]
FIRST = 5  # documents (published) before anybody knows which are needed
UNREADABLE = 2  # consecutive replies without code that end an episode which has no draft yet
MAX_QUERY = 1000  # characters of a search query that a model writes
_TAIL = 3000  # characters of a traceback or of printed text that go back into a prompt
_MARKED = re.compile(r"`\s{0,9}([A-Za-z_][\w.]*+)[^`\n]{0,200}`")
# What is no word of a language: dotted, with an underscore, with a capital inside.
_SHAPED = re.compile(r"[A-Za-z_][\w.]*+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*+(?:\.\w++)+|[A-Za-z]\w*_\w*|_\w+|\w*[a-z0-9][A-Z]\w*")


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
    keep_documents
        Whether the documents of the question stay beside those of the next query.
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
        Spend a critique and all documents only where they are needed. The first prompt holds the
        `FIRST` best documents. After findings that say by
        themselves what to correct, the next prompt holds the draft, the findings and the documents
        of the names concerned; a draft that comes again is asked for once more and then ends the
        loop. The first holds with ``retrieve_next="critic"`` only: any other choice is obeyed. The
        published architecture does neither, and a model without an LLM cannot: it has
        no knowledge but the documents in its prompt.
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
        self.keep_documents = keep_documents
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
        first = full = await episode.retrieve(episode.question.query, self.k)
        documents = first[:FIRST] if self.economical else first
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
            attempts.append(self._attempt(number, draft))
            if self._told(drafts):
                documents = await episode.lookup(concerned(draft), self.k)
                continue
            found = await self._reflect(episode, full, attempts, draft)
            if found:
                full = merge(first, found) if self.keep_documents else found
            documents = full
        return "iterations" if drafts.tried else "format_error"

    def _told(self, drafts: Drafts) -> bool:
        """Whether the findings of the last draft are all that the next one needs."""
        wanted = self.economical and self.retrieve_next == "critic"
        return wanted and drafts.tried[-1].concrete and not _same_again(drafts.tried)

    def _attempt(self, number: int, draft: Draft) -> Attempt:
        execution = draft.execution
        printed = "\n".join(part for part in (execution.stdout, execution.stderr) if part)
        return Attempt(
            number=number,
            code=draft.answer.code,
            outcome=str(execution.outcome),
            traceback=(execution.error or "")[-_TAIL:] if self.feedback_traceback else "",
            returned=returned(execution, _TAIL) if self.feedback_values else "",
            printed=printed[-_TAIL:] if self.feedback_values else "",
            checks=(*draft.findings, *caught_findings(execution)) if self.check_contract else (),
            library=tuple(str(miss) for miss in draft.misses),
        )

    async def _reflect(
        self,
        episode: Episode,
        documents: Sequence[Document],
        attempts: list[Attempt],
        draft: Draft,
    ) -> list[Document]:
        """Critique the last attempt (in place) and return the documents it leads to."""
        last, query = attempts[-1], ""
        if self.feedback_critic or self.retrieve_next == "critic":
            feedback, asked = await critique(episode, documents, attempts)
            if self.feedback_critic:
                attempts[-1] = replace(last, critique=feedback)
            if self.retrieve_next == "critic":
                query = asked
        if self.retrieve_next == "draft":
            query = " ".join(used_names(last.code))
        elif self.retrieve_next == "traceback":
            query = " ".join([*last.traceback.splitlines()[-1:], *draft.findings])
        if self.retrieve_next == "off":
            return []
        misused = [miss.owner for miss in draft.misses if miss.owner]
        return await look_up(episode, query, self.k, also=misused)


def formats_of(question: Question, *, checked: bool) -> dict[str, str]:
    """Property names with the formats that are checked; a format of no text fits everything."""
    return dict(question.formats) if checked else dict.fromkeys(question.formats, "")


async def critique(
    episode: Episode, documents: Sequence[Document], attempts: Sequence[Attempt]
) -> tuple[str, str]:
    """Ask for feedback on the last attempt and for the next search query."""
    messages = prompts.criticise(episode.question.prompt, documents, attempts)
    reply = await episode.ask("critique", messages)
    return read_critique(reply)


def read_critique(reply: str) -> tuple[str, str]:
    """Feedback (the whole reply where it has no tag) and search query of a critic's reply."""
    feedback, query = last_tagged(reply, "feedback"), last_tagged(reply, "query")
    text = spoken(reply).strip() if feedback is None else feedback
    return text[:_TAIL], (query or "")[:MAX_QUERY]


def _same_again(tried: Sequence[Draft]) -> bool:
    """Whether the last draft failed as the one before it did: being told did not help."""
    if len(tried) < 2:
        return False
    one, other = (
        (draft.findings, [miss.text for miss in draft.misses], _last_line(draft.execution))
        for draft in tried[-2:]
    )
    return one == other


def _last_line(execution: Execution) -> str:
    return "".join((execution.error or "").strip().splitlines()[-1:])


def concerned(draft: Draft) -> list[str]:
    """Dotted names whose documents a correction needs: what was misused, or what raised."""
    misused = [miss.owner for miss in draft.misses if miss.owner]
    words = set(re.findall(r"\w+", (draft.execution.error or "")[-_TAIL:]))
    raised = [n for n in used_names(draft.answer.code) if n.rpartition(".")[2] in words]
    return list(dict.fromkeys(misused or raised))


async def look_up(
    episode: Episode, query: str, k: int, *, also: Sequence[str] = ()
) -> list[Document]:
    """Exact documents of ``also`` and of the names in ``query`` first, then the search's."""
    exact = await episode.lookup([*also, *names_in(query)], k)
    return merge(exact, await episode.retrieve(query, k))[: 2 * k]


def names_in(query: str) -> list[str]:
    """Names in a query: what stands in code marks, and what cannot be a word of a language."""
    text = query[:MAX_QUERY]
    marked = [match[1].rstrip(".") for match in _MARKED.finditer(text)]
    words = [word.rstrip(".") for word in _SHAPED.findall(text)]
    return list(dict.fromkeys([*marked, *filter(_IDENTIFIER.fullmatch, words)]))


def used_names(code: str) -> list[str]:
    """Dotted names that a draft imports, then what it calls on them, in order."""
    imported = imported_names(code)
    short = {name.rpartition(".")[2]: name for name in imported}
    called = re.findall(r"\b([A-Za-z_]\w*)\.([a-z_]\w*)\(", code)
    methods = [f"{short[owner]}.{method}" for owner, method in called if owner in short]
    return list(dict.fromkeys([*imported, *methods]))


def imported_names(code: str) -> list[str]:
    """Dotted names that the import statements of ``code`` bring in, in order."""
    names = []
    for module, targets in re.findall(r"^[ \t]*from ([\w.]+) import ([\w, ]+)", code, re.MULTILINE):
        for target in targets.split(","):
            name = target.split(" as ")[0].strip()
            if name:
                names.append(f"{module}.{name}")
    return list(dict.fromkeys(names))


def merge(first: Sequence[Document], second: Sequence[Document]) -> list[Document]:
    """Both lists, each document once."""
    merged = {str(d.metadata.get("id")): d for d in [*first, *second]}
    return list(merged.values())

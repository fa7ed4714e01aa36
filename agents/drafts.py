"""The executed drafts of one episode: which is its answer, and what the next one is told."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from agents import prompts
from agents.answer import CodeAnswer, same_code
from agents.base import StopReason
from agents.checks import (
    caught_findings,
    concrete,
    contract_findings,
    fulfilled,
    returned,
)
from agents.episode import Episode, Retrieving
from agents.models import Message
from agents.prompts import Attempt
from docgen.reading import last_tagged, spoken
from retrieval.base import MAP, Hit
from sandbox.base import Execution

Select = Literal["last", "best"]
UNREADABLE = (
    2  # consecutive replies without code that end an episode which has no draft yet
)
MAX_QUERY = 1000  # characters of a search query that a model writes
QUERIES = 6  # of a critique at most
_TAIL = 3000  # characters of a traceback or of printed text that go back into a prompt
_MARKED = re.compile(r"`\s{0,9}([A-Za-z_][\w.]*+)[^`\n]{0,200}`")
# What is no word of a language: dotted, with an underscore, with a capital inside.
_SHAPED = re.compile(r"[A-Za-z_][\w.]*+")
_IDENTIFIER = re.compile(
    r"[A-Za-z_]\w*+(?:\.\w++)+|[A-Za-z]\w*_\w*|_\w+|\w*[a-z0-9][A-Z]\w*"
)


@dataclass(frozen=True)
class Draft:
    """One draft and what became of it."""

    answer: CodeAnswer
    execution: Execution
    findings: tuple[str, ...]  # how the result departs from what the question asks for
    quality: int  # number of properties in the format asked for
    concrete: bool  # whether the findings say by themselves what to correct

    def attempt(
        self,
        number: int,
        *,
        traceback: bool = True,
        values: bool = True,
        checks: bool = True,
    ) -> Attempt:
        """The draft as later prompts show it; what is ``False`` stays out of them."""
        execution = self.execution
        printed = "\n".join(
            part for part in (execution.stdout, execution.stderr) if part
        )
        return Attempt(
            number=number,
            code=self.answer.code,
            outcome=str(execution.outcome),
            traceback=(execution.error or "")[-_TAIL:] if traceback else "",
            returned=returned(execution, _TAIL) if values else "",
            printed=printed[-_TAIL:] if values else "",
            checks=(*self.findings, *caught_findings(execution)) if checks else (),
        )

    @property
    def last_line(self) -> str:
        """Of its error."""
        return "".join((self.execution.error or "").strip().splitlines()[-1:])


@dataclass
class Drafting(Retrieving):
    """An architecture that executes its drafts.

    Parameters
    ----------
    max_iterations
        Drafts at most (published: 5).
    check_contract
        Compare the returned dict with the formats in the question; without it only a missing
        key, ``None`` or a failed run makes another iteration.
    select
        Which draft is the answer: the ``last``, or the ``best``, with the most properties in the
        format asked for, the latest of equals.
    """

    max_iterations: int = 5
    check_contract: bool = True
    select: Select = "best"


class Drafts:
    """Asks for drafts and executes them; the episode's answer is always the chosen one.

    Parameters
    ----------
    distinct
        A draft that was there before, and was not clean, is not executed (``repeated``).
    unreadable
        Replies without code that end an episode which has no draft yet.
    """

    def __init__(
        self,
        episode: Episode,
        system: Drafting,
        *,
        distinct: bool = False,
        unreadable: int = 1,
    ) -> None:
        self.tried: list[Draft] = []  # those that were executed
        self.number = 0  # of iterations so far
        # Why there are no more; at first: nothing to build on, not even after a repair.
        self.reason: StopReason = "format_error"
        self._distinct, self._unreadable = distinct, unreadable
        self._episode, self._system = episode, system
        self._formats = episode.question.formats
        if not system.check_contract:  # a format of no text fits everything
            self._formats = dict.fromkeys(self._formats, "")

    async def failing(self, messages: Sequence[Message]) -> Draft | None:
        """The next draft that another one is to correct; ``None``: it is over, see ``reason``."""
        episode = self._episode
        system = self._system
        while self.number < system.max_iterations:
            self.number += 1
            answer = await episode.draft(messages)
            if answer is None:
                if not self.tried and self.number >= self._unreadable:
                    return None
                continue
            earlier = (
                d.answer.code for d in self.tried if d.findings and self._distinct
            )
            if any(same_code(code, answer.code) for code in earlier):
                self._choose()
                self.reason = "repeated"
                return None
            if self.tried and system.select != "last":
                self._choose()  # stands until the new one has been executed
            draft = self._checked(answer, await episode.execute(answer))
            self.tried.append(draft)
            self._choose()
            if not draft.findings:
                self.reason = "answered"
                return None
            if self.number < system.max_iterations:
                return draft
        self.reason = "iterations" if self.tried else "format_error"
        return None

    def _checked(self, answer: CodeAnswer, execution: Execution) -> Draft:
        formats = self._formats
        if not formats and isinstance(execution.result, Mapping):
            # A question of the user's own: None is an answer, unless an exception led to it.
            formats = {
                key: ""
                for key, value in execution.result.items()
                if isinstance(key, str) and (value is not None or execution.caught)
            }
        findings = contract_findings(execution, formats)
        self._episode.check(findings)
        quality = fulfilled(execution, formats)
        clear = concrete(execution, formats)
        return Draft(answer, execution, tuple(findings), quality, clear)

    def _choose(self) -> None:
        chosen = self.tried[-1]
        if self._system.select == "best":
            chosen = max(reversed(self.tried), key=lambda draft: draft.quality)
        self._episode.answer = chosen.answer


async def critique(
    episode: Episode,
    documents: Sequence[Hit],
    attempts: Sequence[Attempt],
    most: int = 1,
) -> tuple[str, list[str]]:
    """Ask for feedback on the last attempt and for at most ``most`` search queries."""
    context = [
        prompts.render_documents(documents),
        *map(prompts.render_attempt, attempts),
    ]
    wanted = "critic" if most == 1 else "critic_several"
    messages = prompts.ask_for(wanted, episode.question.prompt, *context, most=most)
    feedback, queries = read_critique(await episode.ask("critique", messages))
    return feedback, queries[:most]


def read_critique(reply: str) -> tuple[str, list[str]]:
    """Feedback (the whole reply where it has no tag) and search queries of a critic's reply."""
    feedback = last_tagged(reply, "feedback")
    text = spoken(reply).strip() if feedback is None else feedback
    listed = last_tagged(reply, "queries")
    lines = (
        [last_tagged(reply, "query") or ""] if listed is None else listed.splitlines()
    )
    queries = (
        line.strip().removeprefix("- ")[:MAX_QUERY] for line in lines[: 4 * QUERIES]
    )
    return text[:_TAIL], list(dict.fromkeys(filter(None, queries)))


def same_again(tried: Sequence[Draft]) -> bool:
    """Whether the last draft failed as the one before it did: being told did not help."""
    if len(tried) < 2:
        return False
    before, last = ((draft.findings, draft.last_line) for draft in tried[-2:])
    return before == last


def concerned(draft: Draft) -> list[str]:
    """Dotted names whose documents a correction needs: those that its exception is about."""
    words = set(re.findall(r"\w+", (draft.execution.error or "")[-_TAIL:]))
    used = [n for n in used_names(draft.answer.code) if n.rpartition(".")[2] in words]
    owners = re.findall(r"'(\w+)' object has no", draft.last_line)
    short = {name.rpartition(".")[2] for name in used}
    return [*used, *(owner for owner in owners if owner not in short)]


async def look_up(episode: Episode, queries: Sequence[str], k: int) -> list[Hit]:
    """Exact documents of the names in the queries first, then the searches'."""
    named = [name for query in queries for name in names_in(query)]
    exact = await episode.lookup(named, k)
    hits = [await episode.retrieve(query, k) for query in queries]
    turns = [hit for turn in zip_longest(*hits) for hit in turn if hit is not None]
    rest = [hit for hit in merge([], turns) if hit.entry.kind != MAP]
    return merge(exact, rest[:k])[: 2 * k]


def names_in(query: str) -> list[str]:
    """Names in a query: what stands in code marks, and what cannot be a word of a language."""
    text = query[:MAX_QUERY]
    marked = [match[1].rstrip(".") for match in _MARKED.finditer(text)]
    words = [word.rstrip(".") for word in _SHAPED.findall(text)]
    return list(dict.fromkeys([*marked, *filter(_IDENTIFIER.fullmatch, words)]))


def used_names(code: str) -> list[str]:
    """Dotted names that a draft imports, then what it calls on them, in order."""
    imported = []
    for module, targets in re.findall(
        r"^[ \t]*from ([\w.]+) import ([\w, ]+)", code, re.MULTILINE
    ):
        names = (target.split(" as ")[0].strip() for target in targets.split(","))
        imported += [f"{module}.{name}" for name in names if name]
    short = {name.rpartition(".")[2]: name for name in imported}
    called = re.findall(r"\b([A-Za-z_]\w*)\.([a-z_]\w*)\(", code)
    methods = [f"{short[owner]}.{method}" for owner, method in called if owner in short]
    return list(dict.fromkeys([*imported, *methods]))


def merge(first: Sequence[Hit], second: Sequence[Hit]) -> list[Hit]:
    """Both lists, each document once."""
    merged = {hit.entry.id: hit for hit in [*first, *second]}
    return list(merged.values())

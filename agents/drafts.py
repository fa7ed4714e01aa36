"""The executed drafts of one episode, and which of them is its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agents.answer import Answer, same_code
from agents.base import StopReason
from agents.checks import concrete, contract_findings, fulfilled
from agents.episode import Episode, Retrieving
from agents.models import Message
from sandbox.base import Execution

Select = Literal["last", "best"]
UNREADABLE = 2  # consecutive replies without code that end an episode which has no draft yet


@dataclass(frozen=True)
class Draft:
    """One draft and what became of it."""

    answer: Answer
    execution: Execution
    findings: tuple[str, ...]  # how the result departs from what the question asks for
    quality: int  # number of properties in the format asked for
    concrete: bool = False  # whether the findings say by themselves what to correct


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
        self, episode: Episode, system: Drafting, *, distinct: bool = False, unreadable: int = 1
    ) -> None:
        self.tried: list[Draft] = []  # those that were executed
        self.number = 0  # of iterations so far
        # Why there are no more; at first: nothing to build on, not even after a repair.
        self.reason: StopReason = "format_error"
        self._distinct, self._unreadable = distinct, unreadable
        self._episode, self._system = episode, system
        self._formats = dict(episode.question.formats)
        if not system.check_contract:  # a format of no text fits everything
            self._formats = dict.fromkeys(self._formats, "")

    async def failing(self, messages: Sequence[Message]) -> Draft | None:
        """The next draft that another one is to correct; ``None``: it is over, see ``reason``."""
        while self.number < self._system.max_iterations:
            self.number += 1
            draft = await self._attempt(messages)
            if draft == "repeated":
                self.reason = draft
                return None
            if draft is None and not self.tried and self.number >= self._unreadable:
                return None
            if draft is not None and not draft.findings:
                self.reason = "answered"
                return None
            if draft is not None and self.number < self._system.max_iterations:
                return draft
        self.reason = "iterations" if self.tried else "format_error"
        return None

    async def _attempt(self, messages: Sequence[Message]) -> Draft | Literal["repeated"] | None:
        """Ask for a draft, check and execute it; ``None`` when there is no code."""
        episode = self._episode
        answer = await episode.draft(messages)
        if answer is not None and self._known(answer):
            self._choose()
            return "repeated"
        if answer is None:
            return None
        if self.tried and self._system.select != "last":
            self._choose()  # stands until the new one has been executed
        execution = await episode.execute(answer)
        formats = self._formats
        if not formats and isinstance(execution.result, Mapping):
            # A question of the user's own: None is an answer, unless an exception led to it.
            formats = {
                key: ""
                for key, value in execution.result.items()
                if isinstance(key, str) and (value is not None or execution.caught)
            }
        findings = contract_findings(execution, formats)
        episode.check(findings)
        quality, clear = fulfilled(execution, formats), concrete(execution, formats)
        draft = Draft(answer, execution, tuple(findings), quality, clear)
        self.tried.append(draft)
        self._choose()
        return draft

    def _known(self, answer: Answer) -> bool:
        return self._distinct and any(
            draft.findings and same_code(draft.answer.code, answer.code) for draft in self.tried
        )

    def _choose(self) -> None:
        chosen = self.tried[-1]
        if self._system.select == "best":
            chosen = max(reversed(self.tried), key=lambda draft: draft.quality)
        self._episode.answer = chosen.answer

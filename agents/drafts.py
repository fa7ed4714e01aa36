"""The executed drafts of one episode, and which of them is its answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from langchain_core.messages import BaseMessage

from agents.answer import Answer, same_code
from agents.checks import concrete, contract_findings, fulfilled
from agents.episode import Episode
from agents.introspect import Miss, find_misses
from sandbox.base import Execution
from sandbox.representation import represent

Select = Literal["last", "best", "agreement"]
_REAL = (int, float, np.integer, np.floating)
_COMPARED = 1 << 16  # characters of two values that are neither numbers nor containers
SAME = 1e-3  # relative difference at which two drafts still return the same number


@dataclass(frozen=True)
class Draft:
    """One draft and what became of it.

    Attributes
    ----------
    findings
        How the result departs from what the question asks for; empty for a clean draft.
    misses
        Names that the installed libraries do not have.
    quality
        Number of properties in the format asked for.
    concrete
        Whether the findings and misses say by themselves what to correct.
    """

    answer: Answer
    execution: Execution
    findings: tuple[str, ...]
    misses: tuple[Miss, ...]
    quality: int
    concrete: bool = False

    @property
    def values(self) -> Mapping[str, Any]:
        """What it returned, empty when it returned no dict."""
        result = self.execution.result
        return result if isinstance(result, dict) else {}


class Drafts:
    """Asks for drafts and executes them; the episode's answer is always the chosen one.

    Parameters
    ----------
    select
        ``last``; ``best``: the one with the most properties in the format asked for, the latest
        of equals; ``agreement``: the one whose values most other drafts return too, then as
        ``best``. Agreement needs no verifier: independent drafts that err seldom err alike.
    formats
        What the result is compared with; without any, every key that was returned must have a
        value.
    introspect
        Look the names of every draft that is not clean up in the installed libraries.
    distinct
        A draft that was there before, and was not clean, is asked for once more; the same again
        sets ``stuck`` and is not executed.
    """

    def __init__(
        self,
        episode: Episode,
        *,
        select: Select,
        formats: Mapping[str, str],
        introspect: bool = False,
        distinct: bool = False,
    ) -> None:
        self.tried: list[Draft] = []
        self.stuck = False
        self._distinct = distinct
        self._episode = episode
        self._select = select
        self._formats = formats
        self._introspect = introspect

    async def attempt(self, messages: Sequence[BaseMessage]) -> Draft | None:
        """Ask for a draft, check and execute it; ``None`` when there is no (new) code."""
        episode = self._episode
        answer = await episode.draft(messages)
        if answer is not None and self._known(answer):
            answer = await episode.draft(messages)  # the next sample of the same prompt
            self.stuck = answer is not None and self._known(answer)
            if self.stuck:
                self._choose()
        if answer is None or self.stuck:
            return None
        if self.tried and self._select != "last":
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
        misses: list[Miss] = []
        if self._introspect and findings:  # of a clean draft nothing is asked
            misses = await find_misses(episode, answer.code)
        quality = fulfilled(execution, formats)
        clear = bool(misses) or concrete(execution, formats)
        draft = Draft(answer, execution, tuple(findings), tuple(misses), quality, clear)
        self.tried.append(draft)
        self._choose()
        return draft

    @property
    def settled(self) -> bool:
        """Whether the last draft is clean and, where agreement decides, not the only one."""
        last = self.tried[-1]
        if last.findings or self._select != "agreement":
            return not last.findings
        clean = [draft for draft in self.tried[:-1] if not draft.findings]
        wanted = len(self._formats or last.values)
        return any(agreeing(last, other) == wanted for other in clean)

    def _known(self, answer: Answer) -> bool:
        return self._distinct and any(
            draft.findings and same_code(draft.answer.code, answer.code) for draft in self.tried
        )

    def _choose(self) -> None:
        self._episode.answer = choose(self.tried, self._select).answer


def choose(drafts: Sequence[Draft], select: Select) -> Draft:
    """The draft that is the answer; see :class:`Drafts`."""
    if select == "last":
        return drafts[-1]
    latest_first = list(reversed(drafts))
    if select == "best":
        return max(latest_first, key=lambda draft: draft.quality)
    return max(
        latest_first,
        key=lambda draft: (
            sum(agreeing(draft, other) for other in drafts if other is not draft),
            draft.quality,
        ),
    )


def agreeing(one: Draft, other: Draft) -> int:
    """Number of keys under which two drafts returned the same value (``None`` agrees with none)."""
    return sum(
        key in other.values and value is not None and same(value, other.values[key])
        for key, value in one.values.items()
    )


def same(one: Any, other: Any) -> bool:
    """Whether two returned values are the same but for rounding."""
    if isinstance(one, np.ndarray | tuple):
        one = list(one)
    if isinstance(other, np.ndarray | tuple):
        other = list(other)
    if isinstance(one, bool | np.bool_) or isinstance(other, bool | np.bool_):
        return type(one) is type(other) and bool(one == other)
    if isinstance(one, _REAL) and isinstance(other, _REAL):
        if isinstance(one, int) and isinstance(other, int):
            return abs(one - other) * round(1 / SAME) <= max(abs(one), abs(other))
        try:
            return math.isclose(float(one), float(other), rel_tol=SAME)
        except OverflowError:  # an integer beyond every float
            return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and represent(one, _COMPARED) == represent(other, _COMPARED)

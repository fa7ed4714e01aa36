"""Limits on what a question, or a whole run, may spend, and the meter that enforces them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, Field, NonNegativeFloat, NonNegativeInt

from agents.base import Usage

LIMITS = ("calls", "tokens", "cost_usd", "seconds", "sandbox_seconds")
EXECUTION_LIMITS = ("seconds", "sandbox_seconds")


class BudgetExceeded(Exception):  # noqa: N818 -- a signal, not an error
    """The ``limit`` of that name and value (``calls``, 20) was reached, or cannot be kept."""

    def __init__(self, limit: str, bound: float, reason: str) -> None:
        super().__init__(reason)
        self.limit = limit
        self.bound = bound


class Budget(BaseModel, extra="forbid", frozen=True):
    """Limits; ``None`` means no limit.

    Attributes
    ----------
    calls
        Of a question, a reply out of the cache counts as well: the same limit ends the same
        question at the same place, whatever is cached.
    cost_usd
        When a reply's cost is unknown this limit cannot be kept, and ends the question: a limit
        that is silently ignored would be worse.
    """

    calls: NonNegativeInt | None = Field(None, description="model calls")
    tokens: NonNegativeInt | None = Field(
        None, description="prompt and completion tokens"
    )
    cost_usd: NonNegativeFloat | None = Field(None, description="US dollars")
    seconds: NonNegativeFloat | None = Field(None, description="wall time")
    sandbox_seconds: NonNegativeFloat | None = Field(
        None, description="time in the sandbox"
    )


@dataclass
class Meter:
    """What has been spent so far, checked against a `Budget` that a user knows as ``group``.

    ``queued`` are the seconds in which requests waited for others of the run.
    """

    budget: Budget = field(default_factory=Budget)
    usage: Usage = field(default_factory=Usage)
    sandbox_seconds: float = 0.0
    started: float = field(default_factory=time.monotonic)
    group: str = "budget"
    queued: float = 0.0

    @property
    def seconds(self) -> float:
        """Wall time since the meter was made, without the queue."""
        return time.monotonic() - self.started - self.queued

    def exceeded(self, limits: Sequence[str] = LIMITS) -> BudgetExceeded | None:
        """Which of ``limits`` is used up, ``None`` where there is more to spend."""
        cost, limit = self.usage.cost_usd, self.budget.cost_usd
        if "cost_usd" in limits and limit is not None and cost is None:
            return BudgetExceeded(
                "cost_usd",
                limit,
                f"{self.group}.cost_usd of {limit} cannot be kept: the cost of a reply is unknown "
                "(model.price is not set, or the endpoint reported no usage)",
            )
        spent = {
            "calls": self.usage.calls + self.usage.cached_calls,
            "tokens": self.usage.tokens,
            "cost_usd": cost or 0.0,
            "seconds": self.seconds,
            "sandbox_seconds": self.sandbox_seconds,
        }
        for name, value in spent.items():
            bound = getattr(self.budget, name)
            if name in limits and bound is not None and value >= bound:
                return BudgetExceeded(
                    name, bound, f"{self.group}.{name} of {bound} is used up"
                )
        return None

    def check(self, limits: Sequence[str] = LIMITS) -> None:
        """Raise :class:`BudgetExceeded` when one of ``limits`` is used up.

        What is about to be spent decides which limits matter: the last draft that the model
        calls allow is still executed.
        """
        if (exceeded := self.exceeded(limits)) is not None:
            raise exceeded

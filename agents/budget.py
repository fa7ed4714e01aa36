"""Limits on what one question may spend, and the meter that enforces them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.base import Usage

LIMITS = ("calls", "tokens", "cost_usd", "seconds", "sandbox_seconds")
EXECUTION_LIMITS = ("seconds", "sandbox_seconds")


class BudgetExceeded(Exception):  # noqa: N818 -- a signal, not an error
    """A limit was reached, or cannot be kept; the message says which.

    Attributes
    ----------
    limit, bound
        Name and value of the limit (``calls``, 20).
    """

    def __init__(self, limit: str, bound: float, reason: str | None = None) -> None:
        super().__init__(reason or f"budget.{limit} of {bound} is used up")
        self.limit = limit
        self.bound = bound


@dataclass(frozen=True)
class Budget:
    """Limits; ``None`` means no limit.

    Attributes
    ----------
    calls
        Model calls, repairs and critiques included. A reply out of the cache counts as well: the
        same limit ends the same question at the same place, whatever is cached.
    tokens
        Prompt and completion tokens together.
    cost_usd
        Dollars. When a reply's cost is unknown this limit cannot be kept, and ends the question:
        a limit that is silently ignored would be worse.
    seconds
        Wall time.
    sandbox_seconds
        Time inside the sandbox.
    """

    calls: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None
    sandbox_seconds: float | None = None


@dataclass
class Meter:
    """What has been spent so far, checked against a :class:`Budget`."""

    budget: Budget = field(default_factory=Budget)
    usage: Usage = field(default_factory=Usage)
    sandbox_seconds: float = 0.0
    started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Wall time since the meter was made."""
        return time.monotonic() - self.started

    def check(self, limits: Sequence[str] = LIMITS) -> None:
        """Raise :class:`BudgetExceeded` when one of ``limits`` is used up.

        What is about to be spent decides which limits matter: the last draft that the model
        calls allow is still executed.
        """
        cost, limit = self.usage.cost_usd, self.budget.cost_usd
        if "cost_usd" in limits and limit is not None and cost is None:
            raise BudgetExceeded(
                "cost_usd",
                limit,
                f"budget.cost_usd of {limit} cannot be kept: the cost of a reply is unknown "
                "(model.price is not set, or the endpoint reported no usage)",
            )
        spent = {
            "calls": (self.usage.calls + self.usage.cached_calls, self.budget.calls),
            "tokens": (self.usage.tokens, self.budget.tokens),
            "cost_usd": (cost or 0.0, limit),
            "seconds": (self.seconds, self.budget.seconds),
            "sandbox_seconds": (self.sandbox_seconds, self.budget.sandbox_seconds),
        }
        for name, (value, bound) in spent.items():
            if name in limits and bound is not None and value >= bound:
                raise BudgetExceeded(name, bound)

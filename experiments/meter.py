"""What a whole run has spent, against its limits."""

from __future__ import annotations

import time

from experiments.config import Limits


class RunMeter:
    """Adds up what answers cost, against ``run_budget``.

    Parameters
    ----------
    limits
        ``None`` means no limit. ``seconds`` counts from here, everything else is what is added,
        stored answers of earlier sessions included.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = {name: limit for name, limit in limits if limit is not None}
        self._started = time.monotonic()
        self._calls = self._tokens = 0
        self._sandbox_seconds = 0.0
        self._cost: float | None = 0.0

    def add(
        self, *, calls: int, tokens: int, cost_usd: float | None, sandbox_seconds: float = 0.0
    ) -> None:
        """Count one answer."""
        self._calls += calls
        self._tokens += tokens
        self._sandbox_seconds += sandbox_seconds
        known = self._cost is not None and cost_usd is not None
        self._cost = (self._cost or 0.0) + (cost_usd or 0.0) if known else None

    @property
    def exhausted(self) -> str | None:
        """Which limit is reached, ``None`` when the run may go on."""
        if not self._limits:
            return None
        if "cost_usd" in self._limits and self._cost is None:
            return (
                f"run_budget.cost_usd of {self._limits['cost_usd']} cannot be kept: the cost of a "
                "reply is unknown (model.price is not set, or the endpoint reported no usage)"
            )
        spent = {
            "calls": self._calls,
            "tokens": self._tokens,
            "cost_usd": self._cost or 0.0,
            "seconds": time.monotonic() - self._started,
            "sandbox_seconds": self._sandbox_seconds,
        }
        for name, limit in self._limits.items():
            if spent[name] >= limit:
                return f"run_budget.{name} of {limit} is used up"
        return None

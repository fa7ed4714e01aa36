"""Keeps requests under the rate that an endpoint allows, for one process or for many.

Requests are spread evenly over the minute. Whoever counts them (`Paces`, in this process or, for
a cluster, on its scheduler) says how long a request has to wait; nobody waits while holding it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents.models.config import ModelConfig

#: Asks for room for one request (endpoint, limits per minute, amounts): seconds to wait.
Reserve = Callable[[str, Mapping[str, int], Mapping[str, int]], Awaitable[float]]


@dataclass
class Paces:
    """Who may send when, by endpoint."""

    clock: Callable[[], float] = time.monotonic
    _free: dict[tuple[str, str], float] = field(default_factory=dict)

    def reserve(
        self, endpoint: str, limits: Mapping[str, int], amounts: Mapping[str, int]
    ) -> float:
        """Make room; returns the seconds to wait before sending.

        Parameters
        ----------
        endpoint
            Whose limits they are.
        limits
            Per minute, by kind (``requests``, ``tokens``).
        amounts
            What is about to be sent, by kind; negative for what was reserved and not used.
        """
        now = self.clock()
        start = now
        for kind, amount in amounts.items():
            if limits.get(kind):
                key = (endpoint, kind)
                free = self._free.get(key, now)
                if amount > 0:  # what was not used in the past is no credit
                    free = max(free, now)
                    start = max(start, free)
                self._free[key] = free + amount * 60.0 / limits[kind]
        return start - now


def limits_of(config: ModelConfig) -> dict[str, int]:
    """The limits per minute that a configuration sets."""
    wanted = {"requests": config.requests_per_minute, "tokens": config.tokens_per_minute}
    return {kind: limit for kind, limit in wanted.items() if limit is not None}


def endpoint_of(config: ModelConfig) -> str:
    """What a limit belongs to: a model at an address."""
    return f"{config.provider} {config.base_url or ''} {config.name}"


_HERE = Paces()


async def reserve_here(*asked: Any) -> float:
    """`Reserve` among all models of this process."""
    return _HERE.reserve(*asked)

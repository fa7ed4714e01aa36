"""Questions overlap: shown by counting requests in flight, not by a clock."""

from __future__ import annotations

import asyncio

import pytest

from agents.bench import Endpoint, measure
from sandbox.base import Sandbox

CONCURRENCY = 8


class Barrier(Endpoint):
    """Replies only once as many requests wait as may be in flight at all."""

    def __init__(self) -> None:
        super().__init__(0.0)
        self.full = asyncio.Event()

    async def wait(self) -> None:
        """A client that sends fewer at once would wait here for ever."""
        if self._in_flight >= CONCURRENCY:
            self.full.set()
        await self.full.wait()


@pytest.mark.long
async def test_as_many_requests_as_allowed_are_in_flight_and_never_more(live_sandbox: Sandbox):
    async with Barrier() as endpoint:
        found = await measure(
            endpoint, live_sandbox, questions=12, concurrency=CONCURRENCY, baseline=0
        )
    assert found.answered == 12
    assert found.requests == 36  # faulty draft, critique, correct draft
    assert found.peak == CONCURRENCY

"""A sandbox per backend for the session."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from sandbox.base import SandboxConfig
from sandbox.factory import get_sandbox
from sandbox.pool import PooledSandbox
from tests.abuse.conftest import BACKENDS, reason_to_skip


@pytest_asyncio.fixture(scope="session", loop_scope="session", params=BACKENDS)
async def sandbox(request: pytest.FixtureRequest) -> AsyncIterator[PooledSandbox]:
    """A warm sandbox with one worker."""
    reason = reason_to_skip(request.param)
    if reason:
        pytest.skip(reason)
    async with get_sandbox(SandboxConfig(backend=request.param, workers=1)) as started:
        yield started

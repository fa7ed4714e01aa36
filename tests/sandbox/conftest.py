"""A sandbox per backend for the session."""

import pytest
import pytest_asyncio

from sandbox.factory import get_sandbox
from tests.support.sandboxes import BACKENDS, bare, reason_to_skip


@pytest_asyncio.fixture(scope="session", loop_scope="session", params=BACKENDS)
async def sandbox(request):
    """A sandbox with one worker; `tests.abuse` has one with all libraries in memory."""
    reason = reason_to_skip(request.param)
    if reason:
        pytest.skip(reason)
    async with get_sandbox(bare(request.param, warmup="import numpy")) as started:
        yield started


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A cache without any environment."""
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "cache"))

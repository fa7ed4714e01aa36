"""A sandbox per backend for the session."""

import pytest
import pytest_asyncio

from sandbox.base import SandboxConfig
from sandbox.factory import get_sandbox
from tests.abuse.conftest import BACKENDS, reason_to_skip

needs_bubblewrap = pytest.mark.skipif(
    bool(reason_to_skip("bubblewrap")), reason=str(reason_to_skip("bubblewrap"))
)


def bare(backend="bubblewrap", **options):
    """One worker that starts at once: nothing is imported beforehand."""
    return SandboxConfig(backend=backend, workers=1, options={"warmup": False, **options})


@pytest_asyncio.fixture(scope="session", loop_scope="session", params=BACKENDS)
async def sandbox(request):
    """A sandbox with one worker; `tests.abuse` has one with all libraries in memory."""
    reason = reason_to_skip(request.param)
    if reason:
        pytest.skip(reason)
    async with get_sandbox(bare(request.param, warmup="import numpy")) as started:
        yield started

"""A sandbox per backend for the session."""

import pytest
import pytest_asyncio

from sandbox.base import SandboxConfig
from sandbox.factory import get_sandbox
from tests.abuse.conftest import BACKENDS, reason_to_skip

needs_bubblewrap = pytest.mark.skipif(
    bool(reason_to_skip("bubblewrap")), reason=str(reason_to_skip("bubblewrap"))
)


def bare(**options):
    """One worker of bubblewrap that starts at once: nothing is imported beforehand."""
    options = {"warmup": False, **options}
    return SandboxConfig(backend="bubblewrap", workers=1, options=options)


@pytest_asyncio.fixture(scope="session", loop_scope="session", params=BACKENDS)
async def sandbox(request):
    """A warm sandbox with one worker."""
    reason = reason_to_skip(request.param)
    if reason:
        pytest.skip(reason)
    async with get_sandbox(SandboxConfig(backend=request.param, workers=1)) as started:
        yield started

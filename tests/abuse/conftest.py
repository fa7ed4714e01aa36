"""One small sandbox per backend for the whole session, and what an attack must leave behind."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from sandbox.base import Outcome, SandboxConfig
from sandbox.factory import get_sandbox
from tests.support.sandboxes import BACKENDS, HONEST, Lab, reason_to_skip

MARKER = "MATSMITH_HOST_MARKER"
SMALL = SandboxConfig(
    workers=1, memory_mb=384, max_processes=24, disk_mb=16, wall_seconds=5.0
)


@pytest.fixture(scope="session", params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Each backend that can be tested here."""
    name: str = request.param
    if reason := reason_to_skip(name):
        pytest.skip(reason)
    return name


@pytest.fixture(scope="session")
def marked_environment() -> Iterator[str]:
    """A variable of the host that no code may see."""
    os.environ[MARKER] = "host-secret-4711"
    yield os.environ[MARKER]
    del os.environ[MARKER]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def lab(backend: str, marked_environment: str) -> AsyncIterator[Lab]:
    """A warm sandbox with small limits."""
    config = SandboxConfig(**{**vars(SMALL), "backend": backend})
    async with get_sandbox(config) as sandbox:
        before = await sandbox.run(HONEST, "honest", timeout=30)
        assert before.outcome is Outcome.OK, before.error
        yield Lab(sandbox, before.result)

"""One warm sandbox for all tests of this folder that run in the session's event loop."""

import pytest
import pytest_asyncio

from agents.assistant import LIBRARIES, read_config
from agents.budget import Meter
from agents.runtime import open_client, open_retriever, open_writer
from sandbox.base import SandboxConfig
from sandbox.factory import available, get_sandbox


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def live_sandbox():
    """A sandbox with the environment ``live``."""
    if not available():
        pytest.skip("no isolating sandbox on this machine")
    async with get_sandbox(SandboxConfig(env="live", workers=1)) as made:
        yield made


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def llm_doc(live_sandbox):
    """The assistant's documents of the environment ``live``; built where they are not cached."""
    _ = live_sandbox  # has built the environment
    config = read_config(["model=none"])
    writer = open_writer(config, open_client(config.model), Meter())
    made = await open_retriever(
        config, LIBRARIES, SandboxConfig(env="live"), writer=writer
    )
    assert made is not None
    return made


def pytest_collection_modifyitems(items):
    """Tests that use the shared sandbox run in the loop that it lives in."""
    for item in items:
        if pytest_asyncio.is_async_test(item) and "live_sandbox" in item.fixturenames:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)

"""One warm sandbox for all tests of this folder."""

import pytest
import pytest_asyncio

from experiments.benchmarks.curie.benchmark import GRADER, CurieScorer
from experiments.scorers.base import ScoringContext
from experiments.scorers.grading import grade
from sandbox.base import SandboxConfig
from sandbox.factory import available, get_sandbox, get_verifier


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def tools():
    """Sandboxes for answers and for their verification."""
    if not available():
        pytest.skip("no isolating sandbox on this machine")
    options = {"warmup": CurieScorer().warmup}
    async with (
        get_sandbox(SandboxConfig(env="live", workers=1)) as box,
        get_verifier(SandboxConfig(env="live", workers=1, options=options)) as verifier,
    ):
        yield ScoringContext(box, verifier, 60.0)


@pytest.fixture
def call(tools):
    """Calls a function of the grader."""

    async def made(rule, *arguments):
        return await grade(tools, GRADER, rule, *arguments, control=arguments)

    return made


def pytest_collection_modifyitems(items):
    """Tests that use the sandboxes run in the loop that they live in."""
    for item in items:
        if pytest_asyncio.is_async_test(item) and "tools" in getattr(
            item, "fixturenames", ()
        ):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)

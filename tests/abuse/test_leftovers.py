"""Case 70 and following: what the kernel keeps when every process of a run is gone."""

from __future__ import annotations

import pytest

from sandbox.base import Outcome, SandboxConfig
from sandbox.factory import get_sandbox
from tests.abuse.conftest import Lab, programs, reason_to_skip

pytestmark = pytest.mark.asyncio(loop_scope="session")

LEFTOVERS = programs("leftovers")


@pytest.mark.parametrize("name", LEFTOVERS["left"])
async def test_nothing_in_the_kernel_outlives_a_run(lab: Lab, name: str) -> None:
    before = await lab.sandbox.run(LEFTOVERS["find"], "find", timeout=10)
    assert before.outcome is Outcome.OK, before.error
    assert before.result["names"] == []
    for _ in range(4):
        code = f"{LEFTOVERS['keep']}\n{LEFTOVERS['left'][name]}"
        await lab.attack(code, Outcome.OK, timeout=5)
    after = await lab.sandbox.run(LEFTOVERS["find"], "find", timeout=10)
    assert after.outcome is Outcome.OK, after.error
    assert after.result == before.result


async def test_sockets_of_the_libraries_are_no_leftovers() -> None:
    warmup = "import socket\nkept = socket.socketpair()\n"
    config = SandboxConfig(backend="bubblewrap", workers=1, options={"warmup": warmup})
    if reason := reason_to_skip("bubblewrap"):
        pytest.skip(reason)
    async with get_sandbox(config) as sandbox:
        workers = []
        for _ in range(3):
            assert (await sandbox.run("", "", timeout=10)).outcome is Outcome.OK
            workers += sandbox._idle
        assert len(workers) == 3
        assert len(set(workers)) == 1  # none was replaced

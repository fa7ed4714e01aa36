"""Case 89: the same controls and limits with gVisor (`runsc`) in a container, where it is there."""

from __future__ import annotations

import pytest

from sandbox import docker
from sandbox.base import Outcome, SandboxConfig
from sandbox.factory import get_sandbox
from tests.abuse.conftest import HONEST, reason_to_skip


@pytest.mark.docker
async def test_89_gvisor_holds_what_the_engines_own_runtime_holds() -> None:
    if reason := reason_to_skip("docker"):
        pytest.skip(reason)
    if "runsc" not in docker.require("docker").client.info().get("Runtimes", {}):
        pytest.skip("docker has no runtime runsc: install gVisor, and name it to the engine")
    options = {"runtime": "runsc", "strict": True}
    config = SandboxConfig(backend="docker", workers=1, memory_mb=512, options=options)
    async with get_sandbox(config) as sandbox:  # its controls are proven before the first run
        kernel = "def f():\n    return open('/proc/version').read()"
        assert "gVisor" in str((await sandbox.run(kernel, "f", timeout=30)).result)
        for code, outcome in {
            "while True: pass": Outcome.TIMEOUT,
            "kept = []\nwhile True: kept.append(bytearray(1 << 24))": Outcome.MEMORY,
            "while True: print('x' * 65536)": Outcome.OUTPUT_FLOOD,
            "open('/dev/shm/left', 'w').close()": Outcome.OK,
        }.items():
            timeout = 1.0 if outcome is Outcome.TIMEOUT else 30.0
            done = await sandbox.run(code, "", timeout=timeout)
            assert done.outcome is outcome, done.error
        after = await sandbox.run(HONEST, "honest", timeout=30)
        assert after.outcome is Outcome.OK, after.error
        assert "left" not in after.result["scratch"]

"""Thousands of executions in a row, honest and hostile: every outcome right, nothing grows.

``ENDURANCE=10000`` makes as many of each backend.
"""

from __future__ import annotations

import asyncio
import gc
import os
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox.base import Execution, Outcome, SandboxConfig
from sandbox.factory import get_sandbox
from sandbox.pool import PooledSandbox
from tests.support.sandboxes import PROGRAMS, worker_pids

BATCH = 250
CODE = PROGRAMS["endurance"]

#: Every tenth execution is one of these: what it does -> how it may end.
HOSTILE = {
    "raise ValueError": {Outcome.EXCEPTION},
    "import os; os._exit(3)": {Outcome.NO_RESULT},
    "import os; os.kill(0, 9)": {Outcome.KILLED, Outcome.OK},
    "import os; os.abort()": {Outcome.KILLED},
    "import os, time\n    if os.fork() == 0: os.setsid(); time.sleep(600)": {
        Outcome.OK
    },
    "open('/dev/shm/left', 'w').write('x' * 10**6)": {Outcome.OK},
    "kept = bytearray(1 << 40)": {Outcome.MEMORY},
    "raise SystemExit": {Outcome.EXIT},
}


@dataclass(frozen=True)
class State:
    """What could leak."""

    host_kb: int
    workers_kb: int
    descriptors: int
    processes: int
    files: int


def resident_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def state(sandbox: PooledSandbox) -> State:
    gc.collect()
    pids = worker_pids(sandbox)
    return State(
        host_kb=resident_kb(os.getpid()),
        workers_kb=sum(map(resident_kb, pids)),
        descriptors=len(list(Path("/proc/self/fd").iterdir())),
        processes=len(pids),
        files=len(list(Path(tempfile.gettempdir()).iterdir())),
    )


@pytest.mark.long
@pytest.mark.timeout(3600)
async def test_nothing_grows(
    backend: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runs = int(
        os.environ.get("ENDURANCE") or (4000 if backend == "bubblewrap" else 1000)
    )
    # Other programs use /tmp at the same time: ours has its own for this test.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(
        "sandbox.pool.RECYCLE_AFTER", 10 * runs
    )  # a new worker would hide a leak

    kinds = list(HOSTILE.items())
    hostile = {
        number: kinds[number // 10 % len(kinds)] for number in range(5, runs, 10)
    }
    async with get_sandbox(SandboxConfig(backend=backend, workers=2)) as sandbox:

        def run(number: int) -> Coroutine[Any, Any, Execution]:
            code = f"def f():\n    {hostile[number][0]}" if number in hostile else CODE
            return sandbox.run(code.replace("{number}", str(number)), "f", timeout=120)

        async def batch(start: int) -> None:
            numbers = range(start, start + BATCH)
            done = await asyncio.gather(*map(run, numbers))
            for number, item in zip(numbers, done, strict=True):
                if number in hostile:
                    assert item.outcome in hostile[number][1], (hostile[number], item)
                    continue
                assert item.outcome is Outcome.OK, item.error
                assert item.result["number"] == number
                assert item.result["array"].tolist() == list(range(number % 7))
                assert item.result["formula"] == "Fe2O3"
                assert item.stdout == f"run {number}\n"

        await batch(0)  # warm: tables, allocator
        workers = set(sandbox.idle)
        before = state(sandbox)
        for start in range(0, runs, BATCH):
            await batch(start)
        after = state(sandbox)
        assert set(sandbox.idle) == workers, "a worker was replaced"
    print(before, after)
    assert after.descriptors == before.descriptors
    assert after.processes == before.processes
    assert after.files == before.files
    assert after.host_kb <= before.host_kb * 1.1
    assert after.workers_kb <= before.workers_kb * 1.1

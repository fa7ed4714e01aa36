"""Cases of time, output, disk and of the fork server itself that need more than a table."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox.base import Outcome
from tests.abuse.conftest import PROGRAMS, Lab

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_code_that_sleeps_ends_at_its_wall_time(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    (worker,) = lab.sandbox._idle
    short = worker._config.model_copy(update={"wall_seconds": 0.5})
    monkeypatch.setattr(worker, "_config", short)
    code = "import time\ndef attack():\n    time.sleep(600)"
    done = await lab.attack(code, Outcome.TIMEOUT, timeout=0.25)
    assert done.seconds >= short.wall(0.25) == 1.5
    assert "used up its wall time" in (done.error or "")
    assert done.cpu_seconds is not None
    assert done.cpu_seconds < 0.25


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_10_a_flood_of_output_is_cut(lab: Lab, stream: str) -> None:
    code = f"""import sys
def attack():
    while True:
        sys.{stream}.write("flood " * 10_000)
"""
    done = await lab.attack(code, Outcome.OUTPUT_FLOOD, timeout=60.0)
    assert len(getattr(done, stream)) == 64 * 1024
    assert getattr(done, stream).startswith("flood flood")


async def test_32_disk_and_inodes_are_bounded_wherever_one_can_write(lab: Lab) -> None:
    done = await lab.attack(PROGRAMS["32 fill"], Outcome.OK, timeout=60.0)
    filled, files, sparse = done.result
    assert {"/tmp/run"} <= set(filled) <= {"/tmp", "/tmp/run", "/dev/shm"}
    assert all(0 < size <= 16 << 20 for size in filled.values())
    if lab.sandbox.tier != "podman":  # its tmpfs takes no limit on inodes: memory bounds them
        assert all(0 < number <= 4096 for number in files.values())
    assert sparse is None


SIGNALS = {
    "41 kill the group": "os.kill(0, 9)",
    "41 kill the group by name": "os.killpg(os.getpgrp(), 9)",
    "41 terminate the group": "os.kill(0, 15)",
    "42 stop the group": "signal.signal(20, signal.SIG_IGN); os.kill(0, signal.SIGTSTP)",
    "42 stop the group for good": "os.kill(0, signal.SIGSTOP)",
    "42 stop parent and group": "[_try(os.kill, pid, 19) for pid in (os.getppid(), -1)]",
    "43 a signal by an owned descriptor": "_own()",
}


@pytest.mark.parametrize("fork", ["pid = os.fork()", "pid = 0"], ids=["forked", "direct"])
@pytest.mark.parametrize("call", SIGNALS.values(), ids=SIGNALS.keys())
async def test_signals_do_not_reach_the_server(lab: Lab, call: str, fork: str) -> None:
    code = PROGRAMS["41 signals"].replace("FORK", fork).replace("CALL", call)
    await lab.attack(code, *Outcome, timeout=1.0)


def niceness(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[16])


async def test_44_slowing_the_server_down(lab: Lab) -> None:
    """Priorities, limits and affinities of the parent, the group and the user."""
    done = await lab.attack(PROGRAMS["44 slow"], Outcome.OK)
    assert set(done.result) <= {"group", "user"}  # its own
    assert {niceness(pid) for pid in lab.servers()} == {os.getpriority(os.PRIO_PROCESS, 0)}


async def test_46_code_that_fills_the_disk_by_itself(lab: Lab) -> None:
    """The source is kept as main.py: longer than the disk, it is not kept, but it runs."""
    code = "def attack():\n    return 'ran'\n" + "# " + "x" * (20 << 20)
    assert (await lab.attack(code, Outcome.OK, timeout=30.0)).result == "ran"

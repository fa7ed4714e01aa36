"""Case 41 and following: attacks on the fork server, which must neither end nor stall it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox.base import Outcome
from tests.abuse.conftest import Lab

pytestmark = pytest.mark.asyncio(loop_scope="session")

SIGNALS = {
    "41 kill the group": "os.kill(0, 9)",
    "41 kill the group by name": "os.killpg(os.getpgrp(), 9)",
    "41 terminate the group": "os.kill(0, 15)",
    "42 stop the group": "signal.signal(20, signal.SIG_IGN); os.kill(0, signal.SIGTSTP)",
    "42 stop the group for good": "os.kill(0, signal.SIGSTOP)",
    "42 stop parent and group": "[_try(os.kill, pid, 19) for pid in (os.getppid(), -1)]",
    "43 a signal by an owned descriptor": "_own()",
}


@pytest.mark.parametrize("call", SIGNALS.values(), ids=SIGNALS.keys())
async def test_signals_do_not_reach_the_server(lab: Lab, call: str) -> None:
    code = f"""
import fcntl, os, signal
def _try(function, *values):
    try:
        return function(*values)
    except OSError:
        return None
def _own():
    for owner in (-os.getpgrp(), os.getppid(), 1):
        for fd in (0, 1, 2, 3):
            _try(fcntl.fcntl, fd, fcntl.F_SETOWN, owner)
            _try(fcntl.fcntl, fd, 10, signal.SIGKILL)  # F_SETSIG
            _try(fcntl.fcntl, fd, fcntl.F_SETFL, os.O_ASYNC)
        print("x" * 5000, flush=True)
def attack():
    pid = os.fork()
    if pid:
        os.waitpid(pid, os.WUNTRACED)
        return "done"
    {call}
    os._exit(0)
"""
    await lab.attack(code, *Outcome, timeout=1.0)
    direct = code.replace("    pid = os.fork()\n    if pid:\n", "    if os.getpid() == 0:\n")
    assert direct != code
    await lab.attack(direct, *Outcome, timeout=1.0)


def niceness(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[16])


async def test_44_slowing_the_server_down(lab: Lab) -> None:
    """Priorities, limits and affinities of the parent, the group and the user."""
    code = """
        import os, resource
        def attack():
            parent, done = os.getppid(), []
            for name, call in {
                "group": lambda: os.setpriority(os.PRIO_PGRP, 0, 19),
                "user": lambda: os.setpriority(os.PRIO_USER, 0, 19),
                "parent": lambda: os.setpriority(os.PRIO_PROCESS, parent or 1 << 22, 19),
                "limit": lambda: resource.prlimit(parent or 1 << 22, resource.RLIMIT_CPU, (1, 1)),
                "affinity": lambda: os.sched_setaffinity(parent or 1 << 22, {0}),
            }.items():
                try:
                    call()
                    done.append(name)
                except OSError:
                    pass
            return done
        """
    done = await lab.attack(code, Outcome.OK)
    assert set(done.result) <= {"group", "user"}  # its own
    assert {niceness(pid) for pid in lab.servers()} == {os.getpriority(os.PRIO_PROCESS, 0)}


async def test_45_many_children_that_the_kernel_would_spare(lab: Lab) -> None:
    """Each smaller than the fork server, with the score that it has."""
    code = """
        import os, sys, textwrap, time
        CHILD = '''
        import time
        for score in ("-1000", "-500", "0"):
            try:
                with open("/proc/self/oom_score_adj", "w") as file:
                    file.write(score)
            except OSError:
                pass
        kept = bytearray(85 << 20)
        kept[::4096] = b"x" * len(kept[::4096])
        time.sleep(30)
        '''
        def attack():
            for _ in range(18):
                if os.fork() == 0:
                    os.execv(sys.executable, ["python", "-I", "-S", "-c", textwrap.dedent(CHILD)])
            time.sleep(30)
        """
    await lab.attack(code, Outcome.MEMORY, timeout=20.0)


async def test_46_code_that_fills_the_disk_by_itself(lab: Lab) -> None:
    """The source is kept as main.py: longer than the disk, it is not kept, but it runs."""
    code = "def attack():\n    return 'ran'\n" + "# " + "x" * (20 << 20)
    assert (await lab.attack(code, Outcome.OK, timeout=30.0)).result == "ran"


async def test_47_descriptors_and_limits_stay_with_the_code(lab: Lab) -> None:
    code = """
        import fcntl, os, resource
        def attack():
            core = resource.getrlimit(resource.RLIMIT_CORE)  # 0 would start a program of the host
            for name in ("NOFILE", "NPROC", "FSIZE", "DATA", "STACK", "CPU", "SIGPENDING"):
                resource.setrlimit(getattr(resource, "RLIMIT_" + name, 11), (1, 1))
            for fd in (1, 2, 3):
                fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK)
                try:
                    fcntl.fcntl(fd, 1031, 4096)  # F_SETPIPE_SZ
                except OSError:
                    pass
            return core
        """
    assert (await lab.attack(code, Outcome.OK)).result == (1, 1)


async def test_48_a_pipe_for_every_page_that_a_user_may_have(lab: Lab) -> None:
    """The kernel gives a user small pipes only once he holds many."""
    code = """
        import fcntl, os
        def attack():
            made = 0
            try:
                while True:
                    _, end = os.pipe()
                    made += 1
                    fcntl.fcntl(end, 1031, 1 << 20)
            except OSError:
                return made
        """
    assert 0 < (await lab.attack(code, Outcome.OK)).result < 256

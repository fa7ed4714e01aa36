"""Cases 1 to 11 and 32: time, memory, processes, output, disk."""

from __future__ import annotations

import pytest

from sandbox.base import Outcome
from tests.abuse.conftest import Lab

pytestmark = pytest.mark.asyncio(loop_scope="session")

LOOPS = {
    "01 infinite loop": """
        def attack():
            while True:
                pass
        """,
    "02 all signals ignored": """
        import signal
        def attack():
            for number in range(1, signal.NSIG):
                try:
                    signal.signal(number, signal.SIG_IGN)
                except (OSError, ValueError):
                    pass
            while True:
                pass
        """,
    "03 a loop in C": """
        import collections, itertools
        def attack():
            collections.deque(itertools.repeat(0), maxlen=0)
        """,
}


@pytest.mark.parametrize("code", LOOPS.values(), ids=LOOPS.keys())
async def test_endless_code_ends_at_its_timeout(lab: Lab, code: str) -> None:
    done = await lab.attack(code, Outcome.TIMEOUT, timeout=0.5)
    assert done.cpu_seconds is not None
    assert done.cpu_seconds >= 0.5
    assert "used up its processor time" in (done.error or "")


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


async def test_waiting_is_not_counted_as_work(lab: Lab) -> None:
    """As on a busy machine: much more wall time than the timeout, little processor time."""
    code = "import time\ndef attack():\n    time.sleep(1.5)\n    return 'right'"
    done = await lab.attack(code, Outcome.OK, timeout=0.5)
    assert done.result == "right"
    assert done.seconds >= 1.5


async def test_work_in_other_processes_is_counted(lab: Lab) -> None:
    code = """
        import os, time
        def burn():
            while True:
                pass
        def attack():
            for _ in range(3):
                if os.fork() == 0:
                    if os.fork() == 0:
                        burn()
                    os._exit(0)
            time.sleep(600)
        """
    done = await lab.attack(code, Outcome.TIMEOUT, timeout=1.0)
    assert "processor time" in (done.error or "")
    assert done.seconds < 20


MEMORY = {
    "04 bytearrays": """
        def attack():
            kept = []
            while True:
                kept.append(bytearray(1 << 24))
        """,
    "05 one array": """
        import numpy
        def attack():
            return numpy.ones(10**11).sum()
        """,
    "06 several processes": """
        import os, time
        def attack():
            for _ in range(15):
                if os.fork() == 0:
                    kept = bytearray(200 << 20)
                    kept[::4096] = b"x" * len(kept[::4096])
                    time.sleep(20)
                    os._exit(0)
            time.sleep(20)
        """,
}


@pytest.mark.parametrize("code", MEMORY.values(), ids=MEMORY.keys())
async def test_memory_is_limited(lab: Lab, code: str) -> None:
    await lab.attack(code, Outcome.MEMORY, timeout=25.0)


async def test_07_a_fork_bomb_is_contained(lab: Lab) -> None:
    code = """
        import os
        def attack():
            while True:
                try:
                    os.fork()
                except OSError:
                    pass
        """
    await lab.attack(code, Outcome.TIMEOUT, timeout=1.0)


async def test_08_a_thread_bomb_is_contained(lab: Lab) -> None:
    code = """
        import threading, time
        def attack():
            started = 0
            try:
                while started < 10_000:
                    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
                    started += 1
            except RuntimeError:
                return started
        """
    done = await lab.attack(code, Outcome.OK, timeout=10.0)
    assert 0 < done.result < 24


async def test_09_a_daemon_does_not_survive(lab: Lab) -> None:
    code = """
        import os, time
        def attack():
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    while True:
                        time.sleep(0.01)
                os._exit(0)
            time.sleep(0.2)
            return "left a daemon"
        """
    done = await lab.attack(code, Outcome.OK)
    assert done.result == "left a daemon"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_10_a_flood_of_output_is_cut(lab: Lab, stream: str) -> None:
    code = f"""
        import sys
        def attack():
            while True:
                sys.{stream}.write("flood " * 10_000)
        """
    done = await lab.attack(code, Outcome.OUTPUT_FLOOD, timeout=60.0)
    assert len(getattr(done, stream)) == 64 * 1024
    assert getattr(done, stream).startswith("flood flood")


async def test_11_a_huge_result_is_refused(lab: Lab) -> None:
    returned = "def attack():\n    return 'x' * (50 << 20)"
    done = await lab.attack(returned, Outcome.BAD_RESULT, timeout=30.0)
    assert "16 MB" in (done.error or "")
    written = """
        import os
        def attack():
            for _ in range(50):
                rest = memoryview(b"x" * (1 << 20))
                while rest:
                    rest = rest[os.write(3, rest):]
        """
    await lab.attack(written, Outcome.BAD_RESULT, timeout=30.0)


async def test_32_disk_and_inodes_are_bounded_wherever_one_can_write(lab: Lab) -> None:
    code = """
        import os
        def attack():
            places = []
            for folder, names, _ in os.walk("/"):
                if folder == "/":
                    names.remove("proc")
                if os.access(folder, os.W_OK):
                    places.append(folder)
            filled, files = {}, {}
            for place in places:
                # sparse files would not count: write, in pieces below the limit of one file
                total = count = 0
                try:
                    while total < 1 << 30:
                        with open(os.path.join(place, f"block{count}"), "wb") as file:
                            for _ in range(8):
                                total += file.write(b"x" * (1 << 20))
                        count += 1
                except OSError:
                    pass
                for name in range(count + 1):
                    try:
                        os.unlink(os.path.join(place, f"block{name}"))
                    except FileNotFoundError:
                        pass
                filled[place] = total
                made = 0
                try:
                    while made < 100_000:
                        os.mknod(os.path.join(place, f"node{made}"))
                        made += 1
                except OSError:
                    pass
                for name in range(made):
                    os.unlink(os.path.join(place, f"node{name}"))
                files[place] = made
            big = None
            try:
                with open("/tmp/sparse", "wb") as file:
                    file.truncate(1 << 40)
                big = os.path.getsize("/tmp/sparse")
            except OSError:
                pass
            return filled, files, big
        """
    done = await lab.attack(code, Outcome.OK, timeout=60.0)
    filled, files, sparse = done.result
    assert set(filled) >= {"/tmp/run"}
    assert set(filled) <= {"/tmp", "/tmp/run", "/dev/shm"}
    assert all(0 < size <= 16 << 20 for size in filled.values())
    if lab.sandbox.tier != "podman":  # its tmpfs takes no limit on inodes: memory bounds them
        assert all(0 < number <= 4096 for number in files.values())
    assert sparse is None

"""Case 49 and following: memory that no process seems to hold, and much of it at once."""

from __future__ import annotations

import pytest

from sandbox.base import Outcome
from tests.abuse.conftest import Lab

pytestmark = pytest.mark.asyncio(loop_scope="session")

HIDDEN = {
    "49 the first thread ended": """
        import ctypes, mmap, os, threading, time
        def fill():
            kept = []
            while len(kept) < 2000:
                part = mmap.mmap(-1, 4 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
                part[::4096] = b"x" * len(part[::4096])
                kept.append(part)
            time.sleep(60)
        def attack():
            threading.Thread(target=fill).start()
            number = {"x86_64": 60, "aarch64": 93}[os.uname().machine]  # exit, not exit_group
            ctypes.CDLL(None).syscall(number, 0)
        """,
    "50 page tables": """
        import mmap
        def attack():
            kept, flags = [], mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # NORESERVE
            while True:  # one page of tables for every 2 MB of which one byte is read
                part = mmap.mmap(-1, 1 << 36, prot=mmap.PROT_READ, flags=flags)
                for place in range(0, 1 << 36, 1 << 21):
                    part[place]
                kept.append(part)
        """,
    "51 queued on sockets": """
        import os, socket, time
        def attack():
            for _ in range(18):
                if os.fork() == 0:
                    kept = []
                    try:
                        while True:
                            ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
                            kept.append(ends)
                            for end in ends:
                                end.setblocking(False)
                                try:
                                    while True:
                                        end.send(b"x" * 32768)
                                except BlockingIOError:
                                    pass
                    except OSError:
                        time.sleep(60)
            time.sleep(60)
        """,
    "52 many processes at once": """
        import os, time
        def attack():
            for _ in range(19):
                if os.fork() == 0:
                    kept = bytearray(120 << 20)
                    kept[::4096] = b"x" * len(kept[::4096])
                    while True:
                        pass
            while True:
                pass
        """,
    "53 shared memory that is not mapped": """
        import mmap, time
        def attack():
            kept = []
            for _ in range(100):
                part = mmap.mmap(-1, 64 << 20)
                part[::4096] = b"x" * len(part[::4096])
                part.madvise(mmap.MADV_DONTNEED)
                kept.append(part)
            time.sleep(60)
        """,
}


@pytest.mark.parametrize("code", HIDDEN.values(), ids=HIDDEN.keys())
async def test_hidden_memory_is_limited(lab: Lab, code: str) -> None:
    """Ended for memory, or refused: by an error, which in a thread leaves no result."""
    ended = Outcome.MEMORY, Outcome.EXCEPTION, Outcome.NO_RESULT
    await lab.attack(code, *ended, timeout=30.0)

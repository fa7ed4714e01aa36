"""Case 70 and following: what the kernel keeps when every process of a run is gone."""

from __future__ import annotations

import textwrap

import pytest

from sandbox.base import Outcome, SandboxConfig
from sandbox.factory import get_sandbox
from tests.abuse.conftest import Lab, reason_to_skip

pytestmark = pytest.mark.asyncio(loop_scope="session")

#: Sends an open socket (and more) to itself, so that no process is needed to keep it.
KEEP = """
import array, os, select, socket

def keep(end, *more):
    fds = array.array("i", [end.fileno(), *more])
    end.sendmsg([b"secret"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)], 0, "\\0left")

def bound():
    end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    end.bind("\\0left")
    return end
"""
LEFT = {
    "70 sockets with a name": """
        def attack():
            keep(bound())
        """,
    "71 full queues": """
        def attack():
            end = bound()
            held = []
            for _ in range(100):
                one, two = socket.socketpair()
                for side in (one, two):
                    side.setblocking(False)
                    try:
                        while True:
                            side.send(b"x" * 4096)
                    except BlockingIOError:
                        pass
                held += [one, two]
            keep(end, *[one.fileno() for one in held])
        """,
    "72 a backlog of connections": """
        def attack():
            server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            server.bind("\\0server")
            server.listen(64)
            for _ in range(60):
                client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                client.connect("\\0server")
                client.setblocking(False)
                try:
                    while True:
                        client.sendmsg([b"x" * 4096], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                            array.array("i", [server.fileno(), client.fileno()]))])
                except (BlockingIOError, OSError):
                    pass
        """,
    "73 pipes": """
        def attack():
            end = bound()
            for _ in range(8):
                ends = [os.pipe() for _ in range(12)]
                for _, write in ends:
                    os.write(write, b"x" * 65536)
                keep(end, *[read for read, _ in ends])
                for pair in ends:
                    os.close(pair[0]), os.close(pair[1])
        """,
    "74 timers, events, polls, watches": """
        import ctypes
        def attack():
            libc = ctypes.CDLL(None)
            for _ in range(20):
                end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                name = f"\\0left{_}"
                end.bind(name)
                poll = select.epoll()
                fds = [libc.timerfd_create(1, 0), libc.eventfd(1, 0), libc.inotify_init(),
                       poll.fileno()]
                data = array.array("i", [end.fileno(), *[fd for fd in fds if fd >= 0]])
                end.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, data)], 0, name)
        """,
    "75 locks, futexes and files without a name": """
        import ctypes, fcntl, mmap, threading, time
        def attack():
            end = bound()
            nameless = os.open("/tmp", os.O_TMPFILE | os.O_RDWR)
            os.write(nameless, b"x" * (8 << 20))
            library = os.open(os.__file__, os.O_RDONLY)
            fcntl.flock(library, fcntl.LOCK_EX)
            keep(end, nameless, library)
            lock = threading.Lock()
            lock.acquire()
            for _ in range(5):
                threading.Thread(target=lock.acquire, daemon=True).start()
            signal_timer = ctypes.create_string_buffer(64)
            ctypes.CDLL(None).timer_create(1, None, signal_timer)
        """,
    "76 IPC of System V and POSIX, keys": """
        import ctypes
        def attack():
            numbers = {"x86_64": (29, 64, 68, 240, 248, 250),
                       "aarch64": (194, 190, 186, 180, 217, 219)}[os.uname().machine]
            libc = ctypes.CDLL(None)
            made = [libc.syscall(number, 4711, 4096, 0o1600, 0, 0) for number in numbers]
            with open("/dev/shm/left", "w") as file:
                file.write("secret")
            if max(made) >= 0:
                raise SystemError(made)
        """,
}
#: What there is at the start of a run, and what it may have.
FIND = """
import ctypes, errno, fcntl, os, socket

def lines(path):
    try:
        with open(path) as file:
            return file.read().splitlines()[1:]
    except OSError:
        return []

def find():
    with open("/proc/net/sockstat") as file:
        used = file.readline().split()[2]
    end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    names = [line.split()[7] for line in lines("/proc/net/unix") if len(line.split()) > 7]
    end.bind("\\0left")
    end.setblocking(False)
    try:
        read = end.recv(10)
    except BlockingIOError:
        read = b""
    end.close()
    pipes = [os.pipe() for _ in range(60)]
    sizes = {fcntl.fcntl(write, 1032) for _, write in pipes}
    library = os.open(os.__file__, os.O_RDONLY)
    fcntl.flock(library, fcntl.LOCK_EX | fcntl.LOCK_NB)
    libc = ctypes.CDLL(None)
    watches = [libc.inotify_init() for _ in range(20)]
    ipc = [line for kind in ("shm", "sem", "msg") for line in lines(f"/proc/sysvipc/{kind}")]
    return {
        "used": used, "names": names, "read": read, "pipes": sorted(sizes), "ipc": ipc,
        "watches": min(watches) >= 0, "keys": lines("/proc/keys"), "shm": os.listdir("/dev/shm"),
        "memory": len(bytearray(b"x") * (250 << 20)),
    }
"""


@pytest.mark.parametrize("name", LEFT)
async def test_nothing_in_the_kernel_outlives_a_run(lab: Lab, name: str) -> None:
    before = await lab.sandbox.run(FIND, "find", timeout=10)
    assert before.outcome is Outcome.OK, before.error
    assert before.result["names"] == []
    for _ in range(4):
        await lab.attack(f"{KEEP}\n{textwrap.dedent(LEFT[name])}", Outcome.OK, timeout=5)
    after = await lab.sandbox.run(FIND, "find", timeout=10)
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

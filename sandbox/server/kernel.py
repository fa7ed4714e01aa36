"""The kernel: mounts, capabilities, descriptors, and what a run uses of it."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import re
import resource
import shutil
import struct

libc = ctypes.CDLL(None, use_errno=True)
NEWNS, NEWUTS, NEWIPC, NEWPID = 0x20000, 0x4000000, 0x8000000, 0x20000000
RDONLY, REMOUNT, BIND, MOVE, DETACH = 1, 32, 4096, 8192, 2
SAFE = 2 | 4  # no set-id programs, no devices
PRIVATE_TREE = 16384 | 1 << 18  # nothing of it is seen elsewhere
PRIVATE = SAFE | 8  # nothing to execute either


def check(result: int, what: str) -> None:
    """Raise OSError with the reason of the last failed call."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """mount(2); raises OSError naming the target."""
    arguments = [text.encode() for text in (source, target, kind)]
    check(
        libc.mount(*arguments, ctypes.c_ulong(flags), options.encode()),
        f"mount {target}",
    )


def conceal(place: str) -> None:
    """Mount again, as an overlay, each folder whose path on the host /proc/self/mountinfo shows.

    A file becomes a copy. ``place`` is a folder on a tmpfs. Kernels before 5.11, and those without
    overlays, cannot: there the paths stay visible.
    """
    with open("/proc/self/mountinfo") as lines:
        mounts = [line.split()[3:5] for line in lines]
    bound = [
        point
        for root, point in mounts
        if root not in {"/", point} and not point.startswith("/dev/") and point != "/"
    ]
    empty = os.path.join(place, "empty")
    os.mkdir(empty)
    for number, point in enumerate(bound):
        new = os.path.join(place, str(number))
        if os.path.isdir(point):
            os.mkdir(new)
            try:
                mount("overlay", new, "overlay", RDONLY, f"lowerdir={point}:{empty}")
            except OSError:
                return
        else:
            shutil.copyfile(point, new)
        check(libc.umount2(point.encode(), DETACH), f"umount {point}")
        mount(new, point, "", MOVE if os.path.isdir(new) else BIND)
        mount("", point, "", BIND | REMOUNT | RDONLY | SAFE)
        for _, inner in mounts:  # what covered a part of it is gone with it
            if inner.startswith(f"{point}/"):
                mount("tmpfs", inner, "tmpfs", RDONLY | PRIVATE, "mode=755,size=4k")


def renumber(descriptors: list[int], first: int = 0) -> list[int]:
    """Give descriptors the numbers from ``first`` on; returns these."""
    numbers = list(range(first, first + len(descriptors)))
    above = first + len(descriptors)
    copies = [fcntl.fcntl(each, fcntl.F_DUPFD, above) for each in descriptors]
    for copy, number in zip(copies, numbers, strict=True):
        os.dup2(copy, number)
        os.close(copy)
    return numbers


def prctl(option: int, *values: int) -> None:
    """prctl(2) with up to four arguments."""
    padded = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    check(libc.prctl(option, *padded), f"prctl {option}")


def lock_down(program: bytes) -> None:
    """Give up every capability for good, then install the filter."""
    prctl(47, 4)  # PR_CAP_AMBIENT, CLEAR_ALL
    header = struct.pack("Ii", 0x20080522, 0)
    check(libc.capset(header, b"\0" * 24), "capset")
    prctl(38, 1)  # PR_SET_NO_NEW_PRIVS
    buffer = ctypes.create_string_buffer(program, len(program))
    filter_ = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    holder = ctypes.create_string_buffer(filter_, len(filter_))
    prctl(22, 2, ctypes.addressof(holder))  # PR_SET_SECCOMP, MODE_FILTER


class Cgroup:
    """What the kernel counts for a worker: its processes with all that they hold in the kernel."""

    #: Usage, its parts, kills: of version 2, and of version 1 (of containers).
    FILES = (
        ("memory.current", "memory.stat", "memory.events"),
        ("memory.usage_in_bytes", "memory.stat", "memory.oom_control"),
    )

    def __init__(self, fds: list[int]) -> None:
        self.usage, self.parts, self.events = fds
        self.floor = 0

    @classmethod
    def here(cls) -> Cgroup | None:
        """Open the files of the cgroup that this container lives in."""
        for folder in ("/sys/fs/cgroup", "/sys/fs/cgroup/memory"):
            for names in cls.FILES:
                paths = [os.path.join(folder, name) for name in names]
                if all(map(os.path.exists, paths)):
                    return cls(
                        [os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in paths]
                    )
        return None

    def begin(self) -> None:
        """A run begins: what is in use now belongs to the worker."""
        self.floor = self._held()

    def used(self, limit: int) -> int:
        """Bytes in use since :meth:`begin`; the file cache is left out where that matters."""
        usage = int(os.pread(self.usage, 64, 0)) - self.floor
        return usage if usage <= limit else self._held() - self.floor

    def kills(self) -> int:
        """How often the kernel killed for memory so far."""
        return _fields(self.events).get("oom_kill", 0)

    def _held(self) -> int:
        parts = _fields(self.parts)
        cache = parts.get(
            "total_cache", parts.get("file", 0)
        )  # with shared memory and tmpfs
        shared = parts.get("total_shmem", parts.get("shmem", 0))
        return int(os.pread(self.usage, 64, 0)) - (cache - shared)


def _fields(fd: int) -> dict[str, int]:
    lines = (line.split() for line in os.pread(fd, 1 << 16, 0).decode().splitlines())
    return {name: int(value) for name, value in lines}


def status(name: str) -> str:
    """A field of /proc/self/status."""
    with open("/proc/self/status") as lines:
        return next(line.split()[1] for line in lines if line.startswith(name + ":"))


def children(pid: str) -> list[str]:
    """Processes that a process started, as /proc names them."""
    pids = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with (
                contextlib.suppress(OSError),
                open(f"/proc/{pid}/task/{task}/children") as line,
            ):
                pids += line.read().split()
    return pids


def others(known: set[str]) -> list[str]:
    """Every process but those."""
    return [
        name for name in os.listdir("/proc") if name.isdigit() and name not in known
    ]


def processor_seconds(pid: str) -> float:
    """Processor time of a process, and of those that it waited for."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as line:
        ticks = line.read().rpartition(b")")[2].split()[11:15]
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    return 0.0


def waited_seconds() -> float:
    """Processor time of every process that ended and was waited for, here or by such a one."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def held(pid: str, *, shared: bool = False) -> int:
    """Bytes of pages and page tables; with ``shared``, of a page that several have, a part.

    Of any thread, for the first one may have ended before the others. A process that ended holds
    nothing; one that hides its pages owns them all.
    """
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            place = f"/proc/{pid}/task/{task}"
            pages = _kilobytes(f"{place}/smaps_rollup", b"Pss") if shared else None
            pages = _kilobytes(f"{place}/status", b"VmRSS") if pages is None else pages
            if pages is not None:
                return (pages + (_kilobytes(f"{place}/status", b"VmPTE") or 0)) * 1024
    return 0


def _kilobytes(path: str, name: bytes) -> int | None:
    """A field of a file of /proc; ``None`` where it is not, or the process is gone."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        line = re.search(rb"^" + name + rb":\s*(\d+) kB$", file.read(), re.MULTILINE)
        return int(line[1]) if line else None
    return None


def sockets() -> int:
    """How many there are in this network namespace."""
    with contextlib.suppress(OSError), open("/proc/net/sockstat") as lines:
        return int(lines.readline().split()[2])
    return 0

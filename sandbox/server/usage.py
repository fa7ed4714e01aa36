"""What a run uses of the machine, by its cgroup or by /proc."""

from __future__ import annotations

import contextlib
import os
import re
import resource


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
    def here(cls, folders: tuple[str, ...]) -> Cgroup | None:
        """Open the files in the first of the folders that has them."""
        for folder in folders:
            for names in cls.FILES:
                paths = [os.path.join(folder, name) for name in names]
                if all(map(os.path.exists, paths)):
                    return cls([os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in paths])
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
        cache = parts.get("total_cache", parts.get("file", 0))  # with shared memory and tmpfs
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
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/children") as line:
                found += line.read().split()
    return found


def others(known: set[str]) -> list[str]:
    """Every process but those."""
    return [name for name in os.listdir("/proc") if name.isdigit() and name not in known]


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
        found = re.search(rb"^" + name + rb":\s*(\d+) kB$", file.read(), re.MULTILINE)
        return int(found[1]) if found else None
    return None


def sockets() -> int:
    """How many there are in this network namespace."""
    with contextlib.suppress(OSError), open("/proc/net/sockstat") as lines:
        return int(lines.readline().split()[2])
    return 0

"""The fork server that runs inside a worker: standard library only, one file, any backend.

The host sends this very text to ``python -c LOADER`` (see ``sandbox.worker``), so a container
image never holds an old copy of it; that is why it is one file and longer than the others.

A worker imports the environment's libraries once, then forks a child per request. The child is
jailed before the untrusted code starts: in namespaces of its own (bubblewrap), or under a user
id of its own (container). The bytes a child writes as its result are passed on unread.

Frames, both ways: 4 bytes big-endian length of a JSON header, the header, then the blobs whose
lengths the header lists under ``blobs``.
"""
# ruff: noqa: PTH101, PTH102, PTH103, PTH104, PTH106, PTH108, PTH110, PTH112, PTH114, PTH118
# ruff: noqa: PTH120, PTH123, PTH208, PTH211
# (plain os calls: this file works on descriptors, mount points and /proc)

from __future__ import annotations

import ast
import base64
import builtins
import contextlib
import ctypes
import enum
import gc
import json
import os
import platform
import random
import re
import resource
import select
import shutil
import signal
import stat
import struct
import sys
import time
import traceback
import types
from collections.abc import Mapping
from typing import Any, NoReturn

MB = 1 << 20
KEEP = 64 << 10  # bytes of each stream that are kept
FLOOD = 16 * MB  # bytes of a stream, or of a result, at which the child is killed
OUT = "out"  # folder of the run whose content is handed over
OUT_FILES = 32  # of it
OUT_BYTES = 8 * MB  # of it, all files together
MAX_DEPTH = 100  # nesting of a result
MAX_CAUGHT = 20  # exceptions reported that the code caught itself
MAX_MESSAGE = 300  # characters of the message of one of them
RUN_FOLDER = "/tmp/run"  # noqa: S108 - a private tmpfs, or a folder of this run's user id
INPUTS = "/inputs"
WATCH_SECONDS = 0.05  # between two looks at a running child
SOCKET_BYTES = 425_984  # what may wait in a socket, where nothing else counts it
ADDRESSES = 32  # bytes of addresses for each byte of memory: the tables of the rest cost memory
NICE = 5  # of the code: the fork server that watches it comes first

libc = ctypes.CDLL(None, use_errno=True)


# --- results -------------------------------------------------------------------------------


class UnencodableError(Exception):
    """A result that cannot be sent: nested too deep, or too large."""


def encode(value: Any, depth: int = 0) -> Any:  # noqa: PLR0911, PLR0912, C901 - one case per type
    """Turn a value into plain JSON, with ``{"$": kind, ...}`` for what JSON lacks.

    Raises
    ------
    UnencodableError
        When the value is nested deeper than ``MAX_DEPTH`` (or contains itself).
    """
    if depth > MAX_DEPTH:
        raise UnencodableError(f"the result is nested deeper than {MAX_DEPTH} levels")
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        # Python refuses to print integers of more than 4300 digits; hex has no such limit.
        return value if value.bit_length() < 4096 else {"$": "int", "v": hex(value)}
    if kind is float:
        return value if value - value == 0 else {"$": "float", "v": repr(value)}
    if kind is complex:
        return {"$": "complex", "v": [encode(value.real), encode(value.imag)]}
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic | numpy.ndarray):
        return _encode_numpy(numpy, value, depth)
    if isinstance(value, enum.Enum):
        return _encode_enum(value, depth)
    if kind.__name__ in {"Species", "DummySpecies"} and _has_as_dict(value):
        return {"$": "species", "v": str(value)}
    if _has_as_dict(value):
        return _encode_msonable(value, depth)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return encode(int(value), depth)
    if isinstance(value, float):
        return encode(float(value), depth)
    if isinstance(value, bytes | bytearray):
        return {"$": "bytes", "v": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return [encode(item, depth + 1) for item in value]
    for sequence in (tuple, set, frozenset):
        if isinstance(value, sequence):
            return {"$": sequence.__name__, "v": [encode(item, depth + 1) for item in value]}
    if isinstance(value, dict | Mapping):
        if all(type(key) is str for key in value) and "$" not in value:
            return {key: encode(item, depth + 1) for key, item in value.items()}
        pairs = [[encode(key, depth + 1), encode(item, depth + 1)] for key, item in value.items()]
        return {"$": "dict", "v": pairs}
    return _opaque(value)


def _class_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _opaque(value: Any) -> dict[str, Any]:
    try:
        text = repr(value)[:2000]
    except Exception as error:  # noqa: BLE001 - the code's own __repr__ may raise anything
        text = f"<repr failed: {type(error).__name__}>"
    return {"$": "opaque", "class": _class_name(value), "v": text}


def _has_as_dict(value: Any) -> bool:
    return callable(getattr(type(value), "as_dict", None)) and not isinstance(value, type)


def _encode_msonable(value: Any, depth: int) -> Any:
    try:
        fields = value.as_dict()
    except Exception:  # noqa: BLE001 - the code's own as_dict may raise anything
        return _opaque(value)
    if not isinstance(fields, dict):
        return _opaque(value)
    return {"$": "msonable", "class": _class_name(value), "v": encode(dict(fields), depth + 1)}


def _encode_enum(value: enum.Enum, depth: int) -> dict[str, Any]:
    if type(value).__name__ == "Element":
        return {"$": "element", "v": value.value}
    inner = encode(value.value, depth + 1)
    return {"$": "enum", "class": _class_name(value), "name": value.name, "v": inner}


def _encode_numpy(numpy: Any, value: Any, depth: int) -> Any:
    dtype = value.dtype
    if isinstance(value, numpy.ma.MaskedArray):
        return _opaque(value)
    if isinstance(value, numpy.generic):
        if dtype.kind in "biu" or (dtype.kind == "f" and dtype.itemsize <= 8):
            return {"$": "scalar", "dtype": dtype.str, "v": encode(value.item())}
        if dtype.kind in "fcmMUS":
            raw = base64.b64encode(numpy.asarray(value).tobytes()).decode()
            return {"$": "scalar", "dtype": dtype.str, "raw": raw}
        return _opaque(value)
    shape = list(value.shape)
    if dtype.kind == "O":
        items = [encode(item, depth + 1) for item in value.ravel().tolist()]
        return {"$": "array", "dtype": "object", "shape": shape, "v": items}
    if dtype.kind in "biufcmMUS":
        raw = base64.b64encode(numpy.ascontiguousarray(value).tobytes()).decode()
        return {"$": "array", "dtype": dtype.str, "shape": shape, "raw": raw}
    return _opaque(value)


def dumps(value: Any) -> str:
    """Tagged JSON text of a value; raises :class:`UnencodableError`."""
    text = json.dumps(encode(value), allow_nan=False, separators=(",", ":"))
    if len(text) >= FLOOD:
        raise UnencodableError(f"the result is larger than {FLOOD // MB} MB")
    return text


# --- the kernel ----------------------------------------------------------------------------

NEWNS, NEWUTS, NEWIPC, NEWPID = 0x20000, 0x4000000, 0x8000000, 0x20000000
ANY_NAMESPACE = 0x7E020000
RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, REC = 1, 2, 4, 8, 32, 4096, 16384

#: Machine -> (audit number, index into the table below).
MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
#: Refused system calls: numbers on x86_64 and aarch64 (None: does not exist there).
REFUSED: dict[str, tuple[int | None, int | None]] = {
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438), "kcmp": (312, 272), "bpf": (321, 280),
    "perf_event_open": (298, 241), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "add_key": (248, 217), "request_key": (249, 218),
    "keyctl": (250, 219), "userfaultfd": (323, 282), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "reboot": (169, 142), "swapon": (167, 224),
    "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "shmget": (29, 194), "shmat": (30, 196), "semget": (64, 190), "msgget": (68, 186),
    "mq_open": (240, 180), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "clock_adjtime": (305, 266), "adjtimex": (159, 171), "sethostname": (170, 161),
    "setdomainname": (171, 162), "syslog": (103, 116), "fanotify_init": (300, 262),
    "vhangup": (153, 58),
}  # fmt: skip
#: Absent, so that callers fall back: clone3 hides its flags from a filter, memory behind a
#: memfd is counted in no process.
ABSENT = {
    "clone3": (435, 435), "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "io_setup": (206, 0),
}  # fmt: skip
#: The first number that this file knows nothing about: absent too, with all that follow, and so
#: with the x32 calls of x86_64. Those from 424 have the same numbers on both machines.
UNKNOWN = 457
SOCKET, SOCKETPAIR, CLONE, MMAP = (41, 198), (53, 199), (56, 220), (9, 222)
EPERM, ENOMEM, EACCES, ENOSYS = 1, 12, 13, 38


def seccomp_program(machine: str, *, counted: bool = True) -> bytes:
    """BPF instructions of the filter: AF_UNIX sockets only, no namespaces, no kernel doors.

    Parameters
    ----------
    machine
        As ``platform.machine()`` names it.
    counted
        Whether the kernel counts the memory of the run. Where it does not, shared anonymous
        memory is refused: it can be held without standing in the account of any process.

    Raises
    ------
    RuntimeError
        On a machine for which the system call numbers are not known.
    """
    if machine not in MACHINES:
        raise RuntimeError(f"no seccomp filter for {machine}; known: {', '.join(MACHINES)}")
    audit, column = MACHINES[machine]
    load, equal, at_least, any_bit, ret = 0x20, 0x15, 0x35, 0x45, 0x06
    errno, allow, kill = 0x50000, 0x7FFF0000, 0x80000000
    program: list[tuple[int, int, int, int]] = [
        (load, 0, 0, 4),
        (equal, 1, 0, audit),
        (ret, 0, 0, kill),
        (load, 0, 0, 0),
    ]
    program += [(at_least, 0, 1, UNKNOWN), (ret, 0, 0, errno | ENOSYS)]
    for table, code in ((REFUSED, EPERM), (ABSENT, ENOSYS)):
        for numbers in table.values():
            number = numbers[column]
            if number is not None:
                program += [(equal, 0, 1, number), (ret, 0, 0, errno | code)]
    for numbers in (SOCKET, SOCKETPAIR):
        program += [(equal, 0, 4, numbers[column]), (load, 0, 0, 16), (equal, 1, 0, 1)]
        program += [(ret, 0, 0, errno | EACCES), (load, 0, 0, 0)]
    if not counted:
        program += [(equal, 0, 5, MMAP[column]), (load, 0, 0, 40), (any_bit, 0, 2, 0x20)]
        program += [(any_bit, 0, 1, 1), (ret, 0, 0, errno | ENOMEM), (load, 0, 0, 0)]
    program += [(equal, 0, 4, CLONE[column]), (load, 0, 0, 16), (any_bit, 0, 1, ANY_NAMESPACE)]
    program += [(ret, 0, 0, errno | EPERM), (load, 0, 0, 0), (ret, 0, 0, allow)]
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """mount(2); raises OSError naming the target."""
    arguments = [text.encode() for text in (source, target, kind)]
    _check(libc.mount(*arguments, ctypes.c_ulong(flags), options.encode()), f"mount {target}")


def prctl(option: int, *values: int) -> None:
    """prctl(2) with up to four arguments."""
    padded = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    _check(libc.prctl(option, *padded), f"prctl {option}")


def lock_down(program: bytes) -> None:
    """Give up every capability for good, then install the filter."""
    prctl(47, 4)  # PR_CAP_AMBIENT, CLEAR_ALL
    header = struct.pack("Ii", 0x20080522, 0)
    _check(libc.capset(header, b"\0" * 24), "capset")
    prctl(38, 1)  # PR_SET_NO_NEW_PRIVS
    buffer = ctypes.create_string_buffer(program, len(program))
    filter_ = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    holder = ctypes.create_string_buffer(filter_, len(filter_))
    prctl(22, 2, ctypes.addressof(holder))  # PR_SET_SECCOMP, MODE_FILTER


# --- jails ---------------------------------------------------------------------------------


class Cgroup:
    """What the kernel counts for a worker: its processes with all that they hold in the kernel."""

    USAGE = ("memory.current", "memory.usage_in_bytes")
    PARTS = ("memory.stat", "memory.stat")
    KILLS = ("memory.events", "memory.oom_control")

    def __init__(self, fds: list[int]) -> None:
        self.usage, self.parts, self.events = fds
        self.floor = 0

    @classmethod
    def here(cls, folders: tuple[str, ...]) -> Cgroup | None:
        """Open the files in the first of the folders that has them."""
        for folder in folders:
            for names in zip(cls.USAGE, cls.PARTS, cls.KILLS, strict=True):
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


class Jail:
    """No isolation at all: the tier ``unsafe``, and the floor that the others are measured by."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.memory = int(config["memory_mb"]) * MB
        self.processes = int(config["max_processes"])
        self.disk = int(config["disk_mb"]) * MB
        self.folder = str(config.get("folder", RUN_FOLDER))
        self.inputs = str(config.get("inputs", INPUTS))
        self.filter = b""
        self.cgroup: Cgroup | None = None

    def fork(self) -> int:
        """Fork the process that becomes the child."""
        return os.fork()

    def enter(self, mounts: list[tuple[str, str]]) -> None:
        """In the child: isolate it, show the inputs, make its folder the working directory."""
        os.mkdir(self.folder, 0o700)
        os.chdir(self.folder)
        self._link(mounts)
        self._limit()

    def used(self) -> int:
        """Memory of the run, bytes."""
        return 0 if self.cgroup is None else self.cgroup.used(self.memory)

    def pids(self) -> list[str]:
        """The processes of the run, as /proc names them; here without its daemons."""
        found, new = [], [str(os.getpid())]
        while new:
            new = [child for pid in new for child in _children(pid)]
            found += new
        return found

    def processor(self) -> float:
        """Seconds of processor time of the run's processes, and of those they waited for."""
        return sum(_processor(pid) for pid in self.pids())

    def oom_kills(self) -> int:
        """How often the kernel killed for memory so far."""
        return 0 if self.cgroup is None else self.cgroup.kills()

    def sweep(self, child: int) -> bool:
        """End a run. True: no process and no file of it is left; else the worker has to go."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)
        return not os.path.exists(self.folder)

    def reap(self) -> None:
        """Collect what the run left dying: all of it was killed by the sweep."""
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)

    def _link(self, mounts: list[tuple[str, str]]) -> None:
        for source, target in mounts:
            os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
            os.symlink(source, target)

    def _limit(self) -> None:
        baseline = int(_status("VmData")) * 1024
        limits = {
            resource.RLIMIT_DATA: baseline + self.memory,
            resource.RLIMIT_AS: int(_status("VmSize")) * 1024 + ADDRESSES * self.memory,
            resource.RLIMIT_FSIZE: self.disk,
            resource.RLIMIT_NOFILE: 256,
            resource.RLIMIT_CORE: 0,
        }
        if self.filter:  # alone under its user id; elsewhere it would count the user's programs
            limits[resource.RLIMIT_NPROC] = self.processes
        for name, value in limits.items():
            resource.setrlimit(name, (value, value))


class NamespaceJail(Jail):
    """The child is pid 1 of its own pid, mount, ipc and uts namespaces. Needs CAP_SYS_ADMIN."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(config)
        if config.get("cgroup"):
            self.cgroup = Cgroup(config["cgroup"])
        self.filter = seccomp_program(platform.machine(), counted=self.cgroup is not None)
        self.own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self.known = set(os.listdir("/proc"))
        mount("tmpfs", INPUTS, "tmpfs", NOSUID | NODEV | NOEXEC, "mode=755,size=1g")

    def fork(self) -> int:
        """One fork per run: only the namespace of *later* children changes, and changes back."""
        _check(libc.unshare(NEWPID), "unshare")
        try:
            return os.fork()
        finally:
            libc.setns(self.own, NEWPID)

    def enter(self, mounts: list[tuple[str, str]]) -> None:
        """See :meth:`Jail.enter`."""
        _raise_oom_score()
        _check(libc.unshare(NEWNS | NEWIPC | NEWUTS), "unshare")
        size = f"size={self.disk},nr_inodes=4096"
        private = NOSUID | NODEV | NOEXEC
        mount("tmpfs", "/tmp", "tmpfs", private, f"mode=1777,{size}")  # noqa: S108
        mount("tmpfs", "/dev/shm", "tmpfs", private, f"mode=1777,{size}")  # noqa: S108
        mount("proc", "/proc", "proc", private)
        os.mkdir(self.folder, 0o700)
        os.chdir(self.folder)
        for source, target in mounts:
            place = os.path.join(self.folder, target)
            if os.path.isdir(source):
                os.makedirs(place, exist_ok=True)
            else:
                os.makedirs(os.path.dirname(place), exist_ok=True)
                os.close(os.open(place, os.O_CREAT | os.O_WRONLY))
            mount(source, place, "", BIND)
            mount("", place, "", BIND | REMOUNT | RDONLY | private)
        mount("tmpfs", INPUTS, "tmpfs", private | RDONLY, "mode=755,size=4k")
        self._limit()
        lock_down(self.filter)

    def used(self) -> int:
        """See :meth:`Jail.used`. Without a cgroup: pages, page tables and sockets, as /proc shows.

        Shared pages are counted once, where that matters, and nothing runs while they are summed.
        """
        if self.cgroup is not None:
            return super().used()
        pids, sockets = self.pids(), _sockets() * SOCKET_BYTES
        total = sockets + sum(_resident(pid) for pid in pids)
        if total <= self.memory:
            return total
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGSTOP)
        total = sockets + sum(_proportional(pid) for pid in self.pids())
        if total <= self.memory:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGCONT)
        return total

    def pids(self) -> list[str]:
        """See :meth:`Jail.pids`."""
        return _others(self.known)

    def sweep(self, child: int) -> bool:
        """See :meth:`Jail.sweep`: with pid 1, the kernel ends the whole namespace."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        return True


class UserJail(Jail):
    """A user id per run, in a container that is the outer wall. Needs CAP_SETUID, CAP_SETGID."""

    SWEEPER = 19_999
    FIRST, COUNT = 20_000, 40_000  # within the 65 536 ids of a rootless engine

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(config)
        self.filter = seccomp_program(platform.machine())
        self.cgroup = Cgroup.here(("/sys/fs/cgroup", "/sys/fs/cgroup/memory"))
        # Containers share the kernel's count of processes per id: start somewhere else each time.
        self.user = self.FIRST + int.from_bytes(os.urandom(4), "big") % self.COUNT
        self.sweeper, self.order, self.answer = self._start_sweeper()
        self.known = set(os.listdir("/proc"))
        prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: daemons of a run end up here
        prctl(4, 0)  # PR_SET_DUMPABLE
        os.chmod(INPUTS, 0o711)  # noqa: S103 - names of inputs cannot be listed

    def fork(self) -> int:
        """See :meth:`Jail.fork`."""
        self.user = self.FIRST + (self.user + 1 - self.FIRST) % self.COUNT
        return os.fork()

    def enter(self, mounts: list[tuple[str, str]]) -> None:
        """See :meth:`Jail.enter`."""
        _raise_oom_score()
        _become(self.user, self.user)
        prctl(4, 1)  # dumpable again, or /proc/self is closed to honest code
        super().enter(mounts)
        lock_down(self.filter)

    def pids(self) -> list[str]:
        """See :meth:`Jail.pids`: nothing else lives in the container."""
        return _others(self.known)

    def sweep(self, child: int) -> bool:  # noqa: ARG002 - kills by user id
        """See :meth:`Jail.sweep`.

        The sweeper's real id is not the run's, so what it kills cannot kill it first.
        """
        os.write(self.order, struct.pack("I", self.user))
        return os.read(self.answer, 1) == b"\0"

    def reap(self) -> None:
        """See :meth:`Jail.reap`: every child but the sweeper."""
        while True:
            orphans = set(map(int, _children(str(os.getpid())))) - {self.sweeper}
            if not orphans:
                return
            for pid in orphans:
                os.waitpid(pid, 0)

    def _start_sweeper(self) -> tuple[int, int, int]:
        """Fork it now, while this process is small: a fork after the imports costs milliseconds."""
        (orders, order), (answer, answers) = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            kept = [os.dup2(fd, number) for number, fd in enumerate((orders, answers), 100)]
            os.closerange(3, 100)
            _sweep_on_order(self.SWEEPER, *kept)
        os.close(orders)
        os.close(answers)
        return pid, order, answer


JAILS: dict[str, type[Jail]] = {"none": Jail, "namespace": NamespaceJail, "user": UserJail}


def _sweep_on_order(real: int, orders: int, answers: int) -> NoReturn:
    while len(order := os.read(orders, 4)) == 4:
        user = struct.unpack("I", order)[0]
        helper = os.fork()
        if helper == 0:
            try:
                _become(real, user)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(-1, signal.SIGKILL)
                for folder in ("/tmp", "/dev/shm"):  # noqa: S108
                    _clear(folder, user)
                os._exit(0)
            except BaseException:  # noqa: BLE001 - reported by the exit status
                os._exit(1)
        _, status = os.waitpid(helper, 0)
        os.write(answers, b"\0" if status == 0 else b"\1")
    os._exit(0)


def _become(real: int, effective: int) -> None:
    os.setgroups([])
    os.setresgid(effective, effective, effective)
    os.setresuid(real, effective, real)


def _clear(folder: str, user: int) -> None:
    """Remove what the user owns below ``folder``, however deep, whatever its permissions.

    Every folder inside a folder is first moved up to the top: no recursion, no long paths.
    """
    count = 0
    while found := [
        item for item in os.scandir(folder) if item.stat(follow_symlinks=False).st_uid == user
    ]:
        for item in found:
            if not item.is_dir(follow_symlinks=False):
                os.unlink(item.path)
                continue
            os.chmod(item.path, 0o700)
            for inner in os.scandir(item.path):
                if inner.is_dir(follow_symlinks=False):
                    os.chmod(inner.path, 0o700)
                    count += 1
                    os.rename(inner.path, os.path.join(folder, f"removed-{os.getpid()}-{count}"))
                else:
                    os.unlink(inner.path)
            os.rmdir(item.path)


def _raise_oom_score() -> None:
    with open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")


def _status(name: str) -> str:
    with open("/proc/self/status") as lines:
        return next(line.split()[1] for line in lines if line.startswith(name + ":"))


def _children(pid: str) -> list[str]:
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/children") as line:
                found += line.read().split()
    return found


def _others(known: set[str]) -> list[str]:
    return [name for name in os.listdir("/proc") if name.isdigit() and name not in known]


def _processor(pid: str) -> float:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as line:
        ticks = line.read().rpartition(b")")[2].split()[11:15]
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _children_seconds() -> float:
    """Processor time of every process that ended and was waited for, here or by such a one."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _resident(pid: str) -> int:
    """Pages and page tables; of any thread, for the first one may have ended before the others."""
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with (
                contextlib.suppress(OSError),
                open(f"/proc/{pid}/task/{task}/status", "rb") as file,
            ):
                found = re.findall(rb"^(?:VmRSS|VmPTE):\s*(\d+) kB$", file.read(), re.MULTILINE)
                if found:
                    return sum(map(int, found)) * 1024
    return 0


def _proportional(pid: str) -> int:
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/task/{task}/smaps_rollup", "rb") as file:
                    pages = re.search(rb"^Pss:\s*(\d+) kB$", file.read(), re.MULTILINE)
                with open(f"/proc/{pid}/task/{task}/status", "rb") as file:
                    tables = re.search(rb"^VmPTE:\s*(\d+) kB$", file.read(), re.MULTILINE)
                if pages and tables:
                    return (int(pages[1]) + int(tables[1])) * 1024
    return _resident(pid)  # it ended (0), or hides its pages: then it owns them all


def _sockets() -> int:
    """How many there are in this network namespace."""
    with contextlib.suppress(OSError), open("/proc/net/sockstat") as lines:
        return int(lines.readline().split()[2])
    return 0


# --- the child -----------------------------------------------------------------------------


def child(jail: Jail, request: Mapping[str, Any], code: bytes, fds: list[int]) -> NoReturn:
    """Become the jailed process, run the code, write the result; never returns.

    ``fds`` are the write ends for stdout, stderr, the result and for failures before the code.
    """
    setup = 4
    try:
        null = os.open(os.devnull, os.O_RDONLY)
        for number, fd in enumerate([null, *fds], start=100):  # out of the way of 0 to 4
            os.dup2(fd, number)
        for number in range(5):
            os.dup2(number + 100, number)
        os.closerange(5, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        os.setsid()  # signals to the group of process 0 end here
        os.nice(NICE)
        jail.enter([(item["source"], item["target"]) for item in request["mounts"]])
        if request["collect"]:
            os.mkdir(OUT)
        os.environ.update(HOME=jail.folder, TMPDIR=jail.folder)
        for name, fd in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
            mode = "r" if fd == 0 else "w"
            stream = open(  # noqa: SIM115 - stays open
                fd, mode, buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
            )
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        with contextlib.suppress(OSError), open("main.py", "wb") as file:
            file.write(code)  # for tracebacks; code larger than the disk runs without
        random.seed()
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed()
        gc.enable()
    except BaseException:  # noqa: BLE001 - told to the server, which tells the host
        os.write(setup, traceback.format_exc().encode())
        os._exit(70)
    try:
        os.close(setup)
        out = os.path.join(jail.folder, OUT) if request["collect"] else ""
        message = _execute(code, str(request["entry"]), os.path.join(jail.folder, "main.py"), out)
        view = memoryview(message)
        while view:
            view = view[os.write(3, view) :]
        os._exit(0)
    finally:  # whatever the code did to its descriptors: never back into the server
        os._exit(71)


class Catches:
    """Takes note of exceptions that the code catches itself.

    Every ``except`` block of the code begins with a call of :meth:`note`: nothing is traced, so
    code that catches nothing runs at full speed, on every version of Python.
    """

    NAME = "__caught__"  # among the builtins: the code's own names stay as they are

    def __init__(self, path: str) -> None:
        self.path = path
        self.found: dict[tuple[str, str, int], None] = {}

    def compile(self, code: bytes) -> types.CodeType:
        """Compile the code; what cannot be rewritten stays as it is."""
        plain = compile(code, self.path, "exec", dont_inherit=True)
        try:
            tree = ast.parse(code, self.path)
            for node in ast.walk(tree):
                if isinstance(node, ast.ExceptHandler):
                    # Calling it may fail itself: in a handler at the limit of recursion.
                    call = ast.parse(f"try: {self.NAME}()\nexcept RecursionError: pass").body[0]
                    for part in ast.walk(call):
                        if hasattr(part, "lineno"):
                            ast.copy_location(part, node)
                    node.body.insert(0, call)
            compiled: types.CodeType = compile(tree, self.path, "exec", dont_inherit=True)
        except (RecursionError, MemoryError, SyntaxError, ValueError):
            return plain
        setattr(builtins, self.NAME, self.note)
        suppress = contextlib.suppress.__exit__

        def leave(manager: Any, kind: Any, error: Any, trace: Any) -> Any:
            swallowed = suppress(manager, kind, error, trace)
            if swallowed and sys._getframe(1).f_code.co_filename == self.path:
                self.note(error)
            return swallowed

        contextlib.suppress.__exit__ = leave  # type: ignore[method-assign]
        return compiled

    def key(self, error: BaseException) -> tuple[str, str, int]:
        """Type, message and line of an exception, whatever its own methods do."""
        try:
            message = str.__str__(str(error))
        except Exception:  # noqa: BLE001 - the code's own __str__ may raise anything
            message = ""
        line, frames = 0, error.__traceback__
        while frames is not None:
            if frames.tb_frame.f_code.co_filename == self.path:
                line = frames.tb_lineno or 0
            frames = frames.tb_next
        return type.__dict__["__name__"].__get__(type(error))[:100], message[:MAX_MESSAGE], line

    def note(self, error: BaseException | None = None) -> None:
        """Take note of ``error``, or of the exception that is being handled."""
        error = error or sys.exception()
        if error is not None and len(self.found) < MAX_CAUGHT:
            self.found.setdefault(self.key(error))

    def report(self, error: BaseException | None = None) -> bytes:
        """JSON of what was caught, without what ended the code after all (``error``)."""
        for _ in range(MAX_CAUGHT):
            if error is None:
                break
            self.found.pop(self.key(error), None)
            error = error.__cause__ or error.__context__
        return json.dumps(list(self.found)).encode() if self.found else b""


def _execute(code: bytes, entry: str, path: str, out: str) -> bytes:
    """Run the code; ``out`` is the folder whose files are handed over, empty for none.

    Returns
    -------
    message
        The outcome's name and the sizes of what was caught and of what is said of files (without,
        there is nothing), a line feed, what was caught, the files, then the payload or the reason.
    """
    written = b""
    catches = Catches(path)
    ended: BaseException | None = None
    try:
        name = "main" if entry else "__main__"
        module = types.ModuleType(name)
        module.__file__ = path
        sys.modules[name] = module
        sys.argv = ["main.py"]
        sys.path.insert(0, os.path.dirname(path))
        exec(catches.compile(code), module.__dict__)  # noqa: S102 - what a sandbox is for
        value = None
        if entry:
            function = module.__dict__.get(entry)
            if not callable(function):
                raise NameError(f"the code defines no function {entry!r}")  # noqa: TRY301
            value = function()
        outcome, text = "ok", dumps(value)
        written = collect(out) if out else b""
    except UnencodableError as error:
        outcome, text = "bad_result", str(error)
    except SystemExit as error:
        outcome, text = "exit", f"SystemExit: {error.code!r:.200}"
    except MemoryError as error:
        outcome, text = "memory", _traceback(error)
    except BaseException as error:  # noqa: BLE001 - whatever the code raises is its result
        outcome, text, ended = "exception", _traceback(error), error
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    try:
        caught = catches.report(ended)
    except Exception:  # noqa: BLE001 - the code broke what reports it
        caught = b""
    sizes = f" {len(caught)} {len(written)}" if caught or written else ""
    payload = text.encode("utf-8", "backslashreplace")
    return b"".join([f"{outcome}{sizes}\n".encode(), caught, written, payload])


def collect(folder: str) -> bytes:
    """The files of a folder: JSON of names and sizes, a line feed, their bytes one after another.

    Links, pipes and other things that are not files are left out, and so is what goes beyond the
    limits; each is named with its reason.
    """
    files: list[tuple[str, int]] = []
    parts: list[bytes] = []
    left: list[str] = []
    room = OUT_BYTES
    found = [] if os.path.islink(folder) else sorted(os.walk(folder))
    for top, _, names in found:
        for name in sorted(names):
            path = os.path.join(top, name)
            shown = os.path.relpath(path, folder)
            if len(shown) > KEEP // OUT_FILES // 12:  # JSON writes up to 12 signs for one
                left.append(f"{shown[:60]}...: the name is too long")
                continue
            try:
                status = os.lstat(path)
                if not stat.S_ISREG(status.st_mode):
                    left.append(f"{shown}: not a plain file")
                elif len(files) == OUT_FILES:
                    left.append(f"{shown}: at most {OUT_FILES} files are handed over")
                elif status.st_size > room:
                    left.append(f"{shown}: at most {OUT_BYTES // MB} MB are handed over")
                else:
                    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                    with open(fd, "rb") as file:
                        data = file.read(room)
                    room -= len(data)
                    files.append((shown, len(data)))
                    parts.append(data)
            except OSError as error:
                left.append(f"{shown}: {error.strerror}")
    header = json.dumps({"files": files, "left": left[:OUT_FILES]}) if files or left else ""
    return b"".join([header.encode(), b"\n", *parts]) if header else b""


def _traceback(error: BaseException) -> str:
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    text = "".join(traceback.format_exception(type(error), error, frames, limit=-30))
    return text if len(text) <= KEEP else text[: KEEP // 2] + "\n...\n" + text[-KEEP // 2 :]


# --- the server ----------------------------------------------------------------------------


class HostGoneError(Exception):
    """The other end of the pipe is closed."""


class Server:
    """Reads requests from the host, forks a child for each, sends what became of it."""

    def __init__(self, requests: int, replies: int) -> None:
        self.requests, self.replies = requests, replies
        self.kills = 0  # by the kernel for memory, before the run
        self.processor = 0.0  # seconds seen of the run's processes, also those nobody waited for
        self.jail = Jail({"memory_mb": 0, "max_processes": 0, "disk_mb": 0})

    def read(self, size: int) -> bytes:
        """Exactly ``size`` bytes; raises :class:`HostGoneError` at the end of the stream."""
        data = bytearray()
        while len(data) < size:
            part = os.read(self.requests, min(size - len(data), MB))
            if not part:
                raise HostGoneError
            data += part
        return bytes(data)

    def receive(self) -> tuple[dict[str, Any], list[bytes]]:
        """The next frame of the host: header and blobs."""
        header = json.loads(self.read(struct.unpack(">I", self.read(4))[0]))
        return header, [self.read(size) for size in header["blobs"]]

    def send(self, header: dict[str, Any], *blobs: bytes) -> None:
        """Send one frame to the host."""
        text = json.dumps({**header, "blobs": [len(blob) for blob in blobs]}).encode()
        view = memoryview(b"".join([struct.pack(">I", len(text)), text, *blobs]))
        while view:
            view = view[os.write(self.replies, view) :]

    def serve(self) -> None:
        """Answer requests until the host is gone."""
        config, _ = self.receive()
        started = time.monotonic()
        try:
            self.jail = JAILS[config["jail"]](config)
            if config.get("own"):
                _put_first(config["own"])
            warmup: dict[str, Any] = {"__name__": "warmup"}
            compiled = compile(config["warmup"], "warmup.py", "exec", dont_inherit=True)
            exec(compiled, warmup)  # noqa: S102 - a file of ours
            gc.collect()
            gc.freeze()  # fewer pages are copied by children
            gc.disable()
        except Exception:  # noqa: BLE001 - told to the host
            self.send({"error": traceback.format_exc()})
            return
        seconds = time.monotonic() - started
        counted = self.jail.cgroup is not None
        rss = int(_status("VmRSS"))
        self.send({"error": None, "seconds": seconds, "rss_kb": rss, "memory_counted": counted})
        while True:
            request, blobs = self.receive()
            try:
                code, *files = blobs
                self.store(request["inputs"], files)
                header, streams = self.run(request, code)
            except HostGoneError:
                raise
            except Exception:  # noqa: BLE001 - told to the host, which replaces this worker
                header, streams = {"error": traceback.format_exc()}, []
            self.send(header, *streams)

    def store(self, inputs: list[dict[str, Any]], blobs: list[bytes]) -> None:
        """Keep input files that later runs refer to by key; read-only for every run."""
        rest = iter(blobs)
        for item in inputs:
            folder = os.path.join(self.jail.inputs, item["key"])
            for relative in item["files"]:
                path = os.path.join(folder, relative) if relative else folder
                os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
                with open(path, "wb") as file:
                    file.write(next(rest))
                os.chmod(path, 0o444)

    def run(self, request: dict[str, Any], code: bytes) -> tuple[dict[str, Any], list[bytes]]:
        """One run: fork, watch, sweep."""
        for item in request["mounts"]:
            item["source"] = os.path.join(self.jail.inputs, item["key"])
        pipes = [os.pipe() for _ in range(4)]
        self.kills = self.jail.oom_kills()
        if self.jail.cgroup is not None:
            self.jail.cgroup.begin()
        started, processor = time.monotonic(), _children_seconds()
        pid = self.jail.fork()
        if pid == 0:
            child(self.jail, request, code, [end for _, end in pipes])
        reads = [end for end, _ in pipes]
        try:
            for _, end in pipes:
                os.close(end)
            limit = FLOOD + (OUT_BYTES + KEEP if request["collect"] else 0)
            status, reason, clean, streams = self.watch(
                pid, reads, float(request["timeout"]), started + float(request["wall"]), limit
            )
            processor = max(_children_seconds() - processor, self.processor)
        finally:
            for end in reads:
                os.close(end)
        seconds = time.monotonic() - started
        *streams, failure = streams
        if failure:
            raise RuntimeError(f"the jail could not be set up:\n{failure.decode(errors='replace')}")
        if reason is None and self.jail.oom_kills() > self.kills:
            reason = "memory"
        header = {
            "error": None, "seconds": seconds, "cpu_seconds": processor,
            "reason": reason, "status": status, "clean": clean,
        }  # fmt: skip
        return header, streams

    def look(self, timeout: float) -> str | None:
        """What the running code has used: the reason to end it, or ``None``."""
        self.processor = max(self.processor, self.jail.processor())
        if self.processor > timeout:
            return "timeout"
        if self.jail.used() > self.jail.memory or self.jail.oom_kills() > self.kills:
            return "memory"
        return None

    def watch(
        self, pid: int, reads: list[int], timeout: float, deadline: float, limit: int
    ) -> tuple[int, str | None, bool, list[bytes]]:
        """Read the child's pipes until it ends or must be ended; nothing of it lives after.

        ``limit`` is that of its result, bytes.
        """
        pidfd = os.pidfd_open(pid)
        streams = [bytearray() for _ in reads]
        sizes = [0] * len(reads)
        reason: str | None = None
        open_pipes = set(reads)
        looked = time.monotonic()
        self.processor = 0.0

        def drain(end: int) -> None:
            index = reads.index(end)
            part = os.read(end, 1 << 16)
            if not part:
                open_pipes.discard(end)
            sizes[index] += len(part)
            room = (limit if index == 2 else KEEP) - len(streams[index])
            streams[index] += part[: max(room, 0)]

        try:
            for end in reads:
                os.set_blocking(end, False)
            while reason is None:
                wait = max(min(WATCH_SECONDS, deadline - time.monotonic()), 0)
                ready, _, _ = select.select([*open_pipes, pidfd, self.requests], [], [], wait)
                for end in open_pipes & set(ready):
                    drain(end)
                if self.requests in ready:
                    raise HostGoneError  # the host sends nothing during a run: it died, or gave up
                if pidfd in ready:
                    break
                if max(sizes[:2]) > FLOOD:
                    reason = "output_flood"
                elif sizes[2] > limit:
                    reason = "bad_result"
                elif time.monotonic() >= deadline:
                    reason = "wall"
                elif time.monotonic() >= looked + WATCH_SECONDS:
                    reason = self.look(timeout)
                    looked = time.monotonic()
        finally:
            os.close(pidfd)
            clean = self.jail.sweep(pid)
            _, status = os.waitpid(pid, 0)
            self.jail.reap()
        for end in list(open_pipes):
            with contextlib.suppress(BlockingIOError):
                while end in open_pipes and max(sizes) <= limit:
                    drain(end)
        if reason is None and sizes[2] > limit:
            reason = "bad_result"
        return status, reason, clean, [bytes(stream) for stream in streams]


def _put_first(folder: str) -> None:
    """Search a folder for imports before the installed packages, behind the standard library.

    Processes that the code starts get it too, by their environment.
    """
    if not os.listdir(folder):  # else every answer would be blamed for an import that fails
        raise RuntimeError(f"{folder} is empty: the engine does not see the files of this machine")
    installed = [index for index, path in enumerate(sys.path) if path.endswith("-packages")]
    sys.path.insert(min(installed, default=len(sys.path)), folder)
    os.environ["PYTHONPATH"] = folder


def main() -> None:
    """Serve on the standard streams; stray prints of libraries go to stderr."""
    requests = os.dup(0)
    replies = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    with contextlib.suppress(HostGoneError, BrokenPipeError):
        Server(requests, replies).serve()


if __name__ == "__main__":
    __file__ = "runner.py"
    main()

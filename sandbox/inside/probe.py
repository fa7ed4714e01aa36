"""Tries, from inside, what must not work. Runs like any answer.

Sockets are created (and expected to be refused), never connected.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)
KNOWN = {
    "HOME",
    "TMPDIR",
    "PATH",
    "LANG",
    "LC_CTYPE",
    "USER",
    "LOGNAME",
    "PWD",
    "HOSTNAME",
    "TERM",
    "container",
    "PYTHONHASHSEED",
    "PYTHONDONTWRITEBYTECODE",
    "MPLBACKEND",
    "MPLCONFIGDIR",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "MALLOC_ARENA_MAX",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
}
FOLDERS = (
    "/ /usr /usr/bin /env /env/lib /dev /dev/mqueue /etc /proc /inputs /sys /var /var/tmp /run"
    " /opt /home /root /python /mnt /srv /own"
)
SECRETS = "/etc/shadow /etc/gshadow /etc/ssh/ssh_host_rsa_key /proc/kcore /dev/mem"
ENGINES = "/var/run/docker.sock /run/docker.sock /run/podman/podman.sock"
NUMBERS = {
    "x86_64": {
        "bpf": 321,
        "io_uring_setup": 425,
        "keyctl": 250,
        "ptrace": 101,
        "mount": 165,
    },
    "aarch64": {
        "bpf": 280,
        "io_uring_setup": 425,
        "keyctl": 219,
        "ptrace": 117,
        "mount": 40,
    },
}


def status() -> dict[str, str]:
    """Fields of /proc/self/status."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return {line.partition(":")[0]: line.partition(":")[2].strip() for line in lines}


def works(call: Callable[..., object], *arguments: object) -> bool:
    """Whether a call is not refused."""
    try:
        call(*arguments)
    except OSError:
        return False
    return True


def opens(path: str, flags: int) -> bool:
    """Whether the file can be opened."""
    return works(lambda: os.close(os.open(path, flags)))


def unprivileged() -> Iterator[str]:
    """Not root, no capabilities, no way to gain any."""
    facts = status()
    if 0 in {os.getuid(), os.geteuid(), os.getgid(), os.getegid()}:
        yield "it is root"
    for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
        if int(facts[name], 16):
            yield f"{name} is {facts[name]}"
    if facts["NoNewPrivs"] != "1":
        yield "privileges can be gained"


def system_calls() -> Iterator[str]:
    """A filter refuses namespaces, mounts, ptrace, bpf, io_uring, keys."""
    if status()["Seccomp"] != "2":
        yield "no filter is in force"
    for name, number in NUMBERS[platform.machine()].items():
        if libc.syscall(number, 0, 0, 0, 0, 0) >= 0 or ctypes.get_errno() != 1:
            yield f"{name} is not refused"
    for flag in (0x10000000, 0x20000, 0x20000000):
        if libc.unshare(flag) == 0:
            yield "a namespace can be made"


def network() -> Iterator[str]:
    """No socket but AF_UNIX."""
    for family in range(2, 46):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
            if works(socket.socket, family, kind):
                yield f"a socket of family {family} can be made"


def file_system() -> Iterator[str]:
    """Nothing outside the run's own folders is writable."""
    for folder in FOLDERS.split():
        if opens(f"{folder}/probe", os.O_CREAT | os.O_WRONLY):
            yield f"{folder} is writable"
    for path in ("/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern"):
        if opens(path, os.O_WRONLY):
            yield f"{path} is writable"


def secrets() -> Iterator[str]:
    """No password file, engine socket or home folder is readable."""
    for path in SECRETS.split():
        if opens(path, os.O_RDONLY):
            yield f"{path} is readable"
    for path in ENGINES.split():
        if Path(path).exists():
            yield f"{path} is visible"
    for home in (*Path("/home").glob("*"), Path("/root")):
        try:
            entries = list(home.iterdir())
        except OSError:
            continue
        if any(not item.name.startswith(".") or item.is_file() for item in entries):
            yield f"{home} is readable"


def environment() -> Iterator[str]:
    """No variable of the host."""
    text = Path(
        "/proc/self/environ"
    ).read_text()  # at its start: libraries may add others
    extra = {item.partition("=")[0] for item in text.split("\0") if item} - KNOWN
    if extra:
        yield f"variables {sorted(extra)}"


def processes() -> Iterator[str]:
    """No other process can be read or signalled."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        for part in ("environ", "maps", "mem"):
            if opens(f"{folder}/{part}", os.O_RDONLY):
                yield f"{folder}/{part} is readable"
        if works(os.kill, int(folder.name), 0):
            yield f"process {folder.name} can be signalled"


def descriptors() -> Iterator[str]:
    """No file of the worker is open."""
    extra = [number for number in range(4, 256) if works(os.fstat, number)]
    if extra:  # beyond the three streams and the result
        yield f"descriptors {extra}"


def limits() -> Iterator[str]:
    """Memory, processes, file size and open files are limited."""
    for name in ("NPROC", "DATA", "FSIZE", "NOFILE", "CORE"):
        if (
            resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1]
            == resource.RLIM_INFINITY
        ):
            yield f"RLIMIT_{name} is unlimited"


#: What every isolating backend must hold, as the docstrings say, in the order of the self-test.
CONTROLS = (
    unprivileged,
    system_calls,
    network,
    file_system,
    secrets,
    environment,
    processes,
    descriptors,
    limits,
)


def probe() -> dict[str, str | None]:
    """Control -> what is broken, or ``None`` when it holds."""
    return {control.__name__: next(control(), None) for control in CONTROLS}

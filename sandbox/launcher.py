"""Started as root: show what the sandbox needs at readable places, give up root, execute.

Root's Python often lies under a folder that only root may enter, and bubblewrap started by
root would not enforce the limit on processes. So this program (standard library only) makes a
mount namespace of its own, binds the needed folders below ``/mnt`` there, becomes an
unprivileged user that nobody else is, and only then executes bubblewrap. The mounts end with
the last process of the sandbox; nothing is left on the host, even after ``kill -9``.

Usage: ``python launcher.py PARENT USER COUNT SOURCE... COMMAND...``; in the command, ``@0`` to
``@9`` stand for the places where the sources are shown.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import sys

libc = ctypes.CDLL(None, use_errno=True)
NEWNS, BIND, REC, PRIVATE, RDONLY, REMOUNT = 0x20000, 4096, 16384, 1 << 18, 1, 32
PLACE = "/mnt"


def check(result: int, what: str) -> None:
    """Raise OSError with the reason of the last failed call."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str, flags: int) -> None:
    """mount(2)."""
    arguments = [text.encode() for text in (source, target, kind)]
    check(libc.mount(*arguments, ctypes.c_ulong(flags), b"mode=755"), f"mount {target}")


def main() -> None:
    """Do it; never returns when all is well."""
    parent, user, count = (int(text) for text in sys.argv[1:4])
    sources, command = sys.argv[4 : 4 + count], sys.argv[4 + count :]
    check(libc.unshare(NEWNS), "unshare")
    mount("none", "/", "", REC | PRIVATE)
    held = [os.open(source, os.O_PATH) for source in sources]  # before /mnt covers any of them
    mount("tmpfs", PLACE, "tmpfs", 0)
    for index, descriptor in enumerate(held):
        place = f"{PLACE}/{index}"
        os.mkdir(place)  # noqa: PTH102 - nothing imported that is not needed
        mount(f"/proc/self/fd/{descriptor}", place, "", BIND)
        os.close(descriptor)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    check(libc.prctl(1, signal.SIGKILL), "prctl")  # die with the host, also before bubblewrap
    if os.getppid() != parent:
        raise SystemExit("the host process is gone")
    command = [re.sub(r"@(\d)", rf"{PLACE}/\1", text) for text in command]
    os.chdir("/")
    os.execv(command[0], command)  # noqa: S606 - no shell is the point


if __name__ == "__main__":
    main()

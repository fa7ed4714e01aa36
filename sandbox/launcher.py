"""Join a cgroup; when root: show what the sandbox needs at readable places, give up root; execute.

Root's Python often lies under a folder that only root may enter, and bubblewrap started by
root would not enforce the limit on processes. So this program (standard library only) makes a
mount namespace of its own, binds the needed folders below ``/mnt`` there, becomes an
unprivileged user that nobody else is, and only then executes bubblewrap. The mounts end with
the last process of the sandbox; nothing is left on the host, even after ``kill -9``.

Its argument is a list as JSON: process id of the host, the user to become, folder of the cgroup
(empty: none), the folders to show as ``PLACE/0`` and so on, the command.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from sandbox.server.kernel import BIND, NEWNS, PRIVATE_TREE, Cgroup, check, libc, mount

PLACE = "/mnt"
CGROUP_FDS = (20, 21, 22)  # from which the fork server reads `Cgroup.FILES`


def give_up_root(user: int, sources: list[str]) -> None:
    """Show the sources below ``PLACE``, and become the user."""
    check(libc.unshare(NEWNS), "unshare")
    mount("none", "/", "", PRIVATE_TREE)
    held = [
        os.open(source, os.O_PATH) for source in sources
    ]  # before /mnt covers any of them
    mount("tmpfs", PLACE, "tmpfs", 0, "mode=755")
    for index, descriptor in enumerate(held):
        place = f"{PLACE}/{index}"
        os.mkdir(place)  # noqa: PTH102 - nothing imported that is not needed
        mount(f"/proc/self/fd/{descriptor}", place, "", BIND)
        os.close(descriptor)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def main() -> None:
    """Do it; never returns when all is well."""
    parent, user, cgroup, sources, command = json.loads(sys.argv[1])
    if cgroup:  # become a member, and keep open what tells how much it uses
        with open(f"{cgroup}/cgroup.procs", "w") as file:  # noqa: PTH123 - nothing not needed
            file.write("0")
        for name, number in zip(Cgroup.FILES[0], CGROUP_FDS, strict=True):
            os.dup2(os.open(f"{cgroup}/{name}", os.O_RDONLY), number, inheritable=True)
    if os.geteuid() == 0:
        give_up_root(user, sources)
    check(
        libc.prctl(1, signal.SIGKILL), "prctl"
    )  # die with the host, also before bubblewrap
    if os.getppid() != parent:
        raise SystemExit("the host process is gone")
    os.chdir("/")
    os.execv(command[0], command)  # noqa: S606 - no shell is the point

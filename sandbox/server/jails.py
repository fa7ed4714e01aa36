"""Jails: what a child enters before the code starts, and how a run is ended."""

from __future__ import annotations

import contextlib
import os
import platform
import resource
import shutil
import signal
import socket
import struct
import time
from collections.abc import Mapping
from typing import Any, NoReturn

from sandbox.inside.tagged import MB
from sandbox.server import kernel
from sandbox.server.kernel import (
    Cgroup,
    check,
    children,
    libc,
    lock_down,
    mount,
    others,
    prctl,
)
from sandbox.server.seccomp import seccomp_program

RUN_FOLDER = "/tmp/run"  # noqa: S108 - a private tmpfs, or a folder of this run's user id
INPUTS = "/inputs"
SOCKET_BYTES = 425_984  # what may wait in a socket, where nothing else counts it
ADDRESSES = (
    32  # bytes of addresses for each byte of memory: the tables of the rest cost memory
)
COLLECT_SECONDS = 2.0  # for the kernel to forget what a run left in it


class Jail:
    """No isolation at all: ``unsafe``, and the floor that the others are measured by."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.memory = int(config["memory_mb"]) * MB
        self.processes = int(config["max_processes"])
        self.disk = int(config["disk_mb"]) * MB
        self.folder = str(config.get("folder", RUN_FOLDER))
        self.inputs = str(config.get("inputs", INPUTS))
        self.filter = b""
        self.zygote = 0  # process whose children are the runs
        #: Processes that are none of a run, where nobody else starts any.
        self.known: set[str] | None = None
        self.cgroup: Cgroup | None = None
        self.sockets: int | None = None

    # --- in the zygote, and in the child

    def adopt(self) -> None:
        """In the zygote: become the parent of what a run leaves behind."""

    def fork(self) -> int:
        """In the zygote: fork the process that becomes the child."""
        return os.fork()

    def reap(self) -> None:
        """In the zygote: wait for what the run left dying; all of it was killed by the sweep."""
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)

    def enter(self, number: int, mounts: list[tuple[str, str]]) -> None:  # noqa: ARG002
        """In the child: isolate it, show the inputs, make its folder the working directory.

        ``number`` is what `begin` gave.
        """
        os.mkdir(self.folder, 0o700)
        os.chdir(self.folder)
        for source, target in mounts:
            os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
            os.symlink(source, target)
        self._limit()

    # --- in the supervisor

    def settle(self, zygote: int) -> None:
        """The libraries are warm: processes and sockets that there are now belong to no run."""
        self.zygote = zygote
        if self.filter:
            self.sockets = kernel.sockets()
            self.known = set(os.listdir("/proc"))

    def begin(self, keys: list[str]) -> int:  # noqa: ARG002
        """A run begins that mounts inputs with these keys; a number for `enter`."""
        return 0

    def end(self, keys: list[str]) -> None:
        """The run has ended."""

    def hide(self, key: str) -> None:
        """Inputs with this key have come: no run that does not mount them can read them."""

    def used(self) -> int:
        """Memory of the run, bytes."""
        return 0 if self.cgroup is None else self.cgroup.used(self.memory)

    def pids(self) -> list[str]:
        """Process ids of the run.

        In a namespace of the worker's own, all but those that were there before; elsewhere the
        descendants of the zygote, so that a process which became a daemon is not found.
        """
        if self.known is not None:
            return others(self.known)
        pids, new = [], [str(self.zygote)]
        while new:
            new = [child for pid in new for child in children(pid)]
            pids += new
        return pids

    def processor(self) -> float:
        """Seconds of processor time of the run's processes, and of those they waited for."""
        return sum(kernel.processor_seconds(pid) for pid in self.pids())

    def oom_kills(self) -> int:
        """How often the kernel killed for memory so far."""
        return 0 if self.cgroup is None else self.cgroup.kills()

    def sweep(self, child: int) -> bool:
        """End a run. True: no process and no file of it is left; else the worker has to go."""
        _signal(child, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)
        return not os.path.exists(self.folder)

    def forget_sockets(self) -> bool:
        """Make the kernel forget sockets that only messages in sockets hold; whether it did.

        Nothing else outlives the last process, except what such messages hold as well.
        """
        deadline = time.monotonic() + COLLECT_SECONDS
        while self.sockets is not None and kernel.sockets() > self.sockets:
            if time.monotonic() > deadline:
                return False
            for end in socket.socketpair():
                end.close()  # whenever one is closed, the kernel looks for those
            time.sleep(0.001)
        return True

    def _limit(self) -> None:
        baseline = int(kernel.status("VmData")) * 1024
        limits = {
            resource.RLIMIT_DATA: baseline + self.memory,
            resource.RLIMIT_AS: int(kernel.status("VmSize")) * 1024
            + ADDRESSES * self.memory,
            resource.RLIMIT_FSIZE: self.disk,
            resource.RLIMIT_NOFILE: 256,
            resource.RLIMIT_CORE: 1,  # 0 would still start a program of the host that takes them
        }
        if (
            self.filter
        ):  # alone under its user id; elsewhere it would count the user's programs
            limits[resource.RLIMIT_NPROC] = self.processes
        for name, value in limits.items():
            hard = resource.getrlimit(name)[
                1
            ]  # on login nodes it may be less (`ulimit -v`)
            least = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(name, (least, least))


class NamespaceJail(Jail):
    """The child is pid 1 of its own pid, mount, ipc and uts namespaces. Needs CAP_SYS_ADMIN.

    With pid 1 the kernel ends all of them, and the run's files, which lie in a mount of its own.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(config)
        if config.get("cgroup"):
            self.cgroup = Cgroup(config["cgroup"])
        self.filter = seccomp_program(
            platform.machine(), config["calls"], counted=self.cgroup is not None
        )
        self.own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        kernel.conceal("/tmp")  # noqa: S108 - a tmpfs, which every run covers with its own
        mount("tmpfs", INPUTS, "tmpfs", kernel.PRIVATE, "mode=755,size=1g")

    def fork(self) -> int:
        """One fork per run: only the namespace of *later* children changes, and changes back."""
        check(libc.unshare(kernel.NEWPID), "unshare")
        try:
            pid = os.fork()
        except OSError:
            libc.setns(self.own, kernel.NEWPID)
            raise
        if pid:  # the child is the first process of the new namespace, and stays there
            libc.setns(self.own, kernel.NEWPID)
        return pid

    def enter(self, number: int, mounts: list[tuple[str, str]]) -> None:  # noqa: ARG002
        """See :meth:`Jail.enter`."""
        _raise_oom_score()
        check(libc.unshare(kernel.NEWNS | kernel.NEWIPC | kernel.NEWUTS), "unshare")
        size = f"size={self.disk},nr_inodes=4096"
        private = kernel.PRIVATE
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
            mount(source, place, "", kernel.BIND)
            mount("", place, "", kernel.BIND | kernel.REMOUNT | kernel.RDONLY | private)
        mount("tmpfs", INPUTS, "tmpfs", private | kernel.RDONLY, "mode=755,size=4k")
        self._limit()
        lock_down(self.filter)

    def used(self) -> int:
        """See :meth:`Jail.used`. Without a cgroup: pages, page tables and sockets, as /proc shows.

        Shared pages are counted once, where that matters, and nothing runs while they are summed.
        """
        if self.cgroup is not None:
            return super().used()
        pids, queued = self.pids(), kernel.sockets() * SOCKET_BYTES
        total = queued + sum(kernel.held(pid) for pid in pids)
        if total <= self.memory:
            return total
        for pid in pids:
            _signal(int(pid), signal.SIGSTOP)
        total = queued + sum(kernel.held(pid, shared=True) for pid in self.pids())
        if total <= self.memory:
            for pid in pids:
                _signal(int(pid), signal.SIGCONT)
        return total


class UserJail(Jail):
    """A user id per run, in a container that is the outer wall. Needs CAP_SETUID, CAP_SETGID."""

    SWEEPER = 19_999
    FIRST, COUNT = 20_000, 40_000  # within the 65 536 ids of a rootless engine

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(config)
        self.filter = seccomp_program(platform.machine(), config["calls"])
        self.cgroup = Cgroup.here()
        # Containers share the kernel's count of processes per id: start somewhere else each time.
        self.user = self.FIRST + int.from_bytes(os.urandom(4), "big") % self.COUNT
        self.order, self.answer = self._start_sweeper()
        prctl(4, 0)  # PR_SET_DUMPABLE
        os.chmod(INPUTS, 0o711)  # noqa: S103 - names of inputs cannot be listed

    def adopt(self) -> None:
        """See :meth:`Jail.adopt`."""
        prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: daemons of a run end up here

    def enter(self, number: int, mounts: list[tuple[str, str]]) -> None:
        """See :meth:`Jail.enter`."""
        _raise_oom_score()
        _become(number, number)
        prctl(4, 1)  # dumpable again, or /proc/self is closed to honest code
        super().enter(number, mounts)
        lock_down(self.filter)

    def begin(self, keys: list[str]) -> int:
        """See :meth:`Jail.begin`: the number is a user and a group of this run alone."""
        self.user = self.FIRST + (self.user + 1 - self.FIRST) % self.COUNT
        self._give(keys, self.user)
        return self.user

    def end(self, keys: list[str]) -> None:
        """See :meth:`Jail.end`."""
        self._give(keys, 0)

    def hide(self, key: str) -> None:
        """See :meth:`Jail.hide`: only a group may read them, which is nobody's yet."""
        path = os.path.join(self.inputs, key)
        os.chmod(path, 0o750 if os.path.isdir(path) else 0o440)

    def _give(self, keys: list[str], group: int) -> None:
        os.setgroups([group])  # an owner can hand over to the groups that it is in
        for key in keys:
            os.chown(os.path.join(self.inputs, key), -1, group)
        os.setgroups([])

    def sweep(self, child: int) -> bool:  # noqa: ARG002 - kills by user id
        """See :meth:`Jail.sweep`.

        The sweeper's real id is not the run's, so what it kills cannot kill it first.
        """
        os.write(self.order, struct.pack("I", self.user))
        return os.read(self.answer, 1) == b"\0"

    def _start_sweeper(self) -> tuple[int, int]:
        """Fork it now, while this process is small: a fork after the imports costs milliseconds."""
        (orders, order), (answer, answers) = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            pipes = kernel.renumber([orders, answers], first=3)
            os.closerange(5, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
            _sweep_on_order(self.SWEEPER, *pipes)
        os.close(orders)
        os.close(answers)
        return order, answer


JAILS: dict[str, type[Jail]] = {
    "none": Jail,
    "namespace": NamespaceJail,
    "user": UserJail,
}


def _sweep_on_order(real: int, orders: int, answers: int) -> NoReturn:
    while len(order := os.read(orders, 4)) == 4:
        user = struct.unpack("I", order)[0]
        helper = os.fork()
        if helper == 0:
            try:
                _become(real, user)
                _signal(-1, signal.SIGKILL)
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
    while entries := [
        item
        for item in os.scandir(folder)
        if item.stat(follow_symlinks=False).st_uid == user
    ]:
        for item in entries:
            if not item.is_dir(follow_symlinks=False):
                os.unlink(item.path)
                continue
            os.chmod(item.path, 0o700)
            for inner in os.scandir(item.path):
                if inner.is_dir(follow_symlinks=False):
                    os.chmod(inner.path, 0o700)
                    count += 1
                    os.rename(
                        inner.path,
                        os.path.join(folder, f"removed-{os.getpid()}-{count}"),
                    )
                else:
                    os.unlink(inner.path)
            os.rmdir(item.path)


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _raise_oom_score() -> None:
    with open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")

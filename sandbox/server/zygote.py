"""The process that is forked for every run: it imports the libraries, and never holds an answer.

What it forks inherits its memory, so nothing of any run may pass through it: it is sent numbers and
file descriptors only. The code reaches the child by a file that is open there alone, and what the
child writes goes to the supervisor (`.serve`), which forks nothing once it has seen a job.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from sandbox.inside.shipped import Shipped
from sandbox.inside.tagged import KEEP
from sandbox.server.child import child
from sandbox.server.jails import Jail
from sandbox.server.kernel import prctl, waited_seconds

SET_PARENT_DEATH_SIGNAL = 1
START = struct.Struct("I")  # number of the run
STARTED = struct.Struct("i")  # process id
FINISH = b"f"  # every process of the run has been killed
FINISHED = struct.Struct("id")  # wait status, seconds of processor time
DESCRIPTORS = 5  # the job, stdout, stderr, the result, failures before the code


class Zygote:
    """The supervisor's end."""

    def __init__(
        self,
        jail: Jail,
        config: Mapping[str, Any],
        shipped: Shipped,
        private: Iterable[int],
    ) -> None:
        """Fork it now, while this process has seen nothing; it closes ``private`` descriptors."""
        self._link, link = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        supervisor = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            self._link.close()
            for descriptor in private:
                os.close(descriptor)
            _serve(link, supervisor, jail, config, shipped)
        link.close()

    def fileno(self) -> int:
        """Readable during a run when the zygote has died."""
        return self._link.fileno()

    def fault(self) -> str | None:
        """Wait until the libraries are imported; why they cannot be, or ``None``."""
        return self._receive(2 * KEEP).decode(errors="replace").strip("\0") or None

    def fork(self, number: int, descriptors: Sequence[int]) -> int:
        """Start a run; its process is a zombie at most until `finish`."""
        socket.send_fds(self._link, [START.pack(number)], descriptors)
        pid: int = STARTED.unpack(self._receive(STARTED.size))[0]
        return pid

    def finish(self) -> tuple[int, float]:
        """Wait for a run that was killed: wait status, and seconds of processor time."""
        self._link.send(FINISH)
        status, seconds = FINISHED.unpack(self._receive(FINISHED.size))
        return status, seconds

    def _receive(self, size: int) -> bytes:
        data = self._link.recv(size)
        if not data:
            raise EOFError("the zygote has died")
        return data


def _serve(
    link: socket.socket,
    supervisor: int,
    jail: Jail,
    config: Mapping[str, Any],
    shipped: Shipped,
) -> NoReturn:
    """Import the libraries, then fork whenever the supervisor says so."""
    try:
        prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != supervisor:
            os._exit(1)
        jail.adopt()
        link.send(_warm_up(config, shipped))
        while True:
            _run_once(link, jail, shipped)
    except BaseException:  # noqa: BLE001 - told by the end of the link
        traceback.print_exc()
    finally:
        os._exit(1)


def _warm_up(config: Mapping[str, Any], shipped: Shipped) -> bytes:
    """Import what runs will need; a zero byte, or the traceback."""
    try:
        if config.get("own"):
            _put_first(config["own"])
        source = compile(config["warmup"], "warmup.py", "exec", dont_inherit=True)
        exec(source, {"__name__": "warmup"})  # noqa: S102 - a file of ours
        for name in shipped.texts:
            __import__(name)
        gc.collect()
        gc.freeze()  # fewer pages are copied by children
        gc.disable()
    except Exception:  # noqa: BLE001 - told to the host
        return traceback.format_exc().encode(errors="replace")[-KEEP:]
    return b"\0"


def _run_once(link: socket.socket, jail: Jail, shipped: Shipped) -> None:
    message, descriptors, _, _ = socket.recv_fds(link, START.size, DESCRIPTORS)
    if not message:  # the supervisor has ended
        os._exit(0)
    before = waited_seconds()
    pid = jail.fork()
    if pid == 0:
        link.close()
        child(jail, START.unpack(message)[0], descriptors, shipped)
    for descriptor in descriptors:
        os.close(descriptor)
    link.send(STARTED.pack(pid))
    if link.recv(len(FINISH)) != FINISH:
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    jail.reap()
    link.send(FINISHED.pack(status, waited_seconds() - before))


def _put_first(folder: str) -> None:
    """Search a folder for imports before the installed packages, behind the standard library.

    Processes that the code starts get it too, by their environment.
    """
    if not os.listdir(
        folder
    ):  # else every answer would be blamed for an import that fails
        raise RuntimeError(
            f"{folder} is empty: the engine does not see the files of this machine"
        )
    installed = [
        index for index, path in enumerate(sys.path) if path.endswith("-packages")
    ]
    sys.path.insert(min(installed, default=len(sys.path)), folder)
    os.environ["PYTHONPATH"] = folder

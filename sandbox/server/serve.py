"""The fork server that runs inside a worker: standard library only, any backend.

The host sends its text and that of ``sandbox.inside`` to ``python -c LOADER`` (`sandbox.worker`).
It imports the environment's libraries once, then forks a child per request, which is jailed before
the untrusted code starts. The bytes that a child writes as its result are passed on unread.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import struct
import sys
import time
import traceback
from typing import Any

from sandbox.inside.shipped import Shipped
from sandbox.inside.tagged import FLOOD, KEEP, MB, OUT_BYTES, frame
from sandbox.server.child import child
from sandbox.server.jails import JAILS, Jail
from sandbox.server.kernel import waited_seconds

WATCH_SECONDS = 0.05  # between two looks at a running child


class Server:
    """Reads requests from the host, forks a child for each, sends what became of it."""

    def __init__(self, requests: int, replies: int, shipped: Shipped) -> None:
        self.requests, self.replies, self.shipped = requests, replies, shipped
        self.kills = 0  # by the kernel for memory, before the run
        self.processor = (
            0.0  # seconds seen of the run's processes, also those nobody waited for
        )
        self.jail = Jail({"memory_mb": 0, "max_processes": 0, "disk_mb": 0})

    def read(self, size: int) -> bytes:
        """Exactly ``size`` bytes; raises `EOFError` where the host is gone."""
        data = bytearray()
        while len(data) < size:
            part = os.read(self.requests, min(size - len(data), MB))
            if not part:
                raise EOFError
            data += part
        return bytes(data)

    def receive(self) -> tuple[dict[str, Any], list[bytes]]:
        """The next frame of the host: header and blobs."""
        header = json.loads(self.read(struct.unpack(">I", self.read(4))[0]))
        return header, [self.read(size) for size in header["blobs"]]

    def send(self, header: dict[str, Any], *blobs: bytes) -> None:
        """Send one frame to the host."""
        view = memoryview(frame(header, *blobs))
        while view:
            view = view[os.write(self.replies, view) :]

    def serve(self) -> None:
        """Answer requests until the host is gone."""
        config, _ = self.receive()
        try:
            self.jail = JAILS[config["jail"]](config)
            if config.get("own"):
                _put_first(config["own"])
            warmup: dict[str, Any] = {"__name__": "warmup"}
            compiled = compile(config["warmup"], "warmup.py", "exec", dont_inherit=True)
            exec(compiled, warmup)  # noqa: S102 - a file of ours
            for name in self.shipped.texts:
                __import__(name)
            self.jail.settle()
            gc.collect()
            gc.freeze()  # fewer pages are copied by children
            gc.disable()
        except Exception:  # noqa: BLE001 - told to the host
            self.send({"error": traceback.format_exc()})
            return
        self.send({"error": None, "memory_counted": self.jail.cgroup is not None})
        while True:
            request, blobs = self.receive()
            try:
                code, *files = blobs
                self.store(request["inputs"], files)
                header, streams = self.run(request, code)
            except EOFError:
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

    def run(
        self, request: dict[str, Any], code: bytes
    ) -> tuple[dict[str, Any], list[bytes]]:
        """One run: fork, watch, sweep."""
        pipes = [os.pipe() for _ in range(4)]
        self.kills = self.jail.oom_kills()
        if self.jail.cgroup is not None:
            self.jail.cgroup.begin()
        started, processor = time.monotonic(), waited_seconds()
        pid = self.jail.fork()
        if pid == 0:
            child(self.jail, request, code, [end for _, end in pipes], self.shipped)
        reads = [end for end, _ in pipes]
        try:
            for _, end in pipes:
                os.close(end)
            limit = FLOOD + (OUT_BYTES + 4 * KEEP if request["collect"] else 0)
            status, reason, clean, streams = self.watch(
                pid,
                reads,
                float(request["timeout"]),
                started + float(request["wall"]),
                limit,
            )
            processor = max(waited_seconds() - processor, self.processor)
        finally:
            for end in reads:
                os.close(end)
        seconds = time.monotonic() - started
        *streams, failure = streams
        if failure:
            raise RuntimeError(
                f"the jail could not be set up:\n{failure.decode(errors='replace')}"
            )
        if reason is None and self.jail.oom_kills() > self.kills:
            reason = "memory"
        header = {
            "error": None,
            "seconds": seconds,
            "cpu_seconds": processor,
            "reason": reason,
            "status": status,
            "clean": clean,
        }
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
                ready, _, _ = select.select(
                    [*open_pipes, pidfd, self.requests], [], [], wait
                )
                for end in open_pipes & set(ready):
                    drain(end)
                if self.requests in ready:
                    raise EOFError  # the host sends nothing during a run: it died, or gave up
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
            clean = self.jail.collect() and clean
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


def main(shipped: Shipped) -> None:
    """Serve on the standard streams; stray prints of libraries go to stderr."""
    requests = os.dup(0)
    replies = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    with contextlib.suppress(EOFError, BrokenPipeError):
        Server(requests, replies, shipped).serve()

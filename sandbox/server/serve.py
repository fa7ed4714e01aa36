"""The supervisor inside a worker: standard library only, any backend.

The host sends its text and that of ``sandbox.inside`` to ``python -c LOADER`` (`sandbox.worker`).
It forks a zygote at once (`.zygote`), which imports the environment's libraries and forks a child
per request, jailed before the untrusted code starts. The supervisor talks to the host, watches the
child, and ends it. The bytes that a child writes as its result are passed on unread.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import time
import traceback
from collections.abc import Sequence
from typing import Any

from sandbox.inside.shipped import Shipped
from sandbox.inside.tagged import FLOOD, KEEP, MB, OUT_BYTES, frame
from sandbox.server.jails import JAILS, Jail
from sandbox.server.watch import FAILURE_PIPE, Limits, Watch
from sandbox.server.zygote import Zygote


class Supervisor:
    """Reads requests from the host, has a child forked for each, sends what became of it."""

    def __init__(self, requests: int, replies: int) -> None:
        self.requests, self.replies = requests, replies

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

    def serve(self, shipped: Shipped) -> None:
        """Answer requests until the host is gone."""
        config, _ = self.receive()
        try:
            jail = JAILS[config["jail"]](config)
            private = (self.requests, self.replies)
            zygote = Zygote(jail, config, shipped, private)
            fault = zygote.fault()
            jail.settle(zygote.pid)
        except EOFError as error:  # killed from outside, or by what it imports
            self.send({"died": str(error)})
            return
        except Exception:  # noqa: BLE001 - told to the host
            fault = traceback.format_exc()
        if fault is not None:
            self.send({"error": fault})
            return
        self.send({"error": None, "memory_counted": jail.cgroup is not None})
        while True:
            request, blobs = self.receive()
            header, streams = self.answer(
                ChildRun(jail, zygote, self.requests), request, blobs
            )
            self.send(header, *streams)

    def answer(
        self, run: ChildRun, request: dict[str, Any], blobs: list[bytes]
    ) -> tuple[dict[str, Any], list[bytes]]:
        """What became of a request, also of one that could not be served."""
        code, *files = blobs
        try:
            store(run.jail, request["inputs"], files)
            return run.execute(request, code)
        except EOFError:  # the zygote or the host is gone: `serve` ends
            raise
        except Exception:  # noqa: BLE001 - told to the host, which replaces this worker
            return {"error": traceback.format_exc()}, []


def store(jail: Jail, inputs: list[dict[str, Any]], blobs: list[bytes]) -> None:
    """Keep input files that later runs refer to by key; read-only for every run."""
    rest = iter(blobs)
    for item in inputs:
        folder = os.path.join(jail.inputs, item["key"])
        for relative in item["files"]:
            path = os.path.join(folder, relative) if relative else folder
            os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
            with open(path, "wb") as file:
                file.write(next(rest))
            os.chmod(path, 0o444)
        jail.hide(item["key"])


class ChildRun:
    """One run: have a child forked, watch it, end it."""

    def __init__(self, jail: Jail, zygote: Zygote, requests: int) -> None:
        self.jail, self._zygote, self._requests = jail, zygote, requests
        self._kills_before = jail.oom_kills()
        self._processor = 0.0  # seconds seen, also of processes that nobody waited for

    def execute(
        self, request: dict[str, Any], code: bytes
    ) -> tuple[dict[str, Any], list[bytes]]:
        """Header and streams of the reply."""
        if self.jail.cgroup is not None:
            self.jail.cgroup.begin()
        keys = [item["key"] for item in request["mounts"]]
        number = self.jail.begin(keys)
        pipes = [os.pipe() for _ in range(FAILURE_PIPE + 1)]
        reads = [end for end, _ in pipes]
        started = time.monotonic()
        file_bytes = OUT_BYTES + 4 * KEEP if request["return_files"] else 0
        limits = Limits(started + float(request["wall"]), FLOOD + file_bytes)
        try:
            pid = self._start(number, request, code, [end for _, end in pipes])
            watch = Watch(reads, limits)
            status, processor, clean = self._follow(
                pid, watch, float(request["timeout"])
            )
        finally:
            for end in reads:
                os.close(end)
            self.jail.end(keys)
        *streams, failure = [stream.content for stream in watch.streams]
        if failure:
            raise RuntimeError(
                f"the jail could not be set up:\n{failure.decode(errors='replace')}"
            )
        if watch.reason is None and self.jail.oom_kills() > self._kills_before:
            watch.reason = "memory"
        header = {
            "error": None,
            "seconds": time.monotonic() - started,
            "cpu_seconds": processor,
            "reason": watch.reason,
            "status": status,
            "clean": clean,
        }
        return header, streams

    def _start(
        self, number: int, request: dict[str, Any], code: bytes, writes: Sequence[int]
    ) -> int:
        """Have the child forked; the job is a file of no name, and leaves no other copy."""
        job = os.memfd_create("job")
        try:
            with open(job, "wb", closefd=False) as file:
                file.write(frame(request, code))
            return self._zygote.fork(number, [job, *writes])
        finally:
            for descriptor in (job, *writes):
                os.close(descriptor)

    def _follow(
        self, pid: int, watch: Watch, timeout: float
    ) -> tuple[int, float, bool]:
        """Wait status, seconds of processor time, and whether nothing of the run is left."""
        process = os.pidfd_open(pid)
        # readable when the host or the zygote has died
        alarms = [self._requests, self._zygote.fileno()]
        try:
            watch.until_the_end(process, alarms, lambda: self._look(timeout))
        finally:
            os.close(process)
            # Nothing of the run may live when its exit is reported and its sockets go.
            swept = self.jail.sweep(pid)
            status, waited = self._zygote.finish()
            forgotten = self.jail.forget_sockets()
        watch.take_the_rest()
        return status, max(waited, self._processor), swept and forgotten

    def _look(self, timeout: float) -> str | None:
        """What the running code has used: the reason to end it, or ``None``."""
        self._processor = max(self._processor, self.jail.processor())
        if self._processor > timeout:
            return "timeout"
        if (
            self.jail.used() > self.jail.memory
            or self.jail.oom_kills() > self._kills_before
        ):
            return "memory"
        return None


def main(shipped: Shipped) -> None:
    """Serve on the standard streams; stray prints of libraries go to stderr."""
    requests = os.dup(0)
    replies = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    with contextlib.suppress(EOFError, BrokenPipeError):
        Supervisor(requests, replies).serve(shipped)

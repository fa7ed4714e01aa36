"""One worker as the host sees it: a channel to its supervisor, requests in, executions out."""

from __future__ import annotations

import asyncio
import errno
import json
import resource
import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from sandbox.base import (
    Execution,
    Outcome,
    RunRequest,
    SandboxConfig,
    SandboxError,
)
from sandbox.ending import REASONS, read_ending
from sandbox.exchange import INPUTS_LIMIT, Inputs
from sandbox.inside.tagged import FLOOD, KEEP, OUT_BYTES, frame
from sandbox.shipping import CALLS, RUNNER, order_of

START_SECONDS = 180.0  # a cold import of the libraries on a slow disk
GRACE_SECONDS = 30.0  # beyond the code's own wall time, for a machine under load
MAX_HEADER = 1 << 16
TAIL = 8192  # bytes that are kept of what a worker writes to its stderr
#: Bytes of an answer that are decoded in less time than another thread costs.
AT_ONCE = 1 << 16
Placed = Sequence[tuple[Inputs, str]]


class WorkerError(Exception):
    """A worker died or broke the protocol: infrastructure, never the code's doing."""


class Channel(ABC):
    """A byte stream to and from a supervisor.

    Reading and writing raise ``OSError`` or ``EOFError`` when it is gone.
    """

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._reader, self._writer = reader, writer
        self._tail = bytearray()

    async def read(self, size: int) -> bytes:
        """Exactly ``size`` bytes."""
        return await self._reader.readexactly(size)

    async def write(self, data: bytes) -> None:
        """Send everything."""
        self._writer.write(data)
        await self._writer.drain()

    @abstractmethod
    async def close(self) -> str:
        """Kill everything behind the channel; returns what it last wrote to its stderr."""

    def _add_to_tail(self, data: bytes) -> None:
        self._tail += data
        del self._tail[:-TAIL]

    @property
    def _last_words(self) -> str:
        return self._tail.decode(errors="replace").strip()


class WorkerStartError(SandboxError):
    """A worker died without a word while it started: somebody killed it."""


@runtime_checkable
class Backend(Protocol):
    """Opens channels: one class per kind of isolation, made from a `SandboxConfig`.

    Attributes
    ----------
    confinement
        What it is called in results and reports.
    jail
        How the fork server confines each run inside: ``namespace``, ``container`` or ``none``.
    """

    confinement: str
    jail: str

    async def open(self) -> tuple[Channel, dict[str, Any]]:
        """Start a Python that runs ``LOADER``: the way to it, and settings that differ."""


@dataclass(frozen=True)
class WorkerReply:
    """What the supervisor says of a run, with the streams of the child: untrusted bytes."""

    stdout: bytes
    stderr: bytes
    message: bytes
    reason: str | None
    status: int
    seconds: float
    cpu_seconds: float
    clean: bool

    @classmethod
    def read(cls, header: dict[str, Any], streams: list[bytes]) -> WorkerReply:
        """Check a frame; raises `WorkerError` when a supervisor would not have sent it."""
        try:
            stdout, stderr, message = streams
            reply = cls(
                stdout,
                stderr,
                message,
                header["reason"],
                int(header["status"]),
                float(header["seconds"]),
                float(header["cpu_seconds"]),
                header["clean"] is True,
            )
            expected = reply.reason is None or reply.reason in REASONS
        except (ValueError, KeyError, TypeError) as error:
            raise WorkerError(f"a malformed answer: {error}") from error
        if not expected:
            raise WorkerError(f"an unknown reason {reply.reason!r:.100}")
        return reply

    @property
    def size(self) -> int:
        """Bytes of the streams."""
        return len(self.stdout) + len(self.stderr) + len(self.message)


class Worker:
    """A started supervisor with its zygote. Runs one request at a time."""

    def __init__(
        self,
        channel: Channel,
        confinement: str,
        config: SandboxConfig,
        startup: dict[str, Any],
    ) -> None:
        self.channel = channel
        self.startup = startup
        self.runs = 0
        self.leaves_traces = False  # the last run left something: the worker has to go
        self._confinement = confinement
        self._config = config
        self._stored: dict[str, int] = {}  # bytes of inputs, by key

    @classmethod
    async def start(
        cls, backend: Backend, config: SandboxConfig, warmup: str
    ) -> Worker:
        """Start a supervisor and wait until its libraries are warm."""
        channel, special = await _open(backend)
        settings = {
            "jail": backend.jail,
            "warmup": warmup,
            "memory_mb": config.memory_mb,
            "max_processes": config.max_processes,
            "disk_mb": config.disk_mb,
            "calls": CALLS,
            **special,
        }
        try:
            async with asyncio.timeout(START_SECONDS):
                await channel.write(b"%08d" % len(RUNNER) + RUNNER)
                await channel.write(frame(settings))
                startup, _ = await receive(channel)
                if "died" in startup:
                    raise WorkerError(str(startup["died"]))  # noqa: TRY301
        except (EOFError, OSError, TimeoutError, WorkerError) as error:
            words = await channel.close()
            was_killed = not words and not isinstance(error, TimeoutError)
            failure = WorkerStartError if was_killed else SandboxError
            reason = words or f"{type(error).__name__}: {error}"
            raise failure(
                f"a {backend.confinement} worker did not start: {reason}"
            ) from error
        except BaseException:
            await channel.close()
            raise
        if startup["error"] is not None:
            await channel.close()
            raise SandboxError(
                f"the environment {config.env!r} could not be warmed up:\n{startup['error']}"
            )
        return cls(channel, backend.confinement, config, startup)

    async def close(self) -> str:
        """Kill everything in the worker; returns what it last wrote to its stderr."""
        return await self.channel.close()

    async def run(self, request: RunRequest, inputs: Placed = ()) -> Execution:
        """One execution; after a :class:`WorkerError` the worker must be closed.

        ``inputs`` are the files of the request's mounts, with the places where they are shown.
        """
        new = {
            item.key: item for item, _ in inputs if item.key not in self._stored
        }.values()
        wall = self._config.wall(request.timeout)
        header = {
            "kind": request.kind,
            "entry": request.entry,
            "timeout": request.timeout,
            "wall": wall,
            "return_files": request.collect,
            "mounts": [{"key": item.key, "target": target} for item, target in inputs],
            "inputs": [{"key": item.key, "files": item.names} for item in new],
        }
        contents = [content for item in new for content in item.contents]
        whole = frame(header, order_of(request.code), *contents)
        reply = await self._exchange(whole, wall)
        self.runs += 1
        self._stored.update((item.key, item.size) for item in new)
        self.leaves_traces = not reply.clean
        if reply.size < AT_ONCE:
            return self._execution(reply, request.timeout)
        return await asyncio.to_thread(self._execution, reply, request.timeout)

    def fits(self, inputs: Placed) -> bool:
        """Whether the worker can keep these files next to those it already holds."""
        sizes = self._stored | {item.key: item.size for item, _ in inputs}
        return sum(sizes.values()) <= INPUTS_LIMIT

    async def _exchange(self, whole: bytes, wall: float) -> WorkerReply:
        try:
            async with asyncio.timeout(wall + GRACE_SECONDS):
                await self.channel.write(whole)
                header, streams = await receive(self.channel)
        except TimeoutError:
            raise WorkerError(
                f"no answer {GRACE_SECONDS:.0f} s after its wall time"
            ) from None
        except (EOFError, OSError) as error:
            raise WorkerError(f"the worker died ({type(error).__name__})") from error
        if header["error"] is not None:
            raise WorkerError(header["error"])
        return WorkerReply.read(header, streams)

    def _execution(self, reply: WorkerReply, timeout: float) -> Execution:
        done = read_ending(reply.reason, reply.status, reply.message)
        error = done.error
        if done.outcome is Outcome.TIMEOUT:
            wall = self._config.wall(timeout)
            error = f"{error} (timeout {timeout:g} s of processor time, {wall:g} s of wall time)"
        return replace(
            done,
            stdout=reply.stdout.decode(errors="replace"),
            stderr=reply.stderr.decode(errors="replace"),
            error=error,
            seconds=reply.seconds,
            cpu_seconds=reply.cpu_seconds,
            confinement=self._confinement,
        )


async def _open(backend: Backend) -> tuple[Channel, dict[str, Any]]:
    try:
        return await backend.open()
    except OSError as error:
        if error.errno not in {errno.EMFILE, errno.ENFILE}:
            raise
        allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        raise SandboxError(
            f"too many open files: this process may have {allowed}, and each worker needs some;"
            " raise the limit (`ulimit -n 1024`) or take fewer workers"
        ) from error


async def receive(channel: Channel) -> tuple[dict[str, Any], list[bytes]]:
    """The next frame of a worker, under caps; :class:`WorkerError` when it is none."""
    size = struct.unpack(">I", await channel.read(4))[0]
    if size > MAX_HEADER:
        raise WorkerError(f"a frame header of {size} bytes")
    try:
        header = json.loads(await channel.read(size))
        sizes = header["blobs"]
        whole = all(type(number) is int and number >= 0 for number in sizes)
        whole = whole and isinstance(header["error"], str | None)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise WorkerError(f"a malformed frame: {type(error).__name__}") from error
    if not whole or sum(sizes) > FLOOD + OUT_BYTES + 8 * KEEP:
        raise WorkerError("a malformed frame")
    return header, [await channel.read(number) for number in sizes]

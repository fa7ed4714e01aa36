"""One worker as the host sees it: a channel to a fork server, requests in, executions out.

It is sent its own program when it starts, and with an order the text of the modules of the project
that run inside, with what they import of it.
"""

from __future__ import annotations

import ast
import asyncio
import errno
import json
import os
import resource
import signal
import struct
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import yaml

from sandbox import inside, server
from sandbox.base import Call, Execution, Job, Outcome, SandboxConfig, SandboxError
from sandbox.exchange import INPUTS_LIMIT, Inputs, read_report
from sandbox.inside import shipped
from sandbox.inside.tagged import (
    FLOOD,
    KEEP,
    OUT_BYTES,
    WireError,
    decode,
    encode,
    frame,
)

ROOT = Path(__file__).parents[1]
PACKAGES = frozenset(
    {
        "agents",
        "docgen",
        "experiments",
        "indexes",
        "matsmith",
        "retrieval",
        "sandbox",
        "tests",
    }
)
#: What every worker has: what may be imported there, and the fork server.
WITHIN = {
    f"{package.__name__}.{path.stem}": path.read_text(encoding="utf-8")
    for package in (inside, server)
    for path in sorted(Path(package.__path__[0]).glob("*.py"))
    if path.stem != "__init__"
}
#: Reads the fork server's text (8 digits of length first) from stdin and becomes it.
LOADER = """\
import os
size, text = int(os.read(0, 8)), b""
while len(text) < size:
    part = os.read(0, size - len(text))
    if not part:
        raise SystemExit("the host closed the pipe")
    text += part
exec(compile(text, "sandbox/inside/shipped.py", "exec"))
"""
SERVE = ("-s", "-P", "-c", LOADER)  # of Python
#: What the loader executes.
RUNNER = f"""{WITHIN[shipped.__name__]}
found = Shipped({WITHIN!r})
sys.meta_path.insert(0, found)
__import__("sandbox.server.serve").server.serve.main(found)
""".encode()
CALLS = yaml.safe_load(Path(server.__path__[0], "calls.yaml").read_text())
START_SECONDS = 180.0  # a cold import of the libraries on a slow disk
GRACE_SECONDS = 30.0  # beyond the code's own wall time, for a machine under load
KILLED_BY = "the code was killed by signal"
SIGKILLED = f"{KILLED_BY} SIGKILL"
MAX_HEADER = 1 << 16
AT_ONCE = (
    1 << 16
)  # bytes of an answer that are decoded in less time than another thread costs
Placed = Sequence[tuple[Inputs, str]]


class WorkerError(Exception):
    """A worker died or broke the protocol: infrastructure, never the code's doing."""


class Channel(ABC):
    """A byte stream to and from a fork server.

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
        del self._tail[:-8192]

    @property
    def _last_words(self) -> str:
        return self._tail.decode(errors="replace").strip()


class Backend(Protocol):
    """Opens channels: one class per kind of isolation."""

    tier: str
    jail: str

    async def open(self) -> tuple[Channel, dict[str, Any]]:
        """Start a Python that runs ``LOADER``: the way to it, and settings that differ."""


class Worker:
    """A started fork server. Runs one request at a time."""

    def __init__(
        self,
        channel: Channel,
        tier: str,
        config: SandboxConfig,
        startup: dict[str, Any],
    ) -> None:
        self._channel, self.close = channel, channel.close
        self._tier = tier
        self._config = config
        self._kept: dict[str, int] = {}
        self.startup = startup
        self.runs = 0
        self.clean = (
            True  # false: the last run left something behind, the worker has to go
        )

    @classmethod
    async def start(
        cls, backend: Backend, config: SandboxConfig, warmup: str
    ) -> Worker:
        """Start a fork server and wait until its libraries are warm."""
        settings: dict[str, Any] = {
            "jail": backend.jail,
            "warmup": warmup,
            "memory_mb": config.memory_mb,
            "max_processes": config.max_processes,
            "disk_mb": config.disk_mb,
            "calls": CALLS,
        }
        try:
            channel, special = await backend.open()
        except OSError as error:
            if error.errno not in {errno.EMFILE, errno.ENFILE}:
                raise
            allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            raise SandboxError(
                f"too many open files: this process may have {allowed}, and each worker needs some;"
                " raise the limit (`ulimit -n 1024`) or take fewer workers"
            ) from error
        try:
            async with asyncio.timeout(START_SECONDS):
                await channel.write(b"%08d" % len(RUNNER) + RUNNER)
                await channel.write(frame(settings | special))
                header, _ = await receive(channel)
        except BaseException as error:
            tail = await channel.close()
            if isinstance(error, EOFError | OSError | TimeoutError | WorkerError):
                reason = tail or f"{type(error).__name__}: {error}"
                raise SandboxError(
                    f"a {backend.tier} worker did not start: {reason}"
                ) from error
            raise
        if (fault := header["error"]) is not None:
            await channel.close()
            raise SandboxError(
                f"the environment {config.env!r} could not be warmed up:\n{fault}"
            )
        return cls(channel, backend.tier, config, header)

    async def run(self, job: Job, inputs: Placed = ()) -> Execution:
        """One execution; after a :class:`WorkerError` the worker must be closed.

        ``inputs`` are the files of the job's mounts, with the places where they are shown.
        """
        new = list(
            {
                item.key: item for item, _ in inputs if item.key not in self._kept
            }.values()
        )
        wall = self._config.wall(job.timeout)
        request = {
            "entry": job.entry,
            "timeout": job.timeout,
            "wall": wall,
            "collect": job.collect,
            "mounts": [{"key": item.key, "target": target} for item, target in inputs],
            "inputs": [
                {"key": item.key, "files": [name for name, _ in item.files]}
                for item in new
            ],
        }
        blobs = [data for item in new for _, data in item.files]
        try:
            async with asyncio.timeout(wall + GRACE_SECONDS):
                await self._channel.write(frame(request, sent(job.code), *blobs))
                header, streams = await receive(self._channel)
        except TimeoutError:
            raise WorkerError(
                f"no answer {GRACE_SECONDS:.0f} s after its wall time"
            ) from None
        except (EOFError, OSError) as error:
            raise WorkerError(f"the worker died ({type(error).__name__})") from error
        self.runs += 1
        self._kept.update((item.key, item.size) for item in new)
        if header["error"] is not None:
            raise WorkerError(header["error"])
        if sum(map(len, streams)) < AT_ONCE:
            return self._execution(header, streams, job.timeout)
        return await asyncio.to_thread(self._execution, header, streams, job.timeout)

    def fits(self, inputs: Placed) -> bool:
        """Whether the worker can keep these files next to those it already holds."""
        sizes = self._kept | {item.key: item.size for item, _ in inputs}
        return sum(sizes.values()) <= INPUTS_LIMIT

    def _execution(
        self, header: dict[str, Any], streams: list[bytes], timeout: float
    ) -> Execution:
        try:
            stdout, stderr, message = streams
            reason, status = header["reason"], int(header["status"])
            seconds, cpu_seconds = (
                float(header["seconds"]),
                float(header["cpu_seconds"]),
            )
            self.clean = header["clean"] is True
            if reason is not None and reason not in _REASONS:
                raise ValueError(f"an unknown reason {reason!r:.100}")  # noqa: TRY301
        except (ValueError, KeyError, TypeError) as error:
            raise WorkerError(f"a malformed answer: {error}") from error
        return replace(
            self._ending(reason, status, message, timeout),
            stdout=stdout.decode(errors="replace"),
            stderr=stderr.decode(errors="replace"),
            seconds=seconds,
            tier=self._tier,
            cpu_seconds=cpu_seconds,
        )

    def _ending(
        self, reason: str | None, status: int, message: bytes, timeout: float
    ) -> Execution:
        """What the run ended with; whatever reading its bytes raises is the fault of the code."""
        try:
            message, caught, files, left = read_report(message)
            done = judge(reason, status, message)
        except Exception as error:  # noqa: BLE001 - see above
            text = f"the result cannot be read: {type(error).__name__}"
            return Execution(Outcome.BAD_RESULT, error=text)
        if done.outcome is Outcome.OK:
            return replace(done, caught=caught, files=files, left=left)
        cause = done.error
        if done.outcome is Outcome.TIMEOUT:
            wall = self._config.wall(timeout)
            cause = f"{cause} (timeout {timeout:g} s of processor time, {wall:g} s of wall time)"
        return replace(done, error=cause, caught=caught)


_REASONS = {
    "timeout": (Outcome.TIMEOUT, "the code used up its processor time and was killed"),
    "wall": (Outcome.TIMEOUT, "the code used up its wall time and was killed"),
    "memory": (Outcome.MEMORY, "the code used more memory than allowed and was killed"),
    "output_flood": (
        Outcome.OUTPUT_FLOOD,
        "the code printed more than 16 MB and was killed",
    ),
    "bad_result": (Outcome.BAD_RESULT, "the result is larger than 16 MB"),
}
_REPORTED = (Outcome.EXCEPTION, Outcome.MEMORY, Outcome.EXIT, Outcome.BAD_RESULT)


def judge(reason: str | None, status: int, message: bytes) -> Execution:
    """Outcome, result, payload and error from what the kernel and the child said.

    That is why the fork server ended the child, or ``None``; its wait status; and what it wrote as
    its result: untrusted bytes.
    """
    if reason is not None:
        outcome, text = _REASONS[reason]
        return Execution(outcome, error=text)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = (
            signal.Signals(number).name
            if number in set(signal.Signals)
            else str(number)
        )
        return Execution(Outcome.KILLED, error=f"{KILLED_BY} {name}")
    if not message:
        text = f"the process ended with status {os.waitstatus_to_exitcode(status)}, no result"
        return Execution(Outcome.NO_RESULT, error=text)
    kind, _, body = message.partition(b"\n")
    if kind == b"ok":
        try:
            return Execution(Outcome.OK, decode(body), body.decode("utf-8"))
        except WireError as error:
            return Execution(
                Outcome.BAD_RESULT, error=f"the result cannot be read: {error}"
            )
    reported = next(
        (outcome for outcome in _REPORTED if outcome.encode() == kind), None
    )
    if reported is None:
        return Execution(
            Outcome.BAD_RESULT, error="the result cannot be read: unknown kind"
        )
    return Execution(reported, error=body[: 2 * KEEP].decode(errors="replace"))


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


def sent(code: bytes | Call) -> bytes:
    """What a worker gets of a job: source, or a call with the text of the module."""
    if isinstance(code, bytes):
        return code
    order = {
        "module": code.module,
        "function": code.function,
        "texts": texts(code.module),
    }
    return json.dumps({**order, "arguments": encode(list(code.arguments))}).encode()


@cache
def texts(module: str) -> dict[str, str]:
    """Dotted name -> source of a module and of all that it imports of the project.

    What every worker has (``sandbox.inside``) is left out.
    """
    found: dict[str, str] = {}
    wanted = [module]
    while wanted:
        name = wanted.pop()
        if name in found or name in WITHIN or name == inside.__name__:
            continue
        file = _file(name)
        if file is None:
            raise ValueError(f"{name} is no module of the project")
        found[name] = file.read_text(encoding="utf-8")
        wanted += _imported(ast.parse(found[name]))
    return found


def _file(name: str) -> Path | None:
    path = ROOT.joinpath(*name.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py")
    known = name.partition(".")[0] in PACKAGES
    return next((file for file in files if known and file.is_file()), None)


def _imported(tree: ast.AST) -> Iterator[str]:
    """Names of the project's modules that a module imports when it runs."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _file(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from filter(_file, [node.module, *inner])
        else:
            yield from _imported(node)

"""What a sandbox is: code in, :class:`Execution` out.

A leaf of the project: of its other packages only ``foundation`` is imported.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, Field, NonNegativeFloat, PositiveFloat, PositiveInt

from foundation.errors import ActionableError
from sandbox.inside.tagged import UnencodableError


class Outcome(StrEnum):
    """How an execution ended, by the code's own doing; else a `SandboxError` is raised."""

    OK = "ok"
    EXCEPTION = "exception"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    OUTPUT_FLOOD = "output_flood"
    KILLED = "killed"
    NO_RESULT = "no_result"
    BAD_RESULT = "bad_result"
    EXIT = "exit"


class SandboxError(ActionableError):
    """The sandbox itself failed (never the code in it); says what to do next."""


@dataclass(frozen=True)
class Mount:
    """A host folder or file shown read-only inside the sandbox.

    ``target`` is relative to the working directory of the code (``tool_source_code/...``); never
    absolute, never with ``..``.
    """

    source: Path
    target: str


@dataclass(frozen=True)
class Caught:
    """An exception that the code raised (or a library raised in it) and caught itself.

    Name of its class, ``str()`` of it, shortened, and the innermost line of the code itself that it
    passed, from 1.
    """

    type: str
    message: str
    line: int


@dataclass(frozen=True)
class Written:
    """A file that the code left in ``out``: a plain relative name, and untrusted bytes."""

    name: str
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class Execution:
    """One run of untrusted code. What it hands over is as untrusted (`sandbox.inside.tagged`)."""

    outcome: Outcome
    result: Any = (
        None  # of the entry function, decoded (`sandbox.inside.tagged`), if ``ok``
    )
    payload: str | None = None  # the tagged JSON of it
    stdout: str = ""  # cut at 64 KB, as is stderr
    stderr: str = ""
    error: str | None = None  # traceback or reason as one text, unless ``ok``
    seconds: float = 0.0  # of wall time, without queueing
    confinement: str = (
        ""  # what was really in force: docker, podman, bubblewrap, unsafe
    )
    cpu_seconds: float | None = None  # of all its processes
    #: Exceptions that ended in an ``except`` of the code, each once, in order of first appearance.
    caught: tuple[Caught, ...] = ()
    files: tuple[
        Written, ...
    ] = ()  # left in ``out``, where that was asked for, if ``ok``
    left: tuple[str, ...] = ()  # a line for each file there that is not handed over


class FunctionCall(NamedTuple):
    """An order: a module of the project, a function of it, arguments."""

    module: str
    function: str
    arguments: Sequence[Any] = ()


@dataclass(frozen=True)
class RunRequest:
    """What :meth:`Sandbox.run` is asked for; a call has no entry."""

    code: bytes | FunctionCall
    entry: str | None
    timeout: float = 30.0
    mounts: Sequence[Mount] = ()
    collect: bool = False

    @property
    def kind(self) -> Literal["call", "script", "function"]:
        """A function of ours is called, or the code is executed; then its ``entry`` is called."""
        if self.entry is None:  # also where the call is bytes already
            return "call"
        return "function" if self.entry else "script"


class AnswerSandbox(ABC):
    """Runs the code of answers: it takes source, and no data that could be an expected value."""

    confinement: str  # name of what is in force

    @abstractmethod
    async def run(
        self,
        code: str,
        entry: str,
        *,
        timeout: float,
        mounts: Sequence[Mount] = (),
        collect: bool = False,
    ) -> Execution:
        """Execute ``code`` as a module, then call ``entry()``, whose return value is the result.

        With an empty ``entry`` it is only executed. ``timeout`` is seconds of processor time, of
        all its processes together; wall time is limited generously (:meth:`SandboxConfig.wall`).
        ``mounts`` appear read-only under the working directory of this run; ``collect`` makes a
        folder ``out`` there, and hands over what the code leaves in it. Raises `SandboxError` when
        the sandbox failed even after a retry; a fault of the code is an ``Execution``.
        """


class Workers(ABC):
    """Executes requests in isolation. Safe for concurrent use from one event loop."""

    confinement: str

    @abstractmethod
    async def execute(self, request: RunRequest) -> Execution:
        """Serve one request; see :meth:`AnswerSandbox.run`."""

    @abstractmethod
    async def close(self) -> None:
        """Stop every worker. Idempotent."""


class Sandbox(AnswerSandbox, Workers):
    """Runs untrusted code, and functions of this project on untrusted data."""

    async def run(
        self,
        code: str,
        entry: str,
        *,
        timeout: float,
        mounts: Sequence[Mount] = (),
        collect: bool = False,
    ) -> Execution:
        """See :meth:`AnswerSandbox.run`."""
        source = code.encode("utf-8", "surrogatepass")
        return await self.execute(
            RunRequest(source, entry or "", timeout, mounts, collect)
        )

    async def call(
        self,
        module: str,
        function: str,
        arguments: Sequence[Any] = (),
        *,
        timeout: float,
        mounts: Sequence[Mount] = (),
        collect: bool = False,
    ) -> Execution:
        """Call ``function(*arguments)`` of a module of this project in a run of its own.

        The way for probes and pictures; what knows an expected value goes to a `Verifier`. The
        text of the module goes into the sandbox, with that of every module of the project that it
        imports; it may also import ``sandbox.inside`` (tagged JSON, comparison, formats) and what
        the environment has. Arguments travel as results do (`sandbox.inside.tagged`), and stay
        data. See also `run`.
        """
        order = FunctionCall(module, function, arguments)
        return await self.execute(RunRequest(order, None, timeout, mounts, collect))


class Verifier(Workers):
    """Compares answers with expected values, in workers where no answer's sandbox ever is.

    It is no `AnswerSandbox`, so that neither can be given in the place of the other.
    """

    async def judge(
        self,
        module: str,
        function: str,
        arguments: Sequence[Any],
        *,
        control: Sequence[Any],
        timeout: float,
        mounts: Sequence[Mount] = (),
    ) -> Execution:
        """Call ``function(*arguments)`` of a module of this project; see :meth:`Sandbox.call`.

        ``control`` are the same arguments with a right or an empty answer in place of the one that
        is judged: where a comparison does not end, it tells a fault of the answer (an ``Execution``
        that is not ``ok``) from one of the grader (a `SandboxError`).
        """
        try:
            done = await self.execute(
                RunRequest(
                    FunctionCall(module, function, arguments), None, timeout, mounts
                )
            )
        except UnencodableError as error:  # deeper or larger than what can be sent
            done = Execution(Outcome.BAD_RESULT, error=str(error))
        if done.outcome is Outcome.OK:
            return done
        tried = await self.execute(
            RunRequest(FunctionCall(module, function, control), None, timeout, mounts)
        )
        if tried.outcome is not Outcome.OK:
            raise SandboxError(
                f"verification by {module}.{function} fails without the answer, too:"
                f" {tried.outcome}: {tried.error}"
            )
        return done


class SandboxConfig(BaseModel, extra="forbid", frozen=True):
    """What a user can set (``conf/sandbox/*.yaml``)."""

    backend: str = Field(
        "auto", description="auto, docker, podman, bubblewrap, unsafe or module:Class"
    )
    env: str = Field("live", description="a name of sandbox/envs, or ./FOLDER")
    workers: PositiveInt = Field(2, description="warm workers")
    timeout: PositiveFloat = Field(
        60.0, description="seconds of processor time per execution"
    )
    wall_factor: NonNegativeFloat = Field(
        4.0, description="wall time: factor * timeout + seconds"
    )
    wall_seconds: NonNegativeFloat = Field(30.0, description="see wall_factor")
    memory_mb: PositiveInt = Field(2048, description="memory of one execution")
    max_processes: PositiveInt = Field(64, description="processes of one execution")
    disk_mb: PositiveInt = Field(64, description="scratch space of one execution")
    options: Mapping[str, Any] = Field(
        default_factory=dict, description="for the backend"
    )

    def wall(self, timeout: float) -> float:
        """Seconds of wall time for a run that may use ``timeout`` seconds of processor time."""
        return self.wall_factor * timeout + self.wall_seconds

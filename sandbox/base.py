"""What a sandbox is: code in, :class:`Execution` out.

A leaf of the project: nothing here imports from another package of ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveFloat, PositiveInt


class Outcome(StrEnum):
    """How an execution ended. Every value but ``INFRA`` is the code's own doing."""

    OK = "ok"
    EXCEPTION = "exception"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    OUTPUT_FLOOD = "output_flood"
    KILLED = "killed"
    NO_RESULT = "no_result"
    BAD_RESULT = "bad_result"
    EXIT = "exit"
    INFRA = "infra"


class SandboxError(Exception):
    """The sandbox itself failed (never the code in it); says what to do next."""


@dataclass(frozen=True)
class Mount:
    """A host folder or file shown read-only inside the sandbox.

    Parameters
    ----------
    source
        Path on the host.
    target
        Path inside, relative to the working directory of the code
        (``tool_source_code/...``); never absolute, never with ``..``.
    """

    source: Path
    target: str


@dataclass(frozen=True)
class Caught:
    """An exception that the code raised (or a library raised in it) and caught itself.

    Attributes
    ----------
    type
        Name of its class.
    message
        ``str()`` of it, shortened.
    line
        The innermost line of the code itself that it passed, from 1.
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
    """One run of untrusted code.

    Attributes
    ----------
    outcome
        See :class:`Outcome`.
    result
        The value that the entry function returned, decoded on the host from
        tagged JSON (see ``sandbox.wire``); ``None`` unless ``outcome`` is ``ok``
        (and also when the function returned ``None``).
    payload
        The tagged JSON text itself, ``None`` unless ``outcome`` is ``ok``.
    stdout, stderr
        What the code printed, cut at 64 KB each.
    error
        Traceback or reason as one text; ``None`` when ``outcome`` is ``ok``.
    seconds
        Wall time of the run, queueing not included.
    cpu_seconds
        Processor time of the code with all its processes; ``None`` when it is not known.
    caught
        Exceptions that ended in an ``except`` (or ``contextlib.suppress``) of the code: each
        once, in the order of their first appearance, at most ``sandbox.runner.MAX_CAUGHT``. Empty
        when the code was ended from outside. As untrusted as ``result``.
    files
        What the code left in ``out``, where that was asked for and ``outcome`` is ``ok``; at most
        ``sandbox.runner.OUT_FILES`` files and ``OUT_BYTES`` bytes. As untrusted as ``result``.
    left
        One line for each file there that is not handed over, with the reason.
    tier
        Which isolation really ran: ``docker``, ``podman``, ``bubblewrap``, ``unsafe``.
    """

    outcome: Outcome
    result: Any = None
    payload: str | None = None
    stdout: str = ""
    stderr: str = ""
    error: str | None = None
    seconds: float = 0.0
    tier: str = ""
    cpu_seconds: float | None = None
    caught: tuple[Caught, ...] = ()
    files: tuple[Written, ...] = ()
    left: tuple[str, ...] = ()


class Sandbox(Protocol):
    """Runs untrusted code in isolation. Safe for concurrent use from one event loop."""

    @property
    def tier(self) -> str:
        """Name of the isolation that is in force."""
        ...

    async def run(
        self,
        code: str,
        entry: str,
        *,
        timeout: float,
        mounts: Sequence[Mount] = (),
        collect: bool = False,
    ) -> Execution:
        """Execute ``code`` as a module, then call ``entry()`` without arguments.

        Parameters
        ----------
        code
            Python source.
        entry
            Name of a function without required arguments that ``code`` defines; its return
            value is the result. Empty: only execute the module (the result is ``None``).
        timeout
            Seconds of processor time for the code, all its processes together. Its wall time
            is limited too, generously (:meth:`SandboxConfig.wall`): a busy machine changes no
            outcome, and code that sleeps ends.
        mounts
            Read-only inputs; they appear under the working directory of this run only.
        collect
            Make a folder ``out`` in the working directory, and hand over what the code leaves
            there.

        Raises
        ------
        SandboxError
            When the sandbox failed even after a retry on a fresh worker. A fault of the
            code is never raised, it is an ``Execution``.
        """
        ...

    async def close(self) -> None:
        """Stop every worker. Idempotent."""
        ...


class SandboxConfig(BaseModel):
    """What a user can set (``conf/sandbox/*.yaml``).

    Attributes
    ----------
    backend
        ``auto`` (docker, podman, bubblewrap, in that order), or one of them, or ``unsafe``.
    env
        Name of a folder in ``sandbox/envs``.
    wall_factor, wall_seconds
        A run of timeout ``t`` may take ``wall_factor * t + wall_seconds`` of wall time.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    backend: str = Field("auto", description="auto, docker, podman, bubblewrap or unsafe")
    env: str = Field("live", description="a name of sandbox/envs, or ./FOLDER")
    workers: PositiveInt = Field(2, description="warm workers")
    timeout: PositiveFloat = Field(60.0, description="seconds of processor time per execution")
    wall_factor: NonNegativeFloat = Field(4.0, description="wall time: factor * timeout + seconds")
    wall_seconds: NonNegativeFloat = Field(30.0, description="see wall_factor")
    memory_mb: PositiveInt = Field(2048, description="memory of one execution")
    max_processes: PositiveInt = Field(64, description="processes of one execution")
    disk_mb: PositiveInt = Field(64, description="scratch space of one execution")
    options: Mapping[str, Any] = Field(default_factory=dict, description="for the backend")

    def wall(self, timeout: float) -> float:
        """Seconds of wall time for a run that may use ``timeout`` seconds of processor time."""
        return self.wall_factor * timeout + self.wall_seconds

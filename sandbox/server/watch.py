"""Watches a running child: takes what it writes, and says when it has to be ended."""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Callable
from dataclasses import dataclass

from sandbox.inside.tagged import FLOOD, KEEP

LOOK_SECONDS = 0.05  # between two looks at what a running child uses
#: Numbers of the pipes that a child writes to, as the supervisor makes them.
STDOUT_PIPE, STDERR_PIPE, RESULT_PIPE, FAILURE_PIPE = range(4)
_CHUNK = 1 << 16


class Stream:
    """The read end of a pipe, and the beginning of what came out of it."""

    def __init__(self, descriptor: int, keep: int) -> None:
        self.descriptor = descriptor
        self.size = 0
        self.open = True
        self._keep = keep
        self._kept = bytearray()
        os.set_blocking(descriptor, False)

    @property
    def content(self) -> bytes:
        """What is kept."""
        return bytes(self._kept)

    def read(self) -> None:
        """Take what is there, at most one chunk."""
        part = os.read(self.descriptor, _CHUNK)
        self.open = bool(part)
        self.size += len(part)
        room = max(self._keep - len(self._kept), 0)
        self._kept += part[:room]

    def drain(self, limit: int) -> None:
        """Take the rest after the child has ended, unless it is more than ``limit`` bytes."""
        with contextlib.suppress(BlockingIOError):
            while self.open and self.size <= limit:
                self.read()


@dataclass(frozen=True)
class Limits:
    """When a run is ended: wall clock, and bytes of its result."""

    deadline: float
    result: int


class Watch:
    """The streams of one run, and why it was ended (``None``: by itself)."""

    def __init__(self, descriptors: list[int], limits: Limits) -> None:
        self.limits = limits
        self.reason: str | None = None
        keep = {RESULT_PIPE: limits.result}
        self.streams = [
            Stream(descriptor, keep.get(number, KEEP))
            for number, descriptor in enumerate(descriptors)
        ]

    def until_the_end(
        self, process: int, alarms: list[int], look: Callable[[], str | None]
    ) -> None:
        """Return when the process ends by itself, or has to be ended.

        ``process`` is a descriptor of it; a readable one of ``alarms`` raises `EOFError`; ``look``
        says from time to time whether the run uses too much.
        """
        looked = time.monotonic()
        while self.reason is None:
            ready = self._ready(process, alarms)
            for stream in self.streams:
                if stream.open and stream.descriptor in ready:
                    stream.read()
            if ready.intersection(alarms):
                raise EOFError
            if process in ready:
                return
            self.reason = self._overrun()
            if self.reason is None and time.monotonic() >= looked + LOOK_SECONDS:
                self.reason = look()
                looked = time.monotonic()

    def take_the_rest(self) -> None:
        """Take what the pipes still hold, once nothing can write into them any more."""
        for stream in self.streams:
            stream.drain(self.limits.result)
        if self.reason is None and self.streams[RESULT_PIPE].size > self.limits.result:
            self.reason = "bad_result"

    def _ready(self, process: int, alarms: list[int]) -> set[int]:
        left = self.limits.deadline - time.monotonic()
        wait = max(min(LOOK_SECONDS, left), 0)
        pipes = [stream.descriptor for stream in self.streams if stream.open]
        ready, _, _ = select.select([*pipes, process, *alarms], [], [], wait)
        return set(ready)

    def _overrun(self) -> str | None:
        printed = max(self.streams[STDOUT_PIPE].size, self.streams[STDERR_PIPE].size)
        if printed > FLOOD:
            return "output_flood"
        if self.streams[RESULT_PIPE].size > self.limits.result:
            return "bad_result"
        if time.monotonic() >= self.limits.deadline:
            return "wall"
        return None

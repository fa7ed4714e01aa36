"""Append-only record of written documentation: what a killed run had finished stays finished."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Literal


@dataclass(frozen=True)
class Written:
    """The outcome of one symbol.

    Attributes
    ----------
    item_hash
        See :func:`docgen.prompts.item_hash`.
    status
        ``done``, or ``failed`` after the last attempt (then ``error`` says why, ``text`` is
        empty, and the next run tries again).
    prompt_tokens, completion_tokens
        As the endpoint reported them over all attempts; ``None`` when it did not.
    """

    qualname: str
    item_hash: str
    model: str
    status: Literal["done", "failed"]
    text: str
    error: str | None
    attempts: int
    prompt_tokens: int | None
    completion_tokens: int | None


class Checkpoint:
    """A JSONL file of :class:`Written`, later lines win; several processes may append to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = 0
        self._last: dict[tuple[str, str, str], Written] = {}
        self._known: dict[tuple[str, str], str] = {}
        for written in self._read():
            self._remember(written)

    def done(self, qualname: str, item_hash: str, model: str) -> str | None:
        """The finished text of an item, ``None`` when it must be written."""
        written = self._last.get((qualname, item_hash, model))
        return written.text if written is not None and written.status == "done" else None

    def known(self, qualname: str, model: str) -> bool:
        """Whether another text of this symbol was written before (so it has changed)."""
        return (qualname, model) in self._known

    @contextmanager
    def writer(self) -> Iterator[_Appender]:
        """Opens the file for appending; a half-written last line is cut off first."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as stream:
            with _locked(stream):
                _cut_partial_line(stream)
            yield _Appender(self, stream)

    def _remember(self, written: Written) -> None:
        self._last[written.qualname, written.item_hash, written.model] = written
        if written.status == "done":
            self._known[written.qualname, written.model] = written.item_hash

    def _read(self) -> Iterator[Written]:
        if not self.path.exists():
            return
        with self.path.open(encoding="utf-8", errors="replace") as stream:
            for line in stream:
                try:
                    yield _parse(line)
                except (ValueError, TypeError):
                    self.damaged += 1  # half-written by a killed run: written again


class _Appender:
    def __init__(self, checkpoint: Checkpoint, stream: IO[bytes]) -> None:
        self._checkpoint = checkpoint
        self._stream = stream

    def append(self, written: Written) -> None:
        """Record an item; it is in the file when this returns."""
        line = json.dumps(asdict(written), ensure_ascii=False).encode() + b"\n"
        with _locked(self._stream):
            self._stream.write(line)
            self._stream.flush()
        self._checkpoint._remember(written)


@contextmanager
def _locked(stream: IO[bytes]) -> Iterator[None]:
    """While one process adds a line, no other takes it for a half-written one."""
    fcntl.flock(stream, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(stream, fcntl.LOCK_UN)


def _parse(line: str) -> Written:
    """A record from its line.

    Raises
    ------
    ValueError, TypeError
        When the line is half-written (no end of line) or not a record.
    """
    written = Written(**json.loads(line))
    if (
        not line.endswith("\n")
        or written.status not in {"done", "failed"}
        or not isinstance(written.text, str)
    ):
        raise ValueError("not a record of this file")
    return written


def _cut_partial_line(stream: IO[bytes]) -> None:
    end = stream.seek(0, 2)
    position = end
    while position > 0:
        step = min(65_536, position)
        stream.seek(position - step)
        newline = stream.read(step).rfind(b"\n")
        if newline >= 0:
            stream.truncate(position - step + newline + 1)
            break
        position -= step
    else:
        if end:
            stream.truncate(0)
    stream.seek(0, 2)

"""Append-only files of JSON lines: what was appended stays, whatever happens next."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

_BLOCK = 65_536


class JsonLines:
    """Appends one JSON object per line; several threads and processes may share the file.

    A last line that a killed process left half-written is cut off when the file is opened.

    Parameters
    ----------
    path
        Made, with its folder, when it does not exist.
    sync
        Whether a line is on the disk, and not only with the system, when `append` returns.
    halves
        What becomes of half a character, which JSON can name and UTF-8 cannot hold: a question
        mark (``replace``), or the escape that JSON has for it (``backslashreplace``).
    """

    def __init__(
        self,
        path: Path,
        *,
        sync: bool = False,
        halves: Literal["replace", "backslashreplace"] = "replace",
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a+b")
        self._sync, self._halves = sync, halves
        self._threads = threading.Lock()
        with self._alone():
            self._cut()

    def append(self, value: Mapping[str, Any]) -> None:
        """Add a line; what is no JSON is written as its text."""
        line = json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", self._halves)
        with self._alone():
            self._file.write(line + b"\n")
            self._file.flush()
        if self._sync:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While one adds a line, no other takes it for a half-written one."""
        with self._threads:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def _cut(self) -> None:
        """Cut off what follows the last end of a line."""
        position = self._file.seek(0, os.SEEK_END)
        while position > 0:
            start = max(0, position - _BLOCK)
            self._file.seek(start)
            end = self._file.read(position - start).rfind(b"\n")
            if end >= 0:
                self._file.truncate(start + end + 1)
                return
            position = start
        self._file.truncate(0)


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Number (from 1) and bytes of each whole line; a half-written last one is left out."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.endswith(b"\n"):
                yield number, line

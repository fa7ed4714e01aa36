"""Append-only files of JSON lines: what was appended stays, whatever happens next."""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from foundation.errors import ActionableError
from foundation.terminal import printable


class JsonLines:
    """Appends one JSON object per line; several threads and processes may share the file.

    A last line that a killed process left half-written is cut off when the file is opened. With
    ``sync``, a line is on the disk, and not only with the system, when `append` returns. Half a
    character, which JSON can name and UTF-8 cannot hold, becomes a question mark (``replace``), or
    the escape that JSON has for it (``backslashreplace``).
    """

    def __init__(
        self,
        path: Path,
        *,
        sync: bool = False,
        halves: Literal["replace", "backslashreplace"] = "replace",
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a+b", buffering=0)
        self._path, self._sync, self._halves = path, sync, halves
        self._threads = threading.Lock()
        with self._alone():
            self._cut()

    def append(self, value: Mapping[str, Any]) -> None:
        """Add a line; what is no JSON is written as its text.

        When it cannot be written (`ActionableError`), the file is as it was before.
        """
        line = json.dumps(value, ensure_ascii=False, default=str).encode(
            "utf-8", self._halves
        )
        rest = memoryview(line + b"\n")
        with self._alone():
            end = self._file.seek(0, os.SEEK_END)
            try:
                while rest:
                    rest = rest[self._file.write(rest) :]
                if self._sync:
                    os.fsync(self._file.fileno())
            except OSError as error:
                self._file.truncate(end)
                raise ActionableError(
                    f"{printable(self._path)}: cannot be written ({error.strerror}); everything"
                    " before is kept: make room, and give the same command again"
                ) from error

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
        if self._file.seek(0, os.SEEK_END):
            with mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_COPY) as content:
                end = content.rfind(b"\n") + 1
            self._file.truncate(end)


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Number (from 1) and bytes of each whole line; a half-written last one is left out."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.endswith(b"\n"):
                yield number, line

"""Files that the code leaves in ``out``, as bytes under plain relative names."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from sandbox.inside.tagged import KEEP, MB, OUT_BYTES, OUT_FILES

#: Characters of a name: JSON writes up to 12 for one, and all names have to fit.
MAX_NAME = KEEP // OUT_FILES // 12
SHOWN = 60  # of a name that is longer


class Outputs:
    """What is handed over of a folder, and a line for each file that is not."""

    def __init__(self) -> None:
        self.files: list[tuple[str, int]] = []  # name and size
        self.contents: list[bytes] = []
        self.left: list[str] = []
        self._room = OUT_BYTES

    def collect(self, folder: str) -> None:
        """Take the files in a folder, one after the other.

        Links, pipes and other things that are not files are left out, and so is what goes beyond
        the limits.
        """
        if os.path.islink(folder):
            return
        for path in _paths(folder):
            name = os.path.relpath(path, folder)
            if len(name) > MAX_NAME:
                self.left.append(f"{name[:SHOWN]}...: the name is too long")
                continue
            try:
                reason = self._take(path, name)
            except OSError as error:
                reason = str(error.strerror)
            if reason:
                self.left.append(f"{name}: {reason}")
        del self.left[OUT_FILES:]

    def _take(self, path: str, name: str) -> str | None:
        """Take one file, or say why not."""
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode):
            return "not a plain file"
        if len(self.files) == OUT_FILES:
            return f"at most {OUT_FILES} files are handed over"
        if status.st_size > self._room:
            return f"at most {OUT_BYTES // MB} MB are handed over"
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            content = file.read(self._room)
        self._room -= len(content)
        self.files.append((name, len(content)))
        self.contents.append(content)
        return None


def _paths(folder: str) -> Iterator[str]:
    for top, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            yield os.path.join(top, name)

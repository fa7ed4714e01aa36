"""Copies a user's folder as it stands: nothing from outside comes along, and the copy has an end.

What it holds goes into documents, skills and prompts, so a link that leads out of it is an error
that names both ends, and devices, pipes and sockets are none of a project's files.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Collection
from pathlib import Path

from foundation.terminal import printable
from sandbox import stoppable
from sandbox.base import SandboxError

MOST_ENTRIES = 50_000  # files and folders
MOST_BYTES = 512 << 20
MOST_LEVELS = 100  # of folders in folders
_CHUNK = 1 << 20
#: What of a folder's names is left out, as `shutil.ignore_patterns` makes it.
Unwanted = Callable[[str, list[str]], Collection[str]]


def copy_folder(source: Path, target: Path, unwanted: Unwanted) -> None:
    """Copy a folder; links that lead to files or folders in it become copies of these.

    Raises `SandboxError` for a link that leads out, for what is neither a file nor a folder, and
    when there is more than `MOST_ENTRIES` or `MOST_BYTES`.
    """
    _Copy(source.resolve(), unwanted).folder(source.resolve(), target, ())


class _Copy:
    """One copy; counts what it has taken."""

    def __init__(self, root: Path, unwanted: Unwanted) -> None:
        self._root, self._unwanted = root, unwanted
        self._entries = 0
        self._room = MOST_BYTES

    def folder(self, source: Path, target: Path, above: tuple[Path, ...]) -> None:
        """Copy a folder; ``above`` are those that it lies in, real paths."""
        if len(above) > MOST_LEVELS:
            raise SandboxError(
                f"{printable(self._root)}: folders are nested deeper than {MOST_LEVELS}"
            )
        target.mkdir()
        try:
            names = sorted(entry.name for entry in os.scandir(source))
        except OSError as error:
            raise SandboxError(f"{printable(source)}: {error.strerror}") from None
        left_out = self._unwanted(str(source), names)
        for name in names:
            if name not in left_out:
                self._entry(source / name, target / name, (*above, source))

    def _entry(self, path: Path, target: Path, above: tuple[Path, ...]) -> None:
        stoppable.check()
        self._entries += 1
        if self._entries > MOST_ENTRIES:
            raise SandboxError(
                f"{printable(self._root)}: more than {MOST_ENTRIES} files and folders; move what"
                " does not belong to the project elsewhere"
            )
        real = self._real(path)
        if real is None:
            return
        mode = real.lstat().st_mode
        if stat.S_ISDIR(mode):
            if real not in above:  # a folder that lies in itself holds nothing new
                self.folder(real, target, above)
        elif stat.S_ISREG(mode):
            self._file(real, target)
        else:
            raise SandboxError(
                f"{printable(path)}: {kind_of(mode)}, not a file or folder; remove it"
            )

    def _real(self, path: Path) -> Path | None:
        """Where a link leads; ``None`` where it leads nowhere."""
        if not path.is_symlink():
            return path
        try:
            real = path.resolve()
        except (OSError, RuntimeError):  # links in a circle
            return None
        if not real.is_relative_to(self._root):
            raise SandboxError(
                f"{printable(path)}: a link that leads out of the project, to {printable(real)};"
                " put a copy in its place, or remove it"
            )
        return real if real.exists() else None

    def _file(self, path: Path, target: Path) -> None:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            reason = "a link now" if error.errno == errno.ELOOP else error.strerror
            raise SandboxError(f"{printable(path)}: {reason}") from None
        with os.fdopen(descriptor, "rb") as read, target.open("wb") as write:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):  # exchanged since it was looked at
                raise SandboxError(f"{printable(path)}: {kind_of(mode)}, not a file")
            while data := read.read(_CHUNK):
                stoppable.check()
                self._room -= len(data)
                if self._room < 0:
                    raise SandboxError(
                        f"{printable(self._root)}: larger than {MOST_BYTES >> 20} MB; move what"
                        " does not belong to the project elsewhere"
                    )
                write.write(data)
        shutil.copymode(path, target, follow_symlinks=False)


def kind_of(mode: int) -> str:
    """What an entry of a folder is, in words."""
    kinds = {
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "something else")

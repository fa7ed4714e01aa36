"""Input files of a run: read on the host, sent to a worker once, shown read-only."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from matsmith.core.terminal import printable
from sandbox.base import Mount, SandboxError
from sandbox.server.bounds import OUT

INPUTS_LIMIT = 512 << 20  # bytes of input files that a worker keeps


@dataclass(frozen=True)
class Inputs:
    """Files of a mount, read once; the key is their content.

    Paths are those below the mount; one empty path when the mount is a file.
    """

    key: str
    files: tuple[tuple[str, bytes], ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(len(data) for _, data in self.files)

    @classmethod
    def read(cls, source: Path) -> Inputs:
        """Read a file, or a folder with everything below it; no links out of it."""
        root, shown = source.resolve(), printable(source)
        if not root.exists():
            raise SandboxError(f"input {shown} does not exist; check the mounts of the question")
        if not root.is_file() and not root.is_dir():
            raise SandboxError(f"input {shown} is neither a file nor a folder; copy what it gives")
        paths = [root] if root.is_file() else sorted(p for p in root.rglob("*") if p.is_file())
        if not paths:
            raise SandboxError(f"input {shown} is a folder without files; leave it out")
        for path in paths:
            if not path.resolve().is_relative_to(root):
                link = printable(path)
                raise SandboxError(f"input {link} is a link out of {shown}; copy the file instead")
        _check_size(source, sum(path.stat().st_size for path in paths))
        files: list[tuple[str, bytes]] = []
        digest = hashlib.sha256()
        total = 0
        for path in paths:
            with path.open("rb") as file:  # it may have grown, or be of those that have no size
                data = file.read(INPUTS_LIMIT + 1 - total)
            total += len(data)
            _check_size(source, total)
            name = "" if path == root else path.relative_to(root).as_posix()
            digest.update(f"{len(name)} {len(data)} ".encode() + name.encode() + data)
            files.append((name, data))
        return cls(digest.hexdigest(), tuple(files))


def _check_size(source: Path, size: int) -> None:
    if size > INPUTS_LIMIT:
        raise SandboxError(
            f"input {printable(source)} contains more than {INPUTS_LIMIT >> 20} MB; mount only what"
            " the question needs"
        )


def signature(source: Path) -> object:
    """Changes when a file of a mount changes: names, sizes, times."""
    paths = [source, *sorted(source.rglob("*"))] if source.is_dir() else [source]
    stats = [(path, path.stat()) for path in paths if path.exists()]
    return tuple((str(path), stat.st_size, stat.st_mtime_ns) for path, stat in stats)


def check_targets(mounts: Sequence[Mount], *, collect: bool = False) -> list[str]:
    """The targets of mounts as plain relative paths; with ``collect``, ``out`` is the code's."""
    targets = []
    own = {"main.py", *([OUT] if collect else [])}
    for mount in mounts:
        path = PurePosixPath(mount.target)
        plain = mount.target.isprintable()  # it stands in prompts and on terminals
        if (
            not plain or not path.parts or path.is_absolute() or ".." in path.parts
            or path.parts[0] in own
        ):  # fmt: skip
            raise ValueError(
                f"mount target {mount.target!r} must be relative, without '..' and signs that"
                f" cannot be printed, and not {' or '.join(sorted(own))}"
            )
        targets.append(path)
    for one, two in itertools.permutations(targets, 2):
        if two.is_relative_to(one):
            raise ValueError(f"mount target {str(two)!r} lies in {str(one)!r}; mount it elsewhere")
    return [path.as_posix() for path in targets]

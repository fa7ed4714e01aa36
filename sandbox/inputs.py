"""Input files of a run: read on the host, sent to a worker once, shown read-only."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sandbox.base import Mount, SandboxError
from sandbox.runner import OUT

INPUTS_LIMIT = 512 << 20  # bytes of input files that a worker keeps


@dataclass(frozen=True)
class Inputs:
    """Files of a mount, read once; the key is their content."""

    key: str
    files: tuple[tuple[str, bytes], ...]

    @property
    def names(self) -> list[str]:
        """Paths of the files below the mount; one empty name when the mount is a file."""
        return [name for name, _ in self.files]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(len(data) for _, data in self.files)

    @classmethod
    def read(cls, source: Path) -> Inputs:
        """Read a file, or a folder with everything below it.

        Raises
        ------
        SandboxError
            When it does not exist, holds a link that leaves it, or is too large.
        """
        root = source.resolve()
        if not root.exists():
            raise SandboxError(f"input {source} does not exist; check the mounts of the question")
        paths = [root] if root.is_file() else sorted(p for p in root.rglob("*") if p.is_file())
        files: list[tuple[str, bytes]] = []
        digest = hashlib.sha256()
        total = 0
        for path in paths:
            if not path.resolve().is_relative_to(root):
                raise SandboxError(f"input {path} is a link out of {source}; copy the file instead")
            data = path.read_bytes()
            total += len(data)
            if total > INPUTS_LIMIT:
                raise SandboxError(
                    f"input {source} contains more than {INPUTS_LIMIT >> 20} MB; mount only what"
                    " the question needs"
                )
            name = "" if path == root else path.relative_to(root).as_posix()
            digest.update(f"{len(name)} {len(data)} ".encode() + name.encode() + data)
            files.append((name, data))
        return cls(digest.hexdigest(), tuple(files))


def signature(source: Path) -> object:
    """Changes when a file of a mount changes: names, sizes, times."""
    paths = [source, *sorted(source.rglob("*"))] if source.is_dir() else [source]
    stats = [(path, path.stat()) for path in paths if path.exists()]
    return tuple((str(path), stat.st_size, stat.st_mtime_ns) for path, stat in stats)


def check_targets(mounts: Sequence[Mount], *, collect: bool = False) -> list[str]:
    """The targets of mounts as plain relative paths.

    Parameters
    ----------
    collect
        Whether the folder ``out`` is the code's.

    Raises
    ------
    ValueError
        When one is absolute, leaves the working directory, hides the code, or lies in another.
    """
    targets = []
    own = {"main.py", *([OUT] if collect else [])}
    for mount in mounts:
        path = PurePosixPath(mount.target)
        if not path.parts or path.is_absolute() or ".." in path.parts or path.parts[0] in own:
            raise ValueError(
                f"mount target {mount.target!r} must be relative, without '..', and"
                f" not {' or '.join(sorted(own))}"
            )
        targets.append(path)
    for one, two in itertools.permutations(targets, 2):
        if two.is_relative_to(one):
            raise ValueError(f"mount target {str(two)!r} lies in {str(one)!r}; mount it elsewhere")
    return [path.as_posix() for path in targets]

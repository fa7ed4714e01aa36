"""A cgroup for a worker under bubblewrap, where one can be had: the kernel counts its memory.

That is: below the folder that the option ``cgroup`` names; for root, when nothing has put this
process into a cgroup of its own; for a user, below the first ancestor that belongs to the user and
hands the memory controller down (version 2). A process that a supervisor has put somewhere is not
taken away from there. Without a cgroup the fork server sums up what /proc shows.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sandbox.base import SandboxError
from sandbox.runner import Cgroup

_NAME = "matsmith"
#: Control file -> value (``None``: the limit) of version 2 and of version 1.
_LIMITS: tuple[dict[str, int | None], ...] = (
    {"memory.max": None, "memory.swap.max": 0},
    {"memory.limit_in_bytes": None, "memory.memsw.limit_in_bytes": None},
)
_numbers = itertools.count()


@dataclass(frozen=True)
class Group:
    """A cgroup of ours."""

    folder: Path
    files: tuple[Path, Path, Path]

    def remove(self) -> None:
        """Remove it; a cgroup that still has a dying process stays for the next sweep."""
        try:
            self.folder.rmdir()
        except OSError:
            return


def make(limit: int, parent: str | None = None) -> Group | None:
    """Make a cgroup that may hold ``limit`` bytes.

    Parameters
    ----------
    limit
        Bytes, those of the kernel for its processes included; no swap.
    parent
        Folder to make it in; by default wherever that is possible, or nowhere (``None``).

    Raises
    ------
    SandboxError
        When it cannot be made in ``parent``.
    """
    places = [Path(parent)] if parent is not None else list(_parents())
    for place in places:
        group = _make(place, limit)
        if group is not None:
            return group
    if parent is not None:
        raise SandboxError(
            f"no cgroup with a memory limit can be created in {parent}: it must exist, be writable"
            " and have the memory controller (version 2: in its cgroup.subtree_control)"
        )
    return None


def _make(parent: Path, limit: int) -> Group | None:
    _sweep(parent)
    folder = parent / f"{_NAME}-{os.getpid()}-{next(_numbers)}"
    try:
        folder.mkdir()
    except OSError:
        return None
    for version, limits in enumerate(_LIMITS):
        files = [folder / names[version] for names in (Cgroup.USAGE, Cgroup.PARTS, Cgroup.KILLS)]
        group = Group(folder, (files[0], files[1], files[2]))
        try:
            if all(path.exists() for path in files):
                for name, value in limits.items():
                    if (folder / name).exists():  # no file of swap where it is not counted
                        (folder / name).write_text(str(limit if value is None else value))
                return group
        except OSError:
            break
    group.remove()
    return None


def _parents() -> Iterator[Path]:
    try:
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
        own = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    paths = {line.split(":", 2)[1]: line.split(":", 2)[2] for line in own}
    memory = next((paths[names] for names in paths if "memory" in names.split(",")), None)
    for line in mounts:
        fields, _, kind = line.partition(" - ")
        root, mount = fields.split()[3:5]
        options = kind.split()
        if options[0] == "cgroup" and "memory" in options[2].split(","):
            if os.geteuid() == 0 and memory == "/":
                yield Path(mount)
        elif options[0] == "cgroup2" and "" in paths:
            if os.geteuid() == 0 and paths[""] == "/" and _hands_memory_down(Path(mount)):
                yield Path(mount)
            folder = _inside(mount, root, paths[""])
            for parent in (folder, *folder.parents):
                if not parent.is_relative_to(mount):
                    break
                if _hands_memory_down(parent) and parent.stat().st_uid == os.geteuid() != 0:
                    yield parent
                    break


def _inside(mount: str, root: str, path: str) -> Path:
    """A cgroup's folder, where only the part below ``root`` is mounted."""
    inner = path.removeprefix(root) if root != "/" else path
    return Path(mount) / inner.lstrip("/")


def _hands_memory_down(folder: Path) -> bool:
    try:
        handed = (folder / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False
    return "memory" in handed and os.access(folder / "cgroup.procs", os.W_OK)


def _sweep(parent: Path) -> None:
    """Remove what hosts that were killed left behind; a cgroup in use cannot be removed."""
    for folder in sorted(parent.glob(f"{_NAME}-*-*")):
        host = folder.name.split("-")[1]
        if not Path("/proc", host).exists():
            Group(folder, (folder, folder, folder)).remove()

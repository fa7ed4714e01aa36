"""A cgroup for a worker under bubblewrap, where one can be had: the kernel counts its memory.

That is: below the folder that the option ``cgroup`` names; for root, when nothing has put this
process into a cgroup of its own; for a user, below the first ancestor that belongs to the user and
hands the memory controller down. All of them are of version 2. A process that a supervisor has put
somewhere is not taken away from there. Without a cgroup the fork server sums up what /proc shows.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from sandbox.base import SandboxError
from sandbox.server.kernel import Cgroup

MOUNT = Path("/sys/fs/cgroup")
_NAME = "matsmith"
_numbers = itertools.count()


def files(group: Path) -> list[Path]:
    """What the fork server reads (`sandbox.server.kernel.Cgroup`)."""
    return [group / name for name in Cgroup.FILES[0]]


def remove(group: Path) -> None:
    """Remove it; a cgroup that still has a dying process stays for the next sweep."""
    with contextlib.suppress(OSError):
        group.rmdir()


def make(limit: int, parent: str | None = None) -> Path | None:
    """Make a cgroup that may hold ``limit`` bytes, those of the kernel included; no swap.

    In ``parent``, or else wherever that is possible; ``None`` where it is not.
    """
    groups = (_make(place, limit) for place in ([Path(parent)] if parent else _parents()))
    group = next((group for group in groups if group is not None), None)
    if group is None and parent is not None:
        raise SandboxError(
            f"no cgroup with a memory limit can be created in {parent}: it must exist, be writable"
            " and hand the memory controller of version 2 down (in its cgroup.subtree_control)"
        )
    return group


def _make(parent: Path, limit: int) -> Path | None:
    for left in sorted(parent.glob(f"{_NAME}-*-*")):  # by a host that was killed
        if not Path("/proc", left.name.split("-")[1]).exists():
            remove(left)
    group = parent / f"{_NAME}-{os.getpid()}-{next(_numbers)}"
    swap = group / "memory.swap.max"
    try:
        group.mkdir()
    except OSError:
        return None
    with contextlib.suppress(OSError):
        if all(path.exists() for path in files(group)):
            (group / "memory.max").write_text(str(limit))
            if swap.exists():  # not where swap is not counted
                swap.write_text("0")
            return group
    remove(group)
    return None


def _parents() -> Iterator[Path]:
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for path in (line.removeprefix("0::/") for line in lines if line.startswith("0::/")):
        if os.geteuid() == 0 and not path and _hands_memory_down(MOUNT):
            yield MOUNT
        # In a container only what is below a part of the path is mounted: the rest is absent.
        folder = MOUNT / path
        for parent in (folder, *folder.parents):
            if not parent.is_relative_to(MOUNT):
                break
            if _hands_memory_down(parent) and parent.stat().st_uid == os.geteuid() != 0:
                yield parent
                break


def _hands_memory_down(folder: Path) -> bool:
    try:
        handed = (folder / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False
    return "memory" in handed and os.access(folder / "cgroup.procs", os.W_OK)

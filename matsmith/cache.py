"""What the cache folder holds, and how to make it smaller: ``matsmith cache``.

Everything listed here is built again when it is needed; what was paid for (replies of models,
documentation that a model wrote) is shown as well, but never removed.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import BaseModel, Field, NonNegativeFloat

from foundation.command import Command, Nothing, run_one_of
from foundation.terminal import printable
from sandbox import environments
from sandbox.base import SandboxError

#: Folders of the cache whose entries can be built again.
KINDS = ("envs", "overlays", "corpora", "indexes", "invented", "gold")
#: Below one of these folders, but not of its kind: texts that may have cost money.
_KEPT = frozenset({"written"})
_DAY = 86_400.0


@dataclass(frozen=True)
class CachedItem:
    """Something that was built."""

    path: Path
    bytes: int  # on the disk; of a file that several names lead to, once
    used: float  # seconds since the epoch; some systems note reading once a day
    needed: bool  # by the installed version of matsmith itself

    @property
    def days(self) -> float:
        """Since it was last used."""
        return max(0.0, time.time() - self.used) / _DAY


class Prune(BaseModel, extra="forbid"):
    """What is removed."""

    days: NonNegativeFloat = Field(
        description="remove entries unused for this many days"
    )
    dry: bool = Field(False, description="only say what would be removed")


def items(cache: Path) -> list[CachedItem]:
    """What is in the cache and can be built again, the longest unused first."""
    needed = {environments.folder(name) for name in environments.names()}
    seen: set[tuple[int, int]] = set()
    found = [
        CachedItem(path, *_measure(path, seen), path in needed)
        for kind in KINDS
        for path in sorted((cache / kind).glob("*"))
        if path.name not in _KEPT
        and path.suffix != ".lock"
        and not path.name.startswith(".")
    ]
    return sorted(found, key=lambda item: item.used)


def _measure(path: Path, seen: set[tuple[int, int]]) -> tuple[int, float]:
    """Bytes on the disk that were not counted yet, and when any of it was last used."""
    total, used = 0, 0.0
    for file in (
        path,
        *(path.rglob("*") if path.is_dir() and not path.is_symlink() else ()),
    ):
        try:
            facts = file.lstat()
        except OSError:  # removed meanwhile
            continue
        used = max(used, facts.st_mtime, facts.st_atime if not file.is_dir() else 0.0)
        if (facts.st_dev, facts.st_ino) not in seen:
            seen.add((facts.st_dev, facts.st_ino))
            total += facts.st_blocks * 512
    return total, used


def remove(item: CachedItem) -> bool:
    """Remove something, unless somebody is building it; returns whether it is gone."""
    # As `sandbox.environments` and `indexes.corpus` call it.
    plain, hidden = (
        item.path.with_name(f"{dot}{item.path.name}.lock") for dot in ("", ".")
    )
    try:
        with FileLock(plain, timeout=0), FileLock(hidden, timeout=0):
            if item.path.is_dir() and not item.path.is_symlink():
                # At once for whoever looks for it; deleting takes longer.
                aside = item.path.with_name(f".{item.path.name}.removed")
                item.path.rename(aside)
                shutil.rmtree(aside)
            else:
                item.path.unlink()
    except Timeout:
        return False
    except OSError as error:
        raise SandboxError(
            f"{item.path}: cannot be removed ({error.strerror})"
        ) from error
    return True


def _list(_: Nothing) -> int:
    cache = environments.cache_folder()
    found = items(cache)
    for item in found:
        note = ", used by this version" if item.needed else ""
        name = printable(item.path.relative_to(cache).as_posix())
        print(f"{item.bytes / 1e6:9.1f} MB  {item.days:6.1f} days  {name}{note}")
    kept = [cache / "replies.sqlite", cache / "written", cache / "corpora" / "written"]
    paid = sum(_measure(path, set())[0] for path in kept if path.exists())
    print(f"{paid / 1e6:9.1f} MB  replies and documentation of models, never removed")
    total = paid + sum(item.bytes for item in found)
    print(f"{total / 1e6:9.1f} MB  in {printable(str(cache))}")
    return 0


def _prune(options: Prune) -> int:
    freed = 0
    for item in items(environments.cache_folder()):
        if item.needed or item.days < options.days:
            continue
        done = options.dry or remove(item)
        said = "would remove" if options.dry else "removed" if done else "in use, left"
        print(
            printable(
                f"{said}: {item.path} ({item.bytes / 1e6:.1f} MB, {item.days:.1f} days)"
            )
        )
        freed += item.bytes if done else 0
    print(f"{'would free' if options.dry else 'freed'} {freed / 1e6:.1f} MB")
    return 0


def main(arguments: Sequence[str]) -> int:
    """Command line; see ``--help``."""
    listing = Command(
        "matsmith cache list", "Lists what is there, by age.", Nothing, _list
    )
    prune = Command(
        "matsmith cache prune", "Removes what is built again.", Prune, _prune
    )
    given = arguments or ["list"]
    return run_one_of(
        "matsmith cache", str(__doc__), {"list": listing, "prune": prune}, given
    )

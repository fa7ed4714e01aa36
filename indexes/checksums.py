"""Checksums of a folder: one flipped bit in any of its files is noticed when it is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from pathlib import Path

CHECKSUMS = "checksums.json"


def write_checksums(folder: Path, *, leave_out: Collection[str] = ()) -> None:
    """Note the SHA-256 of each file of a folder, but of those in ``leave_out``."""
    sums = _sums(folder, leave_out)
    (folder / CHECKSUMS).write_text(json.dumps(sums), encoding="utf-8")


def damage(folder: Path, *, leave_out: Collection[str] = ()) -> str | None:
    """What is wrong with a folder that has checksums; ``None`` where they all fit."""
    try:
        expected = json.loads((folder / CHECKSUMS).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return f"{CHECKSUMS} cannot be read: {error}"
    if not isinstance(expected, dict):
        return f"{CHECKSUMS} does not hold checksums"
    try:
        actual = _sums(folder, leave_out)
    except OSError as error:
        return f"{error.filename} cannot be read: {error.strerror}"
    for name in sorted(expected.keys() | actual.keys()):
        if name not in actual:
            return f"{name} is missing"
        if name not in expected:
            return f"{name} does not belong to it"
        if actual[name] != expected[name]:
            return f"{name} does not match its checksum"
    return None


def _sums(folder: Path, leave_out: Collection[str]) -> dict[str, str]:
    sums = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name == CHECKSUMS or name in leave_out or not path.is_file():
            continue
        with path.open("rb") as file:
            sums[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return sums

"""Files that code wrote to its folder ``out``: from untrusted bytes to names and content, capped.

The code itself could have written these bytes, so nothing in them is believed: a name is a plain
relative path, content is bytes, and nobody but whoever asked for the files gives them a place.
"""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath

from sandbox.base import Written
from sandbox.runner import OUT_BYTES, OUT_FILES

MAX_NAME = 120  # characters of a name, folders included
MAX_REASON = 200
#: What every file system and terminal takes; no part hidden, none an option of a command.
_PART = re.compile(r"[A-Za-z0-9_(\[][A-Za-z0-9 ._+,=@()\[\]-]*")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)


def read_written(section: bytes) -> tuple[tuple[Written, ...], tuple[str, ...]]:
    """The files, and one line for each that is not handed over.

    Raises
    ------
    ValueError
        When the section is not what the fork server's child writes.
    """
    if not section:
        return (), ()
    head, _, rest = section.partition(b"\n")
    try:
        header = json.loads(head)
    except RecursionError:
        raise ValueError("nested too deep") from None
    match header:
        case {"files": list(files), "left": list(left)} if len(files) <= OUT_FILES:
            pass
        case _:
            raise ValueError("no list of files")
    written: list[Written] = []
    refused = [valid(str(line))[:MAX_REASON] for line in left[:OUT_FILES]]
    taken: set[PurePosixPath] = set()
    start = 0
    for item in files:
        match item:
            case [str(name), int(size)] if type(size) is int and 0 <= size <= len(rest) - start:
                data, start = rest[start : start + size], start + size
            case _:
                raise ValueError("no file")
        path = PurePosixPath(name.casefold())
        if reason := _fault(name):
            refused.append(f"{valid(name)[:MAX_NAME]!a}: {reason}")
        elif path in taken or any(p in taken for p in path.parents) or _inside(path, taken):
            refused.append(f"{name}: another file has this name")
        else:
            taken.add(path)
            written.append(Written(name, data))
    if start != len(rest) or start > OUT_BYTES:
        raise ValueError("other bytes than the files'")
    return tuple(written), tuple(refused)


def _fault(name: str) -> str | None:
    """Why a name is not taken."""
    parts = name.split("/")
    if len(name) > MAX_NAME or len(parts) > 4:
        return "the name is too long"
    fits = all(_PART.fullmatch(part) and part[-1] not in " ." for part in parts)
    if not fits or any(_DEVICE.match(part) for part in parts):
        return "a name holds letters, digits and ._+,=@()[]- only, and does not begin with a dot"
    return None


def _inside(path: PurePosixPath, taken: set[PurePosixPath]) -> bool:
    return any(other.is_relative_to(path) for other in taken)


def valid(text: str) -> str:
    """Without halves of surrogate pairs, which no file or terminal takes."""
    return text.encode("utf-8", "backslashreplace").decode()

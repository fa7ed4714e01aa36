"""What code hands over besides its result: exceptions that it caught, and files in ``out``, capped.

The code itself could have written these bytes, so nothing in them is believed: a name is a plain
relative path, content is bytes, and nobody but whoever asked for the files gives them a place.
"""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath

from sandbox.base import Caught, Written
from sandbox.server.bounds import MAX_CAUGHT, MAX_MESSAGE, OUT_BYTES, OUT_FILES

MAX_REPORT = 1 << 18  # bytes about what was caught and written
MAX_NAME = 120  # characters of a name, folders included
MAX_REASON = 200
#: What every file system and terminal takes; no part hidden, none an option of a command.
_PART = re.compile(r"[A-Za-z0-9_(\[][A-Za-z0-9 ._+,=@()\[\]-]*")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)


def read_report(
    message: bytes,
) -> tuple[bytes, tuple[Caught, ...], tuple[Written, ...], tuple[str, ...]]:
    """Take the report out of a child's message (`sandbox.server.child`).

    Returns kind, line feed and payload; exceptions; files; a line for each that is not handed over.
    Raises `ValueError` when there is a report that is not one.
    """
    head, _, body = message.partition(b"\n")
    kind, told, text = head.partition(b" ")
    if not told:
        return message, (), (), ()
    if len(text) > MAX_REPORT:
        raise ValueError("a long report")
    try:
        report = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    match report:
        case {"caught": list(caught), "files": list(files), "left": list(left)} if (
            len(caught) <= MAX_CAUGHT and len(files) <= OUT_FILES
        ):
            pass
        case _:
            raise ValueError("no report")
    written: list[Written] = []
    refused = [valid(str(line))[:MAX_REASON] for line in left[:OUT_FILES]]
    taken: set[PurePosixPath] = set()
    start = 0
    for item in files:
        match item:
            case [str(name), int(size)] if type(size) is int and 0 <= size <= len(body) - start:
                data, start = body[start : start + size], start + size
            case _:
                raise ValueError("no file")
        path = PurePosixPath(name.casefold())
        if reason := _fault(name):
            refused.append(f"{valid(name)[:MAX_NAME]!a}: {reason}")
        elif any(path.is_relative_to(one) or one.is_relative_to(path) for one in taken):
            refused.append(f"{name}: another file has this name")
        else:
            taken.add(path)
            written.append(Written(name, data))
    if start > OUT_BYTES:
        raise ValueError("more bytes than files may have")
    found = tuple(map(_caught, caught))
    return kind + b"\n" + body[start:], found, tuple(written), tuple(refused)


def _caught(item: object) -> Caught:
    match item:
        case [str(name), str(said), int(line)] if 0 <= line < 1 << 31:
            return Caught(valid(name[:MAX_MESSAGE]), valid(said[:MAX_MESSAGE]), int(line))
    raise ValueError("no caught exception")


def _fault(name: str) -> str | None:
    """Why a name is not taken."""
    parts = name.split("/")
    if len(name) > MAX_NAME or len(parts) > 4:
        return "the name is too long"
    fits = all(_PART.fullmatch(part) and part[-1] not in " ." for part in parts)
    if not fits or any(_DEVICE.match(part) for part in parts):
        return "a name holds letters, digits and ._+,=@()[]- only, and does not begin with a dot"
    return None


def valid(text: str) -> str:
    """Without halves of surrogate pairs, which no file or terminal takes."""
    return text.encode("utf-8", "backslashreplace").decode()

"""What a run is given and what it hands over: input files, caught exceptions, files in ``out``.

Inputs are read on the host, sent to a worker once, and shown read-only. What comes back could have
been written by the code itself, so nothing in it is believed: a name is a plain relative path,
content is bytes, and nobody but whoever asked for the files gives them a place.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from foundation.terminal import printable
from sandbox.base import Caught, Mount, SandboxError, Written
from sandbox.inside.tagged import MAX_CAUGHT, MAX_MESSAGE, OUT, OUT_BYTES, OUT_FILES

INPUTS_LIMIT = 512 << 20  # bytes of input files that a worker keeps
MAX_REPORT = 1 << 18  # bytes about what was caught and written
MAX_NAME = 120  # characters of a name, folders included
MAX_REASON = 200
#: What every file system and terminal takes; no part hidden, none an option of a command.
_PART = re.compile(r"[A-Za-z0-9_(\[][A-Za-z0-9 ._+,=@()\[\]-]*")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)


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
        return sum(map(len, self.contents))

    @property
    def names(self) -> list[str]:
        """Paths of the files."""
        return [name for name, _ in self.files]

    @property
    def contents(self) -> list[bytes]:
        """What the files hold, in the order of `names`."""
        return [content for _, content in self.files]

    @classmethod
    def read(cls, source: Path) -> Inputs:
        """Read a file, or a folder with everything below it; no links out of it."""
        root, label = source.resolve(), printable(source)
        if not root.exists():
            raise SandboxError(
                f"input {label} does not exist; check the mounts of the question"
            )
        if not root.is_file() and not root.is_dir():
            raise SandboxError(
                f"input {label} is neither a file nor a folder; copy what it gives"
            )
        paths = (
            [root]
            if root.is_file()
            else sorted(p for p in root.rglob("*") if p.is_file())
        )
        if not paths:
            raise SandboxError(f"input {label} is a folder without files; leave it out")
        large = SandboxError(
            f"input {label} contains more than {INPUTS_LIMIT >> 20} MB; mount only what the"
            " question needs"
        )
        for path in paths:
            if not path.resolve().is_relative_to(root):
                link = printable(path)
                raise SandboxError(
                    f"input {link} is a link out of {label}; copy the file instead"
                )
        if sum(path.stat().st_size for path in paths) > INPUTS_LIMIT:
            raise large
        files: list[tuple[str, bytes]] = []
        digest, room = hashlib.sha256(), INPUTS_LIMIT
        for path in paths:
            with path.open(
                "rb"
            ) as file:  # it may have grown, or be of those that have no size
                data = file.read(room + 1)
            room -= len(data)
            if room < 0:
                raise large
            name = "" if path == root else path.relative_to(root).as_posix()
            digest.update(f"{len(name)} {len(data)} ".encode() + name.encode() + data)
            files.append((name, data))
        return cls(digest.hexdigest(), tuple(files))


def signature(source: Path) -> object:
    """Changes when a file of a mount changes: names, sizes, times."""
    stats = [
        (path, path.stat())
        for path in (source, *sorted(source.rglob("*")))
        if path.exists()
    ]
    return tuple((str(path), stat.st_size, stat.st_mtime_ns) for path, stat in stats)


def check_targets(mounts: Sequence[Mount], *, collect: bool = False) -> list[str]:
    """The targets of mounts as plain relative paths; with ``collect``, ``out`` is the code's."""
    targets = []
    own = {"main.py", *([OUT] if collect else [])}
    for mount in mounts:
        path = PurePosixPath(mount.target)
        plain = (
            mount.target.isprintable() and path.parts
        )  # it stands in prompts and on terminals
        if (
            not plain
            or path.is_absolute()
            or ".." in path.parts
            or path.parts[0] in own
        ):
            raise ValueError(
                f"mount target {mount.target!r} must be relative, without '..' and signs that"
                f" cannot be printed, and not {' or '.join(sorted(own))}"
            )
        targets.append(path)
    for outer, inner in itertools.permutations(targets, 2):
        if inner.is_relative_to(outer):
            raise ValueError(
                f"mount target {str(inner)!r} lies in {str(outer)!r}; mount it elsewhere"
            )
    return [path.as_posix() for path in targets]


@dataclass(frozen=True)
class RunReport:
    """What a child's message says beside its result; ``message`` is the rest of it."""

    message: bytes
    caught: tuple[Caught, ...] = ()
    files: tuple[Written, ...] = ()
    left: tuple[str, ...] = ()  # a line for each file that is not handed over


def read_report(message: bytes) -> RunReport:
    """Take the report out of a child's message (`sandbox.server.child`).

    The rest is kind, line feed and payload. Raises `ValueError` when there is a report that no
    child of ours has written.
    """
    head, _, body = message.partition(b"\n")
    kind, _, text = head.partition(b" ")
    if not text:
        return RunReport(message)
    if len(text) > MAX_REPORT:
        raise ValueError("a long report")
    try:
        report = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    match report:
        case {"caught": list(caught), "files": list(files), "left": list(left)}:
            if len(caught) > MAX_CAUGHT or len(files) > OUT_FILES:
                raise ValueError("a report of too much")
        case _:
            raise ValueError("no report")
    sizes = [_named_size(item) for item in files]
    end = sum(size for _, size in sizes)
    if end > min(len(body), OUT_BYTES):
        raise ValueError("more bytes than there are, or than files may have")
    written, refused = _take_files(sizes, body)
    reasons = [valid(str(line))[:MAX_REASON] for line in left[:OUT_FILES]]
    return RunReport(
        kind + b"\n" + body[end:],
        tuple(_caught(item) for item in caught),
        written,
        (*reasons, *refused),
    )


def _named_size(item: object) -> tuple[str, int]:
    match item:
        case [str(name), int(size)] if type(size) is int and size >= 0:
            return name, size
    raise ValueError("no file")


def _take_files(
    sizes: Sequence[tuple[str, int]], body: bytes
) -> tuple[tuple[Written, ...], list[str]]:
    """The files that stand one after the other in ``body``, and why some are not taken."""
    written: list[Written] = []
    refused: list[str] = []
    taken: list[PurePosixPath] = []
    start = 0
    for name, size in sizes:
        content = body[start : start + size]
        start += size
        path = PurePosixPath(name.casefold())
        reason = _fault(name)
        if reason is not None:
            refused.append(f"{valid(name)[:MAX_NAME]!a}: {reason}")
        elif any(_one_in_the_other(path, other) for other in taken):
            refused.append(f"{name}: another file has this name")
        else:
            taken.append(path)
            written.append(Written(name, content))
    return tuple(written), refused


def _one_in_the_other(one: PurePosixPath, other: PurePosixPath) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)


def _caught(item: object) -> Caught:
    match item:
        case [str(name), str(message), int(line)] if 0 <= line < 1 << 31:
            return Caught(
                valid(name[:MAX_MESSAGE]), valid(message[:MAX_MESSAGE]), int(line)
            )
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

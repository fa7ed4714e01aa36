"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from foundation.errors import ActionableError, UsageError
from foundation.secrets import redact
from foundation.terminal import printable

#: What to do where a file cannot be written, by the error's number.
_CURES = {
    errno.ENOSPC: "make room",
    errno.EDQUOT: "make room",
    errno.EFBIG: "raise the limit on the size of files",
    errno.EROFS: "choose a folder that can be written to",
    errno.EACCES: "choose a folder that can be written to",
}


def path_text(path: Path | str) -> str:
    """A path on one line, also where its name holds the end of one."""
    return printable(str(path)).replace("\n", "\\n")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object."""
    name = path_text(path)
    try:
        loaded = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise UsageError(f"{name}: no such file") from error
    except OSError as error:
        raise UsageError(f"{name}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise UsageError(f"{name}: cannot be read ({error})") from error
    if not isinstance(loaded, dict):
        raise UsageError(f"{name}: is not a JSON object")
    return loaded


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """What cannot be written to a path, as one line: what was kept, and how to go on."""
    try:
        yield
    except FileNotFoundError as error:
        raise ActionableError(
            f"{path_text(path)}: cannot be written, because its folder was removed; what was "
            "in that folder is lost: give the same command again, and leave the folder"
        ) from error
    except OSError as error:
        cure = _CURES.get(error.errno or 0, "see what is wrong with the disk")
        raise ActionableError(
            f"{path_text(path)}: cannot be written ({error.strerror}); what was finished before "
            f"is kept: {cure}, and give the same command again"
        ) from error


def make_folder(path: Path) -> None:
    """Make a folder where there is none."""
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a file that is either the old one or the new one, never half of it."""
    write_text(path, json.dumps(value, indent=1, default=repr) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a whole text file atomically; what UTF-8 cannot hold is replaced."""
    write_bytes(path, redact(text).encode("utf-8", "replace"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write a whole file atomically; an `ActionableError` where that cannot be."""
    with writing(path):
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).chmod(0o644)
            Path(temporary).replace(path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                Path(temporary).unlink()
            raise

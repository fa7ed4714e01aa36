"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matsmith.core.errors import UsageError
from matsmith.core.secrets import redact


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        loaded = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise UsageError(f"{path}: no such file") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read ({error})") from error
    if not isinstance(loaded, dict):
        raise UsageError(f"{path}: is not a JSON object")
    return loaded


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a file that is either the old one or the new one, never half of it."""
    write_text(path, json.dumps(value, indent=1, default=repr) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a whole text file atomically; what UTF-8 cannot hold is replaced."""
    write_bytes(path, redact(text).encode("utf-8", "replace"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write a whole file atomically."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
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

"""What authors have released, in a folder or a zip: where it begins, its entries, its pictures."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

from agents.base import Image
from experiments.samples import json_entries

Folder = Path | zipfile.Path


class ReleaseError(ValueError):
    """Published data are not where or what they should be, or an option is wrong."""


class AbsentError(ReleaseError):
    """A release lacks a part; the others can be asked."""


def find(path: str | Path | None, holds: set[str], what: str) -> Folder:
    """The folder that holds one of some folders: a path, or a folder in it, be it a zip."""
    if path is None:
        raise ReleaseError(f"source=published needs path={what}")
    file = Path(path).expanduser()
    try:
        root: Folder = zipfile.Path(file) if file.is_file() else file
        inside: list[Folder] = [root, *listed(root)]
    except (OSError, zipfile.BadZipFile) as error:
        raise ReleaseError(
            f"{path}: no folder or zip (a Git LFS pointer?): {error}"
        ) from error
    for folder in inside:
        if any((folder / name).is_dir() for name in holds):
            return folder
    raise ReleaseError(
        f"{path}: has no folder {' or '.join(sorted(holds))}; path= names {what}"
    )


def listed(folder: Folder) -> list[Any]:
    """What is in a folder, by name."""
    return sorted(folder.iterdir(), key=lambda each: str(each.name))


def content(file: Folder) -> Any:
    """Of a JSON file."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ReleaseError(f"{file} is not there") from error
    except (OSError, ValueError, RecursionError) as error:
        raise ReleaseError(f"{file} cannot be read: {error}") from error


def entries(file: Folder, keys: set[str]) -> list[dict[str, Any]]:
    """The entries of a JSON or JSONL file, each with some keys."""
    try:
        pairs = list(json_entries(file))
    except (OSError, ValueError, RecursionError) as error:
        raise ReleaseError(f"{file}: cannot be read ({error})") from error
    for where, entry in pairs:
        if not isinstance(entry, dict) or not keys <= entry.keys():
            raise ReleaseError(f"{where}: an entry lacks {', '.join(sorted(keys))}")
    return [entry for _, entry in pairs]


def picture(file: Folder) -> Image:
    """A picture, named by its content."""
    data = file.read_bytes()
    ending = file.name.rpartition(".")[2].lower()
    return Image(
        data, f"image/{ending.replace('jpg', 'jpeg')}", hashlib.sha256(data).hexdigest()
    )

"""MatTools as its authors publish it: a folder per question, from a checkout, a zip or a URL.

``question_segments/pymatgen_analysis_defects/<id>/`` holds ``question.txt``,
``properties.json`` and ``new_unit_test.py``; the input files are those of the library's own
tests, below ``tool_source_code/``.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pooch
from pydantic import BaseModel, ConfigDict, ValidationError

UNIT_TEST = "new_unit_test.py"
QUESTION = "question.txt"
PROPERTIES = "properties.json"

#: Where the questions expect their files, relative to the working directory.
FILES_INSIDE = PurePosixPath("tool_source_code/pymatgen-analysis-defects/tests/test_files")

#: Bytes that a zip may unpack to; a checkout with all its history-free sources has 0.6 GB.
UNPACKED_LIMIT = 4 << 30

_PATH = re.compile(r"tool_source_code/[\w./=+-]*[\w=+-]")
_FILE_NAME = re.compile(
    r"[\"'`]([\w./=+-]*\.(?:vasp|json|gz|bz2|xml|ya?ml|cif|npy|npz|h5|dat|csv|txt))[\"'`]"
)


class MatToolsError(ValueError):
    """The data are missing or wrong; names the file and line."""


class PublishedProperty(BaseModel):
    """An entry of ``properties.json``."""

    model_config = ConfigDict(extra="ignore")

    description: str = ""
    format: str = ""
    value: Any = None


class _PropertiesFile(BaseModel):
    model_config = ConfigDict(extra="ignore")

    properties: dict[str, PublishedProperty]


@dataclass(frozen=True)
class PublishedQuestion:
    """One folder of ``question_segments``."""

    id: str
    prompt: str
    properties: Mapping[str, PublishedProperty]
    unit_test: str
    files: Path | None
    missing: tuple[str, ...]


def locate(path: str | None, url: str | None, checksum: str | None, cache: Path) -> Path:
    """The folder with the data.

    Parameters
    ----------
    path
        Folder or zip that the user has; wins.
    url, checksum
        Archive to fetch, with its ``sha256:...``.
    cache
        Where fetched and unpacked data are kept.

    Raises
    ------
    MatToolsError
        When nothing is configured, or what is configured cannot be had; says what to do.
    """
    if path is None:
        path = str(_fetch(url, checksum, cache))
    source = Path(path).expanduser()
    if not source.exists():
        raise MatToolsError(
            f"{source}: no such file or folder; benchmark.path must name the folder (or zip) with "
            "tasks.jsonl, or a checkout of MatTools with its question_segments"
        )
    return _unpack(source, cache) if source.is_file() else source


def _fetch(url: str | None, checksum: str | None, cache: Path) -> Path:
    if url is None or checksum is None:
        raise MatToolsError(
            "the questions are not shipped: benchmark.path must name a checkout or zip of the "
            "authors' repository (or a folder with tasks.jsonl and test_files/). To have it "
            "fetched, set benchmark.url and benchmark.checksum=sha256:..."
        )
    try:
        return Path(pooch.retrieve(url, checksum, path=cache, fname="mattools.zip"))
    except (OSError, ValueError) as error:
        raise MatToolsError(
            f"{url}: cannot be fetched ({error}). Download it where there is network, and set "
            "benchmark.path to the file"
        ) from error


def _unpack(archive: Path, cache: Path) -> Path:
    if not zipfile.is_zipfile(archive):
        raise MatToolsError(f"{archive}: is not a zip file; benchmark.path is a folder or a zip")
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    target = cache / f"mattools-{digest}"
    if target.is_dir():
        return target
    partial = target.with_name(f"{target.name}.{os.getpid()}")
    with zipfile.ZipFile(archive) as content:
        if sum(item.file_size for item in content.infolist()) > UNPACKED_LIMIT:
            raise MatToolsError(f"{archive}: unpacks to more than {UNPACKED_LIMIT >> 30} GB")
        content.extractall(partial)  # refuses absolute names and `..` by itself
    if not target.is_dir():
        partial.rename(target)
    return target


def question_folders(root: Path) -> list[Path]:
    """Folders of questions below ``root``, sorted by id: keyed by name, never by position."""
    found = {test.parent.name: test.parent for test in sorted(root.rglob(UNIT_TEST))}
    return [found[name] for name in sorted(found)]


def read_question(folder: Path, root: Path) -> PublishedQuestion:
    """Read one question.

    Parameters
    ----------
    folder
        Of the question; its name is the question's id.
    root
        Input files are looked for here and in the folders between.

    Raises
    ------
    MatToolsError
        When a file is missing or is not what it should be.
    """
    prompt, plain, unit_test = (_text(folder / name) for name in (QUESTION, PROPERTIES, UNIT_TEST))
    if not re.search(rf"^def {re.escape(folder.name)}\(", unit_test, re.MULTILINE):
        raise MatToolsError(f"{folder / UNIT_TEST}: defines no function {folder.name}")
    try:
        properties = _PropertiesFile.model_validate(json.loads(plain)).properties
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise MatToolsError(f"{folder / PROPERTIES}, {where}: {first['msg']}") from error
    except ValueError as error:
        raise MatToolsError(f"{folder / PROPERTIES}: {error}") from error
    files = _input_files(folder, root)
    missing = tuple(_missing(prompt, files))
    return PublishedQuestion(folder.name, prompt, properties, unit_test, files, missing)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MatToolsError(f"{path}: cannot be read ({error})") from error


def _input_files(folder: Path, root: Path) -> Path | None:
    """The folder ``test_files``: of the library's sources next to the questions, or as such."""
    top = root.resolve().parent
    for parent in folder.resolve().parents:
        for place in (parent / FILES_INSIDE, parent / "test_files"):
            if place.is_dir():
                return place
        if parent == top:
            break
    return None


def _missing(prompt: str, files: Path | None) -> Iterator[str]:
    """Input files that the question names and that are not there."""
    tree = _tree(files) if files is not None else frozenset()
    for text in dict.fromkeys(_PATH.findall(prompt)):
        path = PurePosixPath(text)
        if path.is_relative_to(FILES_INSIDE):
            inner = path.relative_to(FILES_INSIDE)
            if files is None or not (files / inner).exists():
                yield text
    for text in dict.fromkeys(_FILE_NAME.findall(prompt)):
        if not text.startswith("tool_source_code/") and not _known(PurePosixPath(text).name, tree):
            yield text


def _tree(files: Path) -> frozenset[str]:
    return frozenset(path.name for path in files.rglob("*"))


def _known(name: str, tree: Iterable[str]) -> bool:
    return any(candidate in tree for candidate in (name, f"{name}.gz", f"{name}.bz2"))

"""MatTools as its authors publish it: a folder per question, from a checkout, a zip or a URL.

``question_segments/pymatgen_analysis_defects/<id>/`` holds ``question.txt``,
``properties.json`` and ``new_unit_test.py``; the input files are those of the library's own
tests, below ``tool_source_code/``.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pooch
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from experiments.benchmarks.mattools.inputs import FILES_INSIDE, find_inputs

UNIT_TEST = "new_unit_test.py"
QUESTION = "question.txt"
PROPERTIES = "properties.json"
SEGMENTS = "question_segments"

#: Bytes that a zip may unpack to; a checkout with all its history-free sources has 0.6 GB.
UNPACKED_LIMIT = 4 << 30


class MatToolsError(ValueError):
    """The data are missing or wrong; names the file and line."""


class PublishedProperty(BaseModel):
    """An entry of ``properties.json``; keys are read in any case."""

    model_config = ConfigDict(extra="ignore")

    description: str = ""
    format: str = ""
    value: Any = None

    @model_validator(mode="before")
    @classmethod
    def _tolerant(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        plain = {str(key).strip().lower(): value for key, value in given.items()}
        texts = {name: plain.get(name) for name in ("description", "format")}
        return {
            "value": plain.get("value"),
            **{name: " or ".join(map(str, text)) if isinstance(text, list) else str(text)
               for name, text in texts.items() if text is not None},
        }  # fmt: skip


class _PropertiesFile(BaseModel):
    model_config = ConfigDict(extra="ignore")

    properties: dict[str, PublishedProperty]

    @model_validator(mode="before")
    @classmethod
    def _tolerant(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        plain = {str(key).strip().lower(): value for key, value in given.items()}
        found = plain.get("properties")
        if isinstance(found, list) and all(isinstance(p, dict) and "name" in p for p in found):
            found = {entry["name"]: entry for entry in found}
        return plain | {"properties": found}


@dataclass(frozen=True)
class PublishedQuestion:
    """One folder of ``question_segments``.

    Attributes
    ----------
    id, prompt, properties
        The folder's name, and what its files hold.
    unit_test
        Source; its function bears the id.
    mounts
        Input data that are here: where the question expects them, and where they are.
    missing
        Input files that the question or its unit test names and that are not here.
    """

    id: str
    prompt: str
    properties: Mapping[str, PublishedProperty]
    unit_test: str
    mounts: Mapping[str, Path]
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
            "downloaded, set benchmark.url and benchmark.checksum=sha256:..."
        )
    try:
        return Path(pooch.retrieve(url, checksum, path=cache, fname="mattools.zip"))
    except (OSError, ValueError) as error:
        raise MatToolsError(
            f"{url}: cannot be downloaded ({error}). Download it on a machine with network "
            "access, and set benchmark.path to the file"
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
    """Folders of questions below ``root``, sorted by id: keyed by name, never by position.

    Those below a folder ``question_segments`` count; without one, all that hold a unit test.

    Raises
    ------
    MatToolsError
        When two folders have the same name and not the same unit test.
    """
    tests = sorted(root.resolve().rglob(UNIT_TEST))
    segments = [test for test in tests if SEGMENTS in test.parts]
    found: dict[str, Path] = {}
    for test in segments or tests:
        other = found.setdefault(test.parent.name, test.parent)
        if other != test.parent and (other / UNIT_TEST).read_bytes() != test.read_bytes():
            raise MatToolsError(
                f"{other} and {test.parent}: two questions with the same name; benchmark.path "
                "must name a folder that contains only one of them"
            )
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
    prompt, plain, source = (_text(folder / name) for name in (QUESTION, PROPERTIES, UNIT_TEST))
    unit_test = _with_name(source, folder)
    try:
        properties = _PropertiesFile.model_validate(json.loads(plain)).properties
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise MatToolsError(f"{folder / PROPERTIES}, {where}: {first['msg']}") from error
    except ValueError as error:
        raise MatToolsError(f"{folder / PROPERTIES}: {error}") from error
    found = find_inputs(prompt, unit_test, folder, root)
    mounts = dict(found.others)
    if found.files is not None:
        mounts[str(FILES_INSIDE)] = found.files
    return PublishedQuestion(folder.name, prompt, properties, unit_test, mounts, found.missing)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise MatToolsError(f"{path}: cannot be read ({error})") from error


def _with_name(source: str, folder: Path) -> str:
    """The unit test, with the folder's name for its function where that is another.

    The function of that name counts, else the one whose name differs in case only, else the
    only function that takes an argument.
    """
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError) as error:
        raise MatToolsError(f"{folder / UNIT_TEST}: is not Python ({error})") from error
    names = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    if folder.name in names:
        return source
    alike = [name for name in names if name.casefold() == folder.name.casefold()]
    taking = [n.name for n in body if isinstance(n, ast.FunctionDef) and n.args.args]
    for candidates in (alike, taking):
        if len(candidates) == 1:
            return f"{source}\n\nglobals()[{folder.name!r}] = {candidates[0]}\n"
    raise MatToolsError(f"{folder / UNIT_TEST}: defines no function {folder.name}")

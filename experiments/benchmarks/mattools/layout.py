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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import pooch
from pydantic import BaseModel, BeforeValidator, ValidationError

from agents.base import Question
from agents.models.rules.reading import formats
from experiments.benchmarks.mattools.inputs import find_inputs
from experiments.samples import Property, Sample

UNIT_TEST = "new_unit_test.py"
QUESTION = "question.txt"
PROPERTIES = "properties.json"
SEGMENTS = "question_segments"

#: Bytes that a zip may unpack to; a checkout with all its history-free sources has 0.6 GB.
UNPACKED_LIMIT = 4 << 30


class MatToolsError(ValueError):
    """The data are missing or wrong; names the file and line."""


def _plain_keys(given: Any) -> Any:
    """Keys are read in any case."""
    if not isinstance(given, dict):
        return given
    return {str(key).strip().lower(): value for key, value in given.items()}


def _text_of(given: Any) -> str:
    return " or ".join(map(str, given)) if isinstance(given, list) else str(given or "")


def _by_name(given: Any) -> Any:
    if isinstance(given, list) and all(isinstance(p, dict) and "name" in p for p in given):
        return {entry["name"]: entry for entry in given}
    return given


class PublishedProperty(BaseModel):
    """An entry of ``properties.json``."""

    description: Annotated[str, BeforeValidator(_text_of)] = ""
    format: Annotated[str, BeforeValidator(_text_of)] = ""
    value: Any = None


class _PropertiesFile(BaseModel):
    properties: Annotated[
        dict[str, Annotated[PublishedProperty, BeforeValidator(_plain_keys)]],
        BeforeValidator(_by_name),
    ]


def locate(path: str | None, url: str | None, checksum: str | None, cache: Path) -> Path:
    """The folder with the data: ``path``, else what is fetched; unpacked in ``cache``.

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
        When there are none, or two of one name with different unit tests.
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
    if not found:
        raise MatToolsError(
            f"{root}: contains neither tasks.jsonl nor question folders with {UNIT_TEST}; "
            "benchmark.path must name one of these"
        )
    return [found[name] for name in sorted(found)]


def read_question(folder: Path, root: Path, environment: str) -> Sample:
    """The sample of one folder, whose name is its id.

    Parameters
    ----------
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
        properties = _PropertiesFile.model_validate(_plain_keys(json.loads(plain))).properties
    except ValidationError as error:
        raise MatToolsError(f"{folder / PROPERTIES}, {first_fault(error)}") from error
    except ValueError as error:
        raise MatToolsError(f"{folder / PROPERTIES}: {error}") from error
    found = find_inputs(prompt, unit_test, folder, root)
    return make_sample(
        folder.name,
        prompt,
        [(n, prop.description, prop.format, repr(prop.value)) for n, prop in properties.items()],
        unit_test=unit_test,
        environment=environment,
        mounts=found.mounts,
        missing=found.missing,
    )


def make_sample(
    question_id: str,
    prompt: str,
    properties: Sequence[tuple[str, str, str, str]],
    *,
    unit_test: str,
    environment: str,
    mounts: Mapping[str, Path],
    missing: Sequence[str],
) -> Sample:
    """A sample that ``unit_test`` judges.

    Parameters
    ----------
    properties
        Name, description, format and expected value of each; the value is only shown.
    mounts, missing
        Input files: where the question expects them and where they are; those that are not here.
    """
    shown = (Property(name, about, form, json.dumps(value))
             for name, about, form, value in properties)  # fmt: skip
    return Sample(
        Question(
            id=question_id,
            prompt=prompt,
            formats=formats(prompt),  # what only the benchmark states is not part of the question
            mounts={target: str(source) for target, source in mounts.items()},
        ),
        tuple(shown),
        environment,
        {"area": "defects", "level": "published"},
        f"input files are missing: {', '.join(missing)}" if missing else None,
        unit_test,
    )


def first_fault(error: ValidationError) -> str:
    """Where the first mistake is, and what it is."""
    fault = error.errors()[0]
    return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"


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

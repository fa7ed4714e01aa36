"""MatTools as its authors publish it: a folder per question, and what is known to be wrong with it.

``question_segments/pymatgen_analysis_defects/<id>/`` holds ``question.txt``,
``properties.json`` and ``new_unit_test.py``; the input files are those of the library's own
tests, below ``tool_source_code/``.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from agents.base import Question
from experiments.samples import Property, Sample, data_of
from matsmith.core.errors import UsageError

UNIT_TEST = "new_unit_test.py"
QUESTION = "question.txt"
PROPERTIES = "properties.json"
SEGMENTS = "question_segments"
#: Where the questions expect their files, relative to the working directory.
FILES_INSIDE = PurePosixPath("tool_source_code/pymatgen-analysis-defects/tests/test_files")

_NAMED = re.compile(rf"(?<![\w./]){FILES_INSIDE}/([\w./=+*-]*\w)")
_PACKED = ("", ".gz", ".bz2")


class MatToolsError(UsageError, ValueError):
    """The data are missing or wrong; names the file and line."""


def _properties(plain: Any) -> list[Property]:
    """Those of a ``properties.json``: by name or with it, keys in any case."""
    listed = _plain_keys(plain)["properties"]
    if isinstance(listed, list):
        listed = {entry["name"]: entry for entry in listed}
    return [
        Property(
            name,
            _text_of(entry.get("description")),
            _text_of(entry.get("format")),
            json.dumps(repr(entry.get("value"))),
        )
        for name, entry in ((name, _plain_keys(entry)) for name, entry in listed.items())
    ]


def _plain_keys(given: Any) -> dict[str, Any]:
    return {str(key).strip().lower(): value for key, value in given.items()}


def _text_of(given: Any) -> str:
    return " or ".join(map(str, given)) if isinstance(given, list) else str(given or "")


def question_folders(root: Path) -> list[Path]:
    """Folders of questions below ``root``, sorted by id: keyed by name, never by position.

    Those below a folder ``question_segments`` count; without one, all that hold a unit test.
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
    """The sample of one folder, whose name is its id; input files are looked for in ``root``."""
    prompt, plain, source = (_text(folder / name) for name in (QUESTION, PROPERTIES, UNIT_TEST))
    unit_test = _with_name(source, folder)
    try:
        properties = _properties(json.loads(plain))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise MatToolsError(f"{folder / PROPERTIES}: {type(error).__name__}: {error}") from error
    mounts, missing = find_inputs(folder.name, (prompt, unit_test), root)
    # What only the benchmark states is not part of the question.
    formats = formats_of(folder.name)
    question = Question(folder.name, prompt, formats=formats, mounts=mounts)
    return make_sample(question, properties, missing, unit_test, environment)


def make_sample(
    question: Question,
    properties: Sequence[Property],
    missing: Sequence[str],
    unit_test: str,
    environment: str,
) -> Sample:
    """A sample that ``unit_test`` judges; the expected values of ``properties`` are only shown."""
    labels = {"area": "defects", "level": "published"}
    lost = f"input files are missing: {', '.join(missing)}" if missing else None
    return Sample(question, tuple(properties), environment, labels, lost, unit_test)


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


@cache
def _table(name: str) -> Any:
    return data_of(__file__, name)


def formats_of(question: str) -> Mapping[str, str]:
    """The types that a published question states."""
    return dict(_table("formats").get(question.casefold(), {}))


def annotate(sample: Sample, *, sound: bool = False) -> Sample:
    """The sample with its faulty properties (``errata.yaml``) marked, with ``sound`` without them.

    A fault is ``impossible`` (no right answer passes), ``contradicting`` (the library of the
    published versions returns something else), ``vacuous`` (an answer without content passes) or
    ``unstated`` (the question leaves open what is compared).
    """
    kept = []
    for prop in sample.properties:
        about = {"question": sample.question.id, "property": prop.name}
        found = [
            f"{entry['kind']}: {entry['reason']}"
            for entry in _table("errata")
            if all(re.fullmatch(entry[key], text, re.IGNORECASE) for key, text in about.items())
        ]
        if not (found and sound):
            kept.append(replace(prop, erratum="; ".join(found) or None))
    return replace(sample, properties=tuple(kept))


def find_inputs(name: str, texts: Sequence[str], root: Path) -> tuple[dict[str, str], list[str]]:
    """What a question is given, as it names it, and what it reads that is not here.

    ``inputs.yaml`` says it of the published questions; of any other one counts what ``texts`` (of
    the question and its unit test) name in full. ``root`` holds all questions.
    """
    files = _input_files(root.resolve())
    reads = read_by(name)
    if reads is None:
        reads = list(dict.fromkeys(path for text in texts for path in _NAMED.findall(text)))
    missing = [
        f"{FILES_INSIDE}/{path}"
        for path in reads
        if files is None
        or ".." in path.split("/")
        or not any(next(files.glob(f"{path}{end}"), None) for end in _PACKED)
    ]
    return ({} if files is None else {str(FILES_INSIDE): str(files)}), missing


def read_by(question: str) -> list[str] | None:
    """The input files of a published question."""
    sets, questions = _table("inputs")["sets"], _table("inputs")["questions"]
    names = questions.get(question.casefold())
    return names and [path for name in names for path in sets.get(name, [name])]


@cache
def _input_files(root: Path) -> Path | None:
    """The folder ``test_files``: as such, or of the library's sources near the questions.

    A checkout may have these sources in a branch of its own.
    """
    near = [place / name for place in (root, root.parent) for name in (FILES_INSIDE, "test_files")]
    first, *inner = FILES_INSIDE.parts
    below = (place.joinpath(*inner) for place in sorted(root.rglob(first)))
    return next(filter(Path.is_dir, [*near, *below]), None)

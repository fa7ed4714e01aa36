"""Which input files a MatTools question reads, and which of them are not here.

``inputs.yaml`` says it of the published questions; of any other one counts what its text and its
unit test name in full.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath

from experiments.samples import data_of

#: Where the questions expect their files, relative to the working directory.
FILES_INSIDE = PurePosixPath("tool_source_code/pymatgen-analysis-defects/tests/test_files")

_NAMED = re.compile(rf"(?<![\w./]){FILES_INSIDE}/([\w./=+*-]*\w)")
_PACKED = ("", ".gz", ".bz2")


def find_inputs(
    name: str, texts: Sequence[str], folder: Path, root: Path
) -> tuple[dict[str, Path], list[str]]:
    """What a question is given, as it names it, and what it reads that is not here.

    ``texts`` are that of the question and its unit test; ``root`` holds all questions.
    """
    files = _input_files(folder, root)
    reads = _known().get(name.casefold())
    if reads is None:
        reads = list(dict.fromkeys(path for text in texts for path in _NAMED.findall(text)))
    missing = [path for path in reads if files is None or not _is_there(files, path)]
    mounts = {} if files is None else {str(FILES_INSIDE): files}
    return mounts, [f"{FILES_INSIDE}/{path}" for path in missing]


@cache
def _known() -> Mapping[str, list[str]]:
    table = data_of(__file__)
    sets = table["sets"]
    return {
        question: [path for name in names for path in sets.get(name, [name])]
        for question, names in table["questions"].items()
    }


def _is_there(files: Path, path: str) -> bool:
    inside = ".." not in path.split("/")
    return inside and any(next(files.glob(f"{path}{end}"), None) for end in _PACKED)


def _input_files(folder: Path, root: Path) -> Path | None:
    """The folder ``test_files``: of the library's sources next to the questions, or as such."""
    top = root.resolve().parent
    above = [parent for parent in folder.resolve().parents if parent.is_relative_to(top)]
    places = (parent / name for parent in above for name in (FILES_INSIDE, "test_files"))
    return next(filter(Path.is_dir, places), None) or _elsewhere(root.resolve())


@cache
def _elsewhere(root: Path) -> Path | None:
    """The input files of a checkout that has them in a branch of its own."""
    first, *inner = FILES_INSIDE.parts
    found = (place.joinpath(*inner) for place in sorted(root.rglob(first)))
    return next((place for place in found if place.is_dir()), None)

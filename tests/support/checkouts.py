"""Trees as the authors of MatTools publish them, with questions of our own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from experiments.benchmarks.mattools.benchmark import FILES_INSIDE
from tests.support.paths import DATA, SHARED

TREES = DATA / "mattools"
DEV = SHARED / "mattools_dev"
needs_dev = pytest.mark.skipif(
    not DEV.is_dir(), reason="the MatTools dev split is not here"
)

PROPERTIES: Mapping[str, Any] = {
    "volume": {"description": "Volume.", "format": "np.allclose", "value": 64.0},
    "cubic": {"description": "Whether.", "format": "bool", "value": True},
}
PROMPT = "Read `{inside}/POSCAR` and `x.vasp`."
UNIT_TEST = (TREES / "unit_test.txt").read_text(encoding="utf-8")


def checkout(
    folder: Path,
    prompt: str = PROMPT,
    files: Sequence[str] = ("POSCAR", "x.vasp"),
    *,
    name: str = "test_cell",
    unit_test: str = UNIT_TEST,
    properties: Any = None,
) -> Path:
    """Add a question to a checkout (and make it where there is none)."""
    question = folder / "src/question_segments/pymatgen_analysis_defects" / name
    question.mkdir(parents=True)
    (question / "question.txt").write_text(
        prompt.replace("{inside}", str(FILES_INSIDE))
    )
    plain = (
        {"JSON_File_Name": "x", "properties": PROPERTIES}
        if properties is None
        else properties
    )
    (question / "properties.json").write_text(json.dumps(plain))
    (question / "new_unit_test.py").write_text(unit_test)
    inputs = folder / "src" / FILES_INSIDE
    inputs.mkdir(parents=True, exist_ok=True)
    for file in files:
        (inputs / file).parent.mkdir(parents=True, exist_ok=True)
        (inputs / file).write_text("x")
    return folder


def recording(folder: Path, rows: Sequence[tuple[str, str | None, str | None]]) -> Path:
    """A published recording of (path of the question, function, name)."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "function_generation_results.jsonl"
    plain = [
        {"question_file_path": path, "function": code, "function_name": name}
        for path, code, name in rows
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in plain))
    return file

"""What docs/examples shows was recorded, holds no trace of a machine, and can be made again."""

from __future__ import annotations

import html
import importlib.util
import re
from pathlib import Path

import nbformat
import pytest

from sandbox.factory import available

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
RECORDED = ("session.svg", "structure.svg", "example.ipynb")


@pytest.mark.parametrize("name", RECORDED)
def test_no_machine_and_nothing_to_load(name: str):
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    assert len(text) < 80_000
    assert not re.search(r"/(?:home|root|tmp|work|var|Users)/", text)
    assert "url(" not in text.replace("url(#", "")
    assert not re.search(r"<script|\son\w+=|href=\"http|src=\"http", text)


def test_the_notebook_was_executed():
    notebook = nbformat.read(EXAMPLES / "example.ipynb", as_version=4)
    nbformat.validate(notebook)
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in codes] == list(range(1, len(codes) + 1))
    outputs = [output for cell in codes for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    assert any("<th>space_group</th>" in str(output.get("data")) for output in outputs)


def test_the_recording_says_what_it_is():
    session = (EXAMPLES / "session.svg").read_text(encoding="utf-8")
    shown = html.unescape(re.sub(r"<[^>]+>", "", session)).replace("\N{NO-BREAK SPACE}", " ")
    assert "rules (no LLM)" in shown
    assert "more lines of code" in shown
    readme = (EXAMPLES.parents[1] / "README.md").read_text(encoding="utf-8")
    values = re.findall(r"^'\w+': .*$", readme, re.MULTILINE)
    assert len(values) == 3
    for value in values:
        assert "".join(value.split()) in "".join(shown.split())  # blanks are places there


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.skipif(not available(), reason="no isolating sandbox on this machine")
def test_recording_again_gives_the_same_values(tmp_path: Path):
    spec = importlib.util.spec_from_file_location("make_examples", EXAMPLES / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    answer = module.make(tmp_path)
    assert answer.works
    readme = (EXAMPLES.parents[1] / "README.md").read_text(encoding="utf-8")
    for value in answer.values:
        assert f"{value.name!r}: {value.text}" in readme
    for name in RECORDED:
        assert (tmp_path / name).stat().st_size > 1000

"""Every mistake on a command line ends with one line that says what is wrong."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from matsmith.__main__ import main
from tests.docgen.conftest import FILES as BRICKWORK
from tests.docgen.conftest import write_package

CASES = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text(encoding="utf-8"))
FILES = CASES["files"] | {"deep.jsonl": "[" * 100_000}


@pytest.mark.parametrize("row", CASES["mistakes"], ids=lambda row: re.sub(r"[^ -~]", "?", row[0]))
def test_a_mistake_is_one_line(row, tmp_path, monkeypatch, capsys):
    line, *words = row
    monkeypatch.setenv("MATSMITH_SESSIONS", str(tmp_path / "sessions"))
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    write_package(tmp_path / "site", BRICKWORK)
    assert main(shlex.split(line)) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    assert [word for word in words if word not in said] == []
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "full" / "thesis.txt").read_text() == "keep me"

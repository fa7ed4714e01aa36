"""Every command: ``--help`` answers, at once where it can, and a mistake is one line."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from matsmith.__main__ import COMMANDS, main
from tests.support.samples import FILES as BRICKWORK
from tests.support.samples import write_package

HEAVY = (
    "openai",
    "langsmith",
    "sklearn",
    "chromadb",
    "lightrag",
    "pymatgen",
    "networkx",
)
FAST = ("run", "ask", "docs", "index", "endpoint", "sandbox")
NAMES = [name for commands in COMMANDS.values() for name in commands]
#: Modules that are also commands by themselves: documented, or needed before anything is installed.
MODULES = ("experiments.run", "sandbox", "docgen", "matsmith")
CASES = yaml.safe_load(
    Path(__file__).with_name("mistakes.yaml").read_text(encoding="utf-8")
)
FILES = CASES["files"] | {"deep.jsonl": "[" * 100_000}


@pytest.mark.parametrize("name", NAMES)
def test_help_and_a_mistake(name, capsys):
    assert main([name, "--help"]) == 0
    assert any(
        line.startswith("usage: ") for line in capsys.readouterr().out.splitlines()
    )
    assert main([name, "no_such_key=1"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert "Traceback" not in said


@pytest.mark.parametrize("name", FAST)
def test_help_imports_nothing_heavy(name):
    code = f"import sys, matsmith.__main__ as m; m.main([{name!r}, '--help']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not {*HEAVY} & {*done.stdout.splitlines()[-1].split()}


def test_one_page_lists_every_command_by_group(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for group, commands in COMMANDS.items():
        assert group in shown
        for name in commands:
            assert f" {name} " in shown


LATE = """-c "from time import sleep; from foundation.command import guarded as run
run(lambda: [print('x', flush=True), sleep(0.3), print('x' * 300_000)] and 0)" """


@pytest.mark.parametrize("call", [*(f"-m {module} --help" for module in MODULES), LATE])
def test_who_stops_reading_causes_no_traceback(call):
    command = f"{sys.executable} {call} | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    "row", CASES["mistakes"], ids=lambda row: re.sub(r"[^ -~]", "?", row[0])
)
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

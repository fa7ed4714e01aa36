"""What cannot be written ends a run in one line, which says what was kept and how to go on."""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass

import pytest

from agents.episode import System
from experiments.command import main
from experiments.files import read_json, write_json
from experiments.record import read_rows
from experiments.report.command import main as report
from foundation.errors import ActionableError
from tests.support.paths import ROOT

ORACLE = ["system=oracle", "benchmark=mattools_qa", "retrieval=none", "model=none"]


@dataclass
class Removing(System):
    """Removes the folder of its run when it meets the third question."""

    name = "removing"
    uses_retrieval = False
    writes_code = False
    executes = False
    llm = False

    folder: str = ""
    seconds: float = 0.0  # until it answers then

    async def _steps(self, episode):
        if episode.question.id == "2":
            shutil.rmtree(self.folder)
            await asyncio.sleep(self.seconds)
        episode.reply = "<answer>A</answer>"
        return "answered" if episode.read() else "format_error"


def ends_in_one_line(text, *told):
    (line,) = [line for line in text.splitlines() if line.startswith("error: ")]
    assert "Traceback" not in text
    for word in told:
        assert word in line


def limited(blocks, *words):
    """A run in a process that may write so many blocks of 1024 bytes into one file."""
    command = f'ulimit -f {blocks}; exec {sys.executable} -m experiments.run "$@"'
    # what `make coverage` would write there may not grow either
    measured = "COVERAGE_PROCESS_CONFIG"
    variables = {key: value for key, value in os.environ.items() if key != measured}
    return subprocess.run(
        ["bash", "-c", command, "run", *ORACLE, *words],
        cwd=ROOT,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_file_that_cannot_grow_ends_the_run_and_the_same_command_resumes(tmp_path):
    out = tmp_path / "run"
    words = ["limit=12", f"out={out}"]
    ended = limited(10, *words)  # enough for run.json and some answers
    assert ended.returncode == 2
    ends_in_one_line(
        ended.stdout + ended.stderr, "cannot be written", "is kept", "the same command"
    )
    kept = len(list(read_rows(out / "results.jsonl")))
    assert 0 < kept < 12
    assert main([*ORACLE, *words]) == 0
    assert read_json(out / "summary.json")["answers"] == 12
    assert len(list(read_rows(out / "results.jsonl"))) == 12
    assert not list(out.glob("**/.writing-*"))


@pytest.mark.parametrize("seconds", [0, 600])
def test_a_folder_that_is_removed_in_the_middle(tmp_path, capsys, seconds):
    out = tmp_path / "run"
    words = [f"system={__name__}:Removing", f"system.folder={out}", f"out={out}"]
    rest = [*ORACLE[1:], f"system.seconds={seconds}", "limit=6", "concurrency=1"]
    began = time.monotonic()
    assert main([*words, *rest]) == 2
    assert time.monotonic() - began < 60
    printed = capsys.readouterr()
    text = printed.out + printed.err
    ends_in_one_line(text, f"{out}: was removed", "its answers are lost")
    assert "kept" not in text
    assert not out.exists()


def test_a_folder_that_is_removed_while_a_file_is_written(tmp_path):
    path = tmp_path / "removed" / "summary.json"
    with pytest.raises(
        ActionableError, match="removed; what was in that folder is lost"
    ):
        write_json(path, {})


@pytest.mark.parametrize("name", ["a\nb", "x\ty"])
def test_a_name_with_the_end_of_a_line(tmp_path, capsys, name):
    assert main([*ORACLE, "limit=2", f"out={tmp_path / 'run'}"]) == 0
    out = (tmp_path / "run").rename(tmp_path / name)
    capsys.readouterr()
    assert report([str(out), f"html={tmp_path / 'page.html'}"]) == 0
    assert report([str(tmp_path / f"no{name}")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("place", ["file/run", "file"])
def test_what_is_no_folder(tmp_path, capsys, place):
    (tmp_path / "file").touch()
    assert main([*ORACLE, "limit=2", f"out={tmp_path / place}"]) == 2
    ends_in_one_line(capsys.readouterr().err, "out=")


def test_a_row_that_was_edited_after_the_run_is_named_in_the_report(tmp_path, capsys):
    out = tmp_path / "run"
    assert main([*ORACLE, "limit=2", f"out={out}"]) == 0
    assert report([str(out)]) == 0
    assert "changed after the run" not in capsys.readouterr().out
    record = next((out / "trajectories").iterdir())
    record.write_text(record.read_text().replace('"answered"', '"repeated"'))
    assert report([str(out)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "its record was changed after the run" in told
    assert "was changed after the run" in (out / "report.html").read_text()

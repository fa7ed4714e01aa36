"""A mistake in a user's own scorer, system or benchmark is shown with its message and place."""

import sys

import pytest

from experiments.command import main
from experiments.record import read_rows
from foundation.failures import describe_failure

BENCHMARK = """
from matsmith.extend import Metric, Sample, Score, Scorer, Task
from agents.answer_formats import Letters
from agents.base import Question

def helper(value):
    {helper}

class Own(Scorer):
    metrics = (Metric("score", "score", "mine"),)
    executes = False

    def criteria(self, sample):
        {criteria}

    async def score(self, sample, trajectory, context):
        return Score("ok", {{"score": helper(trajectory.value)}}, {{"answer": True}})

def made():
    {load}
    question = Question("q", "Which?", answer=Letters())
    return Task([Sample(question, target="A", reference="A")], Own())
"""
FINE = {"helper": "return 1.0", "criteria": "return ('answer',)", "load": "pass"}
SYSTEM = """
from dataclasses import dataclass
from agents.episode import System

@dataclass
class Mine(System):
    name = "mine"
    uses_retrieval = writes_code = executes = False
    llm = False

    def __post_init__(self):
        {init}

    async def _steps(self, episode):
        {steps}
        return "format_error"
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs a benchmark and a system out of files of a user; what was printed, and the row."""
    monkeypatch.syspath_prepend(tmp_path)

    def made(system="oracle", **code):
        (tmp_path / "own_bench.py").write_text(BENCHMARK.format(**FINE | code))
        for name in ("own_bench", "own_system"):
            sys.modules.pop(name, None)
        words = [
            "benchmark=own_bench:made",
            f"system={system}",
            f"out={tmp_path / 'out'}",
        ]
        code = main([*words, "model=none", "retrieval=none"])
        printed = capsys.readouterr()
        rows = list(read_rows(tmp_path / "out" / "results.jsonl"))
        return code, " ".join((printed.out + printed.err).split()), rows

    return made


def test_an_exception_in_a_scorer(run, tmp_path):
    code, printed, (row,) = run(helper="return value + 1")
    file = tmp_path / "own_bench.py"
    assert code == 1
    assert row.infra
    for told in (
        "TypeError: can only concatenate str",
        f"{file}:7 in helper",
        f"{file}:17 in score",
    ):
        assert told in row.error
    assert "can only concatenate str" in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize(
    ("part", "code", "told"),
    [
        ("criteria", "return 1 / 0", "ZeroDivisionError: division by zero"),
        ("load", "raise RuntimeError('no data today')", "RuntimeError: no data today"),
    ],
)
def test_what_fails_before_any_question_is_one_line(run, tmp_path, part, code, told):
    ended, printed, rows = run(**{part: code})
    assert (ended, rows) == (2, [])
    assert told in printed
    assert f"{tmp_path / 'own_bench.py'}:" in printed
    assert "Traceback" not in printed


def test_an_exception_in_a_system(run, tmp_path):
    file = tmp_path / "own_system.py"
    file.write_text(SYSTEM.format(init="pass", steps="{}['missing']"))
    _, _, (row,) = run("own_system:Mine")
    assert "KeyError: 'missing'" in row.error
    assert f"{file}:15 in _steps" in row.error
    file.write_text(SYSTEM.format(init="raise RuntimeError('no key')", steps="pass"))
    code, printed, _ = run("own_system:Mine")
    assert code != 0
    assert "own_system" in printed
    assert "RuntimeError: no key" in printed
    assert "Traceback" not in printed


def test_a_message_of_ours_or_of_a_library_is_left_out():
    try:
        int("SECRET OF A MODEL")
    except ValueError as error:  # this file is ours
        told = describe_failure(error)
    assert told.startswith("ValueError in tests/experiments/run/test_plugin_errors.py:")
    assert "SECRET" not in told

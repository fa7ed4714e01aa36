"""Replays of recorded functions: the published rules, reading, the command, the paper's figures."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from agents.base import Trajectory, Usage
from experiments import replay as command
from experiments.benchmarks.mattools.benchmark import MatToolsBenchmark, MatToolsError
from experiments.benchmarks.mattools.published import VERDICT, PrintedScorer
from experiments.replay import (
    RunKey,
    key_of_folder,
    published,
    question_of,
    read_recorded,
)
from experiments.run.config import read_run
from experiments.scorers.base import ScoringContext
from sandbox.base import SandboxConfig, SandboxError
from sandbox.factory import get_sandbox, get_verifier
from tests.support.checkouts import DEV, SHARED, checkout, needs_dev, recording
from tests.support.paths import DATA

PUBLISHED = SHARED / "mattools_published.csv"

CASES = yaml.safe_load(DATA.joinpath("mattools_rules.yaml").read_text())
RIGHT = CASES["functions"]["right"]["code"]
#: Model -> its function, and the outcome.
FUNCTIONS = {
    name: (CASES["functions"][name]["code"], CASES["functions"][name]["expected"][0])
    for name in ("right", "half", "print in the function", "input files")
}


def own_recording(path, **changed):
    """Rows of models with labels and outcomes."""
    labels = {"system": "s", "retrieval": "r", "round": 1, "task": "test_cell"}
    rows = [
        {
            **labels,
            "model": name,
            "code": code,
            "function_name": "f",
            "replayed": {
                "outcome": changed.get(name, outcome),
                "wrong": None,
                "errors": None,
            },
        }
        for name, (code, outcome) in FUNCTIONS.items()
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


# --- reading -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "found"), CASES["paths"].items())
def test_paths_of_questions(path, found):
    assert (
        question_of(path, ["test_cell", "test_vacancy", "test_Vacancy", "test.cell"])
        == found
    )


def test_recordings_in_both_forms(tmp_path):
    own = read_recorded(own_recording(tmp_path / "own.jsonl"), ["test_cell"])
    assert [row.run for row in own] == [f"s {name} r round 1" for name in FUNCTIONS]
    assert own[0].run_key == RunKey("s", "right", "r", 1)
    assert own[0].outcome == "all_correct"
    rows = [("a/test_cell/question.txt", RIGHT, "f"), ("test_cell", None, None)]
    for folder in ("pure_agent_test/round1/gpt", "other"):
        recording(tmp_path / "all" / folder, rows)
    found = read_recorded(tmp_path / "all", ["test_cell"])
    assert [row.run for row in found] == ["other"] * 2 + [
        "pure_agent_test/round1/gpt"
    ] * 2
    assert [row.run_key for row in found[1:3]] == [
        None,
        RunKey("single", "gpt", "none", 1),
    ]
    assert [(row.code, row.entry) for row in found[:2]] == [(RIGHT, "f"), ("", "")]
    assert found[0].outcome is None


def test_a_run_folder_given_itself_keeps_its_name(tmp_path, monkeypatch):
    folder = tmp_path / "pure_agent_test/round1/gpt"
    recording(folder, [("test_cell", RIGHT, "f")])
    monkeypatch.chdir(folder)
    for given in (folder, Path(), folder / "function_generation_results.jsonl"):
        (row,) = read_recorded(given, ["test_cell"])
        assert (row.run, row.run_key) == ("gpt", RunKey("single", "gpt", "none", 1))


def test_what_a_model_did_not_give_is_no_fault_of_the_file(tmp_path):
    lines = [
        {"question_file_path": "test_cell"},
        {"question_file_path": "x", "function": 3},
    ]
    text = "\ufeff" + "\n\n".join(map(json.dumps, lines)) + "\n"
    (tmp_path / "a.jsonl").write_text(text, encoding="utf-8")
    found = read_recorded(tmp_path / "a.jsonl", ["test_cell"])
    assert [(row.code, row.entry) for row in found] == [("", ""), ("3", "")]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"code": 1}\n', "line 1.*task"),
        (b'{"question_file_path": "te', "line 1"),
        (b'{"task": "\xe9"}\n', r"bad\.jsonl, line 1"),
        (None, "no such"),
    ],
)
def test_a_line_that_is_no_generation_is_named(tmp_path, content, said):
    if content is not None:
        (tmp_path / "bad.jsonl").write_bytes(content)
    with pytest.raises(MatToolsError, match=said):
        read_recorded(tmp_path / "bad.jsonl", [])


# --- the paper ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("folder", "key"), CASES["folders"].items())
def test_folders_that_name_a_run(folder, key):
    assert key_of_folder(Path("/data") / folder) == (key and RunKey(*key))


@pytest.mark.skipif(not PUBLISHED.is_file(), reason="the published tables are not here")
def test_the_papers_figures_are_those_of_its_tables():
    figures = dict(published())
    assert figures[RunKey("reflect", "gpt-4o-2024-08-06", "llm_doc", 2)] == (42, 84)
    with PUBLISHED.open() as file:
        for row in csv.DictReader(file):
            key = RunKey(
                row["system"], row["model"], row["retrieval"], int(row["round"])
            )
            runnable, properties = figures.pop(key)
            assert properties == int(row["properties_of_138"])
            assert runnable == int(row["runnable_of_49"]) or "runnable" in row["note"]
    assert not figures


# --- the command -------------------------------------------------------------------------------


def given(folder, recorded, data):
    return [
        f"recorded={recorded}",
        f"benchmark.path={data}",
        f"out={folder / 'out'}",
        "sandbox.timeout=30",
    ]


@pytest.mark.long
def test_a_replay_agrees_resumes_and_explains(tmp_path, capsys):
    checkout(tmp_path / "data")
    recorded = own_recording(tmp_path / "own.jsonl", right="not_runnable")
    with recorded.open("a") as file:
        file.write('{"task": "test_unknown", "code": "", "function_name": ""}\n')
    arguments = given(tmp_path, recorded, tmp_path / "data")
    assert command.main(arguments) == 0
    output = capsys.readouterr().out
    total = len(FUNCTIONS)
    assert output.splitlines()[-1] == f"agree {total - 1}/{total}"
    assert "recorded not_runnable, now all_correct" in output
    assert "left out, because benchmark.path lacks them: test_unknown" in output
    results = sorted((tmp_path / "out").glob("*/results.jsonl"))
    assert len(results) == total
    kept = {path: path.read_bytes() for path in results}
    results[0].unlink()  # a run that was not finished
    assert command.main(arguments) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"agree {total - 1}/{total}"
    assert all(path.read_bytes() == kept[path] for path in results[1:])
    # What was found is a recording with outcomes: gold for retrieval needs no other.
    with pytest.raises(MatToolsError, match=r"recorded="):
        list(MatToolsBenchmark(str(tmp_path / "data")).gold().right_answers())
    outcomes = read_recorded(tmp_path / "out" / "outcomes.jsonl", ["test_cell"])
    assert [row.outcome.split()[0] for row in outcomes] == [
        one for _, one in FUNCTIONS.values()
    ]
    right = MatToolsBenchmark(str(tmp_path / "data")).gold(
        tmp_path / "out" / "outcomes.jsonl"
    )
    assert [row["code"] for row in right.right_answers()] == [
        FUNCTIONS["right"][0],
        FUNCTIONS["input files"][0],
    ]


def test_the_benchmark_states_how_long_a_function_may_take():
    assert (
        read_run(["benchmark=mattools"]).sandbox.timeout > 200
    )  # right answers need up to 110
    assert read_run(["benchmark=live"]).sandbox.timeout == 60


@pytest.mark.long
@needs_dev
def test_recorded_outcomes_are_found_again(tmp_path, capsys):
    few = tmp_path / "few.jsonl"
    lines = (DEV / "recorded_round1.jsonl").read_text().splitlines()
    # The last of these prints a dict itself; it has no function of the name given.
    few.write_text("\n".join([*lines[:13], lines[202]]) + "\n")
    assert command.main(given(tmp_path, few, DEV)) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "agree 14/14"


# --- the rules, literally --------------------------------------------------------------------


@pytest.fixture
def bench_parts(tmp_path):
    checkout(tmp_path)
    return {
        task.question.id: task for task in MatToolsBenchmark(path=str(tmp_path)).load()
    }


async def graded(sample, tools, code, entry="f"):
    """Outcome and reason, the number of wrong properties, and what is said."""
    answer = Trajectory("q", 0, code, entry, "", (), Usage(), "answered", "strict")
    score = await PrintedScorer().score(sample, answer, tools)
    outcome, _, wrong = score.artefacts[VERDICT].partition(" ")
    reason = {"all_correct": "", "some_wrong": "wrong_value"}.get(
        outcome, score.outcome
    )
    return [outcome, reason, int(wrong) if wrong else None, score.reasons]


@pytest.mark.long
async def test_every_kind_of_function_and_of_unit_test(bench_parts):
    sample = bench_parts["test_cell"]
    methods = f"{RIGHT}\nclass C:\n    def m(self):\n        return f()\n"
    cases = [
        (case["code"], "f", case["expected"]) for case in CASES["functions"].values()
    ]
    cases += [
        (methods, entry, ["not_runnable" if why else "all_correct", why])
        for entry, why in CASES["names"].items()
    ]
    wrong = []
    config = SandboxConfig(env="mattools-2024", workers=1)
    async with get_sandbox(config) as sandbox, get_verifier(config) as verifier:
        tools = ScoringContext(sandbox, verifier, 8.0)
        for code, entry, expected in cases:
            *got, _, said = await graded(sample, tools, code, entry)
            if got != expected:
                wrong.append((code, entry, expected, got, said))
        for name, case in CASES["unit_tests"].items():
            *got, said = await graded(
                replace(sample, target=case["code"]), tools, RIGHT
            )
            if got != case["expected"] or (got[0] == "all_correct") is bool(said):
                wrong.append((name, case, got, said))
        # What cannot be loaded at all says nothing about the answer.
        broken = replace(sample, target="import absent_module")
        with pytest.raises(SandboxError, match="absent_module"):
            await graded(broken, tools, RIGHT)
    assert not wrong, "\n".join(map(str, wrong))

"""Replays of recorded functions: reading, and the command."""

import json
import zipfile
from pathlib import Path

import pytest

from experiments.benchmarks.mattools.benchmark import FILES_INSIDE, MatToolsBenchmark, MatToolsError
from experiments.benchmarks.mattools.journal import Journal
from experiments.benchmarks.mattools.replay import __main__ as replay
from experiments.benchmarks.mattools.replay.grade import Graded
from experiments.benchmarks.mattools.replay.paper import RunKey, key_of_folder
from experiments.benchmarks.mattools.replay.recorded import (
    QuestionIds,
    RecordedError,
    read_recorded,
)
from experiments.config import compose, validate
from tests.experiments.checkouts import checkout, recording

DATA = Path(__file__).parents[3] / "shared" / "data"
DEV = DATA / "mattools_dev"
needs_dev = pytest.mark.skipif(not DEV.is_dir(), reason="the MatTools dev split is not here")

RIGHT = "def f():\n    return {'volume': 64.0, 'cubic': True}"
INPUTS = f"""\
def f():
    open('{FILES_INSIDE}/POSCAR').read()
    return {{'volume': 64.0, 'cubic': True}}
"""
FUNCTIONS = {
    "right": (RIGHT, "all_correct"),
    "half": ("def f():\n    return {'volume': 63.0, 'cubic': True}", "some_wrong"),
    "print": ("def f():\n    print('hm')\n    return {'volume': 64.0, 'cubic': True}",
              "not_runnable"),
    "raise": ("def f():\n    raise ValueError('no')", "not_runnable"),
    "inputs": (INPUTS, "all_correct"),
    "again": (RIGHT, "all_correct"),
}  # fmt: skip


def own_recording(path):
    """Rows with labels and outcomes."""
    labels = {"system": "s", "model": "m", "retrieval": "r", "round": 1}
    rows = [
        {**labels, "task": "test_cell", "code": code, "function_name": "f",
         "replayed": {"outcome": outcome, "wrong": None, "errors": None}}
        for code, outcome in FUNCTIONS.values()
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


# --- reading -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("test_cell", "test_cell"),
        ("question_segments/pymatgen_analysis_defects/test_cell/question.txt", "test_cell"),
        ("/root/x/question_segments/pymatgen_analysis_defects/test_cell", "test_cell"),
        ("/root/question_segments/pymatgen_analysis_defects/test_cell/", "test_cell"),
        (
            r"C:\work\question_segments\pymatgen_analysis_defects\test_cell\question.txt",
            "test_cell",
        ),
        (r".\question_segments\test_cell", "test_cell"),
        ("segments/test_cell.txt", "test_cell"),
        ("test_cell/new_unit_test.py", "test_cell"),
        ("segments/TEST_CELL/question.txt", "test_cell"),
        ("test_cell/test_Vacancy/question.txt", "test_Vacancy"),
        (" test_vacancy ", "test_vacancy"),
        ("x/TEST_VACANCY/question.txt", "TEST_VACANCY"),  # could be two: a stranger
        ("x/test_other/question.txt", "test_other"),
    ],
)
def test_paths_of_questions(path, found):
    assert QuestionIds(["test_cell", "test_vacancy", "test_Vacancy"]).find(path) == found


def test_recordings_in_both_forms(tmp_path):
    own = read_recorded(own_recording(tmp_path / "own.jsonl"), ["test_cell"])
    assert {row.run for row in own} == {"s m r round 1"}
    assert own[0].run_key == RunKey("s", "m", "r", 1)
    assert own[0].outcome.outcome == "all_correct"
    rows = [("a/test_cell/question.txt", RIGHT, "f"), ("test_cell", None, None)]
    for folder in ("pure_agent_test/round1/gpt", "other"):
        recording(tmp_path / "all" / folder, rows)
    found = read_recorded(tmp_path / "all", ["test_cell"])
    assert [row.run for row in found] == ["other"] * 2 + ["pure_agent_test/round1/gpt"] * 2
    assert [row.run_key for row in found[1:3]] == [None, RunKey("single", "gpt", "none", 1)]
    assert [(row.code, row.entry) for row in found[:2]] == [(RIGHT, "f"), ("", "")]
    assert len({row.key for row in found}) == len(found)
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
        {"question_file_path": "test_cell", "function": 3},
    ]
    text = "\ufeff" + "\n\n".join(map(json.dumps, lines)) + "\n"
    (tmp_path / "a.jsonl").write_text(text, encoding="utf-8")
    found = read_recorded(tmp_path / "a.jsonl", ["test_cell"])
    assert [(row.code, row.entry) for row in found] == [("", ""), ("3", "")]
    (tmp_path / "bad.jsonl").write_text('{"code": 1}\n')
    (tmp_path / "cut.jsonl").write_text('{"question_file_path": "te')
    (tmp_path / "latin.jsonl").write_bytes('{"task": "é"}\n'.encode("latin-1"))
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as packed:
        packed.write(tmp_path / "a.jsonl", "a.jsonl")
    for path, message in (
        ("bad.jsonl", "line 1.*task"), ("cut.jsonl", "line 1"), ("x", "no such"),
        ("latin.jsonl", r"latin\.jsonl, line 1"), ("all.zip", r"all\.zip: is a zip; unpack"),
    ):  # fmt: skip
        with pytest.raises(RecordedError, match=message):
            read_recorded(tmp_path / path, [])


# --- the paper ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folder", "key"),
    [
        ("src/pure_agent_test/round2/gpt-4o-2024-08-06",
         RunKey("single", "gpt-4o-2024-08-06", "none", 2)),
        ("src/RAG_agent_test/round1/gemini-2.0-flash_method2",
         RunKey("rag", "gemini-2.0-flash", "official_doc", 1)),
        ("agentic_RAG_test/round3/gpt-4o-2024-08-06_method4",
         RunKey("agentic", "gpt-4o-2024-08-06", "llm_doc", 3)),
        ("mtr_rag_test/round1/gpt-4o-2024-08-06_1",
         RunKey("reflect", "gpt-4o-2024-08-06", "code", 1)),
        ("mtr_rag_test/gpt-4o-2024-08-06_4", None),  # no round
        ("RAG_agent_test/round1/gpt-4o-2024-08-06", None),  # no corpus
        ("RAG_agent_test/round1/gpt-4o-2024-08-06_method9", None),
        ("somewhere/round1/gpt-4o-2024-08-06_method4", None),  # no system
    ],
)  # fmt: skip
def test_folders_that_name_a_run(folder, key):
    assert key_of_folder(Path("/data") / folder) == key


def given(folder, recorded, data, *more):
    return [f"recorded={recorded}", f"benchmark.path={data}", f"out={folder / 'out'}", *more]


def kept(folder):
    (results,) = (folder / "out").rglob("results.jsonl")
    return results, [json.loads(line) for line in results.read_text().splitlines()]


@pytest.mark.long
def test_a_replay_agrees_resumes_and_explains(tmp_path, capsys):
    checkout(tmp_path / "data")
    recorded = own_recording(tmp_path / "own.jsonl")
    lines = recorded.read_text().splitlines()
    wrong = json.loads(lines[0])
    wrong["replayed"]["outcome"] = "not_runnable"  # what a recording could have wrong
    recorded.write_text("\n".join([json.dumps(wrong), *lines[1:]]) + "\n")
    arguments = given(tmp_path, recorded, tmp_path / "data", "scorer=both", "sandbox.timeout=30")
    assert replay.main(arguments) == 0
    output = capsys.readouterr().out
    total = len(FUNCTIONS)
    assert output.splitlines()[-1] == f"agree {total - 1}/{total}"
    assert "own.jsonl:1 test_cell: recorded not_runnable, now all_correct" in output
    assert "known faulty properties: 0 of 18" in output
    assert "per second, " in output
    results, rows = kept(tmp_path)
    assert len(rows) == 2 * total
    same = {row["key"]: row["same_as"] for row in rows if row["same_as"]}
    assert same == {f"own.jsonl:{total}": "own.jsonl:1"}
    assert all(row["seconds"] > 0 and row["cpu_seconds"] > 0 for row in rows if not row["same_as"])
    typed = {row["key"]: row["outcome"] for row in rows if row["scorer"] == "typed"}
    order = list(FUNCTIONS)
    assert typed[f"own.jsonl:{order.index('print') + 1}"] == "all_correct"  # a print is no fault
    # Cut it in the middle of a line, as kill -9 does: only the rest is graded again.
    results.write_text("\n".join(results.read_text().split("\n")[:5])[:-10])
    assert replay.main(arguments) == 0
    _, again = kept(tmp_path)
    outcomes = {(row["key"], row["scorer"]): row["outcome"] for row in rows}
    assert {(row["key"], row["scorer"]): row["outcome"] for row in again} == outcomes


def test_the_benchmark_states_how_long_a_function_may_take(tmp_path):
    _, config = replay.settings_from(["recorded=x"])
    stated = MatToolsBenchmark().timeout
    assert config.sandbox.timeout == stated > 200  # right answers need up to 110 s
    assert validate(compose(["benchmark=mattools"])).sandbox.timeout == stated
    assert validate(compose(["benchmark=live"])).sandbox.timeout == 60
    _, config = replay.settings_from(["recorded=x", "benchmark.timeout=7"])
    assert config.sandbox.timeout == 7
    _, config = replay.settings_from(["recorded=x", "sandbox.timeout=9"])
    assert config.sandbox.timeout == 9


def test_a_message_that_utf8_cannot_hold_is_kept(tmp_path):
    journal = Journal(tmp_path / "results.jsonl", Graded)
    graded = Graded(key="k", scorer="typed", outcome="some_wrong", reason="", detail="got \ud800")
    journal.add(graded, graded)
    journal.close()
    assert [row.detail for row in Journal(journal.path, Graded).rows] == ["got ?"] * 2


def test_a_replaced_input_file_starts_the_replay_anew(tmp_path):
    checkout(tmp_path / "data")
    recorded = own_recording(tmp_path / "own.jsonl")
    _, config = replay.settings_from(given(tmp_path, recorded, tmp_path / "data"))

    def digest():
        benchmark = MatToolsBenchmark(**config.benchmark.params)
        tasks = {task.question.id: task for task in benchmark.load()}
        rows = read_recorded(recorded, tasks)
        return replay._digest(rows, tasks.values(), 1.0)

    first = digest()
    assert digest() == first
    (tmp_path / "data" / "src" / FILES_INSIDE / "POSCAR").write_text("another")
    second = digest()
    (tmp_path / "data" / "src" / FILES_INSIDE / "more").write_text("x")
    assert len({first, second, digest()}) == 3


@pytest.mark.long
def test_a_published_tree_of_several_systems(tmp_path, capsys):
    checkout(tmp_path / "data")
    checkout(tmp_path / "data", name="test_Other", files=(), prompt="Read `absent.vasp`.",
             unit_test="def test_other(properties):\n    return 'ok'\n")  # fmt: skip
    tree = tmp_path / "data" / "src"
    rows = [(r"C:\q\test_cell\question.txt", RIGHT, "f"), ("q/TEST_OTHER", RIGHT, "f"),
            ("test_unknown", RIGHT, "f")]  # fmt: skip
    recording(tree / "pure_agent_test/round1/gpt-4o-2024-08-06", rows)
    recording(tree / "mtr_rag_test/gpt-4o-2024-08-06_4", [(rows[0][0], "", "")])
    arguments = given(tmp_path, tree, tmp_path / "data", "sandbox.timeout=30")
    with pytest.raises(MatToolsError, match=r"recorded="):
        MatToolsBenchmark(str(tmp_path / "data")).gold().secrets()
    assert replay.main(arguments) == 0
    output = " ".join(capsys.readouterr().out.split())
    # What it found is a recording with outcomes: gold for retrieval needs no other.
    (outcomes,) = (tmp_path / "out").rglob("outcomes.jsonl")
    found = read_recorded(outcomes, ["test_cell", "test_Other"])
    assert sorted(row.outcome.outcome for row in found) == [
        "all_correct", "all_correct", "not_runnable"
    ]  # fmt: skip
    assert found[0].run_key is None
    assert found[-1].run_key == RunKey("single", "gpt-4o-2024-08-06", "none", 1)
    right = MatToolsBenchmark(str(tmp_path / "data")).gold(outcomes).secrets()
    assert [text for name, text in right.items() if "/answer" in name] == [RIGHT, RIGHT]
    assert (
        "1 generations are left out because benchmark.path lacks their questions: test_unknown"
        in output
    )
    assert "(2 of 49 questions): 1 runs: pure_agent_test" in output
    assert "(not matched: its folder names do not give system, model and round): 1" in output
    assert output.endswith("agree 0/0")
    assert sorted(row["outcome"] for row in kept(tmp_path)[1]) == [
        "all_correct",
        "all_correct",
        "not_runnable",
    ]


@pytest.mark.long
@needs_dev
def test_recorded_outcomes_are_found_again(tmp_path, capsys):
    assert replay.main(given(tmp_path, DEV / "recorded_round1.jsonl", DEV, "limit=13")) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "agree 13/13"


@pytest.mark.long
@needs_dev
def test_a_dict_that_the_code_prints_itself_is_published_but_not_returned(tmp_path, capsys):
    lines = (DEV / "recorded_round1.jsonl").read_text().splitlines()
    (tmp_path / "one.jsonl").write_text(lines[202] + "\n")
    assert replay.main(given(tmp_path, tmp_path / "one.jsonl", DEV, "scorer=both")) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert output.endswith("agree 1/1")
    _, rows = kept(tmp_path)
    found = {row["scorer"]: (row["outcome"], row["reason"]) for row in rows}
    assert found["published"] == ("all_correct", "")
    assert found["typed"] == ("not_runnable", "no_function")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "recorded=...: is required"),
        (["recorded=x", "scorer=mine"], "scorer"),
        (["recorded=x", "benchmark.path=/nowhere"], "no such file"),
        (["recorded=x", "benchmark=live"], "only mattools"),
        (["recorded=x", "bench=1"], "bench"),
    ],
)
def test_mistakes_are_one_line(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").write_text(
        json.dumps({"task": "t", "code": "", "function_name": "", "system": "s"})
    )
    assert replay.main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error

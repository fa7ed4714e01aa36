"""The published layout of MatTools, its errata, and replays of recorded functions."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from agents.base import Question, Trajectory, Usage
from experiments import replay
from experiments.benchmarks.mattools import FILES_INSIDE, MatToolsBenchmark, MatToolsError
from experiments.benchmarks.mattools_errata import errata
from experiments.published import score_published
from experiments.record import make_row
from experiments.recorded import RecordedError, read_recorded
from experiments.scoring import Verdict, verify_task
from experiments.summary import summarise
from experiments.tasks import Property, Score, Task
from sandbox.base import SandboxConfig
from sandbox.factory import get_sandbox
from sandbox.runner import dumps

DEV = Path(__file__).parents[3] / "shared" / "data" / "mattools_dev"
needs_dev = pytest.mark.skipif(not DEV.is_dir(), reason="the MatTools dev split is not here")

UNIT_TEST = """
def test_cell(properties):
    import numpy as np
    errors = []
    if "volume" not in properties:
        errors.append("volume not found in input properties")
    elif not np.allclose(properties["volume"], 64.0):
        errors.append(f"volume: Expected 64.0 but got {properties['volume']}")
    if not isinstance(properties.get("cubic"), bool):
        errors.append("cubic is not of type bool")
    if errors:
        return [*errors, len(errors), 2]
    return "ok"
"""


def checkout(folder, prompt="Read `{inside}/POSCAR` and `x.vasp`.", files=("POSCAR", "x.vasp")):
    """A checkout with one question."""
    question = folder / "src/question_segments/pymatgen_analysis_defects/test_cell"
    question.mkdir(parents=True)
    (question / "question.txt").write_text(prompt.format(inside=FILES_INSIDE))
    properties = {
        "volume": {"description": "Volume.", "format": "np.allclose", "value": 64.0},
        "cubic": {"description": "Whether.", "format": "bool", "value": True},
    }
    (question / "properties.json").write_text(
        json.dumps({"JSON_File_Name": "x", "properties": properties})
    )
    (question / "new_unit_test.py").write_text(UNIT_TEST)
    inputs = folder / "src" / FILES_INSIDE
    inputs.mkdir(parents=True)
    for name in files:
        (inputs / name).write_text("x")
    return folder


@pytest.mark.parametrize(
    "inner", ["", "src", "src/question_segments", "src/question_segments/pymatgen_analysis_defects"]
)
def test_any_folder_of_a_checkout_will_do(tmp_path, inner):
    checkout(tmp_path)
    (task,) = MatToolsBenchmark(path=str(tmp_path / inner)).load()
    assert task.question.id == "test_cell"
    assert [prop.name for prop in task.properties] == ["volume", "cubic"]
    assert task.question.formats == {"volume": "np.allclose", "cubic": "bool"}
    assert task.unit_test == UNIT_TEST
    assert UNIT_TEST not in task.question.prompt
    if inner in ("", "src", "src/question_segments"):
        assert task.unavailable is None
        assert list(task.question.mounts) == [str(FILES_INSIDE)]


def test_a_zip_is_unpacked_into_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "cache"))
    root = checkout(tmp_path / "checkout")
    archive = tmp_path / "MatTools.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for file in root.rglob("*"):
            packed.write(file, file.relative_to(root))
    for _ in range(2):
        (task,) = MatToolsBenchmark(path=str(archive)).load()
        assert task.unavailable is None
    (tmp_path / "no.zip").write_text("x")
    with pytest.raises(MatToolsError, match="not a zip"):
        MatToolsBenchmark(path=str(tmp_path / "no.zip")).load()


def test_an_archive_is_fetched_and_its_checksum_is_checked(tmp_path, monkeypatch, httpserver):
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "cache"))
    root = checkout(tmp_path / "checkout")
    archive = tmp_path / "MatTools.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for file in root.rglob("*"):
            packed.write(file, file.relative_to(root))
    httpserver.expect_request("/m.zip").respond_with_data(archive.read_bytes())
    url = httpserver.url_for("/m.zip")
    with pytest.raises(MatToolsError, match="cannot be fetched"):
        MatToolsBenchmark(url=url, checksum="sha256:" + 64 * "0").load()
    import hashlib

    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    (task,) = MatToolsBenchmark(url=url, checksum=f"sha256:{digest}").load()
    assert task.question.id == "test_cell"
    with pytest.raises(MatToolsError, match=r"Download it .* benchmark\.path"):
        MatToolsBenchmark(url=httpserver.url_for("/absent.zip"), checksum="sha256:1").load()


def test_missing_inputs_make_a_question_unavailable(tmp_path):
    checkout(tmp_path, files=("POSCAR",))
    (task,) = MatToolsBenchmark(path=str(tmp_path)).load()
    assert "x.vasp" in task.unavailable
    assert "POSCAR" not in task.unavailable


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("properties.json", "{", "properties.json"),
        ("properties.json", '{"properties": 3}', "properties.json, properties"),
        ("new_unit_test.py", "def other(): ...", "defines no function test_cell"),
    ],
)
def test_faults_of_the_layout_are_named(tmp_path, file, text, message):
    checkout(tmp_path)
    next(tmp_path.rglob(file)).write_text(text)
    with pytest.raises(MatToolsError, match=message):
        MatToolsBenchmark(path=str(tmp_path)).load()


def test_nothing_configured_says_what_to_put_where(tmp_path):
    with pytest.raises(MatToolsError, match=r"benchmark\.url"):
        MatToolsBenchmark().load()
    with pytest.raises(MatToolsError, match="no such file"):
        MatToolsBenchmark(path=str(tmp_path / "absent")).load()


# --- errata ------------------------------------------------------------------------------------


def test_errata_are_marked_and_left_out_of_the_verified_subset(tmp_path):
    kinds = {entry.kind for entry in errata()}
    assert kinds == {"impossible", "contradicting", "vacuous"}
    line = {
        "id": "test_vacancy", "question": "?", "data_files": [],
        "properties": [
            {"name": name, "description": "d", "format": "int", "expected": "1", "compare": "equal"}
            for name in ("vacancy_oxidation_state", "vacancy_multiplicity")
        ],
    }  # fmt: skip
    (tmp_path / "tasks.jsonl").write_text(json.dumps(line) + "\n")
    (task,) = MatToolsBenchmark(path=str(tmp_path)).load()
    assert [bool(prop.erratum) for prop in task.properties] == [True, False]
    assert task.properties[0].erratum.startswith("contradicting: ")
    (task,) = MatToolsBenchmark(path=str(tmp_path), subset="verified").load()
    assert [prop.name for prop in task.properties] == ["vacancy_multiplicity"]


@needs_dev
def test_the_vacuous_property_of_the_dev_split_is_in_the_errata():
    from experiments.scoring import verify_here

    tasks = {task.question.id: task for task in MatToolsBenchmark(path=str(DEV)).load()}
    (prop,) = tasks["test_get_SRH_coef"].properties
    # Zeros pass, so an answer without content would count.
    assert verify_here([prop], dumps({prop.name: [0.0, 0.0, 0.0]}))[prop.name][0]
    assert prop.erratum.startswith("vacuous")
    marked = [p.name for t in tasks.values() for p in t.properties if p.erratum]
    assert sorted(marked) == ["SRH_Coefficient", "antisite_defect_names", "vacancy_oxidation_state"]


def test_a_summary_counts_with_and_without_faulty_properties(configure):
    rows = [
        make_row("h", task, ended(task), Verdict(Score("q", 0, "ok", True, passed, {})))
        for task, passed in (
            (faulty_task(), {"good": True, "bad": True}),
            (faulty_task("r"), {"good": False, "bad": True}),
        )
    ]
    summary = summarise(
        configure(), config_hash="h", llm=False, tasks=[faulty_task(), faulty_task("r")],
        rows=rows, packages={},
    )  # fmt: skip
    assert (summary["properties_passed"], summary["properties_total"]) == (3, 4)
    assert summary["verified"] == {"passed": 1, "total": 2}
    sound = replace(faulty_task(), properties=faulty_task().properties[:1])
    summary = summarise(
        configure(), config_hash="h", llm=False, tasks=[sound], rows=[], packages={}
    )
    assert summary["verified"] is None  # nothing is known to be faulty: one score says it all


def faulty_task(name="q"):
    properties = (
        Property("good", "", "int", "1"),
        Property("bad", "", "int", "1", erratum="vacuous: all pass"),
    )
    return Task(Question(name, "?"), properties, "live")


def ended(task):
    return Trajectory(task.question.id, 0, "", "f", "", (), Usage(), "answered", "strict")


# --- in the sandbox ----------------------------------------------------------------------------

FILE = """\
from pathlib import Path
here = Path(__file__)
def f():
    whole = here.name == 'main.py' and 'def f' in here.read_text()
    return {'volume': 64.0 if whole else 0, 'cubic': __name__ == '__main__'}
"""
ARRAY = """\
import numpy as np
def f():
    return {'volume': np.array([64.0]), 'cubic': True}
"""
INPUTS = f"""\
def f():
    open('{FILES_INSIDE}/POSCAR').read()
    return {{'volume': 64.0, 'cubic': True}}
"""
FUNCTIONS = {
    "right": ("def f():\n    return {'volume': 64.0, 'cubic': True}", "all_correct", ""),
    "half": ("def f():\n    return {'volume': 63.0, 'cubic': True}", "some_wrong", "wrong_value"),
    "print": ("def f():\n    print('hm')\n    return {'volume': 64.0, 'cubic': True}",
              "not_runnable", "unparsable_stdout"),
    "raise": ("def f():\n    raise ValueError('no')", "not_runnable", "exception"),
    "empty": ("def f():\n    return {}", "not_runnable", "empty_dict"),
    "list": ("def f():\n    return [1]", "not_runnable", "no_dict"),
    "silent": ("import os\ndef f():\n    os._exit(0)", "not_runnable", "no_output"),
    "file": (FILE, "all_correct", ""),
    "array": (ARRAY, "all_correct", ""),
    "hopeless": ("def f():\n    return {'volume': 'x', 'cubic': True}",
                 "not_runnable", "unit_test"),
    "inputs": (INPUTS, "all_correct", ""),
}  # fmt: skip


@pytest.mark.long
async def test_the_published_rules_end_to_end(tmp_path):
    checkout(tmp_path)
    benchmark = MatToolsBenchmark(path=str(tmp_path))
    (task,) = benchmark.load()
    mounts = replay._present(task)
    config = SandboxConfig(env="mattools-2024", workers=1)
    async with get_sandbox(config) as sandbox, get_sandbox(config) as verifier:
        for name, (code, outcome, reason) in FUNCTIONS.items():
            score = await score_published(
                code, "f", benchmark.unit_tests()["test_cell"], name="test_cell",
                sandbox=sandbox, verifier=verifier, timeout=30, mounts=mounts,
            )  # fmt: skip
            assert (score.outcome, score.reason) == (outcome, reason), (name, score)
        payload = dumps({"volume": 60.0, "cubic": 1})
        verdicts = await verify_task(verifier, task, payload)
        assert not any(passed for passed, _ in verdicts.values())
        # The typed scorer of the same unit test, on data.
        payload = dumps({"volume": 64.0, "cubic": True})
        verdicts = await verify_task(verifier, task, payload)
        assert verdicts == {"volume": (True, ""), "cubic": (True, "")}
        with_name = replace(task, unit_test=UNIT_TEST.replace('"cubic is', '"it is'))
        with pytest.raises(Exception, match="names no property"):
            await verify_task(verifier, with_name, dumps({"volume": 64.0}))


# --- replay ------------------------------------------------------------------------------------


def recorded_file(path, form):
    rows = []
    for code, outcome, _ in FUNCTIONS.values():
        if form == "published":
            rows.append({"question_file_path": "test_cell", "function": code, "function_name": "f"})
        else:
            labels = {"system": "s", "model": "m", "retrieval": "r", "round": 1}
            replayed = {"outcome": outcome, "wrong": None, "errors": None}
            answer = {"task": "test_cell", "code": code, "function_name": "f"}
            rows.append({**labels, **answer, "replayed": replayed})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_recordings_in_both_forms(tmp_path):
    own = read_recorded(recorded_file(tmp_path / "own.jsonl", "own"))
    assert {row.run for row in own} == {"s m r round 1"}
    assert own[0].outcome.outcome == "all_correct"
    name = "function_generation_results.jsonl"
    recorded_file(tmp_path / "all" / "round1" / name, "published")
    recorded_file(tmp_path / "all" / "round2" / name, "published")
    found = read_recorded(tmp_path / "all")
    assert [row.run for row in found] == ["round1"] * len(FUNCTIONS) + ["round2"] * len(FUNCTIONS)
    assert len({row.key for row in found}) == len(found)
    assert found[0].outcome is None
    (tmp_path / "bad.jsonl").write_text('{"code": 1}\n')
    for path, message in (("bad.jsonl", "line 1"), ("absent", "no such file")):
        with pytest.raises(RecordedError, match=message):
            read_recorded(tmp_path / path)


@pytest.mark.long
def test_a_replay_agrees_resumes_and_explains(tmp_path, capsys):
    checkout(tmp_path / "data")
    recorded = recorded_file(tmp_path / "own.jsonl", "own")
    lines = recorded.read_text().splitlines()
    wrong = json.loads(lines[0])
    wrong["replayed"]["outcome"] = "not_runnable"  # what a recording could have wrong
    recorded.write_text("\n".join([json.dumps(wrong), *lines[1:]]) + "\n")
    arguments = [f"recorded={recorded}", f"benchmark.path={tmp_path / 'data'}", "scorer=both",
                 f"out={tmp_path / 'out'}", "timeout=30"]  # fmt: skip
    assert replay.main(arguments) == 0
    output = capsys.readouterr().out
    total = len(FUNCTIONS)
    assert output.splitlines()[-1] == f"agree {total - 1}/{total}"
    assert "own.jsonl:1 test_cell: recorded not_runnable, now all_correct" in output
    (results,) = (tmp_path / "out").rglob("results.jsonl")
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    assert len(rows) == 2 * total
    typed = {row["key"]: row["outcome"] for row in rows if row["scorer"] == "typed"}
    order = list(FUNCTIONS)
    assert typed[f"own.jsonl:{order.index('print') + 1}"] == "all_correct"  # a print is no fault
    # Cut it in the middle of a line, as kill -9 does: only the rest is graded again.
    results.write_text("\n".join(results.read_text().split("\n")[:5])[:-10])
    assert replay.main(arguments) == 0
    again = [json.loads(line) for line in results.read_text().splitlines()]
    assert {(r["key"], r["scorer"], r["outcome"]) for r in again} == {
        (r["key"], r["scorer"], r["outcome"]) for r in rows
    }
    assert len(again) == 2 * total


@pytest.mark.long
@needs_dev
def test_recorded_outcomes_are_found_again(tmp_path, capsys):
    arguments = [f"recorded={DEV / 'recorded_round1.jsonl'}", f"benchmark.path={DEV}",
                 f"out={tmp_path}", "limit=16"]  # fmt: skip
    assert replay.main(arguments) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "agree 16/16"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "recorded: must be given"),
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

"""Recorded answers are scored as a run scores them."""

import json

import pytest

from experiments.benchmarks.atomworld.benchmark import AtomWorldBenchmark
from experiments.benchmarks.atomworld.crystal import Crystal
from experiments.command import main as run
from experiments.files import read_json
from experiments.record import read_rows
from experiments.regrade import main

ATOMS = ["benchmark=atomworld", "benchmark.items=1", "benchmark.actions=[move,swap]"]


def rows(out):
    return {
        (row.question_id, row.seed): row for row in read_rows(out / "results.jsonl")
    }


def test_answers_of_a_file_are_scored_in_all_modes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    move, swap = AtomWorldBenchmark(items=1, actions=["move", "swap"]).load()
    right = Crystal.of(swap.target["literal"]).to_cif()
    echo = Crystal.of(move.target["before"]).to_cif()
    lines = [
        {"id": move.question.id, "answer": f"<cif>{echo}</cif>"},
        {"id": move.question.id, "answer": "none"},
        {"id": swap.question.id, "answer": f"It is\n<cif>\n{right}\n</cif>"},
        {"id": swap.question.id, "answer": right},
    ]
    file = tmp_path / "it's answers.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert main([*ATOMS, f"answers={file}", "out=out", "sandbox.workers=1"]) == 0
    found = rows(tmp_path / "out")
    assert {key: row.all_correct for key, row in found.items()} == {
        (move.question.id, 0): False,
        (move.question.id, 1): False,
        (swap.question.id, 0): True,
        (swap.question.id, 1): True,  # a bare CIF is read like one in tags
    }
    echoed = found[move.question.id, 0].values
    assert echoed["published"] == echoed["echo"]
    bare = found[swap.question.id, 1]
    assert bare.values["published"] == 0.0
    assert bare.artefacts["published error"] == "OutputFormatError"
    said = capsys.readouterr().out
    assert "strict above" in said
    summary = read_json(tmp_path / "out" / "summary.json")
    assert (summary["system"], summary["model"]) == ("recorded", "it's answers")
    assert "not a language model" not in (tmp_path / "out" / "report.html").read_text()
    # other answers are another run
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines[:1]))
    assert main([*ATOMS, f"answers={file}", "out=out", "sandbox.workers=1"]) == 2
    assert "system.digest was" in capsys.readouterr().err


@pytest.mark.long
def test_a_run_is_scored_again_from_its_final_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tool = [
        *ATOMS,
        "benchmark.arm=tool",
        "benchmark.wording=published",
        "sandbox.workers=1",
    ]
    assert (
        run([*tool, "system=oracle", "model=none", "retrieval=none", "out=first"]) == 0
    )
    assert main([*tool, "answers=first", "out=second"]) == 0
    first, second = rows(tmp_path / "first"), rows(tmp_path / "second")
    assert first.keys() == second.keys()
    for key, row in first.items():
        assert (row.passed, row.values) == (second[key].passed, second[key].values)
        assert second[key].calls == 0

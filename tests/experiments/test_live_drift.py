"""``live`` rebuilt from its references, and its difficulty counted again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from experiments.benchmarks.live.__main__ import main
from experiments.benchmarks.live.benchmark import LiveBenchmark
from experiments.benchmarks.live.difficulty import Options, api_changes, counts, measure, parameters
from experiments.benchmarks.question_format import (
    QUESTIONS,
    difficulty_labels,
    question_folders,
    read_spec,
)
from sandbox import environments
from tests.experiments.test_live_check import GOOD, make_question


@pytest.mark.long
def test_a_drifted_gold_is_reported_and_a_sound_one_is_not(tmp_path: Path, capsys) -> None:
    sound = {"cell_volume": 3.61**3 / 4, "ordering": "FM"}
    (tmp_path / "q").mkdir()
    make_question(tmp_path / "q", GOOD, name="sound_gold", gold=sound)
    make_question(tmp_path / "q", GOOD, name="drifted_gold", gold={**sound, "cell_volume": 12.0})
    out = tmp_path / "drift.json"
    assert main(["drift", f"questions={tmp_path / 'q'}", f"out={out}"]) == 1
    rows = {row["question"]: row for row in json.loads(out.read_text())}
    assert rows["sound_gold"]["findings"] == []
    assert "no longer what the reference returns" in rows["drifted_gold"]["findings"][0]
    assert "2 questions, 4 properties, 1 questions drifted" in capsys.readouterr().out
    shutil.rmtree(tmp_path / "q" / "drifted_gold")
    assert main(["drift", f"questions={tmp_path / 'q'}"]) == 0


def test_the_counted_difficulty_is_up_to_date() -> None:
    written = json.loads(Options().out.read_text(encoding="utf-8"))["questions"]
    fresh = {
        folder.name: counts(read_spec(folder), (folder / "reference.py").read_text())
        for folder in question_folders()
    }
    again = "run: python -m experiments.benchmarks.live difficulty"
    assert {name: {key: row[key] for key in ("calls", "names", "given")}
            for name, row in written.items()} == fresh, again  # fmt: skip


@pytest.mark.long
def test_the_labels_of_the_api_are_up_to_date() -> None:
    if not environments.folder("mattools-2024").exists():
        pytest.skip("needs: python -m sandbox build env=mattools-2024")
    assert measure(Options()) == json.loads(Options().out.read_text(encoding="utf-8"))


def test_difficulty_counts_calls_and_names_given_away() -> None:
    folder = next(f for f in question_folders() if f.name == "elastic_tensor_fit")
    row = counts(read_spec(folder), (folder / "reference.py").read_text())
    assert row["calls"] == 7  # from_spacegroup, tetragonal, 2 from_voigt, 2 fits, debye_temperature
    assert row["given"]["goal"] < row["given"]["scaffold"] < row["names"]


def test_signatures_are_compared_without_their_types() -> None:
    assert parameters("Tree(age: float, height: float = 2.4) -> Tree") == "age, height=2.4"
    assert parameters("Tree(age, height=2.4)") == parameters("(age: int, height: float = 2.4)")
    assert parameters("Tree(height=2.4, age=1)") != parameters("Tree(age=1, height=2.4)")


def test_api_changes_between_two_versions(tmp_path: Path) -> None:
    from docgen.library import read_library

    for version, source in {
        "old": "class Cell:\n    def volume(self): ...\n    def area(self, side): ...\n",
        "new": (
            "class Cell:\n    def volume(self) -> float: ...\n    def area(self, face): ...\n"
            "    def edges(self): ...\ndef relax(cell): ...\n"
        ),
    }.items():
        folder = tmp_path / version / "phonopy"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(source)
    new, old = (read_library(["phonopy"], tmp_path / version) for version in ("new", "old"))
    reference = (
        "from phonopy import Cell, relax\n"
        "def reference():\n    cell = Cell()\n    relax(cell)\n"
        "    return {'a': cell.volume(), 'b': cell.area(1), 'c': cell.edges()}\n"
    )
    assert api_changes(reference, new, old) == {
        "area": "signature",
        "edges": "absent",
        "phonopy.Cell": "same",
        "phonopy.relax": "absent",
        "volume": "same",
    }


def test_the_loader_uses_the_labels() -> None:
    tasks = LiveBenchmark(level="goal").load()
    labelled = [task for task in tasks if "api" in task.labels]
    assert labelled
    assert {task.labels["api"] for task in labelled} <= {"same", "signature", "absent", "unknown"}
    assert difficulty_labels(QUESTIONS, "no_such_question", "goal") == {}
    scaffold = difficulty_labels(QUESTIONS, "elastic_tensor_fit", "scaffold")
    assert scaffold["calls"] == "up to 10"
    assert (
        scaffold["names_given"]
        != difficulty_labels(QUESTIONS, "elastic_tensor_fit", "goal")["names_given"]
    )

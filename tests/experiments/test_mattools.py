"""The loader of a ``tasks.jsonl``, and its expected values."""

import json

import numpy as np
import pytest
from pymatgen.core import Element

from experiments.benchmarks.mattools.benchmark import MatToolsBenchmark, MatToolsError
from experiments.benchmarks.mattools.layout import FILES_INSIDE
from experiments.benchmarks.mattools.unit_tests import load, verdict
from sandbox.inside.tagged import dumps
from tests.experiments.checkouts import DEV, needs_dev


def write(folder, **changes):
    line = {
        "id": "q",
        "question": "What?",
        "properties": [
            {"name": "x", "description": "d", "format": "int", "expected": "1", "compare": "equal"}
        ],
        "data_files": [str(FILES_INSIDE / "a.vasp")],
    }
    (folder / "tasks.jsonl").write_text(json.dumps(line | changes) + "\n")
    return MatToolsBenchmark(path=str(folder))


def test_a_missing_input_file_makes_a_question_unavailable(tmp_path):
    benchmark = write(tmp_path)
    assert "a.vasp" in benchmark.load()[0].unavailable
    (tmp_path / "test_files").mkdir()
    (tmp_path / "test_files" / "a.vasp").write_text("x")
    (task,) = benchmark.load()
    assert task.unavailable is None
    assert task.environment == "mattools-2024"
    assert list(task.question.mounts) == [str(FILES_INSIDE / "a.vasp")]
    assert task.question.formats == {}  # "What?" says nothing of the format
    (task,) = write(tmp_path, question="- `x`: Whether it is. Format: bool.").load()
    assert task.question.formats == {}  # of no published question


def test_mistakes_name_file_and_line(tmp_path):
    with pytest.raises(MatToolsError, match=r"neither tasks\.jsonl"):
        MatToolsBenchmark(path=str(tmp_path)).load()
    with pytest.raises(MatToolsError, match=r"jsonl:1, surprise"):
        write(tmp_path, surprise=1).load()
    for name in ("../../secret", str(FILES_INSIDE / ".." / "x")):
        with pytest.raises(MatToolsError, match=r"jsonl:1, data_files.0=.* is not below"):
            write(tmp_path, data_files=[name]).load()
    prop = {"name": "x", "description": "d", "format": "int", "expected": "1 +", "compare": "equal"}
    with pytest.raises(MatToolsError, match="is not a Python expression"):
        write(tmp_path, properties=[prop]).load()


@needs_dev
def test_the_expected_values_of_the_dev_split_pass_and_nothing_else_does(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # `load` writes the unit test where it is
    tasks = MatToolsBenchmark(path=str(DEV)).load()
    assert (len(tasks), sum(len(task.properties) for task in tasks)) == (16, 36)
    assert all(task.unavailable is None for task in tasks)
    marked = {prop.name for task in tasks for prop in task.properties if prop.erratum}
    assert marked == {"SRH_Coefficient", "antisite_defect_names", "vacancy_oxidation_state"}
    scope = {"np": np, "array": np.array, "nan": np.nan, "inf": np.inf, "Element": Element}
    for task in tasks:
        test = load(task.target, task.question.id)
        right = {p.name: eval(json.loads(p.expected), dict(scope)) for p in task.properties}
        assert verdict(test, dumps(right)) == {"ok": True}
        for prop in task.properties:
            assert not verdict(test, dumps(right | {prop.name: None}))["ok"], prop.name

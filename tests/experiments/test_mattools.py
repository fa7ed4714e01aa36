"""The loader of MatTools, and its expected values."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymatgen.core import Element

from experiments.benchmarks.mattools.benchmark import (
    FILES_INSIDE,
    MatToolsBenchmark,
    MatToolsError,
    host_path,
    tagged,
)
from experiments.samples import Property
from experiments.scorers.properties import verify_here
from sandbox.runner import dumps

DEV = Path(__file__).parents[3] / "shared" / "data" / "mattools_dev"
needs_dev = pytest.mark.skipif(not DEV.is_dir(), reason="the MatTools dev split is not here")


def agrees(expression, value, compare="equal"):
    prop = Property("x", "", "", json.dumps(tagged(expression)), compare, 1e-5, 1e-8)
    return verify_here([prop], dumps({"x": value}))["x"][0]


@pytest.mark.parametrize(
    ("expression", "value", "wrong"),
    [
        ("{Element('Ga'): -1}", {Element("Ga"): -1}, {Element("N"): -1}),
        ('{Element("Mg"): 1, Element("Ga"): -1}', {Element("Ga"): -1, Element("Mg"): 1}, {}),
        ("np.array([[2, 1], [0, 3]])", np.array([[2, 1], [0, 3]]), [[2, 1], [0, 4]]),
        ("array([1.5])", [1.5], [1.6]),
        ("[(4, 12), (-1.4, 3.8)]", [(4, 12), (-1.4, 3.8)], [(4, 12)]),
        ("(3, 3)", (3, 3), (3, 2)),
        ("'v$_{\\\\rm Ga}$'", "v$_{\\rm Ga}$", "v"),
        ("{1, 2}", {1, 2}, {1, 3}),
        ("True", np.bool_(True), 1),
        ("-np.inf", -np.inf, np.inf),
        ("np.nan", float("nan"), 0.0),
        ("2j", 2j, 2.0),
        ("None", None, 0),
    ],
)
def test_expected_values_without_evaluation(expression, value, wrong):
    assert agrees(expression, value)
    assert not agrees(expression, wrong)


@pytest.mark.parametrize(
    "expression",
    ["__import__('os')", "open('x')", "[x for x in 'ab']", "1 +", "{**a}", "Element(3)", "f'{1}'",
     "np.array(1, 2)", "...", "-'a'", "Element('Ga').Z", ""],
)  # fmt: skip
def test_anything_else_is_refused(expression):
    with pytest.raises(ValueError, match="expected value"):
        tagged(expression)


literals = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.text(), st.floats(allow_nan=False)
    ).filter(lambda value: value not in (float("inf"), -float("inf"))),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(st.integers(), st.text(max_size=3)), inner, max_size=3),
    ),
    max_leaves=8,
)


@given(literals)
def test_every_literal_agrees_with_itself(value):
    assert agrees(repr(value), value)


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
    assert task.question.formats == {"x": "bool"}


def test_mistakes_name_file_and_line(tmp_path):
    with pytest.raises(MatToolsError, match=r"benchmark\.path"):
        MatToolsBenchmark().load()
    with pytest.raises(MatToolsError, match=r"neither tasks\.jsonl"):
        MatToolsBenchmark(path=str(tmp_path)).load()
    with pytest.raises(MatToolsError, match=r"line 1, surprise"):
        write(tmp_path, surprise=1).load()
    with pytest.raises(MatToolsError, match=r"line 1: data file"):
        write(tmp_path, data_files=["../../secret"]).load()
    with pytest.raises(ValueError, match="not below"):
        host_path(str(FILES_INSIDE / ".." / "x"), tmp_path)


@needs_dev
def test_the_dev_split_loads_whole():
    tasks = MatToolsBenchmark(path=str(DEV)).load()
    assert len(tasks) == 16
    assert sum(len(task.properties) for task in tasks) == 36
    assert all(task.unavailable is None for task in tasks)
    for task in tasks:
        for prop in task.properties:
            answer = '{"' + prop.name + '": ' + prop.expected + "}"
            assert verify_here([prop], answer)[prop.name] == (True, ""), prop.name
            assert not verify_here([prop], dumps({prop.name: None}))[prop.name][0]

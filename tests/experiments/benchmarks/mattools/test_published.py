"""The published scorer: reading printed dicts, unit tests on typed data, attribution."""

import numpy as np
import pytest
from pymatgen.core import Element, Species

from experiments.benchmarks.mattools.published import (
    UnitTestVerdict,
    attribute,
    judge_each,
    table_test,
)
from experiments.benchmarks.mattools.stdout_rules import read_literal
from experiments.benchmarks.mattools.unit_tests import (
    OpaqueObject,
    by_table,
    revive,
    verdict,
)
from foundation.configuration import data_of
from sandbox.inside.decoding import decode
from sandbox.inside.tagged import dumps

TABLES = data_of(__file__, "published")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            "{'a': 1, 'b': [True, None, -2.5, 'x']}",
            {"a": 1, "b": [True, None, -2.5, "x"]},
        ),
        ("{Element Ga: -1}", {Element("Ga"): -1}),
        (
            "{'x': [Element('Mg'), Element(\"O\")]}",
            {"x": [Element("Mg"), Element("O")]},
        ),
        ("{'x': (Element Ga,)}", {"x": ("__KEPT_0__",)}),
        ("{(1, 2): {True: b'x', 2j: ...}}", {(1, 2): {True: b"x", 2j: ...}}),
    ],
)
def test_literals_with_elements(text, value):
    assert read_literal(text) == value


def test_arrays_are_evaluated_and_restored_where_the_rule_says():
    text = (
        "{'a': array([[1., 2.],\n [3., 4.]]), 'b': [np.array([1, 2])], "
        "'c': array([1.5], dtype=float128)}"
    )
    found = read_literal(text)
    assert np.array_equal(found["a"], [[1, 2], [3, 4]])
    assert np.array_equal(found["b"][0], [1, 2])
    assert found["c"].dtype == np.float64
    assert read_literal("{'e': array([Element('Ga')], dtype=object)}")["e"][
        0
    ] == Element("Ga")
    inside_tuple = read_literal("{'t': (array([1]),)}")["t"][0]
    assert isinstance(inside_tuple, str)


@pytest.mark.parametrize("text", TABLES["unreadable"])
def test_anything_else_is_unreadable(text):
    with pytest.raises((ValueError, SyntaxError)):
        read_literal(text)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        2**5000,
        1.5,
        float("inf"),
        2j,
        b"x",
        "text",
        [1, [2]],
        (1, (2,)),
        {1, 2},
        {"a": 1, 2: "b"},
        Element("Ga"),
        {Element("Ga"): -1},
        {"$": 1},
        Species("Fe", 2),
    ],
)
def test_typed_data_arrive_as_they_were(value):
    found = revive(decode(dumps(value)))
    assert type(found) is type(value)
    assert found == value


def test_numpy_scalars_become_pythons_and_arrays_stay():
    found = revive(
        decode(dumps({"a": np.bool_(True), "b": np.float64(2.5), "c": np.int32(3)}))
    )
    assert found == {"a": True, "b": 2.5, "c": 3}
    assert [type(item) for item in found.values()] == [bool, float, int]
    array = revive(decode(dumps(np.arange(6.0).reshape(2, 3))))
    assert isinstance(array, np.ndarray)
    assert array.shape == (2, 3)


def test_a_forged_answer_builds_no_class_and_is_no_crash():
    forged = '{"a": {"$": "msonable", "class": "unittest.mock._ANY", "v": {}}}'
    found = revive(decode(forged))["a"]
    assert isinstance(found, OpaqueObject)
    assert found != 1
    forged = '{"a": {"$": "array", "dtype": "nope", "shape": [1], "raw": ""}}'
    found = verdict(lambda answer: "ok", forged)
    assert not found["ok"]
    assert found["exception"]


def judged(answer):
    return verdict(by_table(TABLES["table"]), dumps(answer))


def test_a_table_counts_one_error_per_fault():
    assert judged({"flag": True, "count": 2, "length": np.array([1.0, 2.0])}) == {
        "ok": True
    }
    # A bool is an int to isinstance, and True == 1.
    found = judged({"flag": 1, "count": True, "length": [1.0, 2.1]})
    assert (found["wrong"], found["properties"]) == (3, 3)
    assert found["errors"][0] == "flag: expected bool, got int"
    found = judged({"flag": True, "count": 2})
    assert found["errors"] == ["length not found in input properties"]
    odd = {"flag": True, "count": 2, "length": [1.0, 2.0, 3.0]}
    assert "ValueError" in judged(odd)["exception"]


def test_the_source_of_a_table_and_a_mistake_in_it_that_is_no_fault_of_an_answer():
    scope = {"by_table": by_table}
    exec(table_test("test_x", TABLES["table"]), scope)
    assert scope["test_x"]({"flag": True, "count": 2, "length": [1.0, 2.0]}) == "ok"
    for fault, error in (
        ({"expected": "true"}, NameError),
        ({"format": "list[float]"}, KeyError),
    ):
        with pytest.raises(error):
            by_table([TABLES["table"][0] | fault])


def test_messages_belong_to_the_property_that_they_name():
    names = ["gap", "gap_energy", "name"]
    found = attribute(
        ["gap_energy: Expected 1 but got 2", "gap_energy is wrong"], names
    )
    assert found == {"gap_energy": "gap_energy: Expected 1 but got 2"}
    assert attribute(["Wrong gap, not a name"], names) == {
        "gap": "Wrong gap, not a name"
    }
    assert attribute(["something else, gaps"], names) == {None: "something else, gaps"}


@pytest.mark.parametrize(
    ("verdict", "passed"),
    [
        (UnitTestVerdict(ok=True), {"a", "b"}),
        (UnitTestVerdict(ok=False, errors=("a: no",), wrong=1, properties=2), {"b"}),
        # A message that names nothing: the verdicts on single properties decide, if there are any.
        (
            UnitTestVerdict(ok=False, errors=("no",), each={"a": False, "b": True}),
            {"b"},
        ),
        (UnitTestVerdict(ok=False, errors=("no",), each={"a": None, "b": None}), set()),
        (
            UnitTestVerdict(
                ok=False, exception="ValueError", each={"a": True, "b": False}
            ),
            {"a"},
        ),
        (UnitTestVerdict(ok=False, exception="ValueError"), set()),
    ],
)
def test_each_property_gets_a_verdict(verdict, passed):
    found = judge_each(verdict, ["a", "b"])
    assert {name for name, (right, _) in found.items() if right} == passed
    assert all(bool(reason) != right for right, reason in found.values())


def test_properties_are_told_apart_without_reading_messages():
    def test(answer):
        bad = ["x"] * sum(answer.get(name) != 1 for name in ("a", "b", "c"))
        return [*bad, len(bad), 3] if bad else "ok"

    found = verdict(test, dumps({"a": 1, "b": 2, "d": 1}), ["a", "b", "c"])
    assert (found["wrong"], found["each"]) == (2, {"a": True, "b": False, "c": False})
    assert verdict(test, dumps({"a": 1, "b": 1, "c": 1}), ["a"]) == {"ok": True}
    keyed = verdict(test, dumps({"a": 1, 2: 3}), ["a", "b"])  # not all keys are texts
    assert keyed["each"] == {"a": True, "b": False}
    strict = verdict(lambda answer: answer["b"], dumps({"a": 1}), ["a"])
    assert strict["each"] == {"a": None}  # it does not count in an empty answer


def test_messages_of_a_unit_test_are_bounded():
    """A message quotes the answer: 30 MB of it would be no result at all, so nobody's fault."""

    def test(answer):
        return [f"x: Expected 1 but got {answer['x']}", *["more"] * 10**5, 1, 2]

    found = verdict(test, dumps({"x": "y" * 10**7}))
    assert len(dumps(found)) < 10**5
    assert found["errors"][0].startswith("x: Expected 1 but got yyy")
    assert (found["ok"], found["wrong"], found["properties"]) == (False, 1, 2)

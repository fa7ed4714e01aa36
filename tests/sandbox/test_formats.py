"""Formats that questions ask for: what fits, what does not, and where."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.checks import caught_findings, concrete, contract_findings, fulfilled
from sandbox.base import Caught, Execution, Outcome
from sandbox.inside.formats import misfit, read_format

SCALARS = {
    "int": st.integers(),
    "float": st.floats() | st.integers(),
    "str": st.text(max_size=5),
    "bool": st.booleans(),
}


@st.composite
def formats(draw, depth=3):
    """A format as a question may write it, with values that have it."""
    kinds = [*SCALARS, *(["list", "dict", "optional", "tuple", "set"] if depth else [])]
    kind = draw(st.sampled_from(kinds))
    if kind in SCALARS:
        return kind, SCALARS[kind]
    inner, values = draw(formats(depth=depth - 1))
    match kind:
        case "list":
            text = draw(st.sampled_from([f"list[{inner}]", f"List[ {inner} ]"]))
            return text, st.lists(values, max_size=3)
        case "dict":
            return f"dict[str, {inner}]", st.dictionaries(st.text(max_size=3), values, max_size=3)
        case "tuple":
            return f"tuple[{inner}, int]", st.tuples(values, st.integers())
        case "set":
            return "set[int]", st.sets(st.integers(), max_size=3)
        case _:
            text = draw(st.sampled_from([f"{inner} | None", f"Optional[{inner}]"]))
            return text, values | st.none()


def fits(value, wanted):
    return misfit(value, read_format(wanted)) is None


class Other:
    """A value of no format."""


@settings(deadline=None)
@given(st.data())
def test_values_of_a_format_fit_and_another_value_in_them_does_not(data):
    text, values = data.draw(formats())
    value = data.draw(values)
    assert fits(value, text)
    assert fits(value, f"`{text}` (in eV).")
    assert not fits(Other(), text)
    assert not fits([value, Other()], f"list[{text}]")
    assert misfit({"a": value, "b": Other()}, read_format(f"dict[str, {text}]")) is not None


@settings(deadline=None)
@given(st.text(max_size=200))
def test_no_text_is_too_strange(text):
    found = misfit([1], read_format(text))
    assert found is None or str(found)


@pytest.mark.parametrize(
    ("value", "wanted", "fault"),
    [
        ({"Na": 4.0}, "dict[str, int]", "['Na'] is float"),
        ({"Na": 4}, "dict[str, int]", None),
        ({1: 4}, "dict[str, int]", "key 1 is int"),
        ([[1.0, 2.0], [3.0, "x"]], "list[list[float]]", "[1][1] is str"),
        ([[1, 2]], "list of lists of floats", None),
        ([1.5, None], "list[float | None]", None),
        ([1.5, None], "list[float]", "[1] is NoneType"),
        ({"a": None}, "dict[str, Optional[float]]", None),
        (np.eye(2), "list[list[float]]", None),
        (np.eye(2), "list[list[int]]", "[0][0] is float"),
        ((1, 2, 3), "tuple[int, int, int]", None),
        ((1, 2), "tuple[int, int, int]", "has 2 items"),
        ((1, 2), "tuple[int, ...]", None),
        ([("a", 1.0)], "list[tuple[str, float]]", None),
        ([("a", "b")], "list[tuple[str, float]]", "[0][1] is str"),
        ({"a": [{"b": 1}]}, "dict[str, list[dict[str, str]]]", "['a'][0]['b'] is int"),
        (True, "int", "is bool"),
        (True, "float", "is bool"),
        ("1", "list", "is str"),
        ({1}, "set", None),
        ([1], "set", "is list of int"),
        (1, "bool", "is int"),
        (1, "int or str", None),
        (1.0, "int or str", "is float"),
        (3, "float, in eV", None),
        (3.0, "int (number of sites)", "is float"),
        (["a"], "list of 3 strs", None),
        ("a", "a name", None),
        (object(), "Structure", None),
        ([1], "dict[str, int", "is list of int"),
        (1, "whatever it is", None),
        ({"a": object()}, "dict[str, Structure]", None),
        ({"a": [object(), 1]}, "dict[str, list[tuple[Site, Foo[x, y]]]]", "['a'][0] is object"),
        (np.array(3.0), "list[float]", "is ndarray"),
    ],
)
def test_where_a_value_departs(value, wanted, fault):
    found = misfit(value, read_format(wanted))
    assert (found and str(found)) == fault


def test_float_counts_are_a_finding():
    """They ended as answered, and failed verification."""
    counts = Execution(Outcome.OK, {"counts": {"Na": 4.0, "Cl": 4.0}})
    asked = {"counts": "dict[str, int]"}
    assert contract_findings(counts, asked) == [
        "`counts` should be dict[str, int] but ['Na'] is float"
    ]
    assert fulfilled(counts, asked) == 0
    assert concrete(counts, asked)


def test_none_is_vague_until_an_exception_was_caught():
    asked = {"a": "float", "b": "float | None"}
    nothing = {"a": None, "b": None}
    vague = Execution(Outcome.OK, nothing)
    assert contract_findings(vague, asked) == ["`a` is None"]
    assert not concrete(vague, asked)
    told = Execution(Outcome.OK, nothing, caught=(Caught("KeyError", "'x'", 7),))
    assert contract_findings(told, asked) == ["`a` is None", "`b` is None"]
    assert concrete(told, asked)
    assert caught_findings(told) == ["line 7: the code caught KeyError: 'x'"]
    assert not concrete(Execution(Outcome.TIMEOUT, error="longer than 60 s"), asked)
    assert concrete(Execution(Outcome.EXCEPTION, error="ValueError: no"), asked)

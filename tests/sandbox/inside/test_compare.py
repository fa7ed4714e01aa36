"""Values, formats and formulas compared: what passes, what fails, and in which words."""

import json
import math
import time

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pymatgen.core import Composition, Element, Lattice, Species, Structure

from agents.checks import caught_findings, concrete, contract_findings, fulfilled
from experiments.samples import Property
from experiments.scorers.properties import verify_here
from sandbox.base import Caught, Execution, Outcome
from sandbox.inside import compare
from sandbox.inside.formats import misfit, read_format
from sandbox.inside.formulas import equal
from sandbox.inside.tagged import dumps
from tests.support.paths import DATA
from tests.support.values import json_values, numpy_scalars, scalars

VERDICTS = yaml.safe_load((DATA / "verdicts.yaml").read_text())


def wanted(gold, form="", compare="equal", rtol=1e-3, atol=0.0):
    return Property("x", "", form, dumps(gold), compare, rtol, atol)


def reason(gold, answer, form="", compare="equal", **tolerance):
    passed, why = verify_here(
        [wanted(gold, form, compare, **tolerance)], dumps({"x": answer, "other": 1})
    )["x"]
    assert passed == (why == "")
    return why


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        (True, np.bool_(True)),
        (3, np.int64(3)),
        (3, np.uint8(3)),
        (3.0, 3),
        (0.5, np.float32(0.5)),
        ([1, 2], (1, 2)),
        ([1, 2], np.array([1, 2])),
        ([(4, 12), (3, 8)], [[4, 12], [3, 8]]),
        ((3, 3), [3, 3]),
        (np.eye(2), [[1, 0], [0, 1]]),
        (np.array(2.5), 2.5),
        (np.array(["Ga", "N2"]), ["Ga", "N2"]),
        ({"a", "b"}, frozenset({"b", "a"})),
        ({Element("Ga"): -1}, {Element("Ga"): -1}),
        ({1: "a", "b": None}, {"b": None, 1: "a"}),
        (Species("Fe", 3), Species("Fe", 3)),
        (1 + 2j, np.complex128(1 + 2j)),
        (np.longdouble("0.1"), 0.1),
        pytest.param(10**5000, 10**5000, id="5000 digits"),
        (None, None),
        (b"ab", b"ab"),
    ],
)
def test_the_same_value_in_another_dress_is_equal(gold, answer):
    if isinstance(gold, np.longdouble):
        assert reason(gold, answer, compare="close", rtol=1e-12) == ""
    else:
        assert reason(gold, answer) == ""


@pytest.mark.parametrize(
    ("gold", "answer", "why"),
    [
        *VERDICTS["differs"],
        ("Ga", Element("Ga"), "expected 'Ga', got Element"),
        (Element("Ga"), Element("N"), "Element expected 'Ga', got 'N'"),
        (Composition("Fe2O3"), Composition("FeO"), None),
        (Element("Ga"), object(), "expected Element, got object"),
        (3, object(), "expected a number, got object"),
    ],
)
def test_another_value_fails_in_words(gold, answer, why):
    given = reason(gold, answer)
    assert given
    assert why is None or given == why


def test_tolerances():
    assert reason(200.0, 200.1, compare="close", rtol=1e-3) == ""
    assert (
        reason(200.0, 206.4, compare="close", rtol=1e-3)
        == "off by 3.2 % (tolerance 0.1 %)"
    )
    assert (
        reason(0.0, 0.5, compare="close", rtol=1e-3, atol=1e-8)
        == "off by 0.5 (tolerance 1e-08)"
    )
    assert reason(0.0, 1e-9, compare="close", rtol=1e-3, atol=1e-8) == ""
    assert (
        reason(1.0, 1000.0, compare="close")
        == "off by a factor of 1e+03 (tolerance 0.1 %)"
    )
    assert reason(200.0, 200.1) == "expected 200.0, got 200.1"
    assert reason(math.nan, 1.0, compare="close")


@pytest.mark.parametrize(
    ("form", "gold", "answer", "why"),
    [
        *VERDICTS["forms"],
        ("tuple[int, int]", (1, 2), (1, 2, 3), "expected tuple of 2, got 3"),
        ("tuple", (3, 3), [3, 3], ""),
    ],
)
def test_another_format_in_words(form, gold, answer, why):
    assert reason(gold, answer, form) == why


def test_a_number_at_the_tolerance_passes_and_one_beyond_fails():
    """Both are exact in binary fractions."""
    assert reason(100.0, 100.5, compare="close", rtol=0.0, atol=0.5) == ""
    assert reason(100.0, 100.625, compare="close", rtol=0.0, atol=0.5) != ""


@pytest.mark.parametrize(("gold", "answer"), [(math.inf, 1.0), (1.0, math.inf)])
def test_no_finite_number_is_close_to_infinity(gold, answer):
    assert reason(gold, answer, compare="close", rtol=0.1) != ""
    assert reason(-gold, gold, compare="close", rtol=0.1) != ""


def test_keys_of_any_length_are_found_in_any_order():
    keys = ["a" * 100, "b" * 100, 10**5000, 10**5001]
    gold = {key: index for index, key in enumerate(keys)}
    assert reason(gold, dict(reversed(gold.items()))) == ""


@pytest.mark.parametrize("answer", [[("a", 1)], "a", 1, {"a"}])
def test_only_a_dict_is_a_dict_where_no_format_is_asked_for(answer):
    assert reason({"a": 1}, answer).startswith("expected a dict of 1")


def test_a_format_with_further_words_is_more_than_a_format():
    assert reason(1.5, 1.5, form="float or a list of them, in eV") == ""
    assert reason([1.5], [1.5], form="int (number of sites) per cell") == ""


def test_a_missing_key_a_repeated_key_and_a_broken_gold():
    assert verify_here([wanted(1)], dumps({"y": 1}))["x"] == (False, "missing key")
    forged = '{"$":"dict","v":[["x",2],["x",1]]}'
    assert verify_here([wanted(1)], forged)["x"][0] is False
    broken = Property("x", "", "", '{"$":"nonsense"}')
    with pytest.raises(ValueError, match="nonsense"):  # our fault
        verify_here([broken], dumps({"x": 1}))


def test_a_structure_is_compared_by_its_data():
    def salt(a):
        return Structure.from_spacegroup(
            "Fm-3m", Lattice.cubic(a), ["Na", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]]
        )

    assert reason(salt(5.6), salt(5.6), compare="close") == ""
    assert "off by" in reason(salt(5.6), salt(5.8), compare="close")


values = st.recursive(
    scalars | numpy_scalars | st.sampled_from([Element("Ga"), Species("O", -2)]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(
            st.text() | st.integers() | st.just(Element("N")), inner, max_size=4
        ),
        st.sets(st.text() | st.integers() | st.just(Element("N")), max_size=4),
    ),
    max_leaves=12,
)


@given(values, st.sampled_from(["equal", "close"]))
def test_every_gold_passes_itself_and_none_passes_only_for_none(gold, compare):
    assert reason(gold, gold, compare=compare) == ""
    assert (reason(gold, None) == "") == (gold is None)


numbers = st.floats(min_value=1e-6, max_value=1e6).flatmap(
    lambda value: st.sampled_from([value, -value])
)


@given(
    st.recursive(
        numbers, lambda inner: st.lists(inner, min_size=1, max_size=4), max_leaves=8
    )
)
def test_zero_empty_and_perturbed_numbers_fail(gold):
    def change(value, one):
        return (
            [change(item, one) for item in value]
            if isinstance(value, list)
            else one(value)
        )

    assert reason(gold, change(gold, lambda v: v * (1 + 5e-4)), compare="close") == ""
    assert reason(gold, change(gold, lambda v: v * 1.01), compare="close")
    assert reason(gold, change(gold, lambda _: 0.0), compare="close")
    assert reason(gold, [], compare="close")
    assert reason(gold, {}, compare="close")


@given(json_values, st.text(max_size=30))
def test_any_json_is_judged_by_any_format(tree, form):
    passed, _ = verify_here([wanted("no such text", form)], json.dumps(tree))["x"]
    assert passed is False


def test_reasons_are_bounded():
    payload = json.dumps({"x": {"$": "opaque", "class": "y" * 10**6, "v": ""}})
    for form in ("int", ""):
        passed, why = verify_here([wanted(1, form)], payload)["x"]
        assert not passed
        assert 0 < len(why) <= compare.REASON


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
            return f"dict[str, {inner}]", st.dictionaries(
                st.text(max_size=3), values, max_size=3
            )
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
    assert (
        misfit({"a": value, "b": Other()}, read_format(f"dict[str, {text}]"))
        is not None
    )


@settings(deadline=None)
@given(st.text(max_size=200))
def test_no_text_is_too_strange(text):
    found = misfit([1], read_format(text))
    assert found is None or str(found)


@pytest.mark.parametrize(
    ("value", "wanted", "fault"),
    [
        *VERDICTS["departs"],
        (np.eye(2), "list[list[float]]", None),
        (np.eye(2), "list[list[int]]", "[0][0] is float"),
        ((1, 2, 3), "tuple[int, int, int]", None),
        ((1, 2), "tuple[int, int, int]", "has 2 items"),
        ((1, 2), "tuple[int, ...]", None),
        ([("a", 1.0)], "list[tuple[str, float]]", None),
        ([("a", "b")], "list[tuple[str, float]]", "[0][1] is str"),
        (object(), "Structure", None),
        ({"a": object()}, "dict[str, Structure]", None),
        (
            {"a": [object(), 1]},
            "dict[str, list[tuple[Site, Foo[x, y]]]]",
            "['a'][0] is object",
        ),
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


FORMULAS = [
    (one, other, expected == "same")
    for expected, pairs in yaml.safe_load((DATA / "formulas.yaml").read_text()).items()
    for one, other in pairs
] + [("(" * 500 + ")" * 500, "1", False), ("x" * 5000, "x" * 5000, False)]


@pytest.mark.parametrize(("one", "other", "same"), FORMULAS)
def test_formulas(one, other, same):
    assert equal([[one, other], [other, one]]) == [same, same]


def test_long_formulas_take_no_time():
    started = time.perf_counter()
    for text in (
        "+".join("x" * 900),
        "x^" * 900 + "2",
        "-" * 1999 + "x",
        "\\frac" * 300,
        "{" * 1000 + "}" * 1000,
        "\\frac{" * 300 + "1}" * 300,
    ):
        equal([[text, text]])
    assert time.perf_counter() - started < 20

"""Results: what goes in comes out, and no bytes whatever do harm."""

import base64
import enum
import json
import math
import time

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from pymatgen.analysis.defects.core import Vacancy
from pymatgen.core import Composition, Element, Lattice, Species, Structure
from pymatgen.electronic_structure.core import Spin

from agents.checks import show
from sandbox.inside import decoding
from sandbox.inside.decoding import WireError, decode
from sandbox.inside.tagged import dumps
from sandbox.inside.values import Element as Symbol
from sandbox.inside.values import (
    EnumMember,
    Members,
    Msonable,
    Opaque,
    Pairs,
    represent,
    type_name,
)
from sandbox.inside.values import Species as Ion
from tests.support.paths import DATA
from tests.support.values import json_values, numbers, numpy_scalars, scalars

VERDICTS = DATA / "verdicts.yaml"
SLOW = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def same(one, two):
    """Equal in value and in type, NaN equal to NaN; what is not hashed holds the same items."""
    if isinstance(one, Pairs):
        return same(list(map(list, one.pairs)), list(map(list, two.items())))
    if isinstance(one, Members):
        return isinstance(two, frozenset) == one.frozen and one.items == tuple(two)
    if type(one) is not type(two):
        return False
    if isinstance(one, np.ndarray):
        if one.dtype != two.dtype or one.shape != two.shape:
            return False
        if one.dtype == object:
            return all(
                same(a, b) for a, b in zip(one.ravel(), two.ravel(), strict=True)
            )
        return one.tobytes() == two.tobytes()
    if isinstance(one, np.generic):
        return one.dtype == two.dtype and (one == two or (one != one and two != two))
    if isinstance(one, float | complex):
        return repr(one) == repr(two)  # NaN, and the sign of zero
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, dict):
        return same(list(one.items()), list(two.items()))
    return bool(one == two)


keys = st.one_of(
    st.none(),
    st.integers(),
    st.text(),
    st.floats(allow_nan=False),
    st.binary(),
    st.tuples(st.integers(), st.text()),
    st.just("$"),
)
texts = (
    npst.unicode_string_dtypes(),
    npst.byte_string_dtypes(),
    npst.datetime64_dtypes(),
    npst.timedelta64_dtypes(),
)
arrays = st.one_of(*numbers, *texts).flatmap(
    lambda kind: npst.arrays(kind, npst.array_shapes(min_side=0, max_side=4))
)
values = st.recursive(
    st.one_of(scalars, arrays, numpy_scalars),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(keys, inner, max_size=4),
        st.dictionaries(st.text(), inner, max_size=4),
    ),
    max_leaves=12,
)
members = st.one_of(st.integers(), st.text(), st.tuples(st.integers(), st.binary()))


@SLOW
@given(values | st.sets(members) | st.frozensets(members))
def test_values_come_back_exactly_and_read_as_repr_says(value):
    assert same(decode(dumps(value)), value)
    if not isinstance(value, set | frozenset):
        assert represent(value, 10**9) == repr(value)


def decodes_or_says_why(data):
    """Any other exception, or an error without a text, fails the test; a value can be shown."""
    try:
        value = decode(data)
    except WireError as error:
        return bool(str(error))
    return len((represent(value, 1000) + show(value, 1000)).encode()) > 0


@SLOW
@given(st.one_of(st.binary(), st.text()))
def test_any_bytes_are_a_value_or_an_error(data):
    assert decodes_or_says_why(data)


@settings(deadline=None, max_examples=500, suppress_health_check=[HealthCheck.too_slow])
@given(json_values)
def test_any_json_with_tags_is_a_value_or_an_error(value):
    assert decodes_or_says_why(json.dumps(value))


@pytest.mark.parametrize(
    "text",
    [
        *yaml.safe_load(VERDICTS.read_text())["refused"],
        "[" * 200_000,
        '{"a":' * 200_000,
        "9" * 100_000,
        b'"\xff\xfe"',
        "[" + "0," * 1_100_000 + "0]",
        '"' + "x" * (17 << 20) + '"',
        '{"$": "enum", "class": "a", "name": "b", "v": ' * 250 + "1" + "}" * 250,
    ],
    ids=lambda text: repr(text[:40]),
)
def test_hostile_results_are_refused(text):
    with pytest.raises(WireError):
        decode(text)


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        ("<U0", [3]),
        ("|S0", [1]),
        ("<m8[0s]", [1]),
        ("<M8[25s]", [1]),
        ("<f8", [10**6, 10**6, 0]),  # as a list it would be a million lists
        ("object", [2**40, 0]),
        ("<i3", [0]),
    ],
)
def test_arrays_that_numpy_would_not_survive_are_refused(dtype, shape):
    told = {"$": "array", "dtype": dtype, "shape": shape, "raw": "", "v": []}
    for raw in ("", base64.b64encode(bytes(8)).decode()):
        with pytest.raises(WireError):
            decode(json.dumps(told | {"raw": raw}))


def test_empty_texts_and_empty_arrays_of_numpy_come_back():
    back = decode(dumps([np.str_(""), np.zeros((0, 3)), np.array(["", "a"])]))
    assert (back[0], back[1].shape, back[2].tolist()) == ("", (0, 3), ["", "a"])


UNHASHABLE = [
    {"$": "array", "dtype": "|u1", "shape": [2], "raw": "AAE="},
    [],
    {"a": 1},
    {"$": "set", "v": [1]},
    {"$": "tuple", "v": [{"$": "tuple", "v": [[]]}]},
    {"$": "set", "v": [{"$": "tuple", "v": [1]}]},
]


@pytest.mark.parametrize("key", UNHASHABLE, ids=repr)
@pytest.mark.parametrize("kind", ["dict", "set", "frozenset"])
def test_what_python_does_not_hash_is_neither_key_nor_member(kind, key):
    items = [[key, 1], ["x", 2]] if kind == "dict" else [key, "x"]
    with pytest.raises(WireError, match="cannot be"):
        decode(json.dumps({"$": kind, "v": items}))


def test_fields_of_an_object_have_names():
    for fields in (
        {"$": "int", "v": "0x1"},
        {"$": "dict", "v": [[1, 2]]},
        {"$": "dict", "v": [[{"$": "msonable", "class": "C", "v": {}}, 1]]},
    ):
        with pytest.raises(WireError):
            decode(json.dumps({"$": "msonable", "class": "C", "v": fields}))


def test_a_dict_that_is_not_hashed_never_compares_its_keys():
    class Hostile:
        def __eq__(self, other):
            raise AssertionError

        __hash__ = object.__hash__

    pairs = Pairs(((Hostile(), 1), ("x", 2)))
    assert ([value for _, value in pairs.items()], list(pairs.values())) == (
        [1, 2],
        [1, 2],
    )
    assert (pairs.get("x"), pairs.get(Hostile()), Hostile() in pairs) == (
        2,
        None,
        False,
    )
    assert Hostile() not in Members((Hostile(), 1))
    assert represent(pairs, 1000).endswith("'x': 2}")


@pytest.mark.parametrize(
    "value",
    [
        Structure(Lattice.cubic(5.6), ["Na"], [[0, 0, 0]]),
        Composition("Fe2O3"),
        Spin.up,
        {(1, 2): {Element("Ga")}, Species("Fe", 3): object()},
        frozenset({(1, Spin.up)}),
        [np.eye(2), np.longdouble(1), np.array([None, {"$": 1}])],
        10**5000,
        math.nan,
        b"a",
        1j,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_was_decoded_is_encoded_to_the_same_text(value):
    text = dumps(value)
    assert dumps(decode(text)) == text


def test_materials_objects_keep_their_class_and_fields():
    structure = Structure(
        Lattice.cubic(4.2), ["Mg2+", "O2-"], [[0, 0, 0], [0.5, 0.5, 0.5]]
    )
    for value in (structure, structure.lattice, structure[0], Composition("Fe2O3")):
        back = decode(dumps(value))
        assert isinstance(back, Msonable)
        assert back.class_name.rpartition(".")[2] == type(value).__name__
        assert type(value).from_dict(back.fields) == value
    back = decode(dumps({"defects": [Vacancy(structure, structure[0])]}))["defects"][0]
    assert back.class_name == "pymatgen.analysis.defects.core.Vacancy"
    assert back.fields["structure"]["lattice"]["a"] == pytest.approx(4.2)
    back = decode(
        dumps(
            {
                Element("Fe"): [Species("Fe", 3, spin=5)],
                "up": Spin.up,
                "d": Element("D"),
            }
        )
    )
    spin = EnumMember("pymatgen.electronic_structure.core.Spin", "up", 1)
    assert back == {Symbol("Fe"): [Ion("Fe3+,spin=5")], "up": spin, "d": Symbol("D")}
    back = decode(dumps({Composition("NaCl"), Composition("KCl")}))
    assert isinstance(back, Members)
    assert [item.fields["Cl"] for item in back] == [1.0, 1.0]
    keyed = decode(dumps({Composition("NaCl"): 1}))
    assert isinstance(keyed, Pairs)
    assert [(key.fields["Cl"], value) for key, value in keyed.items()] == [(1.0, 1)]
    assert "NaCl" not in keyed


MODULUS = 2**61 - 1  # integers that differ by it hash alike


@pytest.mark.parametrize(
    "item",
    [
        lambda i: {"$": "int", "v": hex(i * MODULUS)},
        lambda i: {"$": "complex", "v": [-1000003.0 * i, float(i)]},
        lambda i: {"$": "tuple", "v": [{"$": "int", "v": hex(i * MODULUS)}]},
        lambda i: {"$": "msonable", "class": "C", "v": {"a": i}},
        lambda i: {"$": "enum", "class": "C", "name": "n", "v": i},
        lambda i: {"$": "scalar", "dtype": "<i8", "v": i << 40},
        lambda i: i << 45,
    ],
    ids=["int", "complex", "tuple", "objects", "enum", "numpy", "small"],
)
def test_equal_hashes_cost_nothing(item):
    """In a hash table these take minutes; the bound only tells minutes from seconds."""
    items = list(map(item, range(30_000)))
    started = time.process_time()
    members = decode(json.dumps({"$": "set", "v": items}))
    pairs = decode(json.dumps({"$": "dict", "v": [[item, 1] for item in items]}))
    assert len(members) == len(pairs) == len(items)
    assert time.process_time() - started < 10


def test_decoding_has_a_limit_of_time(monkeypatch):
    monkeypatch.setattr(decoding, "MAX_SECONDS", -1.0)
    with pytest.raises(WireError, match="longer"):
        decode("[1]")


class Celsius(float):
    """A float of a library."""


class Colour(enum.IntEnum):
    """An int of a library."""

    RED = 1


def test_subclasses_and_unknown_objects():
    assert same(decode(dumps(Celsius(1.5))), 1.5)
    assert decode(dumps(Colour.RED)).name == "RED"
    back = decode(dumps([object(), range(3), lambda: 1, Structure]))
    assert all(isinstance(item, Opaque) for item in back)
    assert back[1] == Opaque("builtins.range", "range(0, 3)")

    class Mute:
        def __repr__(self):
            raise RuntimeError

    assert "failed" in decode(dumps(Mute())).text
    assert (
        len(
            decode(
                dumps(type("Long", (), {"__repr__": lambda self: "x" * 10**6})())
            ).text
        )
        == 2000
    )


def test_arrays_of_objects_and_of_extended_floats():
    mixed = np.array([1, "a", None, (1, 2)], dtype=object).reshape(2, 2)
    assert same(decode(dumps(mixed)), mixed)
    extended = np.array([1 / 3, 2], dtype=np.longdouble)
    assert same(decode(dumps(extended)), extended)
    assert decode(dumps(np.longdouble("0.1"))) == np.longdouble("0.1")
    assert isinstance(decode(dumps(np.ma.masked_array([1, 2], [0, 1]))), Opaque)
    assert isinstance(decode(dumps(np.zeros(2, dtype="f8,i4"))), Opaque)


def test_a_payload_is_json_that_other_tools_can_read():
    text = dumps({"a": (1, np.float64(2.5)), "b": np.arange(2, dtype="<i4")})
    plain = json.loads(text)
    assert plain["a"] == {
        "$": "tuple",
        "v": [1, {"$": "scalar", "dtype": "<f8", "v": 2.5}],
    }
    assert base64.b64decode(plain["b"]["raw"]) == b"\0\0\0\0\1\0\0\0"


def test_objects_and_what_is_not_hashed_as_text():
    for value in (
        Msonable("a.B", {"x": [1, (2,), None]}),
        EnumMember("a.E", "UP", {"v": 1}),
        Opaque("a.C", "<C>"),
        Symbol("Fe"),
        frozenset(),
        {1},
        frozenset({2}),
        set(),
    ):
        assert represent(value, 10**6) == repr(value)
    for value, text, name in (
        (Pairs((((1, 2), 3),)), "{(1, 2): 3}", "dict"),
        (Members(((1, 2),)), "{(1, 2)}", "set"),
        (Members(((1, 2),), frozen=True), "frozenset({(1, 2)})", "frozenset"),
        (1, "1", "int"),
    ):
        assert (represent(value, 100), type_name(value)) == (text, name)
    huge = decode(
        dumps({"a": 10**5000, "b": [10**5000], 10**5000: 1})
    )  # Python cannot print it
    assert "bits" in represent(huge, 10**4)
    assert "bits" in show(huge)
    assert "\\ud800" in represent({"a": "\ud800"}, 100)
    text = '{"$": "enum", "class": "a", "name": "b", "v": ' * 99 + "1" + "}" * 99
    assert represent(decode(text), 10**5).count("EnumMember") == 99
    endless = []
    endless.append(endless)
    assert "..." in represent(endless, 10**6)


@pytest.mark.parametrize(
    "value",
    [list(range(2_000_000)), "x" * 10**8, dict.fromkeys(range(300000), "y" * 100)],
)
def test_text_takes_time_for_what_it_shows(value):
    started = time.process_time()
    assert 1000 <= len(represent(value, 1000)) < 10_000
    assert time.process_time() - started < 1

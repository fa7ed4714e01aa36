"""Decoded values as text."""

import time

import pytest
from hypothesis import HealthCheck, given, settings

from agents.checks import show
from sandbox.inside.tagged import decode, dumps
from sandbox.inside.values import (
    Element,
    EnumMember,
    Members,
    Msonable,
    Opaque,
    Pairs,
    represent,
    type_name,
)
from tests.sandbox.test_tagged import values

SLOW = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SLOW
@given(values)
def test_it_is_what_repr_says(value):
    """A value from which nothing is left out reads as Python prints it."""
    assert represent(value, 10**9) == repr(value)


def test_objects_and_what_is_not_hashed():
    for value in (
        Msonable("a.B", {"x": [1, (2,), None]}), EnumMember("a.E", "UP", {"v": 1}),
        Opaque("a.C", "<C>"), Element("Fe"), frozenset(), {1}, frozenset({2}), set(),
    ):  # fmt: skip
        assert represent(value, 10**6) == repr(value)
    assert represent(Pairs((((1, 2), 3),)), 100) == "{(1, 2): 3}"
    assert represent(Members(((1, 2),)), 100) == "{(1, 2)}"
    assert represent(Members(((1, 2),), frozen=True), 100) == "frozenset({(1, 2)})"
    assert [type_name(v) for v in (Pairs(()), Members(()), Members((), frozen=True), 1)] == [
        "dict", "set", "frozenset", "int",
    ]  # fmt: skip


def test_what_python_cannot_print():
    huge = decode(dumps({"a": 10**5000, "b": [10**5000], 10**5000: 1}))
    assert "bits" in represent(huge, 10**4)
    assert "bits" in show(huge)
    assert "\\ud800" in represent({"a": "\ud800"}, 100)
    text = '{"$": "enum", "class": "a", "name": "b", "v": ' * 99 + "1" + "}" * 99
    assert represent(decode(text), 10**5).count("EnumMember") == 99
    endless = []
    endless.append(endless)
    assert "..." in represent(endless, 10**6)


@pytest.mark.parametrize(
    "value", [list(range(2_000_000)), "x" * 10**8, dict.fromkeys(range(300000), "y" * 100)]
)
def test_it_takes_time_for_what_it_shows(value):
    started = time.process_time()
    assert 1000 <= len(represent(value, 1000)) < 10_000
    assert time.process_time() - started < 1

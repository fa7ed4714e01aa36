"""The one resolver of names, and the words that names and prose are made of."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.pages.names import NameIndex
from indexes.pages.words import words

NAMES = NameIndex(
    [
        "lab",
        "lab.a",
        "lab.a.Box",
        "lab.a.Box.size",
        "lab.b",
        "lab.b.Crate",
        "lab.b.Lid",
    ],
    {
        "lab.Box": "lab.a.Box",
        "lab.b.Crate.size": "lab.a.Box.size",
        "lab.Gone": "lab.a.Gone",
    },
)


@pytest.mark.parametrize(
    ("name", "defined", "inherited"),
    [
        ("lab.a.Box", "lab.a.Box", "lab.a.Box"),
        ("lab.Box", "lab.a.Box", "lab.a.Box"),
        (" `Box` ", "lab.a.Box", "lab.a.Box"),
        ("Box.size()", "lab.a.Box.size", "lab.a.Box.size"),
        ("a.Box", "lab.a.Box", "lab.a.Box"),
        ("Crate.size", None, "lab.a.Box.size"),  # a Crate inherits it
        ("box", None, None),
        ("lab.Gone", None, None),  # a re-export of what is no entry
        ("", None, None),
        (".", None, None),
        ("a." * 5000, None, None),
    ],
)
def test_a_name_is_a_path_or_the_end_of_one(name, defined, inherited):
    assert NAMES.find(name) == defined
    assert NAMES.find(name, inherited=True) == inherited


def test_an_ambiguous_end_is_no_name():
    names = NameIndex(["a.Box", "b.Box"], {})
    assert names.find("Box") is None
    assert names.find("b.Box") == "b.Box"


@given(st.text())
def test_words_are_lower_case_pieces_of_a_text(text):
    letters = re.sub(r"[\W_]", "", text).lower()
    assert all(word == word.lower() for word in words(text))
    assert len("".join(words(text))) <= len(letters)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("get_chargeStates 2", ["get", "charge", "states", "2"]),
        ("HTMLParser of x in Å", ["html", "parser", "of", "in", "å"]),
    ],
)
def test_identifiers_are_divided(text, expected):
    assert words(text) == expected

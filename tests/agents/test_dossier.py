"""What a package says of its symbols, wherever it says it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agents.toolbox.library import Documents
from agents.toolbox.links import Links
from docgen.replies import structure

DATA = yaml.safe_load((Path(__file__).parents[1] / "data" / "scattered.yaml").read_text())
TEXTS: dict[str, tuple[str, str, str]] = DATA["scattered"]


def links(texts: dict[str, tuple[str, str, str]]) -> Links:
    rows = [
        (said, {"qualname": name, "kind": kind, "signature": called,
                "sections": {"What it does": said}})
        for name, (kind, called, said) in texts.items()
    ]  # fmt: skip
    return Links(Documents(rows, {}), ("lab",))


@pytest.mark.parametrize(
    ("root", "names", "said"),
    [
        # a fact in the module, a name in another module, a term of a definition
        ("lab.core.grip", ["lab.core.grip", "lab.wheel.spin", "lab.wheel.tone"],
         ["`load` of `grip` is in GPa.", "Units of length are nm."]),
        # of a neighbour only what it says of that input
        ("lab.core.hold", ["lab.core.hold", "lab.wheel.spin", "lab.wheel.tone"],
         ["`turns`: what `wheel.spin` returns."]),
    ],
)  # fmt: skip
def test_inputs_are_followed_to_the_end_and_facts_found_where_they_stand(
    root: str, names: list[str], said: list[str]
):
    closure = links(TEXTS).closure([root], {})
    assert list(closure.names) == names
    assert all(text in closure.text for text in said)
    assert "scarlet" not in closure.text


def test_what_a_deprecated_page_says_of_another_symbol_counts():
    old = (
        "function", "grab() -> float",
        "Deprecated. `grip` replaces it. The amber grab. What `spin` returns is a count.",
    )  # fmt: skip
    closure = links({**TEXTS, "lab.core.grab": old}).closure(["lab.core.grip"], {})
    assert "What `spin` returns is a count." in closure.text
    assert "amber grab" not in closure.text


def test_an_input_that_names_nothing_is_open_until_it_is_chosen():
    found = links(TEXTS)
    (one,) = found.closure(["lab.core.hand"], {}).open
    assert (one.symbol, one.name, one.type) == ("lab.core.hand", "force", "float")
    names = [name for name, _ in found.candidates(one)]
    assert names.index("lab.wheel.tone") < names.index("lab.wheel.ring")  # a float fits
    closure = found.closure(["lab.core.hand"], {(one.symbol, one.name): "lab.wheel.tone"})
    assert (closure.names[-1], closure.open) == ("lab.wheel.tone", ())


def test_what_is_known_is_followed_but_not_said_again():
    found = links(TEXTS)
    closure = found.closure(["lab.core.grip"], {}, ["lab.core.grip"])
    assert closure.names[0] == "lab.core.grip"
    assert "amber" not in closure.text
    assert "ochre" in closure.text


def test_a_term_leads_to_its_current_definition_and_inputs_to_theirs():
    library = Documents(
        [(f"{name}\n{text}", {"qualname": name, "kind": text.split("kind: ")[1].split()[0],
                              "signature": text.partition("signature: ")[2].partition("\n")[0],
                              **structure(text)})
         for name, text in DATA["terms"].items()],
        {},
    )  # fmt: skip
    lines = library.resolve("slip barrier of the outer layers")
    assert [line.name for line in lines] == ["lab.core.slip_new", "lab.core.slip_old"]
    assert [bool(line.deprecated) for line in lines] == [False, True]
    assert "use slip_new" in lines[1].deprecated
    closure = Links(library, ("lab",)).closure(["lab.core.slip_new"], {})
    assert closure.names == ("lab.core.slip_new", "lab.tables.cage_hold")
    assert closure.open == ()


@given(st.text(max_size=2000), st.text(max_size=200))
def test_hostile_documents_and_questions_are_read(text: str, term: str):
    found = links(
        {"lab.a": ("function", f"a({text}) -> float", text), "lab.b": ("class", "", term)}
    )
    assert set(found.closure(["lab.a", term], {}).names) <= {"lab.a", "lab.b"}
    assert set(found.mentioned(term)) <= {"lab.a", "lab.b"}


def test_hostile_documents_and_terms_take_linear_time():
    started = time.monotonic()
    for part in ("deprecated. ", "`a.", "## ", "(", "a" * 50 + " ", ". use "):
        text = "kind: function\n---\n## What it does\n" + part * (100_000 // len(part))
        library = Documents(
            [(text, {"qualname": "a.b", "kind": "function", **structure(text)})] * 2, {}
        )
        library.contents()
        library.resolve(part * 1000)
        Links(library, ("a",)).closure(["a.b"], {})
        library.search(part * 1000)
        library.near(part * 1000)
    assert time.monotonic() - started < 60

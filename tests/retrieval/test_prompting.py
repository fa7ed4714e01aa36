from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from docgen import render
from docgen.symbols import Chunk
from retrieval.base import Hit
from retrieval.prompting import fit, shorten
from tests.support.symbols import member, signature, symbol

LONG = symbol(
    "m.Long",
    "class",
    "## What it does\nMuch.\n",
    members=tuple(
        member(f"m.Long.thing_{i}", "(x: int) -> float", f"Does thing {i}.")
        for i in range(40)
    ),
)


def condensed(entry, words, room):
    return render.condensed(entry, room, lambda text: sum(w in text for w in words))


def chunk(text):
    return Hit(Chunk("m", "m", text))


def test_relevant_members_stay_whole_the_others_by_name():
    short = condensed(LONG, ["thing_17", "17"], 1200)
    assert len(short) <= 1200
    assert "  thing_17(x: int) -> float [method]: Does thing 17." in short
    assert short.endswith("---\n## What it does\nMuch.\n")
    assert "and by name: " in short
    assert all(f"thing_{i}" in short for i in range(40))


def test_members_that_do_not_fit_keep_their_arguments():
    called = "(structure: Structure, tol: float = 0.1, *names: str) -> dict[str, float]"
    members = [
        member(f"m.L.get_{i}", called, "Says much about nothing. " * 5)
        for i in range(20)
    ]
    odd = signature("(x: int, y: int) -> int")
    first, second = odd.parameters
    odd = replace(odd, parameters=(replace(first, default="3"), second))  # not Python
    long = "Long. " * 200
    members[3] = member("m.L.size", "", long, "property")
    members[4] = replace(member("m.L.odd", "", long), signature=odd)
    short = condensed(symbol("m.L", "class", "text", members=members), ["get_7("], 1800)
    assert len(short) <= 1800
    assert f"  {render.member_line(members[7])}" in short
    assert "get_19(structure, tol=0.1, *names)" in short
    assert " size, odd, get_" in short
    assert short.endswith("\n---\ntext\n")


def test_members_beyond_the_room_of_a_document_stand_there_by_name():
    members = [member(f"m.L.get_{i}", "(x: int)", "Long. " * 200) for i in range(40)]
    large = symbol("m.L", "class", "text", members=members)
    assert render.document(large).count("[method]") == 19
    assert ", get_38, get_39\n---\n" in render.document(large)
    short = condensed(large, [], 1800)
    assert len(short) <= 1800
    assert ", get_38, get_39\n---\ntext\n" in short


@given(st.text(max_size=300), st.text(max_size=300), st.integers(60, 400))
def test_any_text_can_stand_in_a_member_list(default, summary, room):
    called = signature("(x=1)")
    called = replace(
        called, parameters=(replace(called.parameters[0], default=default),)
    )
    members = [
        replace(member("m.L.f", "", summary), signature=called),
        member("m.L.g", "(a: int)", "y"),
    ]
    entry = symbol("m.L", "class", "text " * 50, members=members)
    assert len(condensed(entry, [], room)) <= room


def test_what_fits_is_left_alone():
    hit = Hit(LONG)
    assert hit.within(100_000, len) is hit
    assert hit.within(300, len).text != hit.text


@given(st.lists(st.integers(0, 5000), max_size=20), st.integers(1, 3000))
def test_the_budget_is_kept(lengths, budget):
    documents = [chunk("word " * (n // 5)) for n in lengths]
    fitting = fit(documents, "query", budget)
    assert sum(len(hit.text) for hit in fitting) <= 4 * budget
    assert len(fitting) <= len(documents)


def test_short_documents_fill_the_budget():
    documents = [chunk("x" * 400) for _ in range(50)]
    fitting = fit(documents, "query", 1000)
    assert fitting == documents[:10]


def test_what_short_documents_leave_goes_to_long_ones():
    brief, long = chunk("x" * 100), Hit(LONG)
    shown = shorten([long, brief, long], "thing_17", 900)
    assert shown[1] is brief
    lengths = [len(hit.text) for hit in shown]
    assert sum(lengths) <= 3 * 900
    # what the second leaves is shared as 1 to 1/3
    assert lengths[0] > 1700
    assert lengths[2] > 500
    assert shorten([long], "q", None) == [long]


@settings(deadline=None)  # a busy machine
@given(st.lists(st.integers(0, 5000), max_size=12), st.integers(200, 3000))
def test_the_average_is_kept(lengths, characters):
    documents = [chunk("word " * (n // 5)) for n in lengths]
    shown = shorten(documents, "query", characters)
    assert sum(len(hit.text) for hit in shown) <= characters * len(documents)
    assert len(shown) == len(documents)

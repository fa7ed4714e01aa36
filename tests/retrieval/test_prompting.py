from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document

from retrieval.prompting import condense, fit, shorten

MEMBERS = "\n".join(
    f"  thing_{i}(x: int) -> float [method]: Does thing {i}." for i in range(40)
)
LONG = Document(
    page_content=f"m.Long\nkind: class\nmembers:\n{MEMBERS}\n---\n## What it does\nMuch.\n",
    metadata={"qualname": "m.Long"},
)


def test_relevant_members_stay_whole_the_others_by_name():
    short = condense(LONG, frozenset({"thing_17", "17"}), 1200).page_content
    assert len(short) <= 1200
    assert "  thing_17(x: int) -> float [method]: Does thing 17." in short
    assert short.endswith("---\n## What it does\nMuch.\n")
    assert "and by name: " in short
    assert all(f"thing_{i}" in short for i in range(40))


def test_members_that_do_not_fit_keep_their_arguments():
    lines = [
        f"  get_{i}(structure: Structure, tol: float = 0.1, *names: str) -> dict[str, float] "
        f"[method]: {'Says much about nothing. ' * 5}"
        for i in range(20)
    ]
    lines[3] = "  size -> int [property]: " + "Long. " * 200
    lines[4] = "  odd(x: = 3) -> int [method]: " + "Long. " * 200  # not Python
    lines.append("  and by name: last, of_all")
    members = "\n".join(lines)
    document = Document(
        page_content=f"m.L\nkind: class\nmembers:\n{members}\n---\ntext\n"
    )
    short = condense(document, frozenset({"get_7", "7"}), 1800).page_content
    assert len(short) <= 1800
    assert lines[7] in short
    assert "get_19(structure, tol=0.1, *names)" in short
    assert " size, odd, get_" in short
    assert ", last, of_all\n---\ntext\n" in short


@given(st.text(max_size=300), st.integers(60, 400))
def test_any_text_can_stand_in_a_member_list(signature, room):
    line = "  f(" + signature.replace("\n", " ")
    facts = f"m.L\nmembers:\n{line}) [method]: x\n  g(a: int) [method]: y"
    document = Document(page_content=f"{facts}\n---\n{'text ' * 50}")
    assert len(condense(document, frozenset(), room).page_content) <= room


def test_what_fits_is_left_alone_and_nothing_is_changed_in_place():
    assert condense(LONG, frozenset(), 100_000) is LONG
    before = LONG.page_content
    assert condense(LONG, frozenset(), 300).page_content != before == LONG.page_content


@given(st.lists(st.integers(0, 5000), max_size=20), st.integers(1, 3000))
def test_the_budget_is_kept(lengths, budget):
    documents = [
        Document(page_content="word " * (n // 5), metadata={}) for n in lengths
    ]
    fitting = fit(documents, "query", budget)
    assert sum(len(d.page_content) for d in fitting) <= 4 * budget
    assert len(fitting) <= len(documents)


def test_short_documents_fill_the_budget():
    documents = [Document(page_content="x" * 400, metadata={"i": i}) for i in range(50)]
    fitting = fit(documents, "query", 1000)
    assert [d.metadata["i"] for d in fitting] == list(range(10))


def test_what_short_documents_leave_goes_to_long_ones():
    brief = Document(page_content="x" * 100, metadata={})
    shown = shorten([LONG, brief, LONG], "thing_17", 900)
    assert shown[1] is brief
    lengths = [len(d.page_content) for d in shown]
    assert sum(lengths) <= 3 * 900
    # what the second leaves is shared as 1 to 1/3
    assert lengths[0] > 1700
    assert lengths[2] > 500
    assert shorten([LONG], "q", None) == [LONG]


@settings(deadline=None)  # a busy machine
@given(st.lists(st.integers(0, 5000), max_size=12), st.integers(200, 3000))
def test_the_average_is_kept(lengths, characters):
    documents = [
        Document(page_content="word " * (n // 5), metadata={}) for n in lengths
    ]
    shown = shorten(documents, "query", characters)
    assert sum(len(d.page_content) for d in shown) <= characters * len(documents)
    assert len(shown) == len(documents)

"""A small package that a query names: one query per property, and what documents mention."""

from dataclasses import replace

from docgen import render
from indexes.lexical import TfidfIndex
from indexes.references import defined_terms
from indexes.table import SymbolTable
from retrieval.config import Evidence
from retrieval.evidence import SymbolRanker
from tests.support.symbols import symbol

TERMS = (
    "amber hold",
    "basalt lag",
    "cobalt reach",
    "dolomite gain",
    "ember span",
    "flint tally",
)
QUESTION = (
    "Properties, with the package lab:\n- `x`: The amber hold of the crystal.\n"
    "- `y`: The dolomite gain of the crystal.\nThe crystal is cubic. The crystal is large."
)


def document(number):
    """A function that needs what the next one but two gives: amber, dolomite; basalt, ember; ..."""
    needed = TERMS[number + 1] if number % 3 < 2 else None
    inputs = f"## Parameters\nx (float): what is called {needed} of the same crystal, in GPa.\n"
    text = (
        f"## What it does\nThe {TERMS[number]}, which stands for something.\n\n"
        f"{inputs if needed else ''}"
    )
    return symbol(f"lab.m.f{number}", text=text)


def noise(number):
    text = "## What it does\nThe crystal is large, cubic crystal."
    return symbol(f"other.crystal_{number}", text=text)


LIBRARY = [
    *(document(number) for number in range(6)),
    *(noise(number) for number in range(20)),
]


def rankers(library):
    table = SymbolTable(library, {})
    scorer = TfidfIndex.build([render.document(each) for each in library]).scores
    return [
        SymbolRanker(scorer, library, table, Evidence(), most) for most in (0, LARGEST)
    ]


LARGEST = 50  # documents of a small package


async def found(query, k=6):
    ranking = await rankers(LIBRARY)[1].rank(query, k)
    scores = [score for _, score in ranking]
    assert scores == sorted(scores, reverse=True)
    return [LIBRARY[position].qualname for position, _ in ranking]


async def test_each_property_comes_first_then_what_its_documents_need():
    first = await found(QUESTION)
    assert first == [
        "lab.m.f0",
        "lab.m.f3",
        "lab.m.f1",
        "lab.m.f4",
        "lab.m.f2",
        "lab.m.f5",
    ]


async def test_a_query_that_names_no_small_package_is_ranked_as_ever():
    larger = [replace(noise(n), qualname=f"lab.n{n}") for n in range(LARGEST)]
    big = [replace(noise(n), qualname=f"big.n{n}") for n in range(LARGEST + 1)]
    for query, library in (
        (QUESTION.replace("package lab", "package"), LIBRARY),
        (QUESTION, [*LIBRARY, *larger]),
        (QUESTION.replace("package lab", "packages lab and big"), [*LIBRARY, *big]),
    ):
        symbols, package = rankers(library)
        assert await package.rank(query, 6) == await symbols.rank(query, 6)


async def test_a_query_without_properties_follows_its_best_documents():
    assert (await found("the amber hold in lab", k=3)) == [
        "lab.m.f0",
        "lab.m.f1",
        "lab.m.f2",
    ]


def test_terms_in_a_circle_end():
    one, other = document(0), document(1)
    text = render.prose(other).replace("cobalt reach", "amber hold")
    other = symbol(other.qualname, text=text)
    names = [one.qualname, other.qualname]
    terms = defined_terms([one, other])
    assert terms.walk(names[:1]) == names
    assert terms.walk(names[1:]) == names[::-1]


def test_words_that_many_share_are_no_term():
    many = [replace(document(0), qualname=f"lab.m.g{n}") for n in range(5)]
    symbols = [*many, document(1)]
    assert defined_terms(symbols).walk(["lab.m.f1"]) == ["lab.m.f1"]

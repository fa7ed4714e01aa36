from collections.abc import Mapping

import numpy as np
import pytest

from indexes.table import SymbolTable
from retrieval.config import Evidence
from retrieval.evidence import SymbolRanker
from retrieval.scorers import Scores, fuse, per_property, top
from tests.support.samples import table
from tests.support.symbols import member, symbol

NONE = Evidence(members=0, types=0, functions=0, links=0, packages=0)


class Fixed:
    """Scores that are given."""

    def __init__(self, scores: Mapping[str, float], names: list[str]) -> None:
        self._scores = np.array(
            [scores.get(name, 0.0) for name in names], dtype=np.float32
        )
        self.queries: list[str] = []

    async def __call__(self, query: str) -> Scores:
        self.queries.append(query)
        return self._scores.copy()


def members(*names):
    return tuple(map(member, names))


LIBRARY = [
    symbol("m", "module"),
    symbol("m.Base", "class", members=members("m.Base.size")),
    symbol("m.Base.size", "method"),
    symbol(
        "m.Tool",
        "class",
        bases=("m.Base",),
        types=("m.Input",),
        members=members("m.Tool.run", "m.Tool.stop", "m.Base.size"),
    ),
    symbol("m.Tool.run", "method"),
    symbol("m.Tool.stop", "method"),
    symbol("m.Input", "class"),
    symbol("m.make_tool", "function"),
]
NAMES = [each.qualname for each in LIBRARY]


async def ranking(scores, evidence, query="q"):
    symbols = SymbolTable(LIBRARY, {"pkg.Tool": "m.Tool"})
    ranker = SymbolRanker(Fixed(scores, NAMES), LIBRARY, symbols, evidence)
    return {NAMES[i]: pytest.approx(score) for i, score in await ranker.rank(query, 8)}


async def test_without_evidence_the_scores_stand():
    found = await ranking({"m.Tool.run": 0.5, "m": 0.7}, NONE)
    assert list(found.items()) == [("m", 0.7), ("m.Tool.run", 0.5)]


async def test_a_class_gains_from_its_own_best_method():
    scores = {"m.Tool.run": 0.4, "m.Tool.stop": 0.2, "m.Base.size": 0.9}
    found = await ranking(scores, Evidence(members=0.5, types=0, functions=0, links=0))
    assert found["m.Tool"] == 0.5 * 0.4
    assert found["m.Base"] == 0.5 * 0.9


async def test_parameter_types_are_followed():
    found = await ranking(
        {"m.Tool": 0.5}, Evidence(members=0, types=0.2, second=0, functions=0)
    )
    assert found == {"m.Tool": 0.5, "m.Input": 0.1}


async def test_types_of_types_are_followed_but_not_of_what_the_query_has_made():
    weights = Evidence(members=0, types=0.2, second=0.5, functions=0, links=1)
    found = await ranking({"m.Tool": 0.5}, weights)
    assert found == {"m.Tool": 0.5, "m.Input": 0.1 + 0.25}
    named = await ranking(
        {"m.Tool": 0.5}, weights, "```python\nfrom pkg import Tool\n```"
    )
    assert named == {"m.Tool": 1.0, "m.Input": 0.1}


async def test_an_attribute_does_not_speak_for_its_class():
    library = [*LIBRARY, symbol("m.Base.colour", "attribute")]
    library[1] = symbol(
        "m.Base", "class", members=members("m.Base.size", "m.Base.colour")
    )
    names = [each.qualname for each in library]
    scorer = Fixed({"m.Base.colour": 0.9, "m.Base.size": 0.2}, names)
    ranker = SymbolRanker(
        scorer, library, SymbolTable(library, {}), Evidence(members=0.5)
    )
    found = {names[i]: score for i, score in await ranker.rank("q", 9)}
    assert found == {"m.Base.size": pytest.approx(0.2), "m.Base": pytest.approx(0.1)}


async def test_a_function_is_not_pushed_down_by_what_only_classes_gain():
    # the best match of all; a class whose method matches half as well does not stand before it
    scores = {"m.make_tool": 0.6, "m.Tool.run": 0.5, "m.Tool": 0.3, "m.Input": 0.1}
    assert next(iter(await ranking(scores, Evidence()))) == "m.make_tool"
    assert next(iter(await ranking(scores, Evidence(functions=0)))) == "m.Tool"
    found = await ranking(
        {"m.make_tool": 0.4}, Evidence(members=0, types=0, functions=0.5)
    )
    assert found == {"m.make_tool": 0.6}


async def test_a_base_class_stands_behind_the_subclass_that_covers_it():
    found = await ranking({"m.Tool": 0.50, "m.Base": 0.49, "m.Input": 0.4}, NONE)
    assert list(found) == ["m.Tool", "m.Input", "m.Base"]
    alone = await ranking({"m.Tool": 0.48, "m.Base": 0.49}, NONE)
    assert list(alone) == ["m.Base", "m.Tool"]


@pytest.mark.parametrize(("query", "named"), table("retrieval")["named"])
def test_names_in_a_query_are_linked(query, named):
    assert SymbolTable(LIBRARY, {"pkg.Tool": "m.Tool"}).named(query) == named


async def test_named_symbols_come_first_even_when_nothing_matches():
    weights = Evidence(members=0, types=0, functions=0, links=1)
    found = await ranking({"m.Input": 0.3, "m.make_tool": 0.1}, weights, "make_tool")
    assert list(found) == ["m.make_tool", "m.Input"]
    assert list(await ranking({}, weights, "make_tool")) == ["m.make_tool"]


@pytest.mark.parametrize(("query", "raised"), table("retrieval")["raised"])
async def test_what_is_in_a_package_that_the_query_names_gains(query, raised):
    given = {"m": 0.5, "m.Tool": 0.4, "m.Input": 0.3, "x.Other": 0.45}
    library = [*LIBRARY, *(symbol(f"x.{n}", "class") for n in ("Other", *"abcdefg"))]
    names = [each.qualname for each in library]
    evidence = Evidence(members=0, types=0, functions=0, links=0, packages=1)
    ranker = SymbolRanker(
        Fixed(given, names), library, SymbolTable(library, {}), evidence
    )
    found = {names[i]: score for i, score in await ranker.rank(query, 9)}
    rarity = np.log(16 / 8)  # half of the documents are in m
    wanted = {n: s * (1 + rarity if n in raised else 1) for n, s in given.items()}
    assert found == pytest.approx(wanted)


def test_top_cuts_ties_by_position():
    scores = np.array([0.1, 0.5, 0.5, 0.0, 0.5, 0.9], dtype=np.float32)
    assert [i for i, _ in top(scores, 3)] == [5, 1, 2]
    assert [i for i, _ in top(scores, 10)] == [5, 1, 2, 4, 0]
    assert top(np.zeros(3, dtype=np.float32), 2) == []


def test_fusion_is_reciprocal_rank():
    first = np.array([0.9, 0.5, 0.0], dtype=np.float32)
    second = np.array([0.0, 7.0, 3.0], dtype=np.float32)
    fused = fuse([first, second])
    expected = [1 / 61, 1 / 62 + 1 / 61, 1 / 62]
    np.testing.assert_allclose(fused * (2 / 61), expected, rtol=1e-5)
    np.testing.assert_allclose(fuse([first]), np.array([1, 61 / 62, 0]), rtol=1e-5)


async def test_one_query_per_listed_property():
    scorer = Fixed({"m": 1.0}, NAMES)
    question = "Do it.\n- `a_b`: The first. Format: float.\n  - `c`: The second.\n- other\nEnd."
    await per_property(scorer)(question)
    assert scorer.queries == [
        question,
        "- `a_b`: The first. Format: float.",
        "- `c`: The second.",
    ]

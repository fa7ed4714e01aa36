import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.evaluate import index, main
from retrieval.gold import Query, bootstrap, paired, recall, reciprocal_rank, share

A, B, C, D = (frozenset({name}) for name in "abcd")


@pytest.mark.parametrize(("k", "expected"), [(1, 0.0), (2, 0.5), (3, 0.5), (4, 1.0)])
def test_recall(k, expected):
    assert recall([C, A, D, B], frozenset("ab"), k) == expected


def test_a_chunk_covers_several_symbols_once():
    assert recall([frozenset("ab"), A], frozenset("ab"), 1) == 1.0
    assert recall([A, A], frozenset("ab"), 2) == 0.5


def test_reciprocal_rank():
    assert reciprocal_rank([C, A, B], frozenset("ab")) == 0.5
    assert reciprocal_rank([C, D], frozenset("ab")) == 0.0


@settings(deadline=None)  # ten thousand resamples on a busy machine
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_the_interval_holds_the_mean(values):
    estimate = bootstrap(values)
    assert estimate.low <= estimate.mean + 1e-9
    assert estimate.mean <= estimate.high + 1e-9


def test_the_interval_agrees_with_theory():
    values = np.random.default_rng(1).normal(0.5, 0.2, 400)
    estimate = bootstrap(list(values))
    half = 1.96 * values.std(ddof=1) / np.sqrt(400)
    assert estimate.high - estimate.low == pytest.approx(2 * half, rel=0.05)


def test_a_paired_difference_sees_what_separate_intervals_do_not():
    reference = list(np.random.default_rng(2).uniform(0, 1, 50))
    better = [value + 0.05 for value in reference]
    difference = paired(better, reference)
    assert difference.low > 0
    assert bootstrap(better).low < bootstrap(reference).mean


def test_names_that_do_not_stand_in_the_question_are_hidden():
    query = Query(
        "q",
        "Use a Wall, not Bricks or mix_it.",
        {
            "m.Wall": "class",
            "m.Brick": "class",
            "m.mix": "function",
            "m.Wall.volume": "method",
        },
    )
    assert query.hidden("api") == {"m.Brick", "m.mix"}
    assert query.hidden("all") == {"m.Brick", "m.mix", "m.Wall.volume"}


def test_a_share_counts_names_and_resamples_queries():
    found = share([1, 0, 3], [1, 0, 9])
    assert found is not None
    assert (found.found, found.of, found.estimate.mean) == (4, 10, 0.4)
    assert (found.estimate.low, found.estimate.high) == pytest.approx((1 / 3, 1.0))
    assert share([0, 0], [0, 0]) is None


WALLS = {"brickwork.wall.Wall": "class"}


def test_commands(package, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "cache"))
    gold, out, page = (
        tmp_path / name for name in ("walls.jsonl", "table.json", "page.md")
    )
    rows = [
        {"id": "1", "query": "volume of a wall", "gold": WALLS},
        {
            "id": "2",
            "query": "what joins bricks",
            "gold": {"brickwork.shapes.Mortar": "class"},
        },
        {"id": "3", "query": "`brickwork.wall.Wall`", "gold": WALLS},
    ]
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows))
    page.write_text("before\n<!-- walls -->\nold\n<!-- end -->\nafter\n")
    given = ["embedding=hashing", "packages=brickwork", f"site_packages={package}"]
    asked = [
        f"gold={gold}",
        "retrieval=llm_doc,code:dense",
        "k=1,3",
        *given,
        f"write={page}",
    ]
    assert main([*asked, f"out={out}"]) == 0
    table = json.loads(out.read_text())
    assert [r["retriever"] for r in table] == [
        "llm_doc",
        "code:dense",
        "names in the question",
    ]
    assert table[0]["recall"]["3"]["mean"] == 1.0
    assert table[0]["queries"] == 3
    assert (table[0]["difference"], table[1]["difference"] is None) == (None, False)
    printed = capsys.readouterr().out
    assert "walls: 3 questions" in printed
    assert "| 2 of 2: 1.000 [1.00, 1.00] |" in printed
    # listing what stands in the question finds none of what does not
    names = table[-1]
    assert names["hidden"]["1"]["found"] == names["hidden"]["3"]["found"] == 0
    assert names["recall"]["1"]["mean"] == pytest.approx(1 / 3)
    text = page.read_text()
    assert text.startswith(
        "before\n<!-- walls -->\n| retriever | R@1 | R@3 | R in 1000 tokens |"
    )
    assert text.endswith("<!-- end -->\nafter\n")
    assert "| `code:dense` | " in text
    page.write_text("no marks")
    assert main(asked) == 2
    assert "write=: the document has no markers" in capsys.readouterr().err
    assert index(["retrieval=llm_doc", *given]) == 0
    made, folder = capsys.readouterr().out.splitlines()
    assert made.startswith("llm_doc: ")
    assert "documents of brickwork-dist 1.2" in made
    assert folder.startswith(f"  {tmp_path / 'cache' / 'corpora'}")

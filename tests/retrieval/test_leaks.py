"""The leakage audit of every source, over a small package that does leak."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from indexes.embedding import HashingEmbedding
from indexes.graph import graph_folder, graph_index, stored_texts
from retrieval import leaks
from retrieval.gold import FileGold
from retrieval.leaks import SOURCES, audit, find, main, markdown, words
from retrieval.retriever import CorpusRetriever

WORDS = " ".join(f"word{i}" for i in range(20))


SECRET = """wall = build(height=65.0, bond="stretcher", mortar=Mortar(thickness=12.5))
assert abs(wall.volume(courses=7) - 45500.0) < 1e-6 and wall.brick.height == 65.0
assert wall.brick.width == 100.0"""


def document(text, identifier="d"):
    return Document(page_content=text, metadata={"id": identifier})


def test_a_leak_is_found_and_named():
    corpus = [document("harmless text", "a"), document(f"Example:\n{SECRET}\nend", "leak")]
    (overlap,) = audit(corpus, {"q": SECRET})
    assert (overlap.shared, overlap.document) == (overlap.total, "leak")
    assert overlap.longest == " ".join(words(SECRET))


def test_ordinary_use_of_the_library_is_not_a_leak():
    (overlap,) = audit(
        [document("wall.volume(courses=7) gives the volume of a wall")], {"q": SECRET}
    )
    assert overlap.shared == 0
    assert overlap.longest == ""


@given(st.integers(0, 10), st.integers(13, 19))
def test_a_part_of_thirteen_words_is_enough(start, size):
    sequence = words(SECRET)
    part = sequence[start : start + size]
    (overlap,) = audit([document("zzz " + " ".join(part) + " zzz")], {"q": SECRET})
    assert overlap.shared == max(0, len(part) - 12)
    assert overlap.longest == (" ".join(part) if len(part) >= 13 else "")


def test_short_secrets_have_nothing_to_share():
    (overlap,) = audit([document("a b c")], {"q": "a b c"})
    assert (overlap.shared, overlap.total) == (0, 0)


def test_kinds_are_counted_apart_and_the_longest_run_is_named():
    documents = [Document(f"before {WORDS} after", metadata={"id": "d"})]
    secrets = {"a/reference": WORDS, "b/reference": "nothing in common", "a/gold": "1 2 3",
               "a/answer 1": f"{WORDS[:89]} and more"}  # fmt: skip
    rows = find("q", "code", documents, secrets)
    assert [(r.kind, r.sharing, r.total, r.worst.words) for r in rows] == [
        ("reference", 1, 2, 20), ("gold", 0, 1, 0), ("answer", 1, 1, 14),
    ]  # fmt: skip
    assert (rows[0].worst.secret, rows[0].worst.document, rows[0].worst.longest) == (
        "a/reference",
        "d",
        WORDS,
    )
    table = markdown(rows)
    assert "| source | q: reference | q: gold | q: answer |" in table
    assert "| `code` | 1 of 2 (longest: 20 words) | 0 of 1 | 1 of 1 (longest: 14 words) |" in table


async def test_a_graph_is_looked_through_as_it_is_stored(make):
    retriever = await make(HashingEmbedding(64))
    assert isinstance(retriever, CorpusRetriever)
    embedding = HashingEmbedding(64)
    graph = await graph_index(retriever.corpus, embedding)
    await graph.close()
    texts = {
        str(d.metadata["id"]): d.page_content
        for d in stored_texts(graph_folder(retriever.corpus, embedding))
    }
    graphml = next(text for name, text in texts.items() if name.endswith(".graphml"))
    assert "Wall needs" in graphml
    assert "Courses of bricks." in " ".join(texts.values())
    assert len(max(" ".join(texts.values()).split(), key=len)) < 500  # no vectors as text


@pytest.mark.long
def test_command(package, tmp_path, capsys, monkeypatch):
    """A docstring that is also verification is found in every source, the graph included."""
    path = package / "brickwork" / "wall.py"
    path.write_text(path.read_text().replace("Volume of the wall.", f"Gives {WORDS}."))

    class Leaking(FileGold):
        def secrets(self) -> Mapping[str, str]:
            return {"1/test": WORDS, "1/gold": "unknown " * 20}

    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "cache"))
    gold = tmp_path / "walls.jsonl"
    gold.write_text('{"id": "1", "query": "wall", "gold": {"brickwork.wall.Wall": "class"}}\n')
    source = Leaking(gold, ["brickwork"], "live")
    monkeypatch.setattr(leaks, "sources_of", lambda _: [source])
    out, page = tmp_path / "leaks.json", tmp_path / "page.md"
    page.write_text("<!-- leaks -->\n<!-- end -->\n")
    chosen = ["embedding=hashing", "packages=brickwork", f"site_packages={package}", f"out={out}"]
    assert main([*chosen, f"gold={gold}", f"write={page}"]) == 0
    rows = json.loads(out.read_text())
    found = {row["source"] for row in rows if row["kind"] == "test" and row["sharing"]}
    assert found == set(SOURCES)
    assert not [row for row in rows if row["kind"] == "gold" and row["sharing"]]
    assert {row["source"] for row in rows} == set(SOURCES)
    assert WORDS in capsys.readouterr().out
    assert "| `live` | 1 of 1 (longest:" in page.read_text()

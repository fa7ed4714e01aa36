"""The leakage audit of every source, over a small package that does leak."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from langchain_core.documents import Document

from indexes.embedding import HashingEmbedding
from indexes.graph import graph_folder, graph_index, stored_texts
from retrieval import leaks
from retrieval.gold import FileGold
from retrieval.leaks import SOURCES, find, main, markdown
from retrieval.retriever import CorpusRetriever
from tests.retrieval.conftest import Make

WORDS = " ".join(f"word{i}" for i in range(20))


def test_kinds_are_counted_apart_and_the_longest_run_is_named() -> None:
    documents = [Document(f"before {WORDS} after", metadata={"id": "d"})]
    secrets = {"a/reference": WORDS, "b/reference": "nothing in common", "a/gold": "1 2 3",
               "a/answer 1": f"{WORDS[:89]} and more"}  # fmt: skip
    rows = find("q", "code", documents, secrets)
    assert [(r.kind, r.sharing, r.total, r.words) for r in rows] == [
        ("reference", 1, 2, 20), ("gold", 0, 1, 0), ("answer", 1, 1, 14),
    ]  # fmt: skip
    assert (rows[0].secret, rows[0].document, rows[0].run) == ("a/reference", "d", WORDS)
    table = markdown(rows)
    assert "| source | q: reference | q: gold | q: answer |" in table
    assert "| `code` | 1 of 2 (longest: 20 words) | 0 of 1 | 1 of 1 (longest: 14 words) |" in table


async def test_a_graph_is_looked_through_as_it_is_stored(make: Make) -> None:
    retriever = await make(HashingEmbedding(64))
    assert isinstance(retriever, CorpusRetriever)
    embedding = HashingEmbedding(64)
    graph = await graph_index(retriever.corpus, embedding, show_progress=False)
    await graph.close()
    texts = {
        str(d.metadata["id"]): d.page_content
        for d in stored_texts(graph_folder(retriever.corpus, embedding, "symbols"))
    }
    graphml = next(text for name, text in texts.items() if name.endswith(".graphml"))
    assert "Wall needs" in graphml
    assert "Courses of bricks." in " ".join(texts.values())
    assert len(max(" ".join(texts.values()).split(), key=len)) < 500  # no vectors as text


@pytest.mark.long
def test_command(
    package: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
    given = ["embedding=hashing", "packages=brickwork", f"site_packages={package}", f"out={out}"]
    assert main([*given, f"gold={gold}", f"write={page}"]) == 0
    rows = json.loads(out.read_text())
    found = {row["source"] for row in rows if row["kind"] == "test" and row["sharing"]}
    assert found == set(SOURCES)
    assert not [row for row in rows if row["kind"] == "gold" and row["sharing"]]
    assert {row["source"] for row in rows} == set(SOURCES)
    assert WORDS in capsys.readouterr().out
    assert "| `live` | 1 of 1 (longest:" in page.read_text()

"""The sources of chunks: code, official_doc, llm_doc_semantic."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.chunks import code_corpus, official_doc_corpus
from indexes.corpus import Corpus, CorpusError
from indexes.embedding import HashingEmbedding
from indexes.llm_doc import Writer
from indexes.pages import read_page
from indexes.semantic import breakpoints, semantic_corpus, sentences
from tests.docgen.models import DocModel

HTML = """<html><head><title>no</title><script>var x = "no";</script></head><body>
<nav>no menu</nav><h1>Walls</h1><p>How to   build a <b>wall</b>.</p>
<dl><dt id="brickwork.Wall">class brickwork.Wall(brick)</dt><dd><p>Courses of bricks.</p></dd>
<dt id="brickwork.Wall.volume">volume(courses=3)</dt><dd>Volume of the wall.</dd></dl>
<pre>wall = build(65)
wall.volume()</pre></body></html>"""


def by_symbol(corpus: Corpus) -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for document in corpus.documents:
        for name in document.metadata["covers"]:
            table.setdefault(name, []).append(document.page_content)
    return table


def check_metadata(corpus: Corpus, source: str) -> None:
    ids = [d.metadata["id"] for d in corpus.documents]
    assert len(set(ids)) == len(ids)
    for document in corpus.documents:
        assert document.metadata["kind"] == "chunk"
        assert document.metadata["corpus"] == source
        assert {"qualname", "path", "package", "version"} <= document.metadata.keys()
        assert "conftest" not in document.metadata["path"]
        assert "test" not in document.metadata["path"]


def test_code_is_split_and_knows_its_symbols(package: Path, cache: Path) -> None:
    corpus = code_corpus(["brickwork"], package, cache=cache)
    check_metadata(corpus, "code")
    assert all(len(d.page_content) <= 1000 for d in corpus.documents)
    table = by_symbol(corpus)
    assert any("def volume(self, courses" in t for t in table["brickwork.wall.Wall.volume"])
    assert any("class Mortar" in text for text in table["brickwork.shapes.Mortar"])
    together = "".join(d.page_content for d in corpus.documents)
    assert "SECRET" not in together
    assert code_corpus(["brickwork"], package, cache=cache).documents == corpus.documents


def test_official_doc_without_pages_is_the_docstrings(package: Path, cache: Path) -> None:
    corpus = official_doc_corpus(["brickwork"], package, cache=cache, pages=None)
    check_metadata(corpus, "official_doc")
    table = by_symbol(corpus)
    (text, *_) = table["brickwork.wall.Wall.volume"]
    assert "brickwork.wall.Wall.volume(courses: int = 3) -> float" in text
    assert "Volume of the wall." in text
    assert "return one * courses" not in "".join(d.page_content for d in corpus.documents)


def test_official_doc_from_pages(package: Path, cache: Path, tmp_path: Path) -> None:
    pages = tmp_path / "docs"
    (pages / "api").mkdir(parents=True)
    (pages / "_static").mkdir()
    (pages / "api" / "wall.html").write_text(HTML)
    (pages / "guide.rst").write_text("Guide\n=====\n\n.. autoclass:: brickwork.Brick\n\nText.\n")
    (pages / "_static" / "theme.html").write_text("<p>theme</p>")
    corpus = official_doc_corpus(["brickwork"], package, cache=cache, pages=pages)
    assert {d.metadata["path"] for d in corpus.documents} == {"api/wall.html", "guide.rst"}
    assert "brickwork.Brick" in by_symbol(corpus)
    other = official_doc_corpus(["brickwork"], package, cache=cache, pages=None)
    assert other.folder != corpus.folder


def test_missing_pages_are_an_error(package: Path, cache: Path, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="does not exist"):
        official_doc_corpus(["brickwork"], package, cache=cache, pages=tmp_path / "no")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match=r"holds no \.html"):
        official_doc_corpus(["brickwork"], package, cache=cache, pages=tmp_path / "empty")


def test_html_becomes_text(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(HTML)
    text, marks = read_page(path)
    assert "no" not in text.split()
    assert "How to build a wall." in text
    assert "wall = build(65)\nwall.volume()" in text
    assert [name for _, name in marks] == ["brickwork.Wall", "brickwork.Wall.volume"]
    offset, _ = marks[1]
    assert text[offset:].startswith("volume(courses=3)")


@given(st.text(alphabet="ab .?!\n", max_size=80))
def test_sentences_lose_nothing(text: str) -> None:
    assert "".join(sentences(text)) == text


def test_sentences_end_at_stops_and_lines() -> None:
    assert [s.strip() for s in sentences("One. Two 1.5 eV!\n\nThree\nFour")] == [
        "One.",
        "Two 1.5 eV!",
        "Three",
        "Four",
    ]


def test_breakpoints_stand_where_the_subject_changes() -> None:
    topic, other = [1.0, 0.0], [0.0, 1.0]
    vectors = [topic] * 15 + [other] * 15
    assert breakpoints(vectors) == [14]
    assert breakpoints([topic]) == []
    assert breakpoints([[0.0, 0.0], topic, topic]) in ([0], [])
    assert breakpoints(np.tile(topic, (10, 1)).tolist()) == []


async def test_semantic_chunks_cover_the_written_texts(package: Path, cache: Path) -> None:
    async def build(model: DocModel | DocModel) -> Corpus:
        return await semantic_corpus(
            ["brickwork"],
            package,
            writer=Writer(model, "rules"),
            embedding=HashingEmbedding(256),
            cache=cache,
            show_progress=False,
        )

    corpus = await build(DocModel())
    check_metadata(corpus, "llm_doc_semantic")
    paths = {d.metadata["path"] for d in corpus.documents}
    assert "brickwork/wall.py" in paths
    table = by_symbol(corpus)
    assert any("Volume of the wall." in text for text in table["brickwork.wall.Wall.volume"])
    assert len(corpus.documents) > len(paths)
    again = DocModel()
    assert (await build(again)).documents == corpus.documents
    assert again.prompts == []

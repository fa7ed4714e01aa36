"""The sources of chunks: code, official_doc, llm_doc_semantic."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from indexes.chunks import code_corpus, official_doc_corpus
from indexes.embedding import HashingEmbedding
from indexes.llm_doc import Writer
from indexes.semantic import breakpoints, semantic_corpus, sentences


def by_symbol(corpus):
    table: dict[str, list[str]] = {}
    for document in corpus.documents:
        for name in document.metadata["covers"]:
            table.setdefault(name, []).append(document.page_content)
    return table


def check_metadata(corpus, source):
    ids = [d.metadata["id"] for d in corpus.documents]
    assert len(set(ids)) == len(ids)
    for document in corpus.documents:
        assert document.metadata["kind"] == "chunk"
        assert document.metadata["corpus"] == source
        assert {"qualname", "path", "package", "version"} <= document.metadata.keys()
        assert "conftest" not in document.metadata["path"]
        assert "test" not in document.metadata["path"]


def test_code_is_split_and_knows_its_symbols(package, cache):
    corpus = code_corpus(["brickwork"], package, cache=cache)
    check_metadata(corpus, "code")
    assert all(len(d.page_content) <= 1000 for d in corpus.documents)
    table = by_symbol(corpus)
    assert any("def volume(self, courses" in t for t in table["brickwork.wall.Wall.volume"])
    assert any("class Mortar" in text for text in table["brickwork.shapes.Mortar"])
    together = "".join(d.page_content for d in corpus.documents)
    assert "SECRET" not in together
    assert code_corpus(["brickwork"], package, cache=cache).documents == corpus.documents


def test_official_doc_is_the_docstrings(package, cache):
    corpus = official_doc_corpus(["brickwork"], package, cache=cache)
    check_metadata(corpus, "official_doc")
    table = by_symbol(corpus)
    (text, *_) = table["brickwork.wall.Wall.volume"]
    assert "brickwork.wall.Wall.volume(courses: int = 3) -> float" in text
    assert "Volume of the wall." in text
    assert "return one * courses" not in "".join(d.page_content for d in corpus.documents)


@given(st.text(alphabet="ab .?!\n", max_size=80))
def test_sentences_lose_nothing(text):
    assert "".join(sentences(text)) == text


def test_sentences_end_at_stops_and_lines():
    assert [s.strip() for s in sentences("One. Two 1.5 eV!\n\nThree\nFour")] == [
        "One.",
        "Two 1.5 eV!",
        "Three",
        "Four",
    ]


def test_breakpoints_stand_where_the_subject_changes():
    topic, other = [1.0, 0.0], [0.0, 1.0]
    vectors = [topic] * 15 + [other] * 15
    assert breakpoints(vectors) == [14]
    assert breakpoints([topic]) == []
    assert breakpoints([[0.0, 0.0], topic, topic]) in ([0], [])
    assert breakpoints(np.tile(topic, (10, 1)).tolist()) == []


async def test_semantic_chunks_cover_the_written_texts(package, cache):
    async def build():
        return await semantic_corpus(
            ["brickwork"],
            package,
            writer=Writer(),
            embedding=HashingEmbedding(256),
            cache=cache,
            show_progress=False,
        )

    corpus = await build()
    check_metadata(corpus, "llm_doc_semantic")
    paths = {d.metadata["path"] for d in corpus.documents}
    assert "brickwork/wall.py" in paths
    table = by_symbol(corpus)
    assert any("Volume of the wall." in text for text in table["brickwork.wall.Wall.volume"])
    assert len(corpus.documents) > len(paths)
    assert (await build()).documents == corpus.documents

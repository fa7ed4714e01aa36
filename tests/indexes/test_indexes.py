"""Indexes over a corpus: TF-IDF, Chroma and LightRAG for real, without any network."""

import copy
import json
import logging
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from werkzeug import Response

from docgen.render import document as text_of
from foundation.errors import UsageError
from indexes import RetrievalError
from indexes.corpus import indexed_texts
from indexes.dense import dense_index
from indexes.embedding import HashingEmbedding, build_embedding
from indexes.graph import ByteTokenizer, graph_index, symbol_graph
from indexes.lexical import TfidfIndex, lexical_index
from indexes.pages.words import tokens
from tests.support.samples import table

VOLUME = "brickwork.wall.Wall.volume"
EMBEDDING = HashingEmbedding(512)


class Counting(HashingEmbedding):
    """Counts the texts, and fails after a number of batches."""

    def __init__(self, fail_after=1000):
        super().__init__(256)
        self.texts, self.left = 0, fail_after

    async def embed(self, texts):
        if not self.left:
            raise ConnectionError("gone")
        self.left -= 1
        self.texts += len(texts)
        return await super().embed(texts)


@pytest.mark.parametrize(("text", "expected"), table("retrieval")["tokens"])
def test_tokens(text, expected):
    found = tokens(text)
    assert set(expected) <= set(found)
    assert expected or not found


@given(st.text())
def test_tokens_never_fail_and_are_lower_case(text):
    assert all(token and token == token.lower() for token in tokens(text))


async def test_tfidf_finds_the_right_text_also_when_it_was_saved(tmp_path):
    index = TfidfIndex.build(
        [
            "Vacancy.get_charge_states returns the charge states of a vacancy",
            "StructureMatcher compares two structures",
            "get_primitive_structure of a Structure",
            "nothing in common at all",
        ]
    )
    index.save(tmp_path)
    assert not [
        p for p in tmp_path.rglob("*") if p.suffix in {".pkl", ".pickle", ".joblib"}
    ]
    for one in (index, TfidfIndex.load(tmp_path)):
        assert int(np.argmax(await one.scores("charge state of vacancies"))) == 0
        assert int(np.argmax(await one.scores("structure matcher"))) == 1
        for query in ("zirconium", ""):
            np.testing.assert_array_equal(await one.scores(query), np.zeros(4))


def test_relations_are_not_indexed(corpus):
    whole, indexed = [text_of(entry) for entry in corpus.entries], indexed_texts(corpus)
    assert any("## Relations" in content for content in whole)
    assert not any("## Relations" in text for text in indexed)
    assert [("## Example" in one) for one in whole] == [
        ("## Example" in one) for one in indexed
    ]


@pytest.mark.parametrize("damage", ["stamp", "file", "none"])
async def test_an_index_that_does_not_fit_is_named_and_rebuilt(
    corpus, cache, damage, caplog
):
    before = await (await lexical_index(corpus)).scores("wall of bricks")
    (folder,) = (p for p in (cache / "indexes").iterdir() if p.is_dir())
    if damage == "stamp":
        (folder / "stamp.json").write_text(json.dumps({"format": 0, "documents": ""}))
    elif damage == "file":
        (folder / "tfidf-matrix.npz").write_bytes(b"rubbish")
    built = (folder / "stamp.json").stat().st_mtime_ns
    with caplog.at_level(logging.WARNING):
        after = await (await lexical_index(corpus)).scores("wall of bricks")
    np.testing.assert_array_equal(before, after)
    rebuilt = (folder / "stamp.json").stat().st_mtime_ns != built
    assert rebuilt is (damage != "none")
    assert (str(folder) in caplog.text) is rebuilt


async def test_a_corpus_without_a_word_is_one_line(corpus):
    empty = replace(corpus, entries=[])
    with pytest.raises(RetrievalError, match="brickwork: no document holds a word"):
        await lexical_index(empty)


# -- vectors


async def test_hashing_is_deterministic_and_of_unit_length():
    first, second, near, far, empty = await EMBEDDING.embed(
        [
            "charge states",
            "charge states",
            "get_charge_states",
            "diffraction pattern",
            "the of",
        ]
    )
    assert first == second
    assert np.linalg.norm(first) == pytest.approx(1.0)
    assert not any(empty)
    assert np.dot(first, near) > np.dot(first, far) + 0.3


def test_configurations_of_embeddings(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    local = {"name": "small", "provider": "openai", "base_url": "http://127.0.0.1:9/v1"}
    made = [build_embedding(local), build_embedding({**local, "dimensions": 64})]
    made.append(build_embedding({"provider": "hashing", "dimensions": 64}))
    names = [one.name if one is not None else None for one in made]
    assert names == ["small", "small-64", "HashingEmbedding-64"]
    assert build_embedding({"name": "none"}) is None
    for wrong, said in (
        ({"name": "text-embedding-3-large", "provider": "openai"}, "OPENAI_API_KEY"),
        ({"name": "hashing", "provider": "hashing", "dimension": 64}, "dimension"),
        ({"name": "x", "provider": "magic"}, "provider"),
    ):
        with pytest.raises(UsageError, match=said):
            build_embedding(wrong)


async def test_chroma_finds_what_the_vectors_say(corpus, monkeypatch):
    monkeypatch.setattr("indexes.dense._DEPTH", 5)
    scores = await (await dense_index(corpus, EMBEDDING, show_progress=False)).scores(
        "volume of the wall"
    )
    assert scores.shape == (len(corpus.entries),)
    assert corpus.entries[int(np.argmax(scores))].qualname == VOLUME
    vector, *vectors = await EMBEDDING.embed(
        ["volume of the wall", *indexed_texts(corpus)]
    )
    exact = np.array(vectors) @ np.array(vector)
    found = np.flatnonzero(scores)
    assert len(found) <= 5
    np.testing.assert_allclose(scores[found], exact[found], atol=1e-5)
    assert set(found) == set(np.argsort(-exact)[: len(found)])


async def test_an_interrupted_build_goes_on_and_nothing_is_embedded_twice(
    corpus, monkeypatch
):
    monkeypatch.setattr("indexes.dense._BATCH", 5)
    with pytest.raises(RetrievalError, match="5 of"):
        await dense_index(corpus, Counting(fail_after=1), show_progress=False)
    rest = Counting()
    await dense_index(corpus, rest, show_progress=False)
    assert rest.texts == len(corpus.entries) - 5
    again = Counting()
    index = await dense_index(corpus, again, show_progress=False)
    assert again.texts == 0
    assert (await index.scores("wall")).any()
    assert not (await index.scores("the")).any()  # no words


async def test_embeddings_come_from_an_openai_compatible_endpoint(corpus, httpserver):
    seen = []

    def answer(request):
        body = request.get_json()
        seen.extend(body["input"])
        data = [
            {"object": "embedding", "index": i, "embedding": EMBEDDING._vector(text)}
            for i, text in enumerate(body["input"])
        ]
        payload = {"object": "list", "model": body["model"], "data": data}
        return Response(json.dumps(payload), content_type="application/json")

    httpserver.expect_request("/v1/embeddings").respond_with_handler(answer)
    url = httpserver.url_for("/v1")
    embedding = build_embedding(
        {"name": "small", "provider": "openai", "base_url": url}
    )
    index = await dense_index(corpus, embedding, show_progress=False)
    best = int(np.argmax(await index.scores("volume of the wall")))
    assert corpus.entries[best].qualname == VOLUME
    assert len(seen) == len(corpus.entries) + 1
    assert all(isinstance(text, str) for text in seen)  # text, not token ids


# -- the graph


def stamps(cache):
    return list(cache.glob("indexes/*-graph-*/stamp.json"))


@given(st.text())
def test_the_tokenizer_is_exact(text):
    tokenizer = ByteTokenizer()
    encoded = tokenizer.encode(text)
    assert tokenizer.decode(encoded) == text
    assert len(encoded) == -(-len(text.encode()) // 4)
    assert copy.deepcopy(tokenizer).encode(text) == encoded


def test_the_symbol_graph_holds_what_the_source_says(corpus):
    graph = symbol_graph(corpus.entries)
    entities = {e["entity_name"]: e for e in graph["entities"]}
    assert set(entities) == {entry.qualname for entry in corpus.entries}
    assert entities["brickwork.wall.Wall"]["entity_type"] == "class"
    assert "Courses of bricks." in entities["brickwork.wall.Wall"]["description"]
    relations = {
        (r["src_id"], r["tgt_id"]): r["description"] for r in graph["relationships"]
    }
    shape, brick = "brickwork.shapes.Shape", "brickwork.shapes.Brick"
    assert relations[brick, shape] == "shapes.Brick inherits from shapes.Shape"
    assert relations["brickwork.wall.Wall", brick] == "wall.Wall needs shapes.Brick"
    assert ("brickwork.wall.build", "brickwork.wall.Wall") in relations
    pairs = [frozenset(pair) for pair in relations]
    assert len(pairs) == len(set(pairs))


async def test_a_graph_answers_in_every_mode_and_is_built_once(corpus, cache, caplog):
    index = await graph_index(corpus, EMBEDDING)
    wall = {"brickwork.wall.Wall", VOLUME}
    for mode in ("local", "global", "hybrid", "mix", "naive"):
        found = await index.query(
            "volume of a brickwork.wall.Wall in courses", mode, 10
        )
        entities, related, chunks = found
        first = (chunks if mode == "naive" else entities)[:3]
        assert wall & {corpus.entries[i].qualname for i in first}
        assert bool(related) is (mode != "naive")
    await index.close()
    (stamp,) = stamps(cache)
    built = stamp.stat().st_mtime_ns
    for damaged in (False, True):
        if damaged:
            stamp.write_text(json.dumps({"format": 0}))
        with caplog.at_level(logging.WARNING):
            again = await graph_index(corpus, EMBEDDING)
        assert ("does not match its corpus" in caplog.text) is damaged
        assert (stamp.stat().st_mtime_ns != built) is damaged
        query = ("volume of a brickwork.wall.Wall in courses", "naive", 10)
        assert await again.query(*query) == found
        await again.close()


@pytest.mark.parametrize("batches", [0, 1])
async def test_a_graph_that_fails_leaves_nothing_behind(corpus, cache, batches):
    with pytest.raises(RetrievalError, match="gone"):
        await graph_index(corpus, Counting(batches))
    with pytest.raises(RetrievalError, match="has no nodes"):
        await graph_index(replace(corpus, entries=[]), EMBEDDING)
    assert not stamps(cache)

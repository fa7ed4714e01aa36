"""LightRAG for real, on a small package, without any network."""

import copy
import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.corpus import Corpus, CorpusError
from indexes.embedding import EmbeddingError, HashingEmbedding
from indexes.graph import ByteTokenizer, graph_index, symbol_graph

EMBEDDING = HashingEmbedding(512)


@pytest.fixture
async def graph(corpus):
    index = await graph_index(corpus, EMBEDDING)
    yield index
    await index.close()


def built(cache, pattern):
    return list(cache.glob(f"indexes/{pattern}"))


def stamps(cache):
    return built(cache, "*-graph-*/stamp.json")


@given(st.text())
def test_the_tokenizer_is_exact(text):
    tokenizer = ByteTokenizer()
    tokens = tokenizer.encode(text)
    assert tokenizer.decode(tokens) == text
    assert len(tokens) == -(-len(text.encode()) // 4)
    assert copy.deepcopy(tokenizer).encode(text) == tokens


def test_the_symbol_graph_holds_what_the_source_says(corpus):
    graph = symbol_graph(corpus.documents)
    entities = {e["entity_name"]: e for e in graph["entities"]}
    assert set(entities) == {d.metadata["qualname"] for d in corpus.documents}
    assert entities["brickwork.wall.Wall"]["entity_type"] == "class"
    assert "Courses of bricks." in entities["brickwork.wall.Wall"]["description"]
    relations = {(r["src_id"], r["tgt_id"]): r["description"] for r in graph["relationships"]}
    shape, brick = "brickwork.shapes.Shape", "brickwork.shapes.Brick"
    assert relations[brick, shape] == "shapes.Brick inherits from shapes.Shape"
    assert relations["brickwork.wall.Wall", brick] == "wall.Wall needs shapes.Brick"
    assert ("brickwork.wall.build", "brickwork.wall.Wall") in relations
    pairs = [frozenset(pair) for pair in relations]
    assert len(pairs) == len(set(pairs))


@pytest.mark.parametrize("mode", ["local", "global", "hybrid", "mix", "naive"])
async def test_every_mode_finds_the_wall(graph, mode):
    found = await graph.query("volume of a brickwork.wall.Wall in courses of bricks", mode, 10)
    wall = {"brickwork.wall.Wall", "brickwork.wall.Wall.volume"}
    if mode == "naive":
        assert found.entities == found.related == ()
        assert wall & set(found.chunks[:3])
    else:
        assert wall & set(found.entities[:3])
        assert found.related


async def test_a_graph_is_built_once_and_again_when_damaged(corpus, cache, caplog):
    first = await graph_index(corpus, EMBEDDING)
    before = await first.query("volume of a wall", "mix", 10)
    await first.close()
    (stamp,) = stamps(cache)
    built = stamp.stat().st_mtime_ns
    second = await graph_index(corpus, EMBEDDING)
    assert stamp.stat().st_mtime_ns == built
    assert await second.query("volume of a wall", "mix", 10) == before
    await second.close()
    stamp.write_text(json.dumps({"format": 0}))
    with caplog.at_level(logging.WARNING):
        third = await graph_index(corpus, EMBEDDING)
    assert "does not match its corpus" in caplog.text
    assert await third.query("volume of a wall", "mix", 10) == before
    await third.close()


async def test_a_graph_without_nodes_is_an_error(corpus):
    nothing = Corpus(corpus.manifest, [], corpus.aliases, corpus.folder)
    with pytest.raises(CorpusError, match="has no nodes"):
        await graph_index(nothing, EMBEDDING)


async def test_a_failing_embedding_leaves_nothing_behind(corpus, cache):
    class Broken(HashingEmbedding):
        async def aembed_query(self, text: str) -> list[float]:
            raise ConnectionError("gone")

    with pytest.raises(EmbeddingError, match="gone"):
        await graph_index(corpus, Broken(64))
    assert not stamps(cache)

    class Flaky(HashingEmbedding):
        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            raise ConnectionError("gone")

    with pytest.raises(CorpusError, match="gone"):
        await graph_index(corpus, Flaky(64))
    assert not stamps(cache)

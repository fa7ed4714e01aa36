"""LightRAG for real, on a small package, without any network."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.outputs import ChatResult

from indexes.corpus import Corpus
from indexes.embedding import EmbeddingError, HashingEmbedding
from indexes.extraction import SymbolNames
from indexes.graph import (
    ByteTokenizer,
    GraphError,
    GraphIndex,
    GraphMode,
    graph_index,
    symbol_graph,
)
from tests.docgen.models import DocModel

EMBEDDING = HashingEmbedding(512)
WALL = "brickwork.wall.Wall"


@pytest.fixture
async def graph(corpus: Corpus) -> AsyncIterator[GraphIndex]:
    index = await graph_index(corpus, EMBEDDING, show_progress=False)
    yield index
    await index.close()


def built(cache: Path, pattern: str) -> list[Path]:
    return list(cache.glob(f"indexes/{pattern}"))


def stamps(cache: Path) -> list[Path]:
    return built(cache, "*-graph-*/stamp.json")


@given(st.text())
def test_the_tokenizer_is_exact(text: str) -> None:
    tokenizer = ByteTokenizer()
    tokens = tokenizer.encode(text)
    assert tokenizer.decode(tokens) == text
    assert len(tokens) == -(-len(text.encode()) // 4)
    assert copy.deepcopy(tokenizer).encode(text) == tokens


def test_the_symbol_graph_holds_what_the_source_says(corpus: Corpus) -> None:
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
async def test_every_mode_finds_the_wall(graph: GraphIndex, mode: GraphMode) -> None:
    found = await graph.query("volume of a brickwork.wall.Wall in courses of bricks", mode, 10)
    wall = {"brickwork.wall.Wall", "brickwork.wall.Wall.volume"}
    if mode == "naive":
        assert found.entities == found.related == ()
        assert wall & set(found.chunks[:3])
    else:
        assert wall & set(found.entities[:3])
        assert found.related


async def test_a_graph_is_built_once_and_again_when_damaged(
    corpus: Corpus, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = await graph_index(corpus, EMBEDDING, show_progress=False)
    before = await first.query("volume of a wall", "mix", 10)
    await first.close()
    (stamp,) = stamps(cache)
    built = stamp.stat().st_mtime_ns
    second = await graph_index(corpus, EMBEDDING, show_progress=False)
    assert stamp.stat().st_mtime_ns == built
    assert await second.query("volume of a wall", "mix", 10) == before
    await second.close()
    stamp.write_text(json.dumps({"format": 0}))
    with caplog.at_level(logging.WARNING):
        third = await graph_index(corpus, EMBEDDING, show_progress=False)
    assert "does not match its corpus" in caplog.text
    assert await third.query("volume of a wall", "mix", 10) == before
    await third.close()


class Scripted(DocModel):
    """Answers LightRAG's extraction prompt in its format; what it says depends on the document."""

    most: int = 0
    running: int = 0
    refuse: str = ""

    async def _agenerate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.02)
        self.running -= 1
        return self._generate(messages)

    def reply(self, prompt: str) -> str:
        document = prompt.rpartition("---Input Text---")[2]
        if self.refuse and self.refuse in document:
            raise ConnectionError("gone")
        rows = ["entity<|#|>Brick<|#|>Class<|#|>A brick."]
        if WALL in document:
            rows += [
                "entity<|#|>`Wall`<|#|>Class<|#|>Courses of bricks.",
                "entity<|#|>Running Bond<|#|>Concept<|#|>A pattern that overlaps courses.",
                "relation<|#|>Wall<|#|>Running Bond<|#|>laid in<|#|>A wall is laid in a bond.",
                "relation<|#|>Wall<|#|>brickwork.Brick<|#|>made of<|#|>A wall is made of bricks.",
            ]
        return "\n".join([*rows, "<|COMPLETE|>"])


class Prose(DocModel):
    """Does not answer in the format."""

    def reply(self, prompt: str) -> str:
        return "I cannot extract anything here."


async def by_model(corpus: Corpus, model: DocModel, name: str = "scripted") -> GraphIndex:
    return await graph_index(
        corpus, EMBEDDING, build="model", model=model, model_name=name, show_progress=False
    )


async def test_what_a_model_extracts_is_mapped_to_symbols(corpus: Corpus, cache: Path) -> None:
    model = Scripted()
    index = await by_model(corpus, model)
    wall = await index.query("Wall", "local", 5)
    bond = await index.query("running bond", "local", 3)
    await index.close()
    assert len(model.prompts) == len(corpus.documents)
    assert model.most > 1  # requests in parallel
    (path,) = built(cache, "*-graph-model-*/**/*.graphml")
    nodes = set(nx.read_graphml(path).nodes)
    assert nodes == {WALL, "brickwork.shapes.Brick", "Running Bond"}
    assert wall.entities[0] == WALL
    assert "brickwork.shapes.Brick" in wall.related
    # what is no symbol leads to the documents that told of it
    told = {d.metadata["qualname"] for d in corpus.documents if WALL in d.page_content}
    assert set(bond.entities) == {*told, "brickwork.shapes.Brick"}
    # built once: nothing is asked again
    again = Scripted()
    await (await by_model(corpus, again)).close()
    assert again.prompts == []
    # another model is another graph
    await (await by_model(corpus, again, "another")).close()
    assert len(again.prompts) == len(corpus.documents)


async def test_an_extraction_that_was_stopped_resumes(corpus: Corpus, cache: Path) -> None:
    broken = Scripted(refuse=corpus.documents[-1].page_content[:60])
    with pytest.raises(GraphError, match=r"gone; finished replies are kept .* resumes"):
        await by_model(corpus, broken)
    assert not stamps(cache)
    (replies,) = built(cache, "*-replies.jsonl")
    kept = replies.read_bytes().count(b"\n")
    assert kept > 0
    with replies.open("ab") as stream:
        stream.write(b'{"qualname": "", "item_ha')  # a kill in the middle of a line
    healed = Scripted()
    await (await by_model(corpus, healed)).close()
    assert len(healed.prompts) == len(corpus.documents) - kept


async def test_a_graph_without_nodes_is_an_error(corpus: Corpus, cache: Path) -> None:
    with pytest.raises(GraphError) as caught:
        await by_model(corpus, Prose(), "prose")
    assert "prose extracted no entity from" in str(caught.value)
    assert "retrieval.graph.build=symbols" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not stamps(cache)
    nothing = Corpus(corpus.manifest, [], corpus.aliases, corpus.folder)
    with pytest.raises(GraphError, match="has no nodes"):
        await graph_index(nothing, EMBEDDING, show_progress=False)


@pytest.mark.parametrize(
    ("name", "source", "symbol"),
    [
        ("a.b.Wall", "a.b", "a.b.Wall"),
        ("pkg.Wall", "a.b", "a.b.Wall"),  # an import path
        ("Wall", "x", "a.b.Wall"),
        ("Wall.size()", "x", "a.b.Wall.size"),
        ("size", "a.b.Wall", "a.b.Wall.size"),  # of several the one that the document has
        ("size", "a.b.Tile.size", "a.b.Tile.size"),
        ("size", "x", None),
        ("Masonry", "a.b", None),
        ("all", "a.b", None),  # the end of a word is no name
        ("", "a.b", None),
    ],
)
def test_names_of_entities_are_mapped(name: str, source: str, symbol: str | None) -> None:
    known = ["a.b", "a.b.Wall", "a.b.Wall.size", "a.b.Tile", "a.b.Tile.size"]
    assert SymbolNames(known, {"pkg.Wall": "a.b.Wall"}).symbol(name, source) == symbol


async def test_a_failing_embedding_leaves_nothing_behind(corpus: Corpus, cache: Path) -> None:
    class Broken(HashingEmbedding):
        async def aembed_query(self, text: str) -> list[float]:
            raise ConnectionError("gone")

    with pytest.raises(EmbeddingError, match="gone"):
        await graph_index(corpus, Broken(64), show_progress=False)
    assert not stamps(cache)

    class Flaky(HashingEmbedding):
        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            raise ConnectionError("gone")

    with pytest.raises(GraphError, match="gone"):
        await graph_index(corpus, Flaky(64), show_progress=False)
    assert not stamps(cache)

import json

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings
from werkzeug import Response

from indexes.dense import dense_index
from indexes.embedding import (
    EmbeddingError,
    HashingEmbedding,
    build_embedding,
    embedding_name,
)
from indexes.store import indexed_texts


class Counting(HashingEmbedding):
    """Counts the texts, and fails after a number of batches."""

    def __init__(self, fail_after: int | None = None) -> None:
        super().__init__(256)
        self.texts = 0
        self.batches = 0
        self.fail_after = fail_after

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.fail_after is not None and self.batches >= self.fail_after:
            raise ConnectionError("gone")
        self.batches += 1
        self.texts += len(texts)
        return self.embed_documents(texts)


def test_hashing_is_deterministic_and_of_unit_length():
    embedding = HashingEmbedding(512)
    first, second = embedding.embed_documents(["charge states", "charge states"])
    assert first == second
    assert np.linalg.norm(first) == pytest.approx(1.0)
    assert not any(embedding.embed_query("the of"))
    near = np.dot(first, embedding.embed_query("get_charge_states"))
    far = np.dot(first, embedding.embed_query("diffraction pattern"))
    assert near > far + 0.3


async def test_chroma_finds_what_the_vectors_say(corpus):
    embedding = HashingEmbedding(1024)
    index = await dense_index(corpus, embedding, show_progress=False)
    scores = await index.scores("volume of the wall", depth=5)
    assert scores.shape == (len(corpus.documents),)
    assert np.count_nonzero(scores) <= 5
    best = corpus.documents[int(np.argmax(scores))]
    assert best.metadata["qualname"] == "brickwork.wall.Wall.volume"
    vector = np.array(embedding.embed_query("volume of the wall"))
    texts = indexed_texts(corpus)
    exact = np.array(embedding.embed_documents(texts)) @ vector
    found = np.flatnonzero(scores)
    np.testing.assert_allclose(scores[found], exact[found], atol=1e-5)
    assert set(found) == set(np.argsort(-exact)[: len(found)])
    assert not (await index.scores("the", depth=5)).any()  # no words


async def test_nothing_is_embedded_twice(corpus):
    await dense_index(corpus, Counting(), show_progress=False)
    again = Counting()
    await dense_index(corpus, again, show_progress=False)
    assert again.texts == 0


async def test_an_interrupted_build_goes_on(corpus, monkeypatch):
    monkeypatch.setattr("indexes.dense._BATCH", 5)
    with pytest.raises(EmbeddingError, match="5 of"):
        await dense_index(corpus, Counting(fail_after=1), show_progress=False)
    rest = Counting()
    index = await dense_index(corpus, rest, show_progress=False)
    assert rest.texts == len(corpus.documents) - 5
    assert (await index.scores("wall", depth=3)).any()


def test_configurations():
    assert build_embedding({"name": "none"}) is None
    made = build_embedding({"name": "hashing", "provider": "hashing", "dimensions": 64})
    assert isinstance(made, HashingEmbedding)
    assert made.dimensions == 64
    with pytest.raises(EmbeddingError, match="OPENAI_API_KEY"):
        build_embedding({"name": "text-embedding-3-large", "provider": "openai"})
    with pytest.raises(EmbeddingError, match="dimension"):
        build_embedding({"name": "hashing", "provider": "hashing", "dimension": 64})
    with pytest.raises(EmbeddingError, match="provider"):
        build_embedding({"name": "x", "provider": "magic"})
    local: Embeddings | None = build_embedding(
        {"name": "small", "provider": "openai", "base_url": "http://127.0.0.1:9/v1"}
    )
    assert local is not None
    assert embedding_name(local) == "small"


def test_names_tell_embeddings_apart():
    assert embedding_name(HashingEmbedding(64)) != embedding_name(HashingEmbedding(128))


async def test_embeddings_endpoint(corpus, httpserver):
    """The OpenAI-compatible path, against a local server."""
    ours = HashingEmbedding(1024)
    seen: list[list[str]] = []

    def answer(request):
        body = request.get_json()
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        assert all(isinstance(t, str) for t in texts)  # text, not token ids
        seen.append(texts)
        data = [
            {"object": "embedding", "index": i, "embedding": v}
            for i, v in enumerate(ours.embed_documents(texts))
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        payload = {"object": "list", "model": body["model"], "data": data, "usage": usage}
        return Response(json.dumps(payload), content_type="application/json")

    httpserver.expect_request("/v1/embeddings").respond_with_handler(answer)
    embedding = build_embedding(
        {"name": "small", "provider": "openai", "base_url": httpserver.url_for("/v1")}
    )
    assert embedding is not None
    index = await dense_index(corpus, embedding, show_progress=False)
    scores = await index.scores("volume of the wall", depth=5)
    best = corpus.documents[int(np.argmax(scores))]
    assert best.metadata["qualname"] == "brickwork.wall.Wall.volume"
    assert sum(map(len, seen)) == len(corpus.documents) + 1

"""Dense index: a Chroma collection, vectors computed by us and passed in."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
from chromadb.config import Settings
from langchain_chroma import Chroma
from numpy.typing import NDArray

from foundation.progress import meter
from indexes import RetrievalError
from indexes.corpus import Corpus, IndexFolder, index_folder, indexed_texts
from indexes.vectors import Embedding

_COLLECTION, _CHROMA = "documents", "chroma"
_BATCH = 64
_CHARACTERS = (
    20_000  # of a text that are embedded: endpoints refuse more than 8192 tokens
)
_DEPTH = 100  # documents that get a score
_FORMAT = 1


class DenseIndex:
    """Cosine similarity of embeddings, in Chroma through ``langchain-chroma``.

    Chroma writes into its files also when it only reads. It works on a copy, which is removed
    with the index: the stored files stay as their checksums say.
    """

    def __init__(self, folder: Path, ids: Sequence[str], embedding: Embedding) -> None:
        copy = tempfile.TemporaryDirectory(
            prefix="matsmith-index-", ignore_cleanup_errors=True
        )
        shutil.copytree(folder / _CHROMA, Path(copy.name) / _CHROMA)
        client = _client(Path(copy.name))
        self._store = Chroma(collection_name=_COLLECTION, client=client)
        self._position = {name: i for i, name in enumerate(ids)}
        self._embedding = embedding
        weakref.finalize(self, _close, client, copy)

    async def scores(self, query: str) -> NDArray[np.float32]:
        """Cosine similarity of the 100 nearest, zero for others; shape ``(documents,)``."""
        try:
            (vector,) = await self._embedding.embed([query[:_CHARACTERS]])
        except Exception as error:
            raise RetrievalError(f"embedding the query failed: {error}") from error
        scores: NDArray[np.float32] = np.zeros(len(self._position), dtype=np.float32)
        if any(vector):
            found = await asyncio.to_thread(
                self._store.similarity_search_by_vector_with_relevance_scores,
                vector,
                min(_DEPTH, len(self._position)),
            )
            for document, distance in found:
                scores[self._position[str(document.id)]] = max(0.0, 1.0 - distance)
        return scores


async def dense_index(
    corpus: Corpus, embedding: Embedding, *, show_progress: bool
) -> DenseIndex:
    """The dense index of a corpus. An interrupted build resumes where it stopped."""
    name = embedding.name
    async with index_folder(
        corpus, name, _FORMAT, resumable=True, embedding=name
    ) as place:
        if not place.marked:
            await _complete(place, corpus, embedding, show_progress=show_progress)
        return DenseIndex(place.path, _ids(corpus), embedding)


async def _complete(
    place: IndexFolder, corpus: Corpus, embedding: Embedding, *, show_progress: bool
) -> None:
    """Add the vectors that are missing; what was added is kept also when this fails."""
    place.begin_changes()
    client = _client(place.path)
    try:
        await _add_missing(client, corpus, embedding, show_progress=show_progress)
    except BaseException:
        client.close()
        place.mark_unfinished()
        raise
    client.close()
    place.mark()


async def _add_missing(
    client: Any, corpus: Corpus, embedding: Embedding, *, show_progress: bool
) -> None:
    collection = client.get_or_create_collection(
        _COLLECTION,
        embedding_function=None,
        configuration={"hnsw": {"space": "cosine"}},
    )
    ids, texts = _ids(corpus), indexed_texts(corpus)
    present = set(collection.get(include=[])["ids"])
    missing = [i for i, name in enumerate(ids) if name not in present]
    shown = show_progress and bool(missing)
    with meter("Embedding documents", len(missing), show=shown) as done:
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            try:
                vectors = await embedding.embed([texts[i][:_CHARACTERS] for i in batch])
            except Exception as error:
                stored = len(ids) - len(missing) + start
                raise RetrievalError(
                    f"embedding documents failed: {error}; {stored} of {len(ids)} are "
                    "kept; the same command resumes"
                ) from error
            collection.upsert(
                ids=[ids[i] for i in batch],
                embeddings=np.asarray(vectors, dtype=np.float32),
                documents=[ids[i] for i in batch],  # the texts stay in the corpus
            )
            done.advance(len(batch))


def _ids(corpus: Corpus) -> list[str]:
    return [entry.id for entry in corpus.entries]


def _client(folder: Path) -> Any:
    settings = Settings(anonymized_telemetry=False, is_persistent=True)
    return chromadb.PersistentClient(path=str(folder / _CHROMA), settings=settings)


def _close(client: Any, copy: tempfile.TemporaryDirectory[str]) -> None:
    client.close()
    copy.cleanup()

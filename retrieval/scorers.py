"""Scores of a corpus's documents for a query, and how several scorings become one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from langchain_core.documents import Document
from numpy.typing import NDArray

from indexes.embedding import EmbeddingError
from indexes.errors import GraphError
from retrieval.base import RetrievalError

if TYPE_CHECKING:  # chromadb, LightRAG and scikit-learn take seconds to import
    from indexes.dense import DenseIndex
    from indexes.graph import GraphIndex, GraphMode
    from indexes.lexical import LexicalIndex

Scores = NDArray[np.float32]
"""One score per document of the corpus, shape ``(documents,)``; zero means no match."""
Ranking = list[tuple[int, float]]
"""Positions in the corpus with their scores, best first."""

_GRAPH_DEPTH = 40  # entities and relations asked for, as published
DEPTH = 100  # documents of a ranking that count in a fusion
_RRF_CONSTANT = 60  # Cormack, Clarke and Buettcher (2009): how slowly a rank's weight falls
_PROPERTY = re.compile(r"^[ \t]*[-*][ \t]+`[A-Za-z_]\w*`[ \t]*:.*$", re.MULTILINE)


class Scorer(Protocol):
    """Scores the documents of one corpus."""

    async def scores(self, query: str) -> Scores:
        """Score every document.

        Raises
        ------
        retrieval.base.RetrievalError
            When an index or an endpoint behind it failed.
        """
        ...


class LexicalScorer:
    """Scores by a lexical index."""

    def __init__(self, index: LexicalIndex) -> None:
        self._index = index

    async def scores(self, query: str) -> Scores:
        """Score every document."""
        return self._index.scores(query)


class DenseScorer:
    """Scores by similarity of embeddings; only the nearest documents get a score."""

    def __init__(self, index: DenseIndex) -> None:
        self._index = index

    async def scores(self, query: str) -> Scores:
        """Cosine similarity of the nearest documents.

        Raises
        ------
        RetrievalError
            When the embedding failed.
        """
        try:
            return await self._index.scores(query, DEPTH)
        except EmbeddingError as error:
            raise RetrievalError(str(error)) from error


class GraphScorer:
    """Scores by a knowledge graph: entities, ends of relations and chunks, fused."""

    def __init__(self, index: GraphIndex, mode: GraphMode, documents: Sequence[Document]) -> None:
        self._index = index
        self._mode: GraphMode = mode
        self._position = {str(d.metadata["qualname"]): i for i, d in enumerate(documents)}

    async def scores(self, query: str) -> Scores:
        """Sum of reciprocal ranks over the three lists that the graph returns.

        Raises
        ------
        RetrievalError
            When the query failed.
        """
        try:
            found = await self._index.query(query, self._mode, _GRAPH_DEPTH)
        except GraphError as error:
            raise RetrievalError(str(error)) from error
        lists = (found.entities, found.related, found.chunks)
        return fuse([self._falling(names) for names in lists])

    def _falling(self, names: Sequence[str]) -> Scores:
        scores = np.zeros(len(self._position), dtype=np.float32)
        for rank, name in enumerate(names, start=1):
            scores[self._position[name]] = 1 / rank
        return scores


class FusedScorer:
    """Reciprocal rank fusion of several scorers."""

    def __init__(self, scorers: Sequence[Scorer]) -> None:
        self._scorers = scorers

    async def scores(self, query: str) -> Scores:
        """Sum of reciprocal ranks, as a fraction of what a document gets that all put first."""
        return fuse([await scorer.scores(query) for scorer in self._scorers])


class PerPropertyScorer:
    """Asks once with the whole query and once per property that it lists, and fuses.

    The whole query weighs as much as all properties together.
    """

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer

    async def scores(self, query: str) -> Scores:
        """Fused scores; those of the whole query when it lists no property."""
        whole = await self._scorer.scores(query)
        parts = [await self._scorer.scores(text) for text in properties(query)]
        if not parts:
            return whole
        return fuse([whole, *parts], [float(len(parts)), *([1.0] * len(parts))])


class ScoreRanker:
    """Ranks by the scores themselves."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer

    async def rank(self, query: str, depth: int) -> Ranking:
        """At most ``depth`` positions, best first.

        Raises
        ------
        RetrievalError
            When the scoring failed.
        """
        return top(await self._scorer.scores(query), depth)


def properties(query: str) -> list[str]:
    """What a query says of each property that it lists: an item that begins with "`name`:"."""
    return [line.strip() for line in _PROPERTY.findall(query)]


def top(scores: Scores, depth: int) -> Ranking:
    """The ``depth`` best documents with a positive score, ties by position."""
    if depth < len(scores):
        # everything at least as good as the depth-th score, so that ties are cut by position
        threshold = np.partition(scores, len(scores) - depth)[len(scores) - depth]
        candidates = np.flatnonzero(scores >= threshold)
    else:
        candidates = np.arange(len(scores))
    order = candidates[np.argsort(-scores[candidates], kind="stable")]
    return [(int(i), float(scores[i])) for i in order[:depth] if scores[i] > 0]


def fuse(scorings: Iterable[Scores], weights: Sequence[float] | None = None) -> Scores:
    """Reciprocal rank fusion: ``sum of weight / (60 + rank)``, scaled so that 1 is the maximum.

    Only the first 100 documents of each scoring count.
    """
    scorings = list(scorings)
    weights = [1.0] * len(scorings) if weights is None else weights
    total = np.zeros_like(scorings[0])
    for scores, weight in zip(scorings, weights, strict=True):
        for rank, (position, _) in enumerate(top(scores, DEPTH), start=1):
            total[position] += weight / (_RRF_CONSTANT + rank)
    return (total * ((_RRF_CONSTANT + 1) / sum(weights))).astype(np.float32)

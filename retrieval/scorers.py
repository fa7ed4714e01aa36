"""Scores of a corpus's documents for a query, and how several scorings become one."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # LightRAG takes seconds to import
    from indexes.graph import GraphIndex, GraphMode

Scores = NDArray[np.float32]
"""One score per document of the corpus, shape ``(documents,)``; zero means no match."""
Ranking = list[tuple[int, float]]
"""Positions in the corpus with their scores, best first."""

_GRAPH_DEPTH = 40  # entities and relations asked for, as published
DEPTH = 100  # documents of a ranking that count in a fusion
_RRF_CONSTANT = (
    60  # Cormack, Clarke and Buettcher (2009): how slowly a rank's weight falls
)
_PROPERTY = re.compile(r"^[ \t]*[-*][ \t]+`[A-Za-z_]\w*`[ \t]*:.*$", re.MULTILINE)


Scorer = Callable[[str], Awaitable[Scores]]
"""Scores every document of one corpus for a query, as the method ``scores`` of an index does."""
Ranker = Callable[[str, int], Awaitable[Ranking]]
"""At most so many positions in one corpus for a query, best first."""


def graph_scorer(index: GraphIndex, mode: GraphMode, count: int) -> Scorer:
    """Reciprocal ranks of what a graph returns, fused: entities, ends of relations and chunks.

    ``count`` is the size of the corpus.
    """

    async def scores(query: str) -> Scores:
        rankings = await index.query(query, mode, _GRAPH_DEPTH)
        scorings = np.zeros((len(rankings), count), dtype=np.float32)
        for row, positions in zip(scorings, rankings, strict=True):
            row[positions] = 1 / np.arange(1, len(positions) + 1)
        return fuse(scorings)

    return scores


def fused(scorers: Sequence[Scorer]) -> Scorer:
    """Reciprocal rank fusion of several scorers."""

    async def scores(query: str) -> Scores:
        return fuse([await scorer(query) for scorer in scorers])

    return scores


def per_property(scorer: Scorer) -> Scorer:
    """Asks once with the whole query and once per property that it lists, and fuses.

    The whole query weighs as much as all properties together.
    """

    async def scores(query: str) -> Scores:
        whole = await scorer(query)
        parts = [await scorer(text) for text in properties(query)]
        if not parts:
            return whole
        return fuse([whole, *parts], [float(len(parts)), *([1.0] * len(parts))])

    return scores


def by_score(scorer: Scorer) -> Ranker:
    """Ranks by the scores themselves."""

    async def rank(query: str, depth: int) -> Ranking:
        return top(await scorer(query), depth)

    return rank


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

"""Rankings of a corpus's documents, and how several become one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from indexes.lexical import LexicalIndex

Ranking = list[tuple[int, float]]
"""Positions in the corpus with their scores, best first."""

RRF_CONSTANT = 60  # Cormack, Clarke and Buettcher 2009: how slowly a rank's weight falls


class Ranker(Protocol):
    """Ranks the documents of one corpus."""

    async def rank(self, query: str, depth: int) -> Ranking:
        """At most ``depth`` positions with a positive score, best first, ties by position."""
        ...


class LexicalRanker:
    """Ranks by a lexical index."""

    def __init__(self, index: LexicalIndex) -> None:
        self._index = index

    async def rank(self, query: str, depth: int) -> Ranking:
        """At most ``depth`` positions with a positive score."""
        return top(self._index.scores(query), depth)


class FusedRanker:
    """Reciprocal rank fusion of several rankers."""

    def __init__(self, rankers: Sequence[Ranker]) -> None:
        self._rankers = rankers

    async def rank(self, query: str, depth: int) -> Ranking:
        """At most ``depth`` positions, scored by the sum of reciprocal ranks."""
        return fuse([await ranker.rank(query, depth) for ranker in self._rankers])[:depth]


def top(scores: np.typing.NDArray[np.float32], depth: int) -> Ranking:
    """The ``depth`` best positive scores, ties by position."""
    if depth < len(scores):
        # everything at least as good as the depth-th score, so that ties are cut by position
        threshold = np.partition(scores, len(scores) - depth)[len(scores) - depth]
        candidates = np.flatnonzero(scores >= threshold)
    else:
        candidates = np.arange(len(scores))
    order = candidates[np.argsort(-scores[candidates], kind="stable")]
    return [(int(i), float(scores[i])) for i in order[:depth] if scores[i] > 0]


def fuse(rankings: Iterable[Ranking], weights: Sequence[float] | None = None) -> Ranking:
    """Reciprocal rank fusion: each ranking gives ``weight / (60 + rank)`` to what it holds."""
    totals: dict[int, float] = {}
    for number, ranking in enumerate(rankings):
        weight = 1.0 if weights is None else weights[number]
        for rank, (position, _) in enumerate(ranking, start=1):
            totals[position] = totals.get(position, 0.0) + weight / (RRF_CONSTANT + rank)
    return sorted(totals.items(), key=lambda item: (-item[1], item[0]))

"""The seam between what a ranking finds and what a prompt shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from foundation.failures import describe_failure
from indexes import RetrievalError
from retrieval.base import Hit
from retrieval.scorers import Ranker, Ranking

if TYPE_CHECKING:
    from indexes.corpus import Corpus


class Reranker(ABC):
    """Puts the best candidates of a ranking into another order.

    Attributes
    ----------
    candidates
        How many of the best it looks at; those behind them keep their places.
    """

    candidates: int = 50

    @abstractmethod
    async def scores(self, query: str, hits: Sequence[Hit]) -> Sequence[float]:
        """One score per hit, in their order; higher is better, ties keep their order.

        ``hit.text`` is what a prompt would show, ``hit.entry`` the symbol or chunk, ``hit.score``
        that of the ranking.
        """


def reranked(rank: Ranker, corpus: Corpus, reranker: Reranker) -> Ranker:
    """A ranking whose first candidates a reranker has put in order."""

    async def rank_again(query: str, depth: int) -> Ranking:
        ranking = await rank(query, max(depth, reranker.candidates))
        first = ranking[: reranker.candidates]
        hits = [Hit(corpus.entries[position], score) for position, score in first]
        scores = await _scores(reranker, query, hits)
        order = sorted(range(len(first)), key=lambda place: -scores[place])
        positions = [first[place][0] for place in order]
        # Scores stay those of the places, so that they fall along the ranking.
        best = [(at, score) for at, (_, score) in zip(positions, first, strict=True)]
        return [*best, *ranking[reranker.candidates :]][:depth]

    return rank_again


async def _scores(
    reranker: Reranker, query: str, hits: Sequence[Hit]
) -> Sequence[float]:
    try:
        scores = [float(score) for score in await reranker.scores(query, hits)]
    except RetrievalError:
        raise
    except Exception as error:
        raise RetrievalError(
            f"reranker: {describe_failure(error, reranker)}"
        ) from error
    if len(scores) != len(hits):
        raise RetrievalError(
            f"reranker: {type(reranker).__name__} gave {len(scores)} scores for "
            f"{len(hits)} candidates"
        )
    return scores

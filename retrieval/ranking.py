"""The seam between the scores of texts and a ranking of documents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from foundation.failures import describe_failure
from indexes import RetrievalError
from retrieval.scorers import Ranker, Ranking, Scorer

if TYPE_CHECKING:
    from indexes.corpus import Corpus


class RankingMethod(ABC):
    """Ranks the documents of a corpus; without one `retrieval.evidence.SymbolRanker` does."""

    @abstractmethod
    async def rank(
        self, query: str, corpus: Corpus, score: Scorer, depth: int
    ) -> Ranking:
        """At most ``depth`` pairs of a position in ``corpus.entries`` and a score, best first.

        ``await score(text)`` scores every entry for a text as ``retrieval.mode`` says (zero: no
        match); `retrieval.scorers.top` and `fuse` make rankings of such scores.
        """


def ranked_by(method: RankingMethod, corpus: Corpus, score: Scorer) -> Ranker:
    """What the method says of one corpus."""

    async def rank(query: str, depth: int) -> Ranking:
        try:
            return await method.rank(query, corpus, score, depth)
        except RetrievalError:
            raise
        except Exception as error:
            raise RetrievalError(
                f"ranking: {describe_failure(error, method)}"
            ) from error

    return rank

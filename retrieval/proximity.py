"""A reranker by how close together the words of a query stand in a document.

The measure is the smallest window of a text that holds a set of the query's words, as in Tao and
Zhai, *An exploration of proximity measures in information retrieval* (SIGIR 2007).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from indexes.pages.words import tokens
from retrieval.base import Hit
from retrieval.reranker import Reranker


class Proximity(Reranker):
    """Adds to the score of the ranking what neighbouring words of the query are worth.

    Attributes
    ----------
    weight
        Of proximity against the score of the ranking, both scaled to 1 for the best candidate.
    window
        Tokens within which two words of the query count as neighbours.
    """

    def __init__(
        self, candidates: int = 50, weight: float = 0.3, window: int = 8
    ) -> None:
        self.candidates = candidates
        self.weight = weight
        self.window = window

    async def scores(self, query: str, hits: Sequence[Hit]) -> Sequence[float]:
        """See `Reranker`."""
        wanted = set(tokens(query))
        texts = [tokens(hit.text) for hit in hits]
        counts = Counter(token for text in texts for token in wanted.intersection(text))
        rarity = {
            word: math.log1p(len(texts) / count) for word, count in counts.items()
        }
        near = [self._proximity(text, rarity) for text in texts]
        given = [hit.score or 0.0 for hit in hits]
        most_near, most_given = max(near, default=0.0), max(given, default=0.0)
        return [
            score / (most_given or 1.0) + self.weight * closeness / (most_near or 1.0)
            for score, closeness in zip(given, near, strict=True)
        ]

    def _proximity(self, text: Sequence[str], rarity: Mapping[str, float]) -> float:
        """Over pairs of neighbouring, different words of the query: rarity by squared distance."""
        places = [(place, word) for place, word in enumerate(text) if word in rarity]
        pairs: dict[tuple[str, str], float] = {}
        for (place, word), (other_place, other) in pairwise(places):
            distance = other_place - place
            if word == other or distance > self.window:
                continue
            pair = (min(word, other), max(word, other))
            value = min(rarity[word], rarity[other]) / distance**2
            pairs[pair] = max(pairs.get(pair, 0.0), value)
        return sum(pairs.values())

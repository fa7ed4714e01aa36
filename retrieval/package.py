"""Ranking within a package that a query names and that is small enough to be all that it is about.

What such a package holds is likely to be known to nobody: what a question asks for is found by its
term and not by what it is like, and documents say what their inputs are computed from. In a large
library both lose more than they gain (docs/retrieval.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from langchain_core.documents import Document

from retrieval.linking import Linker
from retrieval.retriever import Ranker
from retrieval.scorers import Ranking, properties
from retrieval.terms import Terms


class PackageRanker:
    """Ranks once per listed property within a small package, and follows what documents mention.

    The best document of every property comes first, then what these say that they need, and what
    that needs; then the next best of every property. What the ranking of the whole query has
    outside the package comes after that. A query that names no small package is ranked as ever.
    """

    def __init__(
        self, ranker: Ranker, documents: Sequence[Document], linker: Linker, largest: int
    ) -> None:
        self._ranker = ranker
        self._largest = largest  # documents of a small package
        self._linker = linker
        self._documents = documents
        self._position = {str(d.metadata["qualname"]): i for i, d in enumerate(documents)}
        self._terms: dict[tuple[int, ...], Terms] = {}

    async def rank(self, query: str, depth: int) -> Ranking:
        """At most ``depth`` positions, best first.

        Raises
        ------
        retrieval.base.RetrievalError
            When the scoring failed.
        """
        whole = await self._ranker.rank(query, depth)
        inside = self._inside(query)
        if not inside:
            return whole
        if inside not in self._terms:
            self._terms[inside] = Terms([self._documents[position] for position in inside])
        terms = self._terms[inside]
        local = {position: number for number, position in enumerate(inside)}
        asked = [await self._ranker.rank(text, depth) for text in properties(query)] or [whole]
        found: dict[int, None] = {}
        for turn in zip_longest(*([local[p] for p, _ in one if p in local] for one in asked)):
            found.update(dict.fromkeys(terms.closure(p for p in turn if p is not None)))
            if len(found) >= depth:
                break
        positions = [*(inside[number] for number in found), *(position for position, _ in whole)]
        best = whole[0][1] if whole else 1.0
        order = list(dict.fromkeys(positions))[:depth]
        return [(position, best / rank) for rank, position in enumerate(order, start=1)]

    def _inside(self, query: str) -> tuple[int, ...]:
        """Positions of what is in the small packages that a query names."""
        small = [
            names
            for names in self._linker.packages(query)
            if "." not in names[0] and len(names) <= self._largest
        ]
        known = {self._position.get(name) for names in small for name in names}
        return tuple(sorted(position for position in known if position is not None))

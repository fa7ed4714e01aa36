"""What the structure of the library adds to a scoring of its documents.

Measured on the questions of ``live`` (``docs/appendix/retrieval.md``): text similarity alone finds
methods and misses the classes that a solution is built from.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np

from docgen.symbols import Symbol
from indexes.table import SymbolTable
from retrieval.config import Evidence
from retrieval.scorers import Ranking, Scorer, Scores, properties, top

_TYPE_SOURCES = 30  # best documents whose parameter types are followed
_SECOND_SOURCES = 8  # best documents after that whose types are followed once more
_COVERED = (
    0.7  # of its score keeps a base class below a subclass that lists all it offers
)


class SymbolRanker:
    """Ranks documents of symbols by a scoring and by how the symbols belong together."""

    def __init__(
        self,
        scorer: Scorer,
        symbols: Sequence[Symbol],
        table: SymbolTable,
        evidence: Evidence,
        small_package: int = 0,
    ) -> None:
        self._scorer, self._symbols, self._table = scorer, symbols, table
        self._evidence, self._small_package = evidence, small_package
        position = {symbol.qualname: i for i, symbol in enumerate(symbols)}
        self._position = position
        # The document of its class lists an attribute; as a text of its own it is so short that it
        # would speak for its class louder than any method.
        self._attributes = np.array([s.kind == "attribute" for s in symbols])
        self._functions = np.array([s.kind == "function" for s in symbols])
        self._types = [_positions(symbol.types, position) for symbol in symbols]
        self._bases = [_positions(symbol.bases, position) for symbol in symbols]
        # Pairs of a class and a method of its own.
        pairs = [
            (i, position[member.qualname])
            for i, symbol in enumerate(symbols)
            for member in symbol.members
            if symbol.kind == "class"
            and member.qualname in position
            and member.qualname.startswith(f"{symbol.qualname}.")
        ]
        self._owner, self._own = np.array(pairs, int).reshape(-1, 2).T

    async def rank(self, query: str, depth: int) -> Ranking:
        """At most ``depth`` positions, best first.

        Where a query names small packages only, the best document in them of every property that it
        lists comes first, then what these say that they need, and what that needs; then the next
        best of every property. What the ranking of the whole query has outside comes after that.
        """
        whole = await self._whole(query, depth)
        inside = self._inside(query)
        if not inside:
            return whole
        best = [
            [position for position, _ in ranking if position in inside]
            for ranking in await self._by_property(query, depth) or [whole]
        ]
        first = self._with_needs(sorted(inside), best, depth)
        order = dict.fromkeys([*first, *(position for position, _ in whole)])
        top_score = whole[0][1] if whole else 1.0
        return [
            (position, top_score / rank)
            for rank, position in enumerate([*order][:depth], start=1)
        ]

    async def _by_property(self, query: str, depth: int) -> list[Ranking]:
        """A ranking for each property that a query lists."""
        return [await self._whole(text, depth) for text in properties(query)]

    def _with_needs(
        self, inside: Sequence[int], rankings: Sequence[Sequence[int]], depth: int
    ) -> list[int]:
        """The best of every ranking and what they need, then the next best, ..."""
        names = [self._symbols[position].qualname for position in inside]
        terms = self._table.terms(names)
        names_in_order: dict[str, None] = {}
        for turn in zip_longest(*rankings):
            roots = (self._symbols[p].qualname for p in turn if p is not None)
            names_in_order.update(dict.fromkeys(terms.walk(roots)))
            if len(names_in_order) >= depth:
                break
        return [self._position[name] for name in names_in_order]

    def _inside(self, query: str) -> frozenset[int]:
        """Positions of what is in the packages that a query names, if none of them is large."""
        packages = [
            names for names in self._table.packages(query) if "." not in names[0]
        ]
        if any(len(names) > self._small_package for names in packages):
            return frozenset()
        return frozenset(i for p in packages for i in _positions(p, self._position))

    async def _whole(self, query: str, depth: int) -> Ranking:
        scores = np.where(self._attributes, np.float32(0), await self._scorer(query))
        evidence = self._evidence
        if evidence.packages:
            scores = self._with_packages(scores, query)
        if evidence.members:
            best = np.zeros_like(scores)
            np.maximum.at(best, self._owner, scores[self._own])
            scores = scores + evidence.members * best
        scores = np.where(self._functions, (1 + evidence.functions) * scores, scores)
        named = _positions(self._table.named(query), self._position)
        if evidence.types:
            scores = self._with_types(scores, named)
        if evidence.links and named:
            # a query of names only matches nothing else
            scores[named] += evidence.links * (float(scores.max()) or 1.0)
        return self._without_repetition(top(scores, depth))

    def _with_packages(self, scores: Scores, query: str) -> Scores:
        result = scores.copy()
        for inside in self._table.packages(query):
            positions = _positions(inside, self._position)
            rarity = np.log(len(scores) / max(1, len(positions)))
            result[positions] *= 1 + self._evidence.packages * rarity
        return result

    def _with_types(self, scores: Scores, named: Sequence[int]) -> Scores:
        result = scores.copy()
        for position, score in top(scores, _TYPE_SOURCES):
            for needed in self._types[position]:
                result[needed] += self._evidence.types * score
        second = np.zeros_like(result)
        for position, score in top(result, _SECOND_SOURCES):
            if position not in named:
                types = self._types[position]
                second[types] = np.maximum(second[types], score)
        return result + self._evidence.second * second

    def _without_repetition(self, ranking: Ranking) -> Ranking:
        """Put a base class back when a subclass with all its members stands before it."""
        covered: set[int] = set()
        result: Ranking = []
        for position, score in ranking:
            result.append(
                (position, score * _COVERED if position in covered else score)
            )
            bases = list(self._bases[position])
            for base in bases:  # grows while it is read
                bases += [other for other in self._bases[base] if other not in bases]
            covered.update(base for base in bases if base != position)
        return sorted(result, key=lambda item: (-item[1], item[0]))


def _positions(names: Sequence[str], position: dict[str, int]) -> list[int]:
    return [position[name] for name in names if name in position]

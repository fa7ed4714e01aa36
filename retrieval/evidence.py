"""What the structure of the library adds to a scoring of its documents.

Measured on the questions of ``live`` (``docs/appendix/retrieval.md``): text similarity alone finds
methods and misses the classes that a solution is built from.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from langchain_core.documents import Document

from retrieval.config import Evidence
from retrieval.linking import Linker
from retrieval.scorers import Ranking, Scorer, Scores, top

_TYPE_SOURCES = 30  # best documents whose parameter types are followed
_SECOND_SOURCES = 8  # best documents after that whose types are followed once more
_COVERED = 0.7  # of its score keeps a base class below a subclass that lists all it offers


class SymbolRanker:
    """Ranks documents of symbols by a scoring and by how the symbols belong together."""

    def __init__(
        self, scorer: Scorer, documents: Sequence[Document], linker: Linker, evidence: Evidence
    ) -> None:
        self._scorer = scorer
        self._evidence = evidence
        self._linker = linker
        metadata = [document.metadata for document in documents]
        position = {str(m["qualname"]): i for i, m in enumerate(metadata)}
        self._position = position
        self._classes = np.array([i for i, m in enumerate(metadata) if m["kind"] == "class"], int)
        # The document of its class lists an attribute; as a text of its own it is so short that it
        # would speak for its class louder than any method.
        self._attributes = np.array([m["kind"] == "attribute" for m in metadata])
        self._functions = np.array([m["kind"] == "function" for m in metadata])
        self._types = [_positions(m.get("types", ()), position) for m in metadata]
        self._own = _padded(
            [_own_members(metadata[i], position) for i in self._classes], len(documents)
        )
        bases = [_positions(m.get("bases", ()), position) for m in metadata]
        self._ancestors = [_closure(i, bases) for i in range(len(metadata))]

    async def rank(self, query: str, depth: int) -> Ranking:
        """At most ``depth`` positions, best first."""
        scores = np.where(self._attributes, np.float32(0), await self._scorer(query))
        evidence = self._evidence
        if evidence.packages:
            scores = self._with_packages(scores, query)
        if evidence.members and len(self._classes):
            scores = self._with_members(scores)
        scores = np.where(self._functions, (1 + evidence.functions) * scores, scores)
        named = [self._position[n] for n in self._linker.named(query) if n in self._position]
        if evidence.types:
            scores = self._with_types(scores, named)
        if evidence.links and named:
            best = float(scores.max()) or 1.0  # a query of names only matches nothing else
            scores[named] += evidence.links * best
        return self._without_repetition(top(scores, depth))

    def _with_packages(self, scores: Scores, query: str) -> Scores:
        result = scores.copy()
        for inside in self._linker.packages(query):
            positions = [self._position[n] for n in inside if n in self._position]
            rarity = np.log(len(scores) / max(1, len(positions)))
            result[positions] *= 1 + self._evidence.packages * rarity
        return result

    def _with_members(self, scores: Scores) -> Scores:
        padded = np.append(scores, np.float32(0))  # the padding points at this zero
        result = scores.copy()
        result[self._classes] += self._evidence.members * padded[self._own].max(axis=1)
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
            result.append((position, score * _COVERED if position in covered else score))
            covered |= self._ancestors[position]
        return sorted(result, key=lambda item: (-item[1], item[0]))


def _positions(names: Sequence[str], position: dict[str, int]) -> list[int]:
    return [position[name] for name in names if name in position]


def _own_members(metadata: dict[str, object], position: dict[str, int]) -> list[int]:
    prefix = f"{metadata['qualname']}."
    members = metadata.get("members", ())
    own = [m for m in members if m.startswith(prefix)] if isinstance(members, list) else []
    return _positions(own, position)


def _padded(rows: list[list[int]], padding: int) -> np.typing.NDArray[np.intp]:
    """Rows of unequal length as a matrix of at least one column, filled with ``padding``."""
    width = max([1, *(len(row) for row in rows)])
    matrix = np.full((len(rows), width), padding, dtype=np.intp)
    for i, row in enumerate(rows):
        matrix[i, : len(row)] = row
    return matrix


def _closure(start: int, bases: list[list[int]]) -> frozenset[int]:
    found: set[int] = set()
    stack = list(bases[start])
    while stack:
        current = stack.pop()
        if current not in found and current != start:
            found.add(current)
            stack += bases[current]
    return frozenset(found)

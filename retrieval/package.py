"""Ranking within a package that a query names and that is small enough to be all that it is about.

What such a package holds is likely to be known to nobody: what a question asks for is found by its
term and not by what it is like, and documents say what their inputs are computed from. In a large
library both lose more than they gain (docs/appendix/retrieval.md).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise, zip_longest

from langchain_core.documents import Document

from indexes.tokens import tokens
from retrieval.linking import Linker
from retrieval.scorers import Ranker, Ranking, properties

_SHARED = 3  # symbols that may have a pair in common: one that more have says nothing
_RARE = 25  # documents that have the rarer word of a pair
_WHAT = 600  # characters of what a document says that its symbol is
_SENTENCE = re.compile(r"(?<=[.;])\s+")


class PackageRanker:
    """Ranks once per listed property within a small package, and follows what documents mention.

    The best document of every property comes first, then what these say that they need, and what
    that needs; then the next best of every property. What the ranking of the whole query has
    outside the package comes after that. A query that names no small package, or a large one too,
    is ranked as ever.
    """

    def __init__(
        self, rank: Ranker, documents: Sequence[Document], linker: Linker, largest: int
    ) -> None:
        self._rank = rank
        self._largest = largest  # documents of a small package
        self._linker = linker
        self._documents = documents
        self._position = {str(d.metadata["qualname"]): i for i, d in enumerate(documents)}
        self._terms: dict[tuple[int, ...], Terms] = {}

    async def rank(self, query: str, depth: int) -> Ranking:
        """At most ``depth`` positions, best first."""
        whole = await self._rank(query, depth)
        inside = self._inside(query)
        if not inside:
            return whole
        if inside not in self._terms:
            self._terms[inside] = Terms([self._documents[position] for position in inside])
        terms = self._terms[inside]
        local = {position: number for number, position in enumerate(inside)}
        asked = [await self._rank(text, depth) for text in properties(query)] or [whole]
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
        """Positions of what is in the packages that a query names, if none of them is large."""
        named = [names for names in self._linker.packages(query) if "." not in names[0]]
        if any(len(names) > self._largest for names in named):
            return ()
        known = {self._position.get(name) for names in named for name in names}
        return tuple(sorted(position for position in known if position is not None))


class Terms:
    """Follows documents of symbols to those that define what they mention.

    A term is a pair of neighbouring words, one of them rare, that hardly any other document has
    where it says what its symbol is. It is looked for where a document describes its parameters.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._defines = [_pairs(_what(document)) for document in documents]
        owners: dict[tuple[str, str], list[int]] = {}
        for position, pairs in enumerate(self._defines):
            for pair in pairs:
                owners.setdefault(pair, []).append(position)
        words = Counter(w for document in documents for w in set(tokens(document.page_content)))
        self._owners = {
            pair: found
            for pair, found in owners.items()
            if len(found) <= _SHARED and min(words[word] for word in pair) <= _RARE
        }
        self.mentioned = lru_cache(maxsize=10_000)(self._mentioned)

    def _mentioned(self, position: int) -> tuple[int, ...]:
        """Positions of what a document mentions and does not define, most shared pairs first."""
        document = self._documents[position]
        shared: Counter[int] = Counter()
        for pair in _pairs(_inputs(document)) - self._defines[position]:
            shared.update(self._owners.get(pair, ()))
        del shared[position]
        return tuple(sorted(shared, key=lambda owner: (-shared[owner], owner)))

    def closure(self, start: Iterable[int]) -> list[int]:
        """These documents, what they mention, what that mentions, ...: nearest first."""
        found = dict.fromkeys(start)
        waiting = list(found)
        for position in waiting:  # grows while it is read
            new = [other for other in self.mentioned(position) if other not in found]
            found.update(dict.fromkeys(new))
            waiting += new
        return waiting


def _what(document: Document) -> str:
    """Name and first section; a module only names what its symbols define."""
    if document.metadata["kind"] == "module":
        return ""
    name = str(document.metadata["qualname"]).rpartition(".")[2]
    return f"{name}. {next(iter(document.metadata['sections'].values()), '')[:_WHAT]}"


def _inputs(document: Document) -> str:
    """What describes parameters: their section, and sentences elsewhere that quote a name."""
    sections = document.metadata["sections"]
    told = [item["text"] for item in document.metadata["inputs"].values()]
    for title in ("What it does", "Details", "Notes"):
        sentences = _SENTENCE.split(sections.get(title, ""))
        told += [sentence for sentence in sentences if "`" in sentence]
    return "\n".join(told)


def _pairs(text: str) -> frozenset[tuple[str, str]]:
    return frozenset(pairwise(tokens(text)))

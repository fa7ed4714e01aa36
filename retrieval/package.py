"""What documents of a small package mention: which of them define what others need.

What such a package holds is likely to be known to nobody: what a question asks for is found by its
term and not by what it is like, and documents say what their inputs are computed from. In a large
library both lose more than they gain (docs/appendix/retrieval.md).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

from docgen import render
from docgen.symbols import FIRST, Symbol
from indexes.tokens import tokens

_SHARED = 3  # symbols that may have a pair in common: one that more have says nothing
_RARE = 25  # documents that have the rarer word of a pair
_WHAT = 600  # characters of what a document says that its symbol is
_SENTENCE = re.compile(r"(?<=[.;])\s+")


class Terms:
    """Follows documents of symbols to those that define what they mention.

    A term is a pair of neighbouring words, one of them rare, that hardly any other document has
    where it says what its symbol is. It is looked for where a document describes its parameters.
    """

    def __init__(self, symbols: Sequence[Symbol]) -> None:
        self._symbols = symbols
        self._defines = [_pairs(_what(symbol)) for symbol in symbols]
        owners: dict[tuple[str, str], list[int]] = {}
        for position, pairs in enumerate(self._defines):
            for pair in pairs:
                owners.setdefault(pair, []).append(position)
        words = Counter(
            w for symbol in symbols for w in set(tokens(render.document(symbol)))
        )
        self._owners = {
            pair: found
            for pair, found in owners.items()
            if len(found) <= _SHARED and min(words[word] for word in pair) <= _RARE
        }
        self.mentioned = lru_cache(maxsize=10_000)(self._mentioned)

    def _mentioned(self, position: int) -> tuple[int, ...]:
        """Positions of what a document mentions and does not define, most shared pairs first."""
        symbol = self._symbols[position]
        shared: Counter[int] = Counter()
        for pair in _pairs(_inputs(symbol)) - self._defines[position]:
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


def _what(symbol: Symbol) -> str:
    """Name and first section; a module only names what its symbols define."""
    return "" if symbol.kind == "module" else f"{symbol.name}. {symbol.what[:_WHAT]}"


def _inputs(symbol: Symbol) -> str:
    """What describes parameters: their section, and sentences elsewhere that quote a name."""
    told = [item.text.strip() for item in symbol.inputs]
    for title in (FIRST, "Details", "Notes"):
        sentences = _SENTENCE.split(symbol.section(title))
        told += [sentence for sentence in sentences if "`" in sentence]
    return "\n".join(told)


def _pairs(text: str) -> frozenset[tuple[str, str]]:
    return frozenset(pairwise(tokens(text)))

"""Whether a corpus holds what a benchmark must keep secret: overlap of word n-grams.

A corpus made from a library shares calls and literals with code that uses the library; what is
suspicious is a long run of words in common with verification or reference code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from langchain_core.documents import Document

LENGTH = 13  # words of an n-gram, as in the contamination audits of GPT-3 (Brown et al. 2020)
_WORD = re.compile(r"\d+\.\d+|\w+")


@dataclass(frozen=True)
class Overlap:
    """What one secret text shares with a corpus.

    Attributes
    ----------
    shared, total
        Different n-grams of the secret that stand in the corpus, and all it has.
    documents
        Ids of the documents that hold the most of them, at most five.
    longest
        The longest run of words in common, as text.
    """

    secret: str
    shared: int
    total: int
    documents: tuple[str, ...]
    longest: str

    @property
    def share(self) -> float:
        """Part of the secret's n-grams that the corpus holds."""
        return self.shared / self.total if self.total else 0.0


def words(text: str) -> list[str]:
    """Words and numbers, lower case; punctuation does not count."""
    return [match.lower() for match in _WORD.findall(text)]


def audit(
    documents: Iterable[Document], secrets: Mapping[str, str], *, length: int = LENGTH
) -> list[Overlap]:
    """Overlap of each secret text with the documents, the largest first."""
    texts = {name: words(text) for name, text in secrets.items()}
    owners: dict[tuple[str, ...], set[str]] = {}
    for name, sequence in texts.items():
        for gram in _grams(sequence, length):
            owners.setdefault(gram, set()).add(name)
    found: dict[str, dict[tuple[str, ...], str]] = {name: {} for name in texts}
    counts: dict[str, dict[str, int]] = {name: {} for name in texts}
    for document in documents:
        identifier = str(document.metadata["id"])
        for gram in set(_grams(words(document.page_content), length)):
            for name in owners.get(gram, ()):
                found[name].setdefault(gram, identifier)
                counts[name][identifier] = counts[name].get(identifier, 0) + 1
    overlaps = [
        Overlap(
            secret=name,
            shared=len(found[name]),
            total=len(set(_grams(sequence, length))),
            documents=tuple(sorted(counts[name], key=lambda d: (-counts[name][d], d))[:5]),
            longest=_longest(sequence, found[name].keys(), length),
        )
        for name, sequence in texts.items()
    ]
    return sorted(overlaps, key=lambda o: (-o.shared, o.secret))


def _grams(sequence: Sequence[str], length: int) -> list[tuple[str, ...]]:
    return [tuple(sequence[i : i + length]) for i in range(len(sequence) - length + 1)]


def _longest(sequence: Sequence[str], shared: Iterable[tuple[str, ...]], length: int) -> str:
    """The longest run of the sequence whose n-grams are all shared."""
    known = set(shared)
    best: tuple[int, int] = (0, 0)
    start: int | None = None
    for i, gram in enumerate([*_grams(sequence, length), ()]):
        if gram in known:
            start = i if start is None else start
        elif start is not None:
            best = max(best, (i - start + length - 1, start))
            start = None
    size, begin = best
    return " ".join(sequence[begin : begin + size])

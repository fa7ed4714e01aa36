"""The arm ``retrieval``: a paper cut into chunks, and those that our lexical indexes find."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Ranking = Literal["tfidf", "bm25"]


@dataclass(frozen=True)
class Extracts:
    """What is shown of a paper.

    Attributes
    ----------
    text
        The chosen chunks in the order of the paper.
    spans
        Where they stand, in characters.
    """

    text: str
    spans: tuple[tuple[int, int], ...]


def extract(text: str, query: str, k: int, ranking: Ranking) -> Extracts:
    """The ``k`` chunks of a paper that a query finds, from an index for this paper alone."""
    from indexes.chunks import Text, split  # noqa: PLC0415 -- scikit-learn is slow
    from indexes.lexical import Bm25Index, TfidfIndex  # noqa: PLC0415

    chunks = split([Text(text, "paper", "paper.txt", "paper", None)], "paper")
    texts = [chunk.page_content for chunk in chunks]
    index = (TfidfIndex if ranking == "tfidf" else Bm25Index).build(texts)
    best = np.argsort(-index.scores(query), kind="stable")[:k]
    chosen = sorted(int(place) for place in best)
    places: list[tuple[int, int]] = []
    for content in texts:  # chunks overlap, and begin in order
        start = text.find(content, places[-1][0] + 1 if places else 0)
        places.append((start, start + len(content)))
    return Extracts(
        "\n[...]\n".join(texts[place] for place in chosen),
        tuple(places[place] for place in chosen),
    )


def recall(evidence: Sequence[str], shown: str) -> float | None:
    """Share of the evidence's sentences (or lines) that are shown whole; ``None`` without any."""
    sentences = [
        sentence
        for passage in evidence
        for sentence in re.split(r"\n|(?<=[.;])\s+", passage)
        if sentence.strip()
    ]
    return sum(s in shown for s in sentences) / len(sentences) if sentences else None


def spans(text: str, evidence: Sequence[str]) -> list[tuple[int, int]]:
    """Where passages stand in a paper, in characters."""
    found = ((text.find(passage), len(passage)) for passage in evidence)
    return [(start, start + length) for start, length in found if start >= 0]

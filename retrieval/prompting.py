"""Hits in a prompt: as much of a ranking as fits, and a choice among candidates by a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from docgen import render
from docgen.reading import last_tagged
from indexes.pages.words import tokens
from retrieval.base import Hit

CHARACTERS_PER_TOKEN = 4  # an estimate: English and code, usual tokenizers
TASK = """\
Which of the numbered candidates does a solution need? Give their numbers, the most useful first, \
at most {most}, none twice. Answer in exactly this form:
<indices>3, 1, 2</indices>"""
_SMALLEST = 400  # characters; less of a document is not worth its place


def fit(hits: Sequence[Hit], query: str, budget: int) -> list[Hit]:
    """The first hits that fit ``budget`` tokens together, long ones condensed.

    As many as fit whole, or as many as :func:`shorten` leaves a room that is worth having.
    """
    room = budget * CHARACTERS_PER_TOKEN
    whole = list(accumulate(len(hit.text) for hit in hits))
    shares = accumulate(1 / rank for rank in range(1, len(hits) + 1))
    count = sum(
        size <= room or room / (rank * parts) >= _SMALLEST
        for rank, (size, parts) in enumerate(zip(whole, shares, strict=True), start=1)
    )
    return shorten(hits[:count], query, room // max(1, count))


def shorten(hits: Sequence[Hit], query: str, characters: int | None) -> list[Hit]:
    """Hits of ``characters`` on average, condensed to what a query asks about.

    The n-th has room for one n-th of what the first has; what short ones leave goes to the
    others in the same proportions. ``None`` leaves all whole.
    """
    if characters is None:
        return list(hits)
    wanted = frozenset(tokens(query))
    sizes = [len(hit.text) for hit in hits]
    left = float(characters * len(hits))
    weights = {rank: 1 / rank for rank in range(1, len(hits) + 1)}
    # those that need least of their share first, so that what they leave is known
    for rank in sorted(weights, key=lambda rank: (sizes[rank - 1] * rank, rank)):
        share = left * weights[rank] / sum(weights.values())
        sizes[rank - 1] = min(sizes[rank - 1], int(share))
        left -= sizes[rank - 1]
        del weights[rank]

    def relevance(text: str) -> int:
        return len(wanted.intersection(tokens(text)))

    return [hit.within(room, relevance) for hit, room in zip(hits, sizes, strict=True)]


def request(question: str, hits: Sequence[Hit], most: int) -> str:
    """The text that asks for the numbers of the ``most`` useful hits, counted from 1."""
    listed = "\n".join(
        f"{n}. {render.one_line(hit.entry, hit.text)}" for n, hit in enumerate(hits, 1)
    )
    given = f"<question>\n{question.strip()}\n</question>"
    return (
        f"{given}\n\n<candidates>\n{listed}\n</candidates>\n\n{TASK.format(most=most)}"
    )


def read_order(reply: str, count: int) -> list[int]:
    """Positions (from 0) that a reply names, each once, those out of range left out."""
    listed = last_tagged(reply, "indices") or ""
    numbers = [int(n) - 1 for n in re.findall(r"(?<!\d)[0-9]{1,6}(?!\d)", listed)]
    return [n for n in dict.fromkeys(numbers) if 0 <= n < count]

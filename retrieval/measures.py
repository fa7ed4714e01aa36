"""Recall and reciprocal rank with bootstrap intervals over the queries, and their table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from matsmith.core.errors import UsageError

NAMES = "names in the question"  # the row of a list of these, without retrieval
_RESAMPLES = 10_000


@dataclass(frozen=True)
class Estimate:
    """A mean over queries with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.2f}, {self.high:.2f}]"


@dataclass(frozen=True)
class Share:
    """``found`` of ``of`` names over all queries, with the interval over queries."""

    found: int
    of: int
    estimate: Estimate

    def __str__(self) -> str:
        return f"{self.found} of {self.of}: {self.estimate}"


@dataclass(frozen=True)
class Recalled:
    """What one retriever found for one set of questions.

    Attributes
    ----------
    hidden
        Gold names that do not stand in the text of their question, and how many of them are among
        the first k documents; ``None`` where every name stands in its question.
    recall, within
        Recall of the first k documents, and of what fits a number of tokens.
    difference
        Recall of the smallest k less that of the first retriever, question by question.
    """

    questions: str
    retriever: str
    queries: int
    hidden: Mapping[int, Share | None]
    recall: Mapping[int, Estimate]
    within: Mapping[int, Estimate]
    mrr: Estimate
    difference: Estimate | None


def recall(found: Sequence[frozenset[str]], gold: frozenset[str], k: int) -> float:
    """Part of ``gold`` that the first ``k`` documents cover.

    Parameters
    ----------
    found
        Per document, best first, the symbols that it documents.
    """
    covered = frozenset().union(*found[:k])
    return len(covered & gold) / len(gold)


def reciprocal_rank(found: Sequence[frozenset[str]], gold: frozenset[str]) -> float:
    """One over the rank of the first document that covers something of ``gold``, else 0."""
    return next((1 / rank for rank, names in enumerate(found, start=1) if names & gold), 0.0)


def bootstrap(values: Sequence[float], of: Sequence[float] | None = None) -> Estimate:
    """Mean with a percentile bootstrap interval; ``values`` has one entry per query.

    With ``of``, per query how many there are, the sum of ``values`` per sum of these: queries are
    resampled with all their names, because the names of one query are not independent.
    """
    data = np.asarray(values, dtype=float)
    whole = np.ones(data.size) if of is None else np.asarray(of, dtype=float)
    drawn = np.random.default_rng(0).integers(0, data.size, (_RESAMPLES, data.size))
    low, high = np.quantile(data[drawn].sum(axis=1) / whole[drawn].sum(axis=1), [0.025, 0.975])
    return Estimate(float(data.sum() / whole.sum()), float(low), float(high))


def share(found: Sequence[int], of: Sequence[int]) -> Share | None:
    """Part of the names of all queries that was found; ``None`` when there are no names."""
    some = [(f, n) for f, n in zip(found, of, strict=True) if n]
    return Share(sum(found), sum(of), bootstrap(*zip(*some, strict=True))) if some else None


def paired(values: Sequence[float], reference: Sequence[float]) -> Estimate:
    """Mean difference per query with its interval; zero outside it is a real difference."""
    return bootstrap([a - b for a, b in zip(values, reference, strict=True)])


def markdown(rows: Sequence[Recalled]) -> str:
    """The rows of one set of questions as a table."""
    first = rows[0]
    smallest = min(first.recall)
    head = ["retriever", *(f"R@{k}" for k in first.recall)]
    head += [f"R in {tokens} tokens" for tokens in first.within]
    head += [*(f"hidden names @{k}" for k in first.hidden), "MRR"]
    head.append(f"R@{smallest} less the first")
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        name = row.retriever if row.retriever == NAMES else f"`{row.retriever}`"
        measured = [*row.recall.values(), *row.within.values(), *row.hidden.values(), row.mrr]
        last = "" if row.difference is None else row.difference
        cells = [name, *(each or "none" for each in measured), last]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def put(document: str, name: str, table: str) -> str:
    """The document with ``table`` between ``<!-- name -->`` and ``<!-- end -->``."""
    opening, closing = f"<!-- {name} -->\n", "<!-- end -->"
    before, mark, rest = document.partition(opening)
    _, end, after = rest.partition(closing)
    if not (mark and end):
        raise UsageError(f"write=: the document has no markers {opening.strip()} ... {closing}")
    return f"{before}{mark}{table}\n{end}{after}"

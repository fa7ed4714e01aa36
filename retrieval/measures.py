"""Recall and reciprocal rank with bootstrap intervals over the queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_RESAMPLES = 10_000


@dataclass(frozen=True)
class Estimate:
    """A mean over queries with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


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


def bootstrap(values: Sequence[float]) -> Estimate:
    """Mean with a percentile bootstrap interval; ``values`` has one entry per query."""
    data: NDArray[np.float64] = np.asarray(values, dtype=float)
    rng = np.random.default_rng(0)
    means = data[rng.integers(0, data.size, (_RESAMPLES, data.size))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Estimate(float(data.mean()), float(low), float(high))


@dataclass(frozen=True)
class Share:
    """``found`` of ``of`` names over all queries, with the interval over queries."""

    found: int
    of: int
    estimate: Estimate


def share(found: Sequence[int], of: Sequence[int]) -> Share | None:
    """Part of the names of all queries that was found; ``None`` when there are no names.

    Parameters
    ----------
    found, of
        Per query: names that were found, and that there are. Queries are resampled with all
        their names, because the names of one query are not independent.
    """
    pairs = np.array([(f, n) for f, n in zip(found, of, strict=True) if n], dtype=float)
    if not pairs.size:
        return None
    rng = np.random.default_rng(0)
    sums = pairs[rng.integers(0, len(pairs), (_RESAMPLES, len(pairs)))].sum(axis=1)
    low, high = np.quantile(sums[:, 0] / sums[:, 1], [0.025, 0.975])
    mean = float(pairs[:, 0].sum() / pairs[:, 1].sum())
    return Share(sum(found), sum(of), Estimate(mean, float(low), float(high)))


def paired(values: Sequence[float], reference: Sequence[float]) -> Estimate:
    """Mean difference per query with its interval; zero outside it is a real difference."""
    return bootstrap([a - b for a, b in zip(values, reference, strict=True)])

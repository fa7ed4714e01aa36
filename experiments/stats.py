"""How sure a number is. The unit of resampling is always the question.

Answers to one question (its properties, its seeds) are not independent, so treating each
property as a sample of its own would make every interval too narrow: in MatTools four
questions hold 48 of 138 properties.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, stdtrit

RESAMPLES = 10_000

#: Below this many questions every assignment of signs is tried instead of a sample of them.
EXACT_UP_TO = 16


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence limits, all of them shares between 0 and 1."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Tally:
    """What one question contributes: ``passed`` of ``total``, summed over its seeds."""

    passed: float
    total: float


def bootstrap_interval(
    tallies: Sequence[Tally], *, confidence: float = 0.95, seed: int = 0
) -> Interval | None:
    """Interval of a ratio of sums, by resampling whole questions.

    Percentile bootstrap, a little wider: see `_levels`.

    Parameters
    ----------
    tallies
        One per question.
    confidence
        Coverage of the interval.
    seed
        Of the resampling; the same data give the same interval.

    Returns
    -------
    Interval or None
        ``None`` without any data.
    """
    passed = np.array([tally.passed for tally in tallies], dtype=float)
    totals = np.array([tally.total for tally in tallies], dtype=float)
    if totals.sum() == 0:
        return None
    generator = np.random.default_rng(seed)
    drawn = generator.integers(0, len(tallies), size=(RESAMPLES, len(tallies)))
    drawn_totals = totals[drawn].sum(axis=1)
    possible = drawn_totals > 0
    ratios = passed[drawn].sum(axis=1)[possible] / drawn_totals[possible]
    low, high = np.quantile(ratios, _levels(len(tallies), confidence))
    return Interval(float(passed.sum() / totals.sum()), float(low), float(high))


def paired_difference(
    first: Mapping[str, Tally],
    second: Mapping[str, Tally],
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval | None:
    """Interval of ``second - first`` over the questions that both have."""
    shared = sorted(first.keys() & second.keys())
    left = np.array([[first[key].passed, first[key].total] for key in shared], dtype=float)
    right = np.array([[second[key].passed, second[key].total] for key in shared], dtype=float)
    if not shared or left[:, 1].sum() == 0 or right[:, 1].sum() == 0:
        return None
    generator = np.random.default_rng(seed)
    drawn = generator.integers(0, len(shared), size=(RESAMPLES, len(shared)))
    one, two = left[drawn].sum(axis=1), right[drawn].sum(axis=1)
    possible = (one[:, 1] > 0) & (two[:, 1] > 0)
    one, two = one[possible], two[possible]
    differences = two[:, 0] / two[:, 1] - one[:, 0] / one[:, 1]
    low, high = np.quantile(differences, _levels(len(shared), confidence))
    estimate = right[:, 0].sum() / right[:, 1].sum() - left[:, 0].sum() / left[:, 1].sum()
    return Interval(float(estimate), float(low), float(high))


def _levels(size: int, confidence: float) -> list[float]:
    """Quantiles of the resampled values that cover as promised with few questions.

    Resampling shows too little spread by sqrt((n - 1) / n), and the normal shape that the
    percentiles follow is too narrow for n of tens; both are made up for by moving the quantiles
    outwards (Hesterberg 2015, "expanded percentile interval"). In simulations of 49 questions
    with few of them holding most properties, 95 % intervals then cover in 94 %, not 93 %.
    """
    tail = (1 - confidence) / 2
    if size < 2:
        return [tail, 1 - tail]
    wide = (size / (size - 1)) ** 0.5 * float(stdtrit(size - 1, 1 - tail))
    tail = NormalDist().cdf(-wide)
    return [tail, 1 - tail]


def resampled(groups: Mapping[tuple[float, ...], int], *, seed: int = 0) -> NDArray[np.float64]:
    """Sums of resampled clusters, for more of them than an array of indices could hold.

    Drawing clusters one by one and drawing how often each distinct contribution comes up are the
    same; the second needs memory for the distinct ones only.

    Parameters
    ----------
    groups
        How many clusters (questions, or symbols with several questions) contribute each tuple.
    seed
        Of the resampling; the same data give the same sums.

    Returns
    -------
    ndarray
        Shape (`RESAMPLES`, length of a tuple).
    """
    values = np.array(sorted(groups), dtype=float)
    counts = np.array([groups[key] for key in sorted(groups)])
    generator = np.random.default_rng(seed)
    drawn = generator.multinomial(counts.sum(), counts / counts.sum(), size=RESAMPLES)
    return np.asarray(drawn @ values)


def share_interval(
    groups: Mapping[tuple[float, ...], int], *, confidence: float = 0.95
) -> Interval | None:
    """Interval of a share; ``groups`` counts clusters by (passed, total), see `resampled`."""
    total = sum(count * key[1] for key, count in groups.items())
    if not total:
        return None
    passed = sum(count * key[0] for key, count in groups.items())
    sums = resampled(groups)
    sums = sums[sums[:, 1] > 0]
    tail = (1 - confidence) / 2
    low, high = np.quantile(sums[:, 0] / sums[:, 1], [tail, 1 - tail])
    return Interval(passed / total, float(low), float(high))


def difference_interval(
    groups: Mapping[tuple[float, ...], int], *, confidence: float = 0.95
) -> Interval | None:
    """Interval of second minus first share; ``groups`` counts (passed, total, passed, total)."""
    one, first, two, second = (
        sum(count * key[column] for key, count in groups.items()) for column in range(4)
    )
    if not first or not second:
        return None
    sums = resampled(groups)
    sums = sums[(sums[:, 1] > 0) & (sums[:, 3] > 0)]
    tail = (1 - confidence) / 2
    differences = sums[:, 2] / sums[:, 3] - sums[:, 0] / sums[:, 1]
    low, high = np.quantile(differences, [tail, 1 - tail])
    return Interval(two / second - one / first, float(low), float(high))


def paired_permutation(
    first: Mapping[str, Tally], second: Mapping[str, Tally], *, seed: int = 0
) -> float | None:
    """Two-sided p-value that two systems are the same, by swapping them question by question.

    Statistic: the sum over shared questions of the difference in properties passed, each
    scaled to the same number of seeds. Exact for few questions, else Monte Carlo with the
    observed assignment counted in.
    """
    shared = sorted(first.keys() & second.keys())
    differences = np.array([_shift(first[key], second[key]) for key in shared])
    differences = differences[differences != 0]
    if not shared:
        return None
    if differences.size == 0:
        return 1.0
    signs = _signs(differences.size, seed)
    observed = abs(differences.sum())
    # Sums of the same terms in another order differ in the last bits.
    as_extreme = np.abs(signs @ differences) >= observed * (1 - 1e-12)
    if differences.size <= EXACT_UP_TO:
        return float(as_extreme.mean())
    return float((as_extreme.sum() + 1) / (len(signs) + 1))


def _shift(first: Tally, second: Tally) -> float:
    if first.total == 0 or second.total == 0:
        return 0.0
    # With unequal numbers of seeds both count as often as the one with more.
    scale = max(first.total, second.total)
    return scale * (second.passed / second.total - first.passed / first.total)


def _signs(size: int, seed: int) -> NDArray[np.float64]:
    if size <= EXACT_UP_TO:
        numbers = np.arange(2**size)[:, None]
        return np.where(numbers >> np.arange(size) & 1, 1.0, -1.0)
    generator = np.random.default_rng(seed)
    return generator.choice(np.array([-1.0, 1.0]), size=(RESAMPLES, size))


def mcnemar(first: Mapping[str, bool], second: Mapping[str, bool]) -> float | None:
    """Exact two-sided McNemar test on pass/fail per question; ``None`` without shared ones."""
    shared = first.keys() & second.keys()
    if not shared:
        return None
    gained = sum(second[key] and not first[key] for key in shared)
    lost = sum(first[key] and not second[key] for key in shared)
    return mcnemar_counts(gained, lost)


def mcnemar_counts(gained: int, lost: int) -> float:
    """Exact two-sided McNemar test: ``gained`` and ``lost`` questions between two systems."""
    if gained + lost == 0:
        return 1.0
    return min(1.0, float(2 * bdtr(min(gained, lost), gained + lost, 0.5)))


@dataclass(frozen=True)
class Spread:
    """Mean over seeds; ``deviation`` (of a sample, n - 1) is ``None`` for a single seed."""

    mean: float
    deviation: float | None


def spread(values: Sequence[float]) -> Spread | None:
    """Mean and standard deviation over seeds; ``None`` without values."""
    if not values:
        return None
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return Spread(float(np.mean(values)), deviation)

"""Statistics against scipy, statsmodels and planted differences."""

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar

from experiments.stats import (
    Tally,
    bootstrap_interval,
    mcnemar,
    paired_difference,
    paired_permutation,
    spread,
)


def tallies(passed, total):
    return {f"q{i}": Tally(p, t) for i, (p, t) in enumerate(zip(passed, total, strict=True))}


def test_bootstrap_agrees_with_scipy():
    generator = np.random.default_rng(1)
    total = generator.integers(1, 12, 49)
    passed = generator.binomial(total, 0.4)
    # The same quantiles, from the t distribution: an interval of this confidence by percentiles.
    wide = np.sqrt(49 / 48) * scipy.stats.t.ppf(0.975, 48)
    reference = scipy.stats.bootstrap(
        (passed, total),
        lambda p, t, axis: p.sum(axis=axis) / t.sum(axis=axis),
        paired=True,
        vectorized=True,
        method="percentile",
        n_resamples=20_000,
        confidence_level=1 - 2 * scipy.stats.norm.cdf(-wide),
        rng=np.random.default_rng(2),
    )
    ours = bootstrap_interval(list(tallies(passed, total).values()))
    assert ours.estimate == pytest.approx(passed.sum() / total.sum())
    assert ours.low == pytest.approx(reference.confidence_interval.low, abs=0.004)
    assert ours.high == pytest.approx(reference.confidence_interval.high, abs=0.004)


def planted(generator, *, questions=49, shift=0.0):
    """Two systems on questions of differing size and difficulty, as in MatTools.

    Their mean rates are 0.4 and ``0.4 + shift``; a question is as hard for both.
    """
    total = generator.choice([2, 2, 2, 2, 2, 2, 3, 12], questions)
    rate = generator.beta(0.6, 0.9, questions)
    second = np.clip(rate + shift, 0, 1)
    return tallies(generator.binomial(total, rate), total), tallies(
        generator.binomial(total, second), total
    )


@pytest.mark.long
def test_intervals_and_tests_keep_their_promise_on_a_planted_null():
    generator = np.random.default_rng(3)
    worlds, covered, same, rejected = 400, 0, 0, 0
    for _ in range(worlds):
        first, second = planted(generator)
        interval = bootstrap_interval(list(first.values()))
        covered += interval.low <= 0.4 <= interval.high
        difference = paired_difference(first, second)
        same += difference.low <= 0 <= difference.high
        rejected += paired_permutation(first, second) < 0.05
    assert 0.92 <= covered / worlds <= 0.97
    assert 0.93 <= same / worlds <= 0.975
    assert 0.02 <= rejected / worlds <= 0.075


def test_a_planted_shift_is_covered_by_its_interval():
    generator = np.random.default_rng(4)
    covered = missed = 0
    for _ in range(60):
        # Rates between 0.3 and 0.7, so that a shift of 0.05 is 0.05 for every question.
        total = generator.integers(3, 7, 82)
        rate = generator.uniform(0.3, 0.7, 82)
        first = tallies(generator.binomial(total, rate), total)
        second = tallies(generator.binomial(total, rate + 0.05), total)
        difference = paired_difference(first, second)
        covered += difference.low <= 0.05 <= difference.high
        missed += difference.low <= 0.25 <= difference.high
    assert covered >= 54
    assert missed == 0


def test_clustering_widens_the_interval():
    # Ten questions that pass or fail as a whole, against one hundred independent ones.
    clustered = bootstrap_interval([Tally(10 * (i % 2), 10) for i in range(10)])
    independent = bootstrap_interval([Tally(i % 2, 1) for i in range(100)])
    assert clustered.high - clustered.low > 2 * (independent.high - independent.low)


def test_no_data_is_none():
    assert bootstrap_interval([]) is None
    assert bootstrap_interval([Tally(0, 0)]) is None
    assert paired_difference({}, {}) is None
    assert paired_permutation({"a": Tally(1, 1)}, {"b": Tally(1, 1)}) is None
    assert mcnemar({}, {}) is None
    assert spread([]) is None


@pytest.mark.parametrize("size", [8, 12, 60])
def test_permutation_agrees_with_scipy(size):
    generator = np.random.default_rng(size)
    total = generator.integers(1, 6, size)
    first, second = generator.binomial(total, 0.4), generator.binomial(total, 0.55)
    reference = scipy.stats.permutation_test(
        (first, second),
        lambda a, b, axis: (b - a).sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=20_000,
        rng=np.random.default_rng(4),
    )
    ours = paired_permutation(tallies(first, total), tallies(second, total))
    assert ours == pytest.approx(reference.pvalue, abs=1e-9 if size <= 12 else 0.02)


def test_mcnemar_agrees_with_statsmodels():
    generator = np.random.default_rng(5)
    for _ in range(20):
        first, second = generator.random(40) < 0.5, generator.random(40) < 0.7
        table = [
            [np.sum(first & second), np.sum(first & ~second)],
            [np.sum(~first & second), np.sum(~first & ~second)],
        ]
        ours = mcnemar(
            {str(i): bool(v) for i, v in enumerate(first)},
            {str(i): bool(v) for i, v in enumerate(second)},
        )
        assert ours == pytest.approx(float(reference_mcnemar(table, exact=True).pvalue))


def test_a_planted_difference_and_a_planted_null_are_told_apart():
    generator = np.random.default_rng(6)
    total = np.full(1000, 3)
    base = generator.binomial(total, 0.40)
    same = generator.binomial(total, 0.40)
    better = generator.binomial(total, 0.45)
    planted = paired_difference(tallies(base, total), tallies(better, total))
    null = paired_difference(tallies(base, total), tallies(same, total))
    assert planted.low > 0
    assert planted.low <= 0.05 <= planted.high
    assert null.low <= 0 <= null.high
    assert paired_permutation(tallies(base, total), tallies(better, total)) < 0.01
    assert paired_permutation(tallies(base, total), tallies(same, total)) > 0.05


def test_unequal_seeds_are_scaled():
    once = {"a": Tally(1, 2), "b": Tally(0, 2)}
    thrice = {"a": Tally(3, 6), "b": Tally(0, 6)}
    assert paired_permutation(once, thrice) == 1.0
    assert paired_difference(once, thrice).estimate == 0.0


def test_spread():
    assert spread([0.2]).deviation is None
    assert spread([0.2, 0.4]).deviation == pytest.approx(np.std([0.2, 0.4], ddof=1))
    assert spread([0.2, 0.4]).mean == pytest.approx(0.3)

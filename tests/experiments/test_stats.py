"""Statistics against scipy and planted differences."""

from itertools import combinations

import numpy as np
import pytest
import scipy.stats

from experiments.stats import (
    Tally,
    paired_difference,
    paired_permutation,
    pass_all,
    pass_at,
    ratio_interval,
)


def tallies(passed, total):
    return {
        f"q{i}": Tally(p, t) for i, (p, t) in enumerate(zip(passed, total, strict=True))
    }


def planted(generator, total, shift=0.0):
    """Two systems on questions of differing difficulty, as in MatTools.

    Their mean rates are 0.4 and ``0.4 + shift``; a question is as hard for both.
    """
    rate = generator.beta(0.6, 0.9, len(total))
    rates = (rate, np.clip(rate + shift, 0, 1))
    return [tallies(generator.binomial(total, each), total) for each in rates]


@pytest.mark.long
def test_intervals_and_tests_keep_their_promise_on_a_planted_null():
    generator = np.random.default_rng(3)
    worlds, covered, same, rejected = 400, 0, 0, 0
    for _ in range(worlds):
        first, second = planted(
            generator, generator.choice([2, 2, 2, 2, 2, 2, 3, 12], 49)
        )
        interval = ratio_interval(list(first.values()))
        covered += interval.low <= 0.4 <= interval.high
        difference = paired_difference(first, second)
        same += difference.low <= 0 <= difference.high
        rejected += paired_permutation(first, second) < 0.05
    assert 0.92 <= covered / worlds <= 0.97
    assert 0.93 <= same / worlds <= 0.975
    assert 0.02 <= rejected / worlds <= 0.075


@pytest.mark.parametrize("right", range(6))
@pytest.mark.parametrize("k", range(1, 6))
def test_pass_at_k_counts_every_choice_of_k_answers(k, right):
    tried = [True] * right + [False] * (5 - right)
    choices = list(combinations(tried, k))
    assert pass_at(k, right, 5) == pytest.approx(sum(map(any, choices)) / len(choices))
    assert pass_all(k, right, 5) == pytest.approx(sum(map(all, choices)) / len(choices))


def test_clustering_widens_the_interval():
    # Ten questions that pass or fail as a whole, against one hundred independent ones.
    clustered = ratio_interval([Tally(10 * (i % 2), 10) for i in range(10)])
    independent = ratio_interval([Tally(i % 2, 1) for i in range(100)])
    assert clustered.high - clustered.low > 2 * (independent.high - independent.low)


def test_no_data_is_none():
    for nothing in ([], [Tally(0, 0)], [Tally(-1, 0), Tally(0, 0)]):
        assert ratio_interval(nothing) is None
    assert paired_difference({}, {}) is None
    assert paired_permutation({"a": Tally(1, 1)}, {"b": Tally(1, 1)}) is None


def test_a_score_above_its_baseline():
    """Clusters that the baseline solves stay in the sum: failing them costs."""
    found = ratio_interval(
        [Tally(1, 1), Tally(0, 1), Tally(-1, 0), Tally(2, 2), Tally(0, 0)]
    )
    assert found.estimate == pytest.approx((4 - 1 - 1) / 4)
    assert found.low < 0 < found.high <= 1


def test_unequal_seeds_are_scaled():
    once = {"a": Tally(1, 2), "b": Tally(0, 2)}
    thrice = {"a": Tally(3, 6), "b": Tally(0, 6)}
    assert paired_permutation(once, thrice) == 1.0
    assert paired_difference(once, thrice).estimate == 0.0


def test_questions_that_all_agree_do_not_prove_a_rate_or_a_difference():
    none = ratio_interval([Tally(0, 4)] * 3)
    every = ratio_interval([Tally(4, 4)] * 3)
    exact = scipy.stats.binomtest(0, 3).proportion_ci(0.95, method="exact")
    assert (none.estimate, none.low, none.high) == (0.0, 0.0, pytest.approx(exact.high))
    assert (every.estimate, every.low, every.high) == (
        1.0,
        pytest.approx(1 - exact.high),
        1.0,
    )
    worse, better = tallies([0] * 5, [4] * 5), tallies([4] * 5, [4] * 5)
    difference = paired_difference(worse, better)
    assert difference.estimate == difference.high == 1.0
    assert difference.low < 0  # five of five is not significant
    assert paired_permutation(worse, better) == pytest.approx(2 / 2**5)
    same = paired_difference(better, better)
    assert same.low == pytest.approx(-same.high)
    assert same.high > 0.4


def test_a_single_question_says_next_to_nothing():
    interval = ratio_interval([Tally(1, 2)])
    assert interval.low < 0.05
    assert interval.high > 0.95
    assert paired_permutation({"a": Tally(0, 1)}, {"a": Tally(1, 1)}) == 1.0


def test_many_questions_use_clustered_errors_that_agree_with_resampling(monkeypatch):
    """They tell a planted difference from none, too."""
    generator = np.random.default_rng(7)
    total = generator.integers(1, 12, 1500)
    pairs = [planted(generator, total, shift) for shift in (0.02, 0.0)]

    def found(first, second):
        return (
            ratio_interval(list(first.values())),
            paired_difference(first, second),
            paired_permutation(first, second),
        )

    better, same = (found(*pair) for pair in pairs)
    assert 0 < better[1].low < 0.02 < better[1].high
    assert better[2] < 0.01
    assert same[1].low < 0 < same[1].high
    assert same[2] > 0.05
    monkeypatch.setattr("experiments.stats.LARGE", 10_000)
    resampled = found(*pairs[0])
    assert resampled[0].low == pytest.approx(better[0].low, abs=0.003)
    assert resampled[1].high == pytest.approx(better[1].high, abs=0.003)
    assert resampled[2] == pytest.approx(better[2], abs=0.02)

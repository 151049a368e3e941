"""Whether two runs of a sweep agree: how often the answer is wrong, and degenerate cases."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats as reference

from linrep.stats import half_samples, orders_differ, rerun_interval, shares_differ
from tests.tools import draws, rarely


@pytest.mark.parametrize("replicates", [2, 3, 4, 5, 8, 10, 12, 20, 40, 28])
def test_halves_are_halves(replicates):
    halves, degrees = half_samples(replicates)
    assert (halves.sum(axis=1) == replicates // 2).all()
    assert 0 < degrees <= replicates - 1
    assert len(halves) <= 2 * max(replicates, 35)


@pytest.mark.parametrize("replicates", [4, 5, 6, 8, 12, 20, 40])
def test_of_a_mean_the_halves_give_the_usual_variance_exactly(replicates):
    x = np.random.default_rng(0).standard_normal(replicates)
    halves, degrees = half_samples(replicates)
    means = np.array([x[half].mean() for half in halves])
    size = replicates // 2
    found = np.mean((means - x.mean()) ** 2) * size / (replicates - size)
    np.testing.assert_allclose(found, x.var(ddof=1) / replicates)
    assert degrees == replicates - 1


def test_of_a_mean_the_interval_is_students():
    x = np.random.default_rng(1).standard_normal(12)
    halves = [x[half].mean() for half in half_samples(12)[0]]
    low, high = rerun_interval(x.mean(), halves, x, level=0.01, signed=True)
    reach = np.sqrt(2) * reference.t.ppf(0.995, 11) * reference.sem(x)
    np.testing.assert_allclose([low, high], [x.mean() - reach, x.mean() + reach])


def medians(x):
    return np.median(x, axis=-1)


#: Statistic of the last axis, how replicates are drawn, whether it can have either sign.
KINDS = {
    "mean of normals": (lambda x: x.mean(axis=-1), lambda rng, n: rng.standard_normal(n), True),
    "mean of exponentials": (
        lambda x: x.mean(axis=-1), lambda rng, n: rng.exponential(size=n), False
    ),
    "geometric mean": (
        lambda x: np.exp(np.log(x).mean(axis=-1)),
        lambda rng, n: np.exp(3 * rng.standard_normal(n)),
        False,
    ),
    "median of normals": (medians, lambda rng, n: rng.standard_normal(n), True),
    "median of rounds": (medians, lambda rng, n: rng.geometric(0.1, n).astype(float), False),
    "median, often infinite": (
        medians,
        lambda rng, n: np.where(rng.random(n) < 0.3, np.inf, rng.exponential(size=n)),
        False,
    ),
    "smooth": (lambda x: x.std(axis=-1) + 0.1, lambda rng, n: rng.standard_normal(n), False),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("replicates", [8, 20])
def test_another_run_is_outside_as_rarely_as_the_level_says(kind, replicates):
    """At twice the level: Student's quantile is an approximation for all but normal means."""
    statistic, draw, signed = KINDS[kind]
    level, rng, outside = 0.02, np.random.default_rng(7), 0
    chosen = half_samples(replicates)[0].nonzero()[1].reshape(-1, replicates // 2)
    trials = max(100, draws(600))
    with np.errstate(invalid="ignore"):
        for _ in range(trials):
            one, two = draw(rng, replicates), draw(rng, replicates)
            halves, singles = statistic(one[chosen]), statistic(one[:, None])
            low, high = rerun_interval(statistic(one), halves, singles, level=level, signed=signed)
            outside += not low <= statistic(two) <= high
    rarely(outside, trials, 2 * level)


def test_what_does_not_vary_has_no_interval_unless_it_is_rounded():
    same = {"halves": [0.5] * 14, "singles": [0.5] * 8, "level": 0.01}
    assert rerun_interval(0.5, **same) == pytest.approx((0.5, 0.5))
    rounds = {"halves": [2.0] * 14, "singles": [2.0] * 8, "level": 0.01}
    low, high = rerun_interval(2.0, **rounds)
    assert low < 1.7 < 2.4 < high
    assert rerun_interval(np.inf, [np.inf] * 14, [np.inf] * 8, level=0.01) == (np.inf, np.inf)


def test_what_is_known_otherwise_is_counted_in():
    same = {"halves": [0.5] * 14, "singles": [0.5] * 8, "level": 0.01}
    usual = reference.t.ppf(0.975, 7)
    reach = np.sqrt(2) * reference.t.ppf(0.995, 7)
    low, high = rerun_interval(0.5, **same, interval=(0.4, 0.7))
    expected = np.exp(np.log(0.5) + reach / usual * np.log([0.8, 1.4]))
    np.testing.assert_allclose([low, high], expected)
    low, high = rerun_interval(0.5, **same, error=0.1, signed=True)
    np.testing.assert_allclose([low, high], [0.5 - 0.1 * reach, 0.5 + 0.1 * reach])
    assert rerun_interval(0.5, **same, interval=(0.4, np.inf))[1] == np.inf


def test_what_is_defined_for_few_replicates_only_is_left_out():
    with_gaps = rerun_interval(2.2, [2.1, np.nan, 2.4, 2.3], [np.nan] * 4, level=0.1)
    without = rerun_interval(2.2, [2.1, 2.4, 2.3], [np.nan] * 4, level=0.1)
    assert with_gaps == without
    ranging = rerun_interval(2.0, [0.0, np.inf], [1.0, 3.0], level=0.1)
    assert ranging == (-np.inf, np.inf)
    halves = np.full(len(half_samples(10)[0]), np.nan)  # nothing is known of any part
    assert rerun_interval(2.0, halves, np.full(10, np.nan), level=1e-3) == (-np.inf, np.inf)


def test_shares_and_orders_that_differ():
    assert shares_differ((0, 40), (0, 40)) == 1.0
    assert shares_differ((0, 40), (20, 40)) < 1e-6
    assert shares_differ((3, 40), (9, 20)) == pytest.approx(
        reference.fisher_exact([[3, 37], [9, 11]])[1]
    )
    assert orders_differ((12, 3, 5), (12, 3, 5)) == 1.0
    assert orders_differ((40, 0, 0), (0, 0, 40)) < 1e-12
    assert orders_differ((20, 0, 20), (0, 40, 0)) < 1e-5


def test_equal_shares_and_orders_are_taken_for_different_as_rarely_as_said():
    """Exactly, over all outcomes of two runs of ten; of orders in 500 pairs of runs."""
    n, level = 10, 0.05
    differ = np.zeros((n + 1, n + 1), dtype=bool)
    for a, b in combinations(range(n + 1), 2):
        differ[a, b] = differ[b, a] = shares_differ((a, n), (b, n)) <= level
    for chance in (0.05, 0.3, 0.5):
        weights = reference.binom.pmf(np.arange(n + 1), n, chance)
        assert weights @ differ @ weights <= level
        rng = np.random.default_rng(5)
        runs = rng.multinomial(n, [chance, 0.2, 0.8 - chance], size=(500, 2))
        rarely(sum(orders_differ(one, two) <= level for one, two in runs), 500, level)


def test_a_known_interval_that_reaches_below_zero_reaches_it_for_what_is_positive():
    singles = np.linspace(1.0, 3.0, 10)
    halves = [np.mean(singles[half]) for half in half_samples(10)[0]]
    low, high = rerun_interval(2.0, halves, singles, level=1e-3, interval=(-0.5, 2.5))
    assert low == 0.0
    assert 2.5 < high < np.inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from linrep.stats import mean_interval, proportion_interval
from tests.stats.shared import levels

# Means over trials.


def test_mean_interval_is_students():
    values = np.random.default_rng(1).normal(size=(10, 6))
    mean, low, high = mean_interval(values, confidence=0.9)
    expected = scipy_stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    np.testing.assert_allclose(mean, values.mean(axis=0))
    np.testing.assert_allclose(low, expected.low)
    np.testing.assert_allclose(high, expected.high)


def test_geometric_mean_interval_is_that_of_the_logarithms():
    values = np.random.default_rng(1).lognormal(sigma=3.0, size=(10, 6))
    for part, log_part in zip(
        mean_interval(values, geometric=True), mean_interval(np.log(values)), strict=True
    ):
        np.testing.assert_allclose(part, np.exp(log_part))
    np.testing.assert_allclose(mean_interval(values, geometric=True)[0], scipy_stats.gmean(values))


def test_one_trial_has_no_interval():
    mean, low, high = mean_interval([[1.0, 2.0]])
    np.testing.assert_array_equal(mean, [1.0, 2.0])
    assert np.isnan([low, high]).all()


@pytest.mark.parametrize("geometric", [False, True])
def test_trials_may_be_along_any_axis(geometric):
    values = np.random.default_rng(1).lognormal(size=(4, 3, 20))
    alone = np.stack(
        [mean_interval(row, geometric=geometric) for row in values.reshape(12, 20)], axis=-1
    )
    for axis in (2, -1):
        parts = mean_interval(values, axis=axis, geometric=geometric)
        np.testing.assert_array_equal(np.reshape(parts, (3, 12)), alone)
    np.testing.assert_allclose(
        mean_interval(values, axis=1, geometric=geometric),
        mean_interval(np.moveaxis(values, 1, 0), geometric=geometric),
    )


# Proportions.


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), levels)
def test_the_interval_of_a_proportion_is_the_exact_one(counts, confidence):
    successes, trials = counts
    estimate, low, high = proportion_interval(successes, trials, confidence=confidence)
    expected = scipy_stats.binomtest(successes, trials).proportion_ci(confidence, method="exact")
    assert estimate == successes / trials
    # SciPy finds its ends by solving for them, to an absolute error of 2e-12.
    assert low == pytest.approx(expected.low, abs=1e-11)
    assert high == pytest.approx(expected.high, abs=1e-11)
    assert 0.0 <= low <= estimate <= high <= 1.0


def test_counts_broadcast_and_may_be_outcomes():
    estimate, low, high = proportion_interval([[0], [2]], [2, 4, 8])
    np.testing.assert_array_equal(estimate, [[0.0, 0.0, 0.0], [1.0, 0.5, 0.25]])
    assert low.shape == high.shape == (2, 3)
    np.testing.assert_array_equal(proportion_interval([True, False], 1)[0], [1.0, 0.0])
    assert all(isinstance(part, float) for part in proportion_interval(3, 7))

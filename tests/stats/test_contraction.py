import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from linrep.stats import contraction_rate
from tests.stats.shared import RUNS, levels
from tests.strategies import seeds
from tests.tools import EPS, FALSE_ALARM

rates = st.one_of(st.floats(0.2, 0.99), st.floats(1.001, 2.0))
lengths = st.integers(4, 200)


def rounding(values):
    """Bound the relative error of a rate: that of two logarithms."""
    return 10 * EPS * (1.0 + np.abs(np.log(values)).max())


# Sequences without noise.


@given(rates, lengths, st.floats(1e-3, 1e3))
def test_a_geometric_sequence_has_its_ratio_as_rate(rate, steps, start):
    values = start * rate ** np.arange(steps + 1.0)
    result = contraction_rate(values)
    error = rounding(values)
    assert result.rate == pytest.approx(rate, rel=error)
    # Increments that are equal up to rounding leave an interval that is as small; its width is a
    # Student quantile, below 13 for two batches or more, times their spread.
    assert result.low == pytest.approx(rate, rel=20 * error)
    assert result.high == pytest.approx(rate, rel=20 * error)
    assert result.low <= result.rate <= result.high
    assert (result.steps, result.plateau, result.level) == (steps, None, None)
    assert result.confidence == 0.95


@given(st.floats(0.2, 0.8), st.integers(8, 60), st.integers(12, 100))
@example(0.8, 8, 12)  # never clear of its plateau
def test_a_sharp_plateau_is_found_where_it_starts(rate, corner, flat):
    values = rate ** np.minimum(np.arange(corner + flat + 1.0), corner)
    result = contraction_rate(values)
    assert result.plateau == corner
    assert result.level == pytest.approx(values[-1], rel=rounding(values))
    # Used: what is above ten times the level.
    assert values[result.steps + 1] < 10.0 * result.level * (1.0 + 1e-9)
    if result.steps:
        assert values[result.steps] >= 10.0 * result.level * (1.0 - 1e-9)
        assert result.rate == pytest.approx(rate, rel=rounding(values))
    else:
        assert np.isnan([result.rate, result.low, result.high]).all()


@given(st.floats(0.3, 0.8), st.floats(1e-14, 1e-6), st.integers(30, 100))
def test_a_smooth_plateau_biases_the_rate_by_no_more_than_its_share(rate, level, flat):
    """values = rate^t + level, used until they are below ten times the level.

    In the last one used rate^t is at least 9 times the level, which raises its logarithm, and so
    the sum of all increments, by at most log(1 + 1/9). In the first value it adds up to 1e-6,
    which lowers that sum.
    """
    corner = int(np.ceil(np.log(level) / np.log(rate)))
    values = rate ** np.arange(corner + flat + 1.0) + level
    result = contraction_rate(values)
    # The logarithm leaves its line where the two terms are comparable, a few rounds on either side.
    assert abs(result.plateau - corner) <= 3 + 2 / -np.log(rate)
    # The tail begins a fifth of the way into the plateau, where rate^t may still count.
    assert level <= result.level * (1 + 1e-12)
    assert result.level <= 1.1 * level
    excess = np.log(result.rate / rate) * result.steps
    assert -1e-6 <= excess <= np.log(1.0 + 1.0 / 9.0) + 1e-9


@given(st.floats(0.2, 0.9), st.floats(1e-16, 1e-3), st.integers(20, 60))
def test_values_below_the_floor_are_a_plateau_there(rate, floor, rest):
    """A floor is what the values are cut off at, zeros included."""
    decay = rate ** np.arange(np.ceil(np.log(floor) / np.log(rate)))
    values = np.append(decay, np.tile([0.0, floor / 2], rest))
    result = contraction_rate(values, floor=floor)
    again = contraction_rate(np.maximum(values, floor))
    assert result == again
    assert result.level == pytest.approx(floor, rel=1e-9)
    assert result.rate == pytest.approx(rate, rel=rounding(np.maximum(values, floor)))


@given(st.floats(0.5, 0.9), st.floats(1.01, 1.2), st.integers(15, 40))
def test_a_tail_that_rises_is_no_plateau(fall, rise, steps):
    down = fall ** np.arange(steps + 1.0)
    values = np.append(down, down[-1] * rise ** np.arange(1.0, steps + 1))
    steep = np.log(rise) > -0.5 * np.log(fall)
    assert not steep or contraction_rate(values).plateau is None


@pytest.mark.slow
def test_a_drift_with_noise_hardly_ever_looks_like_a_plateau(fresh_rng):
    """A random walk of drift -0.05 and step 0.1 over thirty rounds: at most 1 in 50 sequences.

    One-sided binomial test over 4 000 sequences (400 uncompiled).
    """
    found = sum(
        contraction_rate(np.exp(np.cumsum(fresh_rng.normal(-0.05, 0.1, 31)))).plateau is not None
        for _ in range(RUNS)
    )
    assert scipy_stats.binomtest(found, RUNS, 0.02, alternative="greater").pvalue > FALSE_ALARM


@given(seeds, st.integers(3, 15))
def test_before_a_plateau_can_be_seen_the_rate_is_the_mean_of_all_steps(seed, length):
    values = np.exp(np.random.default_rng(seed).standard_normal(length))
    result = contraction_rate(values)
    expected = (values[-1] / values[0]) ** (1.0 / (length - 1))
    assert result.rate == pytest.approx(expected, rel=rounding(values))
    assert (result.steps, result.plateau) == (length - 1, None)
    if length < 5:
        assert (result.low, result.high) == (0.0, np.inf)


# The interval.


@given(seeds, levels)
def test_the_interval_is_students_over_batch_means(seed, confidence):
    """Ten batches of ten steps, by SciPy."""
    increments = np.random.default_rng(seed).normal(-0.5, 0.1, 100)
    values = np.exp(np.append(0.0, np.cumsum(increments)))
    result = contraction_rate(values, confidence=confidence)
    batches = increments.reshape(10, 10).mean(axis=1)
    expected = scipy_stats.ttest_1samp(batches, 0.0).confidence_interval(confidence)
    # The increments are differences of sums of size up to 60, in units of the rounding of those.
    assert np.log(result.low) == pytest.approx(expected.low, rel=1e-10)
    assert np.log(result.high) == pytest.approx(expected.high, rel=1e-10)


def coverage(draw, rate, confidence):
    covered = 0
    for _ in range(RUNS):
        result = contraction_rate(draw(), confidence=confidence)
        covered += result.low <= rate <= result.high
    return covered


def test_the_interval_covers_at_least_as_often_with_independent_noise_on_the_values(fresh_rng):
    """Noise on the values, not on the steps, makes batch means vary more than their mean.

    One-sided binomial test over 4 000 sequences (400 uncompiled).
    """
    decay = np.exp(-0.3 * np.arange(101.0))

    def draw():
        return decay * np.exp(0.2 * fresh_rng.standard_normal(101))

    covered = coverage(draw, np.exp(-0.3), 0.95)
    test = scipy_stats.binomtest(covered, RUNS, 0.95, alternative="less")
    assert test.pvalue > FALSE_ALARM


@pytest.mark.slow
def test_noise_does_not_hide_a_plateau_nor_invent_one(fresh_rng):
    """In each of 4 000 sequences (400 uncompiled) of either kind.

    Noise of 0.1 in the logarithm against a slope of -0.5: with the corner at round 40, thirty noise
    standard deviations separate 35 from 45, and no fit puts a corner where there is none.
    """
    t = np.arange(101.0)
    for _ in range(RUNS):
        noise = 0.1 * fresh_rng.standard_normal(101)
        assert contraction_rate(np.exp(-0.5 * t + noise)).plateau is None
        result = contraction_rate(np.exp(-0.5 * np.minimum(t, 40.0) + noise))
        assert 35 <= result.plateau <= 45
        # Sixty values of noise 0.1 and a corner that may be off by a round or two.
        assert np.log(result.level) == pytest.approx(-20.0, abs=0.2)
        # From round 0 to about 35: a standard deviation of 0.1 * sqrt(2) / 35.
        assert np.log(result.rate) == pytest.approx(-0.5, abs=8 * 0.1 * np.sqrt(2.0) / 33.0)


# Text.


def test_str_tells_rate_interval_and_plateau():
    values = 0.5 ** np.minimum(np.arange(60.0), 30.0)
    text = str(contraction_rate(values))
    assert text.startswith("0.5 [0.5, 0.5] over ")
    assert text.endswith("plateau 9.3e-10 from round 30")
    assert str(contraction_rate([8, 4, 2])) == "0.5 [0, inf] over 2 rounds, no plateau"


def test_a_rate_is_shown_to_two_digits_of_its_interval():
    rng = np.random.default_rng(0)
    found = contraction_rate(np.exp(np.cumsum(-0.2 + 0.05 * rng.standard_normal(80))))
    low, rate, high = re.search(r"([\d.]+) per step.*\[([\d.]+), ([\d.]+)\]", repr(found)).group(
        2, 1, 3
    )
    digits = len(rate.partition(".")[2])
    assert 1.0 <= (found.high - found.low) / 2.0 * 10.0**digits / 10.0 < 10.0
    for text, value in ((low, found.low), (rate, found.rate), (high, found.high)):
        assert text == f"{value:.{digits}f}"
    assert str(found).startswith(f"{rate} [{low}, {high}] over ")
    assert repr(found) == (
        f"ContractionRate({rate} per step, 0.95 interval [{low}, {high}] over {found.steps} steps, "
        "no plateau)"
    )

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit

from linrep.stats import (
    collapse,
    contraction_rate,
    mean_interval,
    proportion_interval,
    scaling_exponents,
    transition_point,
)
from tests.strategies import seeds
from tests.tools import COMPILED, EPS, FALSE_ALARM, complaint

rates = st.floats(0.2, 0.99)
lengths = st.integers(4, 200)
levels = st.floats(0.05, 0.99)


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


@given(st.floats(1.001, 2.0), lengths)
def test_a_growing_sequence_has_a_rate_above_one(rate, steps):
    values = rate ** np.arange(steps + 1.0)
    result = contraction_rate(values)
    assert result.rate == pytest.approx(rate, rel=rounding(values))
    assert result.plateau is None


@given(st.integers(3, 300), st.floats(1e-300, 1e300))
def test_a_constant_sequence_does_not_contract(length, value):
    result = contraction_rate(np.full(length, value))
    assert result.rate == 1.0
    assert result.plateau is None


@given(st.floats(0.2, 0.8), st.integers(8, 60), st.integers(12, 100))
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


def test_a_drift_with_noise_hardly_ever_looks_like_a_plateau(fresh_rng):
    """A random walk of drift -0.05 and step 0.1 over thirty rounds: at most 1 in 50 sequences.

    One-sided binomial test over 4 000 sequences (400 uncompiled).
    """
    found = sum(
        contraction_rate(np.exp(np.cumsum(fresh_rng.normal(-0.05, 0.1, 31)))).plateau is not None
        for _ in range(RUNS)
    )
    assert scipy_stats.binomtest(found, RUNS, 0.02, alternative="greater").pvalue > FALSE_ALARM


@given(seeds, st.integers(3, 80), st.floats(1e-3, 1e3))
def test_the_rate_does_not_depend_on_the_scale(seed, length, scale):
    values = np.exp(np.cumsum(np.random.default_rng(seed).normal(-0.3, 0.3, length)))
    one, other = contraction_rate(values), contraction_rate(scale * values)
    assert other.steps == one.steps
    assert other.rate == pytest.approx(one.rate, rel=1e3 * rounding(values), nan_ok=True)


@given(seeds, st.integers(3, 15))
def test_before_a_plateau_can_be_seen_the_rate_is_the_mean_of_all_steps(seed, length):
    values = np.exp(np.random.default_rng(seed).standard_normal(length))
    result = contraction_rate(values)
    expected = (values[-1] / values[0]) ** (1.0 / (length - 1))
    assert result.rate == pytest.approx(expected, rel=rounding(values))
    assert (result.steps, result.plateau) == (length - 1, None)
    if length < 5:
        assert (result.low, result.high) == (0.0, np.inf)


def test_a_sequence_never_clear_of_its_plateau_has_no_rate():
    result = contraction_rate(np.append([0.9, 0.5, 0.3], np.full(40, 0.2)))
    assert (result.steps, result.plateau) == (0, 3)
    assert np.isnan([result.rate, result.low, result.high]).all()


def test_two_steps_before_the_plateau_are_a_rate_without_an_interval():
    result = contraction_rate(np.append([1.0, 0.1, 0.01], np.full(40, 1e-4)))
    assert result.rate == pytest.approx(0.1, rel=1e-12)
    assert (result.steps, result.low, result.high) == (2, 0.0, np.inf)


# The interval.


@given(seeds, st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_more_confidence_is_a_wider_interval_around_the_same_rate(seed, first, second):
    values = np.exp(np.cumsum(np.random.default_rng(seed).normal(-0.5, 0.1, 50)))
    one, other = (contraction_rate(values, confidence=c) for c in sorted((first, second)))
    assert one.rate == other.rate
    assert other.low <= one.low * (1 + 10 * EPS)
    assert one.high <= other.high * (1 + 10 * EPS)


@given(seeds)
def test_the_interval_is_students_over_batch_means(seed):
    """Ten batches of ten steps, by SciPy."""
    increments = np.random.default_rng(seed).normal(-0.5, 0.1, 100)
    result = contraction_rate(np.exp(np.append(0.0, np.cumsum(increments))), confidence=0.9)
    batches = increments.reshape(10, 10).mean(axis=1)
    expected = scipy_stats.ttest_1samp(batches, 0.0).confidence_interval(0.9)
    # The increments are differences of sums of size up to 60, in units of the rounding of those.
    assert np.log(result.low) == pytest.approx(expected.low, rel=1e-10)
    assert np.log(result.high) == pytest.approx(expected.high, rel=1e-10)


RUNS = 4_000 if COMPILED else 400


def coverage(draw, rate, confidence):
    covered = 0
    for _ in range(RUNS):
        result = contraction_rate(draw(), confidence=confidence)
        covered += result.low <= rate <= result.high
    return covered


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_interval_covers_as_often_as_it_says(confidence, fresh_rng):
    """Independent normal steps in ten equal batches: Student's interval is exact.

    Two-sided binomial test over 4 000 sequences (400 uncompiled).
    """

    def draw():
        return np.exp(np.append(0.0, np.cumsum(fresh_rng.normal(-0.5, 0.2, 100))))

    covered = coverage(draw, np.exp(-0.5), confidence)
    assert scipy_stats.binomtest(covered, RUNS, confidence).pvalue > FALSE_ALARM


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


# Text and errors.


def test_str_tells_rate_interval_and_plateau():
    values = 0.5 ** np.minimum(np.arange(60.0), 30.0)
    text = str(contraction_rate(values))
    assert text.startswith("0.5 [0.5, 0.5] over ")
    assert text.endswith("plateau 9.3e-10 from round 30")
    assert str(contraction_rate(values[:20])).endswith("over 19 rounds, no plateau")


def test_lists_and_integers_are_read():
    assert contraction_rate([8, 4, 2, 1]).rate == pytest.approx(0.5, rel=4 * EPS)


@pytest.mark.parametrize(
    ("values", "options", "kind", "words"),
    [
        ([], {}, ValueError, ("values", "empty")),
        ([1.0, 0.5, 0.0, 0.25], {}, ValueError, ("values", "positive", "floor")),
        ([1.0, -0.5, 0.25], {}, ValueError, ("values", "positive", "floor")),
        ([1.0, 0.5], {"floor": -1.0}, ValueError, ("floor", "at least 0")),
        ([1.0, np.nan, 0.25], {}, ValueError, ("values", "finite")),
        ([1.0, np.inf, 0.25], {}, ValueError, ("values", "finite")),
        ([[1.0, 0.5, 0.25]], {}, ValueError, ("values", "(any)", "(1, 3)")),
        (None, {}, ValueError, ("values", "shape")),
        (["a", "b", "c"], {}, TypeError, ("values", "real numbers")),
        ([1.0, 0.5, 0.25], {"confidence": 0.0}, ValueError, ("confidence", "greater than 0")),
        ([1.0, 0.5, 0.25], {"confidence": 1.0}, ValueError, ("confidence", "below 1", "1.0")),
        ([1.0, 0.5, 0.25], {"confidence": "95%"}, TypeError, ("confidence", "real number")),
    ],
)
def test_bad_arguments_are_named(values, options, kind, words):
    with complaint(kind, *words):
        contraction_rate(values, **options)


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


def test_columns_may_have_any_shape():
    values = np.random.default_rng(1).normal(size=(4, 3, 2))
    flat = mean_interval(values.reshape(4, 6))
    for part, expected in zip(mean_interval(values), flat, strict=True):
        np.testing.assert_array_equal(part.ravel(), expected)
    assert mean_interval([1.0, 3.0])[0] == 2.0


@pytest.mark.parametrize(
    ("values", "options", "words"),
    [
        (1.0, {}, ("values", "one row per trial")),
        ([[1.0, np.nan]], {}, ("values", "finite")),
        ([[1.0, 0.0]], {"geometric": True}, ("values", "positive", "0")),
        ([[1.0, 2.0]], {"confidence": 1.0}, ("confidence", "below 1")),
    ],
)
def test_bad_arguments_of_means_are_named(values, options, words):
    with complaint(ValueError, *words):
        mean_interval(values, **options)


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


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_successes_and_failures_mirror_each_other(counts):
    successes, trials = counts
    _, low, high = proportion_interval(successes, trials)
    _, mirrored_low, mirrored_high = proportion_interval(trials - successes, trials)
    assert low == pytest.approx(1.0 - mirrored_high, abs=1e-12)
    assert high == pytest.approx(1.0 - mirrored_low, abs=1e-12)


def test_the_interval_of_a_proportion_covers_at_least_as_often_as_it_says():
    """By summation over all outcomes, so without any chance."""
    trials = 30
    _, low, high = proportion_interval(np.arange(trials + 1), trials, confidence=0.9)
    p = np.linspace(0.0, 1.0, 201)[:, None]
    chance = scipy_stats.binom.pmf(np.arange(trials + 1), trials, p)
    assert (np.sum(chance * ((low <= p) & (p <= high)), axis=1) >= 0.9 - 1e-12).all()


def test_counts_broadcast_and_may_be_outcomes():
    estimate, low, high = proportion_interval([[0], [2]], [2, 4, 8])
    np.testing.assert_array_equal(estimate, [[0.0, 0.0, 0.0], [1.0, 0.5, 0.25]])
    assert low.shape == high.shape == (2, 3)
    np.testing.assert_array_equal(proportion_interval([True, False], 1)[0], [1.0, 0.0])
    assert all(isinstance(part, float) for part in proportion_interval(3, 7))


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "words"),
    [
        ((1, 0), {}, ValueError, ("trials", "at least 1", "0")),
        ((-1, 2), {}, ValueError, ("successes", "between 0")),
        ((3, 2), {}, ValueError, ("successes", "between 0", "trials")),
        ((0.5, 2), {}, ValueError, ("successes", "whole numbers")),
        ((1, [2, 2.5]), {}, ValueError, ("trials", "whole numbers")),
        (([1, 2], [3, 4, 5]), {}, ValueError, ("successes and trials", "(2,)", "(3,)")),
        (([], []), {}, ValueError, ("successes", "empty")),
        ((np.nan, 2), {}, ValueError, ("successes", "finite")),
        (("many", 2), {}, TypeError, ("successes", "real numbers")),
        ((1, 2), {"confidence": 0.0}, ValueError, ("confidence", "greater than 0")),
    ],
)
def test_bad_counts_are_named(arguments, options, kind, words):
    with complaint(kind, *words):
        proportion_interval(*arguments, **options)


# Power laws.


def sweep(seed, points=20, names=("d", "k")):
    rng = np.random.default_rng(seed)
    return {name: np.exp(rng.uniform(-2.0, 4.0, points)) for name in names}, rng


exponents = st.floats(-4.0, 4.0)


@given(seeds, exponents, exponents, st.floats(1e-3, 1e3))
def test_an_exact_power_law_is_recovered(seed, first, second, constant):
    x, _ = sweep(seed)
    law = scaling_exponents(constant * x["d"] ** first * x["k"] ** second, x)
    # Rounding of logarithms up to 40, over columns whose spread is a few units.
    assert law.exponents == pytest.approx({"d": first, "k": second}, abs=1e-12)
    assert law.low == pytest.approx(law.exponents, abs=1e-12)
    assert law.high == pytest.approx(law.exponents, abs=1e-12)
    assert law.constant == pytest.approx(constant, rel=1e-11)
    assert law.residual < 1e-12


@given(seeds, st.floats(1e-3, 1e3), st.booleans())
def test_units_change_the_constant_alone(seed, scale, robust):
    x, rng = sweep(seed)
    y = x["d"] ** 1.5 * np.exp(rng.standard_normal(20))
    law = scaling_exponents(y, x, robust=robust)
    for factor, other in (
        (scale, scaling_exponents(scale * y, x, robust=robust)),
        (
            scale ** -law.exponents["d"],
            scaling_exponents(y, {**x, "d": scale * x["d"]}, robust=robust),
        ),
    ):
        for part in ("exponents", "low", "high"):
            assert getattr(other, part) == pytest.approx(getattr(law, part), abs=1e-10)
        assert other.residual == pytest.approx(law.residual, rel=1e-10)
        assert other.constant == pytest.approx(factor * law.constant, rel=1e-9)


@given(seeds, st.integers(3, 50), levels)
def test_one_exponent_is_scipys(seed, points, confidence):
    x, rng = sweep(seed, points, names=("x",))
    y = np.exp(rng.standard_normal(points))
    law = scaling_exponents(y, x["x"], confidence=confidence)
    expected = scipy_stats.linregress(np.log(x["x"]), np.log(y))
    half = scipy_stats.t.ppf(0.5 + confidence / 2, points - 2) * expected.stderr
    # linregress takes its error from 1 - r^2, which cancels where points are nearly on a line.
    near = {"abs": 1e-6 * (1.0 + abs(expected.slope) + half)}
    assert law.exponents["x"] == pytest.approx(expected.slope, **near)
    assert law.low["x"] == pytest.approx(expected.slope - half, **near)
    assert law.high["x"] == pytest.approx(expected.slope + half, **near)
    assert np.log(law.constant) == pytest.approx(expected.intercept, **near)


def left_out(y, x):
    """Slopes by np.polyfit, each without one of the points."""
    kept = ~np.eye(y.size, dtype=bool)
    return np.array([np.polyfit(np.log(x[rest]), np.log(y[rest]), 1)[0] for rest in kept])


@given(seeds)
def test_robust_errors_are_the_jackknifes(seed):
    """HC3 is the sum of squares of what leaving out each point does to the exponent."""
    x, rng = sweep(seed, names=("x",))
    x = x["x"]
    y = np.exp(rng.standard_normal(20) * np.log(x))
    law = scaling_exponents(y, x, robust=True)
    error = np.sqrt(np.sum((left_out(y, x) - law.exponents["x"]) ** 2))
    half = scipy_stats.t.ppf(0.975, 18) * error
    assert law.high["x"] - law.exponents["x"] == pytest.approx(half, rel=1e-8)
    assert law.exponents == pytest.approx(scaling_exponents(y, x).exponents, abs=1e-12)


def test_the_intervals_of_exponents_cover_as_often_as_they_say(fresh_rng):
    """Student's are exact for normal errors. Two-sided binomial test of each, over RUNS fits."""
    x, _ = sweep(3, points=12)
    truth = {"d": 1.0, "k": -0.5}
    centre = 2.0 * x["d"] / np.sqrt(x["k"])
    covered = dict.fromkeys(truth, 0)
    for _ in range(RUNS):
        law = scaling_exponents(centre * np.exp(0.3 * fresh_rng.standard_normal(12)), x)
        for name, power in truth.items():
            covered[name] += law.low[name] <= power <= law.high[name]
    for count in covered.values():
        assert scipy_stats.binomtest(count, RUNS, 0.95).pvalue > FALSE_ALARM / 2


def test_robust_intervals_cover_where_noise_grows_and_plain_ones_do_not(fresh_rng):
    """Noise in proportion to the square of the distance from the centre, 40 points.

    HC3 is an approximation from above: no less than 0.93 is asked for, by a one-sided binomial
    test. The plain interval takes the noise at the ends for what it is on average, and covers
    less than 0.85.
    """
    logs = np.linspace(-1.0, 1.0, 40)
    covered = {True: 0, False: 0}
    for _ in range(RUNS):
        y = np.exp(logs + logs**2 * fresh_rng.standard_normal(40))
        for robust in covered:
            law = scaling_exponents(y, np.exp(logs), robust=robust)
            covered[robust] += law.low["x"] <= 1.0 <= law.high["x"]
    less = scipy_stats.binomtest(covered[True], RUNS, 0.93, alternative="less")
    more = scipy_stats.binomtest(covered[False], RUNS, 0.85, alternative="greater")
    assert min(less.pvalue, more.pvalue) > FALSE_ALARM / 2


def test_str_tells_the_law():
    d, k = np.array([1.0, 2.0, 4.0, 8.0, 16.0]), np.array([1.0, 3.0, 2.0, 5.0, 1.0])
    text = str(scaling_exponents(3.0 * d**2 / k, {"d": d, "k": k}))
    assert text.startswith("3 * d^2 [2, 2] * k^-1 [-1, -1], residual ")


d = np.array([1.0, 2.0, 4.0, 8.0, 3.0])
k = np.array([1.0, 3.0, 2.0, 5.0, 1.0])


@pytest.mark.parametrize(
    ("y", "x", "options", "kind", "words"),
    [
        (k, {"d": d, "m": d}, {}, ValueError, ("exponents of d and m", "told apart")),
        (k, {"d": d, "k": k, "m": d**2 / 3}, {}, ValueError, ("exponents of d and m", "apart")),
        (d, {"a": d, "b": k, "c": d * k}, {}, ValueError, ("exponents of a, b and c", "apart")),
        (k, {"d": d, "n": np.full(5, 7.0)}, {}, ValueError, ("n must vary", "constant")),
        (k[:3], {"d": d[:3], "k": k[:3]}, {}, ValueError, ("y", "4 points", "d and k", "got 3")),
        ([1.0, 2.0], [1.0, 2.0], {}, ValueError, ("y", "3 points", "got 2")),
        (d, {"d": d, "k": -k}, {}, ValueError, ("x['k']", "positive", "-5")),
        (d, {"d": d, "k": k[:4]}, {}, ValueError, ("x['k']", "(5)", "(4,)")),
        (d, -d, {}, ValueError, ("x must be positive", "-8")),
        (0.0 * d, d, {}, ValueError, ("y must be positive", "0")),
        (d, {}, {}, ValueError, ("x", "at least one", "none")),
        (d, {"d": ["much"] * 5}, {}, TypeError, ("x['d']", "real numbers")),
        (d, k, {"confidence": 2}, ValueError, ("confidence", "below 1")),
        (d, [1, 1, 1, 1, 2], {"robust": True}, ValueError, ("robust", "index 4")),
    ],
)
def test_bad_sweeps_are_named(y, x, options, kind, words):
    with complaint(kind, *words):
        scaling_exponents(y, x, **options)


# Collapse.


@given(seeds, st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_a_constant_times_the_prediction_collapses(seed, constant, scale):
    x, _ = sweep(seed, names=("predicted",))
    predicted = scale * x["predicted"]
    result = collapse(constant * predicted, predicted)
    assert result.constant == pytest.approx(constant, rel=1e-12)
    assert result.spread == pytest.approx(1.0, rel=1e-12)
    assert result.slope == pytest.approx(1.0, abs=1e-12)
    assert result.constants == {}


@given(seeds, st.floats(1e-3, 1e3))
def test_the_spread_does_not_depend_on_units_and_the_slope_is_the_exponent(seed, scale):
    x, rng = sweep(seed, names=("predicted",))
    predicted = x["predicted"]
    y = predicted**1.3 * np.exp(rng.standard_normal(20))
    result, other = collapse(y, predicted), collapse(scale * y, predicted)
    assert other.constant == pytest.approx(scale * result.constant, rel=1e-12)
    assert other.spread == pytest.approx(result.spread, rel=1e-12)
    assert result.constant == pytest.approx(scipy_stats.gmean(y / predicted), rel=1e-12)
    assert result.spread == pytest.approx(np.ptp(y / predicted) / np.min(y / predicted) + 1)
    law = scaling_exponents(y, predicted)
    assert (result.slope, result.low, result.high) == pytest.approx(
        (law.exponents["x"], law.low["x"], law.high["x"]), rel=1e-12
    )


def test_groups_are_compared_by_their_constants():
    predicted = np.array([1.0, 2.0, 4.0, 1.0, 2.0, 4.0])
    y = predicted * [1.0, 2.0, 4.0, 3.0, 6.0, 12.0]
    result = collapse(y, predicted, ["d = 5"] * 3 + ["d = 9"] * 3)
    assert result.constants == pytest.approx({"d = 5": 2.0, "d = 9": 6.0})
    assert result.spread == pytest.approx(3.0)
    assert result.constant == pytest.approx(np.sqrt(12.0))
    assert "spread 3 among 2 groups, slope 2 [" in str(result)
    assert "spread 12, slope 2 [" in str(collapse(y, predicted))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((d, d[:4]), ("predicted", "(5)", "(4,)")),
        ((d, -d), ("predicted", "positive")),
        ((-d, d), ("y", "positive")),
        ((d, np.ones(5)), ("predicted must vary",)),
        ((d[:2], d[:2]), ("y", "3 points", "got 2")),
        ((d, d, ["a", "b"]), ("groups", "(5,)", "(2,)")),
    ],
)
def test_bad_predictions_are_named(arguments, words):
    with complaint(ValueError, *words):
        collapse(*arguments)


# Transitions.


@st.composite
def transitions(draw):
    """Draw x, successes and trials, of a logistic curve or of none."""
    rng = np.random.default_rng(draw(seeds))
    x = np.exp(np.sort(rng.uniform(-2.0, 4.0, draw(st.integers(2, 12)))))
    trials = rng.integers(1, draw(st.sampled_from((1, 10, 100))), x.size, endpoint=True)
    slope = draw(st.sampled_from((-20.0, -3.0, 0.0, 1.0, 3.0, 20.0)))
    place = draw(st.floats(-3.0, 5.0))
    return x, rng.binomial(trials, expit(slope * (np.log(x) - place))), trials


def same(result, expected, factor=1.0):
    """Compare transitions whose x are related by a factor."""
    near = {"rel": 1e-5, "nan_ok": True}
    assert result.x == pytest.approx(factor * expected.x, **near)
    assert result.low == pytest.approx(factor * expected.low, **near)
    assert result.high == pytest.approx(factor * expected.high, **near)
    assert result.slope == pytest.approx(expected.slope, abs=1e-5, **near)


@given(transitions(), st.floats(1e-3, 1e3), levels)
def test_a_transition_is_the_same_in_other_units_and_orders(data, scale, level):
    x, successes, trials = data
    result = transition_point(x, successes, trials, level=level)
    order = np.random.default_rng(0).permutation(x.size)
    again = transition_point(scale * x[order], successes[order], trials[order], level=level)
    # Whether a limit exactly at the first or last x counts as inside is up to rounding.
    same(again, result, scale)


@given(transitions(), levels)
def test_failures_of_1_over_x_mirror_successes_of_x(data, level):
    x, successes, trials = data
    result = transition_point(x, successes, trials, level=level)
    mirrored = transition_point(1.0 / x, trials - successes, trials, level=1.0 - level)
    assert mirrored.x == pytest.approx(1.0 / result.x, rel=1e-5, nan_ok=True)
    with np.errstate(divide="ignore"):
        assert mirrored.low == pytest.approx(np.divide(1.0, result.high), rel=1e-5)
        assert mirrored.high == pytest.approx(np.divide(1.0, result.low), rel=1e-5)


@given(transitions())
def test_trials_may_come_one_by_one(data):
    x, successes, trials = data
    outcomes = np.concatenate(
        [np.arange(total) < won for won, total in zip(successes, trials, strict=True)]
    )
    same(
        transition_point(np.repeat(x, trials), outcomes, 1), transition_point(x, successes, trials)
    )


@given(transitions(), st.floats(0.01, 0.98), levels)
def test_the_interval_holds_the_estimate_and_grows_with_confidence(data, confidence, level):
    narrow = transition_point(*data, confidence=confidence, level=level)
    wide = transition_point(*data, confidence=confidence + 0.01, level=level)
    assert wide.low <= narrow.low * (1 + 1e-9)
    assert narrow.high <= wide.high * (1 + 1e-9)
    assert 0.0 <= narrow.low <= narrow.high
    if not np.isnan(narrow.x):
        assert narrow.low <= narrow.x * (1 + 1e-9)
        assert narrow.x <= narrow.high * (1 + 1e-9)
        assert data[0].min() * (1 - 1e-9) <= narrow.x <= data[0].max() * (1 + 1e-9)


@pytest.mark.parametrize("level", [0.3, 0.5, 0.9])
def test_estimate_and_interval_are_those_of_logistic_regression(level):
    """By a general optimizer over intercept and slope, the limits from a grid of locations."""
    x = np.array([1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0])
    successes, trials = np.array([1, 0, 3, 6, 14, 17, 20]), np.full(7, 20)

    def loss(parameters, location=None):
        slope = parameters[-1]
        shift = logit(level) - slope * location if location is not None else parameters[0]
        odds = shift + slope * np.log(x)
        return -successes @ log_expit(odds) - (trials - successes) @ log_expit(-odds)

    best = minimize(loss, [0.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    result = transition_point(x, successes, trials, level=level)
    assert result.slope == pytest.approx(best.x[1], rel=1e-5)
    assert np.log(result.x) == pytest.approx((logit(level) - best.x[0]) / best.x[1], abs=1e-5)
    for end in (result.low, result.high):
        at_end = minimize(loss, [1.0], (np.log(end),), "Nelder-Mead", options={"xatol": 1e-9})
        assert 2.0 * (at_end.fun - best.fun) == pytest.approx(
            scipy_stats.chi2.ppf(0.95, 1), abs=1e-4
        )


def test_proportions_that_are_logistic_are_recovered():
    x = np.geomspace(1.0, 100.0, 9)
    trials = np.full(9, 10**9)
    successes = np.round(trials * expit(-2.5 * np.log(x / 12.0)))
    result = transition_point(x, successes, trials, level=0.2)
    # Without noise, all that is off is the rounding to whole numbers.
    assert result.x == pytest.approx(12.0 * 4.0 ** (1 / 2.5), rel=1e-6)
    assert result.slope == pytest.approx(-2.5, rel=1e-6)


@pytest.mark.parametrize(("slope", "level"), [(3.0, 0.5), (-6.0, 0.5), (3.0, 0.8)])
def test_the_interval_of_a_transition_covers_about_as_often_as_it_says(slope, level, fresh_rng):
    """Thirty trials at each of eight x: the likelihood ratio is nearly chi-square.

    Two one-sided binomial tests over 1 000 data sets (100 uncompiled), with a margin of 0.02 on
    either side for what is not exact.
    """
    x = np.geomspace(1.0, 100.0, 8)
    chance = expit(slope * np.log(x / 9.0))
    place = 9.0 * np.exp(logit(level) / slope)
    covered = 0
    for _ in range(RUNS // 4):
        result = transition_point(x, fresh_rng.binomial(30, chance), 30, level=level)
        covered += result.low <= place <= result.high
    less = scipy_stats.binomtest(covered, RUNS // 4, 0.93, alternative="less")
    more = scipy_stats.binomtest(covered, RUNS // 4, 0.97, alternative="greater")
    assert min(less.pvalue, more.pvalue) > FALSE_ALARM / 6


def test_a_transition_too_sharp_for_the_grid_is_covered(fresh_rng):
    """Nearly always a perfect jump, whose interval is the bracket: it misses next to never."""
    x = np.geomspace(1.0, 100.0, 8)
    for place in np.geomspace(1.5, 70.0, 40):
        chance = expit(1e4 * np.log(x / place))
        result = transition_point(x, fresh_rng.binomial(30, chance), 30)
        assert result.low <= place <= result.high


@pytest.mark.parametrize("trials", [3, 50])
@pytest.mark.parametrize("level", [0.1, 0.5])
def test_a_perfect_jump_is_between_its_neighbours(trials, level):
    x = np.array([1.0, 2.0, 4.0, 7.0, 9.0])
    for successes, sign in (([0, 0, 0, 1, 1], 1.0), ([1, 1, 1, 0, 0], -1.0)):
        result = transition_point(x, trials * np.array(successes), trials, level=level)
        assert result.x == pytest.approx(np.sqrt(28.0), rel=1e-12)
        assert result.slope == sign * np.inf
        # At an end of the bracket, `trials` of one kind come with probability level^trials, or
        # (1 - level)^trials: the interval ends there if the likelihood ratio is large enough.
        rare = [
            -2.0 * trials * np.log(p) > scipy_stats.chi2.ppf(0.95, 1) for p in (level, 1 - level)
        ]
        at_high, at_low = rare if sign > 0 else rare[::-1]
        assert (result.low == pytest.approx(4.0, rel=1e-5)) == at_low
        assert (result.high == pytest.approx(7.0, rel=1e-5)) == at_high
        assert result.low <= 4.0 * (1 + 1e-5)
        assert result.high >= 7.0 * (1 - 1e-5)


def test_a_jump_with_one_point_in_between_is_there():
    result = transition_point([1, 2, 4, 8, 16], [0, 0, 5, 9, 9], 9)
    assert result.x == pytest.approx(4.0, rel=1e-5)
    assert 2.0 < result.low < 4.0 < result.high < 8.0
    assert result.slope == np.inf


@pytest.mark.parametrize("successes", [[0, 0, 0, 0], [9, 9, 9, 9], [2, 2, 2, 2], [9, 0, 0, 9]])
def test_data_without_a_trend_set_no_limits(successes):
    result = transition_point([1.0, 2.0, 4.0, 8.0], successes, 9)
    assert np.isnan(result.x)
    assert (result.low, result.high) == (0.0, np.inf)


@pytest.mark.parametrize(
    ("successes", "beyond"),
    [
        ([0, 2, 5, 20], True),
        ([0, 0, 0, 30], True),
        ([20, 5, 2, 0], False),
        ([80, 95, 98, 100], False),
    ],
)
def test_a_crossing_beyond_the_data_is_a_limit_not_a_number(successes, beyond):
    result = transition_point([1.0, 2.0, 4.0, 8.0], successes, 100)
    assert np.isnan(result.x)
    if beyond:
        assert result.low == pytest.approx(8.0)
        assert result.high == np.inf
    else:
        assert result.low == 0.0
        assert result.high == pytest.approx(1.0)


def test_str_tells_the_transition():
    x = [1.0, 2.0, 4.0, 8.0]
    assert str(transition_point(x, [0, 0, 9, 9], 9)) == "2.828 [2, 4], rising"
    assert str(transition_point(x, [9, 9, 9, 0], 9)) == "5.657 [4, 8], falling"
    text = str(transition_point(x, [0, 0, 0, 0], 9, level=0.9))
    assert text == "no crossing of 0.9 within the data, [0, inf]"


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (([1.0, 2.0], [0, 1], 0), {}, ("trials", "at least 1")),
        (([1.0, 2.0], [0, 3], 2), {}, ("successes", "between 0")),
        (([1.0, 2.0], [0, 0.5], 2), {}, ("successes", "whole")),
        (([0.0, 2.0], [0, 1], 2), {}, ("x", "positive", "0")),
        (([2.0, 2.0], [0, 1], 2), {}, ("x", "two different", "2")),
        (([1.0, 2.0], [0, 1, 1], 2), {}, ("successes", "(2,)", "(3,)")),
        (([1.0, 2.0], 1, 2), {}, ("successes", "(2,)", "()")),
        (([1.0, 2.0], [0, 1], 2), {"level": 1.0}, ("level", "below 1")),
        (([1.0, 2.0], [0, 1], 2), {"confidence": 0.0}, ("confidence", "greater than 0")),
    ],
)
def test_bad_transitions_are_named(arguments, options, words):
    with complaint(ValueError, *words):
        transition_point(*arguments, **options)

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from linrep.stats import collapse, scaling_exponents
from tests.stats.shared import RUNS, levels
from tests.strategies import seeds
from tests.tools import FALSE_ALARM

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


@pytest.mark.slow
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


def test_str_tells_the_law():
    d, k = np.array([1.0, 2.0, 4.0, 8.0, 16.0]), np.array([1.0, 3.0, 2.0, 5.0, 1.0])
    text = str(scaling_exponents(3.0 * d**2 / k, {"d": d, "k": k}))
    assert text.startswith("3 * d^2 [2, 2] * k^-1 [-1, -1], residual ")


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

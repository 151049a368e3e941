import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit

from linrep.stats import transition_point
from tests.stats.shared import levels
from tests.strategies import seeds


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

"""Slopes of logarithms and what they decide, and how often they are wrong."""

import numpy as np
import pandas as pd
import pytest

from linrep.claims import Constant, Threshold, decide
from linrep.claims.slopes import Slope, exponent, log_slope
from linrep.stats import TransitionPoint
from tests.tools import complaint, draws, rarely


def power_law(rng, exponent, noise=0.5, sizes=(10, 20, 40, 80, 160), replicates=30):
    x = np.array(sizes, dtype=float)
    return x, [size**exponent * np.exp(noise * rng.standard_normal(replicates)) for size in x]


def test_slopes_are_seldom_outside_their_noise(fresh_rng):
    trials, level = draws(1000), 0.05
    wrong = 0
    for _ in range(trials):
        slope = log_slope(
            *power_law(fresh_rng, -0.5), statistic=np.mean, level=level, rng=fresh_rng
        )
        wrong += not slope.low <= -0.5 <= slope.high
    rarely(wrong, trials, 2 * level)


def test_a_bend_widens_the_interval():
    x = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    straight = log_slope(x, [np.full(4, value) for value in x**2], rng=0)
    bent = log_slope(x, [np.full(4, value) for value in x**2 + 10.0], rng=0)
    assert straight.bend < 1e-12
    assert straight.noise == 0.0
    assert bent.bend > 0.3
    with complaint(ValueError, "three"):
        log_slope([1.0, 2.0], [np.ones(3), np.ones(3)])


@pytest.mark.parametrize(("value", "verdict"), [(0.05, "holds"), (0.3, "fails")])
def test_an_undecided_exponent_says_how_many_runs_decide(value, verdict):
    noise, bend = 0.4, 0.01
    found = exponent(Slope(value, noise, bend), 0.0, margin=0.1, n_trials=100)
    runs = int(found.needed.removeprefix("about ").removesuffix(" runs"))

    def with_runs(count):
        slope = Slope(value, noise * np.sqrt(100 / count), bend)
        return exponent(slope, 0.0, margin=0.1, n_trials=count).verdict

    assert (with_runs(runs), with_runs(runs // 2)) == (verdict, "undecided")
    bent = exponent(Slope(value, noise, 0.5), 0.0, margin=0.1, n_trials=100)
    assert bent.needed == "larger sizes"


def test_thresholds_count_their_intervals():
    x = np.array([10.0, 100.0, 1000.0])

    def points(factor):
        return [TransitionPoint(v, v / factor, v * factor, 0.95, 0.5, 1.0) for v in x]

    narrow, wide = (decide(Threshold(x, points(factor), equals=1.0)) for factor in (1.01, 2.0))
    assert narrow.measured == pytest.approx(1.0)
    assert narrow.interval[1] - narrow.measured < 0.05 < wide.interval[1] - wide.measured
    open_ended = [*points(1.01)[:2], TransitionPoint(1e3, 1.0, np.inf, 0.95, 0.5, 1.0)]
    assert decide(Threshold(x, open_ended, equals=1.0)).verdict == "undecided"


@pytest.mark.parametrize(
    ("value", "at_most", "verdict"),
    [(1.0, False, "holds"), (0.5, False, "fails"), (0.5, True, "holds"), (1.5, True, "fails"),
     (1.09, False, "undecided")],
)  # fmt: skip
def test_exponent(value, at_most, verdict):
    assert exponent(Slope(value, 0.03, 0.01), 1.0, at_most=at_most).verdict == verdict


def constants(rng, growth, replicates=200):
    rows = [
        {"n": n, "m": m, "constant": n**growth * np.exp(0.3 * value)}
        for n in (10, 40, 160, 640)
        for m in (5, 10, 20)
        for value in rng.standard_normal(replicates)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("growth", "verdict"), [(0.5, "fails"), (-0.5, "holds"), (0.0, "undecided")]
)
def test_bounded_constant(growth, verdict, fresh_rng):
    """A constant without any trend is within the noise of the margin with few replicates."""
    replicates = 200 if growth else 10
    along = ["n"] if growth < 0 else ["n", "m"]
    measured = Constant(constants(fresh_rng, growth, replicates), along, rng=fresh_rng)
    found = decide(measured, level=1e-6)  # no draw of noise passes for a trend
    assert found.verdict == verdict
    if verdict == "fails":
        assert found.counterexample["grows with"] == "n"
        assert found.measured == pytest.approx(0.5, abs=0.2)
    assert set(found.points["panel"]) <= {"along n", "along m"}
    assert found.points["y"].gt(0).all()


def test_bounded_constant_needs_lines_of_three_points(fresh_rng):
    with complaint(ValueError, "'m'"):
        Constant(constants(fresh_rng, 0.0)[lambda rows: rows["m"] < 20], ["n", "m"])

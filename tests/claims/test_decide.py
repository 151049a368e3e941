"""Decisions: what they conclude, and how often they are wrong."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from linrep.claims import (
    Evidence,
    Slope,
    bounded_constant,
    combine,
    expectation,
    exponent,
    frequency,
    identity,
    log_slope,
    mean_between,
    ordering,
    threshold_slope,
    trend,
)
from linrep.stats import TransitionPoint
from tests.tools import FALSE_ALARM, complaint, draws


def rarely(wrong, trials, level):
    """Assert that so many wrong decisions in so many trials go with an error level."""
    assert binom.sf(wrong - 1, trials, level) > FALSE_ALARM, f"{wrong} of {trials} wrong"


def test_identity_reports_the_worst_instance():
    cases = [(1e-15, {"d": 1}), (3e-13, {"d": 2}), (2e-14, {"d": 3})]
    assert identity(cases, 1e-12).verdict == "holds"
    found = identity(cases, 1e-13)
    assert found.verdict == "fails"
    assert found.counterexample == {"d": 2, "deviation": 3e-13}
    assert identity([(1e-15, {}), (float("nan"), {"d": 9})], 1e-12).counterexample["d"] == 9
    with complaint(ValueError, "deviations"):
        identity([], 1e-12)


@pytest.mark.parametrize(
    ("violations", "trials", "allowed", "verdict"),
    [
        (0, 1000, 0.1, "holds"),
        (0, 5, 0.1, "undecided"),
        (0, 10**6, 1e-40, "undecided"),
        (50, 1000, 0.01, "fails"),
        (10, 1000, 0.01, "undecided"),
        (3, 3, 1.0, "holds"),
    ],
)
def test_frequency(violations, trials, allowed, verdict):
    found = frequency(violations, trials, allowed)
    assert found.verdict == verdict
    assert bool(found.needed) == (verdict == "undecided")
    assert (found.counterexample is not None) == (verdict == "fails")


def test_frequency_says_how_many_clean_runs_would_do():
    runs = int(frequency(0, 5, 0.05, level=0.05).needed.split()[0])
    assert frequency(0, runs + 1, 0.05, level=0.05).verdict == "holds"
    assert frequency(0, runs - 1, 0.05, level=0.05).verdict == "undecided"


def test_expectation_is_seldom_wrong(fresh_rng):
    trials, level = draws(5000), 0.05
    wrong = sum(
        expectation(fresh_rng.normal(3.0, 2.0, 30), 3.0, level=level).verdict == "fails"
        for _ in range(trials)
    )
    rarely(wrong, trials, level)


def test_expectation_tells_near_from_equal():
    samples = 1.0 + 0.1 * np.sin(np.arange(10_000))
    assert expectation(samples, 1.0).verdict == "holds"
    assert expectation(samples, 1.05).verdict == "fails"
    assert expectation(samples[:5], 1.0, margin=1e-3).verdict == "undecided"
    assert expectation(np.full(3, 0.5), 0.5).verdict == "holds"
    assert expectation(np.full(3, 0.5), 0.4).verdict == "fails"


def test_mean_between_two_numbers():
    samples = 1.0 + 0.1 * np.sin(np.arange(1000))
    assert mean_between(samples, 0.9, 1.1).verdict == "holds"
    assert mean_between(samples, 1.1, 1.2).verdict == "fails"
    assert mean_between(samples, -np.inf, 1.1).verdict == "holds"
    assert mean_between(samples, 1.1, np.inf).verdict == "fails"
    assert mean_between(samples, 1.0, np.inf).verdict == "undecided"


def test_ordering_is_seldom_wrong(fresh_rng):
    trials, level = draws(4000), 0.1
    wrong = 0
    for _ in range(trials):
        ratios = np.exp(np.clip(fresh_rng.standard_t(2, 21), -99.0, 99.0))
        wrong += ordering(ratios, np.ones(21), tie=0.0, level=level).verdict in ("holds", "fails")
    rarely(wrong, trials, level)


def test_ordering_knows_ties_and_never():
    one, two = np.full(20, 1.0), np.full(20, 2.0)
    never = np.full(20, np.inf)
    assert ordering(one, two).verdict == "holds"
    assert ordering(two, one).verdict == "fails"
    assert ordering(one, one * 1.01).verdict == "fails"
    assert ordering(one, one * 1.01, same=True).verdict == "holds"
    assert ordering(one, two, same=True).verdict == "fails"
    assert ordering(one, never).verdict == "holds"
    assert ordering(never, never, same=True).verdict == "holds"
    assert ordering(one[:5], two[:5]).verdict == "undecided"


def test_trend():
    rng = np.random.default_rng(0)
    rising = np.arange(4.0) + rng.normal(0.0, 2.0, (40, 4))
    assert trend(rising).verdict == "holds"
    assert trend(-rising).verdict == "fails"
    assert trend(rng.normal(size=(40, 4))).verdict == "undecided"
    rising[:, 3] = np.inf
    assert trend(rising).verdict == "holds"
    assert trend(np.tile(np.arange(3.0), (30, 1))).measured == pytest.approx(1.0)


def test_trend_is_seldom_wrong(fresh_rng):
    trials, level = draws(2000), 0.1
    wrong = sum(
        trend(fresh_rng.normal(size=(12, 3)), level=level).verdict != "undecided"
        for _ in range(trials)
    )
    rarely(wrong, trials, level)


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


def test_threshold_slopes_count_the_intervals():
    x = np.array([10.0, 100.0, 1000.0])

    def points(factor):
        return [TransitionPoint(v, v / factor, v * factor, 0.95, 0.5, 1.0) for v in x]

    narrow, wide = threshold_slope(x, points(1.01), rng=0), threshold_slope(x, points(2.0), rng=0)
    assert narrow.value == pytest.approx(1.0)
    assert narrow.noise < 0.05 < wide.noise
    open_ended = [*points(1.01)[:2], TransitionPoint(1e3, 1.0, np.inf, 0.95, 0.5, 1.0)]
    assert exponent(threshold_slope(x, open_ended, rng=0), 1.0).verdict == "undecided"


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
    found = bounded_constant(
        constants(fresh_rng, growth, replicates),
        ["n"] if growth < 0 else ["n", "m"], rng=fresh_rng,
    )  # fmt: skip
    assert found.verdict == verdict
    if verdict == "fails":
        assert found.counterexample["grows with"] == "n"
        assert found.measured == pytest.approx(0.5, abs=0.2)
    assert set(found.points["panel"]) <= {"along n", "along m"}
    assert found.points["y"].gt(0).all()


def test_bounded_constant_needs_lines_of_three_points(fresh_rng):
    with complaint(ValueError, "'m'"):
        bounded_constant(constants(fresh_rng, 0.0)[lambda rows: rows["m"] < 20], ["n", "m"])


def test_combining_takes_the_worst():
    good = Evidence("holds", "fine", n_trials=3, level=0.01, name="one")
    open_ = Evidence("undecided", "who knows", n_trials=4, level=0.02, name="two", needed="more")
    bad = Evidence("fails", "no", counterexample={"x": 1}, name="three")
    assert combine([good, good]).verdict == "holds"
    found = combine([good, open_])
    assert (found.verdict, found.n_trials, found.needed) == ("undecided", 7, "more")
    assert found.level == pytest.approx(0.03)
    assert found.sentence == "two: who knows"
    found = combine([good, open_, bad])
    assert found.verdict == "fails"
    assert found.counterexample == {"x": 1}
    assert [part.name for part in found.parts] == ["one", "two", "three"]
    with complaint(ValueError, "parts"):
        combine([])


def test_evidence_refuses_other_verdicts():
    with complaint(ValueError, "verdict", "'true'"):
        Evidence("true", "yes")

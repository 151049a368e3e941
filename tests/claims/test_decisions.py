"""Decisions: what they conclude, and how often they are wrong."""

import numpy as np
import pytest

from linrep.claims import Evidence
from linrep.claims.decisions import (
    Moments,
    expectation,
    frequency,
    identity,
    mean_between,
    ordering,
    trend,
)
from linrep.claims.evidence import combine
from tests.tools import complaint, draws, rarely


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


def runs_of(found):
    """Read the number of runs off what an undecided one says it would take."""
    assert found.verdict == "undecided"
    words = found.needed.split()
    assert words[0] == "about"
    return int(words[1])


def test_what_is_undecided_says_how_many_runs_decide():
    """If they go on as they are: here more of the same samples."""
    violated = frequency(6, 200, 0.02)
    runs = runs_of(violated)
    assert frequency(round(0.03 * runs), runs, 0.02).verdict == "fails"
    assert frequency(round(0.03 * runs / 2), runs // 2, 0.02).verdict == "undecided"
    rare = frequency(2, 200, 0.02)
    assert frequency(round(0.01 * runs_of(rare)), runs_of(rare), 0.02).verdict == "holds"
    assert "can be made" in frequency(2, 100, 0.02).needed

    samples = np.random.default_rng(0).normal(3.0, 1.0, 20)
    more = np.resize(samples, runs_of(expectation(samples, samples.mean(), margin=0.01)))
    assert expectation(more, samples.mean(), margin=0.0105).verdict == "holds"

    for low, high, verdict in ((2.9, 3.1, "holds"), (3.1, np.inf, "fails")):
        moments = Moments(20, 3.0, 1.0)
        enough = Moments(runs_of(mean_between(moments, low, high)), 3.0, 1.0)
        assert mean_between(enough, low, high).verdict == verdict
        fewer = Moments(enough.size // 2, 3.0, 1.0)
        assert mean_between(fewer, low, high).verdict == "undecided"

    ratios = np.array([0.5] * 7 + [2.0] * 3)
    seeds = runs_of(ordering(ratios, np.ones(10)))
    again = np.tile(ratios, -(-seeds * 11 // 100))
    assert ordering(again, np.ones(again.size)).verdict == "holds"
    assert ordering(again[: seeds // 2], np.ones(seeds // 2)).verdict == "undecided"
    assert "can be made" in ordering([0.5, 2.0], [1.0, 1.0]).needed

    rows = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [1.0, 3.0, 2.0]])
    seeds = runs_of(trend(rows))
    assert trend(np.tile(rows, (seeds // 3 + 2, 1))).verdict == "holds"
    assert trend(np.tile(rows, (seeds // 9, 1))).verdict == "undecided"


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

"""Decisions: what they conclude, and how often they are wrong."""

import numpy as np
import pytest

from linrep.claims import LEVEL, Evidence, Frequency, Identity, Mean, Paired, Trend
from linrep.claims.evidence import combine
from tests.tools import complaint, draws, rarely


def frequency(violations, trials, allowed, level=LEVEL):
    return Frequency(violations, trials, allowed).decide(level)


def identity(deviations, tolerance):
    return Identity(deviations, tolerance).decide(0.0)


def ordering(smaller, larger, *, level=LEVEL, **options):
    return Paired(smaller, larger, **options).decide(level)


def trend(samples, level=LEVEL):
    return Trend(samples).decide(level)


def mean(samples, level=LEVEL, **claimed):
    return Mean(samples, **claimed).decide(level)


def test_identity_reports_the_worst_instance():
    cases = [(1e-15, {"d": 1}), (3e-13, {"d": 2}), (2e-14, {"d": 3})]
    assert identity(cases, 1e-12).verdict == "holds"
    found = identity(cases, 1e-13)
    assert found.verdict == "fails"
    assert found.counterexample == {"d": 2, "deviation": 3e-13}
    assert identity([(1e-15, {}), (float("nan"), {"d": 9})], 1e-12).counterexample["d"] == 9
    with complaint(ValueError, "deviation"):
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
    for allowed, level in ((0.05, 0.05), (0.01, 0.001), (0.2, 4e-5)):
        runs = int(frequency(0, 5, allowed, level=level).needed.split()[0])
        assert frequency(0, runs, allowed, level=level).verdict == "holds"
        assert frequency(0, runs - 1, allowed, level=level).verdict == "undecided"


def events(rng, share, runs):
    return frequency(int(rng.binomial(runs, share)), runs, 0.1)


def means(low, high):
    def decide(rng, truth, runs):
        deviation = np.sqrt(rng.chisquare(runs - 1) / (runs - 1))
        skewness = rng.normal(0.0, np.sqrt(6.0 / runs))
        moments = runs, rng.normal(truth, runs**-0.5), deviation, skewness
        bounds = {"at_least": low, "at_most": high}
        return mean(
            [0.0], moments=moments, **{name: x for name, x in bounds.items() if x is not None}
        )

    return decide


def equal_means(rng, truth, runs):
    return mean(rng.chisquare(5, runs) / 5, equals=truth, margin=0.02)


def pairs(rng, share, runs):
    """Of the pairs this share has the smaller one smaller; half of the others tie."""
    kinds = rng.random(runs)
    ratios = np.where(kinds < share, 0.5, np.where(kinds < (1.0 + share) / 2.0, 1.0, 2.0))
    return ordering(ratios, np.ones(runs))


def growth(rng, slope, runs):
    return trend(rng.standard_normal((runs, 4)) + slope * np.arange(4))


@pytest.mark.parametrize(
    ("decide", "truths", "runs"),
    [
        (events, (0.02, 0.05), 200),
        (events, (0.2, 0.3), 50),
        (events, (0.0, 1.0), 50),
        (means(None, 0.0), (-0.9, 0.9), 100),
        (means(-0.6, 0.6), (-0.9, 0.9), 50),
        (means(0.0, None), (0.25, 0.25), 100),
        (equal_means, (1.0, 1.0), 200),
        (pairs, (0.65, 0.75), 50),
        (pairs, (0.1, 0.3), 50),
        (growth, (0.2, 0.4), 15),
        (growth, (-0.4, -0.2), 15),
    ],
)
def test_following_the_advice_decides(decide, truths, runs, fresh_rng):
    """Wherever the truth is among these, the nearest to what is claimed aside."""
    undecided, open_ = 0, 0
    for _ in range(draws(150)):
        truth = fresh_rng.uniform(*truths)
        found = decide(fresh_rng, truth, runs)
        if found.verdict != "undecided" or found.needed.endswith("without a violation"):
            continue
        # No more than these runs are made: where they decide, so do those that are advised.
        advised = int(found.needed.split()[1]) if found.needed.startswith("about") else 20_000
        undecided += 1
        open_ += decide(fresh_rng, truth, min(advised, 20_000)).verdict == "undecided"
    assert undecided
    rarely(open_, undecided, 0.05)


def test_advice_is_no_more_than_it_takes(fresh_rng):
    """With a tenth of the runs that are advised it stays undecided more often than that."""
    open_ = undecided = 0
    while undecided < 200:
        truth = fresh_rng.uniform(-0.9, 0.9)
        found = means(None, 0.0)(fresh_rng, truth, 100)
        if found.verdict == "undecided":
            fewer = max(100, int(found.needed.split()[1]) // 10)
            undecided += 1
            open_ += means(None, 0.0)(fresh_rng, truth, fewer).verdict == "undecided"
    assert open_ > 0.2 * undecided


def test_expectation_is_seldom_wrong(fresh_rng):
    trials, level = draws(500), 0.05
    wrong = sum(
        mean(fresh_rng.normal(3.0, 2.0, 30), level, equals=3.0).verdict == "fails"
        for _ in range(trials)
    )
    rarely(wrong, trials, level)


def test_expectation_tells_near_from_equal():
    samples = 1.0 + 0.1 * np.sin(np.arange(10_000))
    assert mean(samples, equals=1.0).verdict == "holds"
    assert mean(samples, equals=1.05).verdict == "fails"
    assert mean(samples[:50], equals=1.0, margin=1e-3).verdict == "undecided"
    known = {"deterministic": True}
    assert mean(np.full(3, 0.5), equals=0.5, **known).verdict == "holds"
    assert mean(np.full(3, 0.5), equals=0.4, **known).verdict == "fails"


def test_mean_between_two_numbers():
    samples = 1.0 + 0.1 * np.sin(np.arange(1000))
    assert mean(samples, at_least=0.9, at_most=1.1).verdict == "holds"
    assert mean(samples, at_least=1.1, at_most=1.2).verdict == "fails"
    assert mean(samples, at_most=1.1).verdict == "holds"
    assert mean(samples, at_least=1.1).verdict == "fails"
    assert mean(samples, at_least=1.0).verdict == "undecided"


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_a_trend_keeps_its_level_where_columns_have_other_spreads():
    """Page's law is of exchangeable columns; a narrow one between two wide ones is not."""
    rng = np.random.default_rng(3)
    spreads = np.array([1.0, 0.01, 1.0])
    wrong = [
        trend(rng.standard_normal((100, 3)) * spreads, level=0.05).verdict != "undecided"
        for _ in range(2000)
    ]
    assert 0.03 < np.mean(wrong) < 0.065

"""Intervals keep their level: for whatever law, or for laws that a table names."""

import math
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import linrep
from linrep.claims import LEVEL, Constant, Exponent, Mean, Threshold, Trend, decide
from linrep.claims.confidence import Moments, enough, of_bounded_mean, of_mean, of_quantile, of_sum
from tests.tools import complaint, draws, rarely

DATA = Path(linrep.__file__).parents[1] / "docs" / "notebooks" / "data"
TAILS = st.floats(1e-9, 0.2)

LAWS = {
    "normal": (lambda rng, shape: 1.0 + rng.standard_normal(shape), 1.0),
    "exponential": (lambda rng, shape: rng.exponential(size=shape), 1.0),
    "lognormal 1": (lambda rng, shape: rng.lognormal(0.0, 1.0, shape), math.exp(0.5)),
    "lognormal 2": (lambda rng, shape: rng.lognormal(0.0, 2.0, shape), math.exp(2.0)),
    "Student's t": (lambda rng, shape: 1.0 + rng.standard_t(3, shape), 1.0),
    "two values": (lambda rng, shape: (rng.random(shape) < 0.3).astype(float), 0.3),
    "one in a thousand": (lambda rng, shape: (rng.random(shape) < 1e-3).astype(float), 1e-3),
}


NUMBERS = st.floats(-1e3, 1e3).map(lambda x: round(x, 3))


@given(st.lists(st.lists(NUMBERS, min_size=1, max_size=6), min_size=1, max_size=4))
def test_moments_of_groups_are_those_of_all_samples(groups):
    every = np.concatenate(groups)
    found = Moments.together([Moments.of(np.array(group)) for group in groups])
    scale = np.abs(every).max() + 1.0
    assert found.size == every.size
    assert found.mean == pytest.approx(every.mean(), abs=1e-12 * scale)
    if every.size > 1:
        assert found.deviation == pytest.approx(every.std(ddof=1), abs=1e-12 * scale)
    else:
        assert math.isnan(found.deviation)
    if every.size > 2 and every.std() > 1e-2 * scale:
        assert found.skewness == pytest.approx(scipy.stats.skew(every, bias=False), abs=1e-6)
        assert Moments.of(every).skewness == pytest.approx(found.skewness, abs=1e-6)


def transformed(T, skewed):
    """Return Hall's transformation of Student's statistic, (2.2) of the paper, term by term."""
    return T + skewed * T**2 / 3.0 + skewed**2 * T**3 / 27.0 + skewed / 6.0


@given(st.integers(3, 10_000), st.floats(-5.0, 5.0), TAILS)
def test_the_interval_of_a_mean_is_halls_at_twice_the_skewness(size, skewness, tail):
    low, high = of_mean(Moments(size, 2.0, 3.0, skewness), tail)
    if (2.0 / 3.0) ** size > tail:
        assert (low, high) == (-math.inf, math.inf)
        return
    student = scipy.stats.t.isf(tail, size - 1)
    error = 3.0 / math.sqrt(size)
    for distance, side in (((high - 2.0) / error, skewness), ((2.0 - low) / error, -skewness)):
        skewed = 2.0 * (side + math.sqrt(6.0 / size)) / math.sqrt(size)
        if skewed <= 0.0:
            assert distance == pytest.approx(student)
        elif distance == pytest.approx(15.0 * math.sqrt(size)):  # beyond what has an inverse
            assert transformed(-3.0 / skewed, skewed) >= -student - 1e-9
        else:
            assert transformed(-distance, skewed) == pytest.approx(-student, rel=1e-6)
        assert distance >= student * (1.0 - 1e-12)


def test_there_is_no_interval_of_too_few_samples():
    assert of_mean(Moments.of(np.array([1.0])), 0.01) == (-math.inf, math.inf)
    assert of_mean(Moments.of(np.arange(5.0)), 1e-3) == (-math.inf, math.inf)
    assert of_mean(Moments.of(np.full(5, 0.1)), 1e-3) == (0.1, 0.1)
    assert of_mean(Moments.of(np.arange(50.0)), 0.0) == (-math.inf, math.inf)


@given(st.integers(1, 60), st.floats(0.02, 0.98), TAILS)
def test_a_quantile_is_beyond_an_end_as_seldom_as_is_said(size, share, tail):
    """The number of samples below a quantile is binomial, whatever the law."""
    samples = np.arange(1.0, size + 1.0)
    low, high = of_quantile(samples[::-1], share, tail)
    below = 0 if math.isinf(low) else int(low)
    above = 0 if math.isinf(high) else int(size + 1 - high)
    for rank, chance in ((below, share), (above, 1.0 - share)):
        assert binom.cdf(rank - 1, size, chance) <= tail
        assert binom.cdf(rank, size, chance) > tail * (1.0 - 1e-9)
    least = enough(tail, max(share, 1.0 - share))
    assert (math.isfinite(low) and math.isfinite(high)) == (size >= least)


@pytest.mark.parametrize("tail", [5e-3, 2e-5])
@pytest.mark.parametrize("size", [1, 8, 30])
def test_a_mean_of_zeros_and_ones_is_beyond_an_end_as_seldom_as_is_said(size, tail):
    ends = [
        of_bounded_mean(np.repeat([-1.0, 3.0], [size - count, count]), (-1.0, 3.0), tail)
        for count in range(size + 1)
    ]
    low, high = (np.array(ends).T + 1.0) / 4.0
    for chance in np.linspace(0.0, 1.0, 101):
        weights = binom.pmf(range(size + 1), size, chance)
        assert weights @ (low > chance) <= tail
        assert weights @ (high < chance) <= tail
    shares = np.arange(size + 1) / size
    assert np.all((low <= shares) & (shares <= high))


@given(st.lists(st.tuples(*(st.floats(0.0, 5.0),) * 3, st.floats(-3.0, 3.0)), min_size=1))
def test_distances_of_a_sums_ends_are_added_in_squares(rows):
    value, down, up, weights = np.array(rows).T
    found, half = of_sum(weights, value, value - down, value + up)
    below = above = 0.0
    for weight, lower, upper in zip(weights, down, up, strict=True):
        below += (weight * (lower if weight > 0.0 else upper)) ** 2
        above += (weight * (upper if weight > 0.0 else lower)) ** 2
    assert found == pytest.approx(sum(weights * value), abs=1e-9)
    assert half == pytest.approx(math.sqrt(max(below, above)), abs=1e-9)
    assert of_sum(np.array([0.0, 2.0]), *np.array([[0, 1], [-np.inf, 0], [np.inf, 3]]))[1] == 4.0


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [8, 30, 100])
def test_a_mean_at_its_limit_is_seldom_judged(law, n, fresh_rng):
    """Either way: Student's interval says "holds" up to 70 times as often as it should."""
    draw, mean = LAWS[law]
    trials, tail = draws(1000), 0.01
    moments = map(Moments.of, draw(fresh_rng, (trials, n)))
    low, high = np.array([of_mean(each, tail) for each in moments if each.deviation > 0.0]).T
    rarely(np.sum(high <= mean), trials, tail)
    rarely(np.sum(low > mean), trials, tail)


def test_samples_of_a_known_range_are_decided_from_few(fresh_rng):
    samples = fresh_rng.random(40) < 0.02
    assert decide(Mean(samples, at_most=0.7, within=(0, 1))).verdict == "holds"
    assert decide(Mean(np.zeros(40), at_most=0.7, within=(0, 1))).verdict == "holds"
    assert decide(Mean(np.ones(40), at_most=0.3, within=(0, 1))).verdict == "fails"
    for wrong in ((0.5, 1.0), (1.0, 0.0)):
        with complaint(ValueError, "within", "range"):
            Mean([0.0, 1.0], at_most=0.5, within=wrong)
    assert Mean(np.zeros(2000), at_most=0.5, within=(0, 1)).samples.size == 2000


@pytest.mark.parametrize("law", ["exponential", "lognormal 1", "lognormal 2"])
@pytest.mark.parametrize(("statistic", "n"), [("median", 12), ("median", 30), ("mean", 30)])
def test_an_exponent_at_its_limit_is_seldom_judged(law, statistic, n, fresh_rng):
    draw = LAWS[law][0]
    x, trials, level = np.array([1.0, 2.0, 4.0, 8.0]), draws(100), 0.05
    for predicted in (-0.6, -0.4):  # the margin is 0.1
        wrong = 0
        for _ in range(trials):
            samples = [size**-0.5 * draw(fresh_rng, n) for size in x]
            measured = Exponent(x, samples, equals=predicted, statistic=statistic)
            wrong += decide(measured, level).verdict == "holds"
        rarely(wrong, trials, level)


@pytest.mark.parametrize("law", LAWS)
def test_of_any_law_without_a_trend_there_is_seldom_one(law, fresh_rng):
    trials, level = draws(300), 0.05
    samples = LAWS[law][0](fresh_rng, (trials, 25, 4))  # of fewer SciPy enumerates all orders
    found = [decide(Trend(each), level).verdict for each in samples]
    rarely(len(found) - found.count("undecided"), trials, level)


def test_the_table_of_levels_is_what_was_computed():
    names = runpy.run_path(DATA / "levels.py")
    rows = pd.read_csv(DATA / "levels.csv")
    text = (DATA.parents[1] / "concepts.md").read_text("utf-8")
    assert names["summary"](rows) in text
    assert f"it takes {enough(LEVEL / 2.0)}." in text
    assert f"{enough(LEVEL, 0.5)} for a median" in text
    keys = ["law", "n", "level", "interval"]
    assert len(rows) == len(rows[keys].drop_duplicates())
    kept = rows[rows["interval"] != "Student's"]
    assert kept[["holds", "fails"]].max().max() <= 1.0
    for law in names["CHANCES"]:  # computed exactly
        again = pd.DataFrame(names["cells"](law, 30, 1e-2, None))
        stored = rows[(rows["law"] == law) & (rows["n"] == 30) & (rows["level"] == 1e-2)]
        assert again["interval"].tolist() == stored["interval"].tolist()
        for column in ("holds", "fails", "at twice", "at half"):
            assert stored[column].to_numpy() == pytest.approx(again[column], rel=6e-3, abs=1e-12)


@pytest.mark.parametrize("scale", [1e-170, 1e-110, 1e105, 1e200])
def test_units_change_no_interval(scale, fresh_rng):
    samples = fresh_rng.exponential(size=200)
    expected = np.array(of_mean(Moments.of(samples), 2e-5))
    assert np.array(of_mean(Moments.of(scale * samples), 2e-5)) / scale == pytest.approx(expected)
    halves = [Moments.of(scale * samples[:50]), Moments.of(scale * samples[50:])]
    assert np.array(of_mean(Moments.together(halves), 2e-5)) / scale == pytest.approx(expected)


def test_what_no_samples_show_is_undecided():
    """Samples that are all alike say little where a range is all that is known."""
    assert decide(Mean(np.zeros(30), equals=0.2, within=(0, 1))).verdict == "undecided"
    assert decide(Mean([0.3], at_most=0.5, within=(0, 1))).needed.startswith("about")
    assert decide(Mean([1.0], at_most=2.0)).needed == "more runs, until replicates differ"
    zero = Exponent([1, 2, 4], [[1, 1], [0, 0], [4, 4]], equals=1.0, deterministic=True)
    assert decide(zero).verdict == "undecided"
    assert "positive" in decide(zero).needed
    vanishing = [np.linspace(-1.5, 1.0, 100).clip(0.0) for _ in range(3)]
    assert "positive" in decide(Exponent([1, 2, 4], vanishing, equals=1.0)).needed
    assert decide(Mean([0.0], equals=0.0, deterministic=True)).verdict == "holds"
    points = [(size, 0.5 * size, 3.0 * size) for size in (1.0, 2.0, 4.0)]
    with complaint(ValueError, "confidence", "below 1"):
        Threshold([1, 2, 4], points, equals=1.0, confidence=1.0)
    with complaint(ValueError, "3 points", "4 sizes"):
        Threshold([1, 2, 4, 8], points, equals=1.0)


def test_the_advice_counts_all_replicates():
    constants = [
        {"n": n, "m": m, "constant": 1.0 + place} for n in (1, 2, 4) for m in (1, 2, 4)
        for place in range(20)
    ]  # fmt: skip
    few = decide(Constant(pd.DataFrame(constants), ["n", "m"])).needed
    assert few.startswith("about")
    assert int(few.split()[1]) > len(constants)
    highest = Constant(pd.DataFrame(constants), ["n", "m"], quantile=1.0)
    assert decide(highest).needed == "more runs than can be made"

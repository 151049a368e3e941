"""Slopes of logarithms and what they decide, and how often they are wrong."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from linrep.claims import Constant, Exponent, Threshold, decide
from linrep.claims.slopes import Bounds, Slope, bounded, exponent, limit, log_slope
from linrep.stats import TransitionPoint
from tests.tools import complaint, draws, rarely


def power_law(rng, exponent, noise=0.5, sizes=(10, 20, 40, 80, 160), replicates=30):
    x = np.array(sizes, dtype=float)
    return x, [size**exponent * np.exp(noise * rng.standard_normal(replicates)) for size in x]


def test_slopes_are_seldom_outside_their_noise(fresh_rng):
    trials, level = draws(1000), 0.05
    wrong = 0
    for _ in range(trials):
        slope = log_slope(*power_law(fresh_rng, -0.5), statistic="mean", level=level)
        wrong += not slope.low <= -0.5 <= slope.high
    rarely(wrong, trials, 2 * level)


def test_a_bend_widens_the_interval():
    x = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    straight = log_slope(x, [np.full(20, value) for value in x**2])
    bent = log_slope(x, [np.full(20, value) for value in x**2 + 10.0])
    assert straight.bend < 1e-12
    assert straight.noise == 0.0
    assert bent.bend > 0.3
    with complaint(ValueError, "three"):
        log_slope([1.0, 2.0], [np.ones(3), np.ones(3)])


@pytest.mark.parametrize(("value", "verdict"), [(0.05, "holds"), (0.3, "fails")])
def test_an_undecided_exponent_says_how_many_runs_decide(value, verdict):
    noise, bend = 0.4, 0.01
    found = exponent(Slope(value, noise, bend, change=bend), 0.0, margin=0.1, n_trials=100)
    runs = int(found.needed.removeprefix("about ").removesuffix(" runs"))

    def with_runs(count):
        slope = Slope(value, noise * np.sqrt(100 / count), bend, change=bend)
        return exponent(slope, 0.0, margin=0.1, n_trials=count).verdict

    assert (with_runs(runs), with_runs(runs // 2)) == (verdict, "undecided")
    bent = exponent(Slope(value, noise, 0.5, change=0.5), 0.0, margin=0.1, n_trials=100)
    assert bent.needed == "larger sizes, and about 1600 runs"


SIZES = np.array([50.0, 100.0, 200.0, 400.0, 800.0])


def law(rng, mean, replicates, sizes=SIZES, **options):
    """Return what is found of chi-squared replicates of a mean that is claimed to be 1/n."""
    samples = [mean(n) * rng.chisquare(5, replicates) / 5 for n in sizes]
    return decide(Exponent(sizes, samples, equals=-1.0, statistic="mean", **options))


@pytest.mark.parametrize("replicates", [50, 200])
def test_of_an_exact_law_the_runs_that_are_advised_decide(replicates, fresh_rng):
    """What noise makes of the curvature is no curvature: larger sizes are not what is missing."""
    trials, decided = 40, 0
    for _ in range(trials):
        found = law(fresh_rng, lambda n: 1.0 / n, replicates)
        if found.needed.startswith("about"):
            runs = int(found.needed.split()[1]) // SIZES.size
            found = law(fresh_rng, lambda n: 1.0 / n, runs)
        decided += found.verdict == "holds"
    rarely(trials - decided, trials, 0.05)


@pytest.mark.parametrize(("second", "replicates"), [(20.0, 1000), (30.0, 2000)])
def test_of_a_law_that_bends_larger_sizes_decide(second, replicates, fresh_rng):
    trials, advised, decided = 20, 0, 0

    def mean(n):
        return 1.0 / n + second / n**2

    for _ in range(trials):
        advised += law(fresh_rng, mean, replicates).needed.startswith("larger sizes")
        decided += law(fresh_rng, mean, replicates, 10.0 * SIZES).verdict == "holds"
    rarely(trials - advised, trials, 0.05)
    rarely(trials - decided, trials, 0.05)


@pytest.mark.parametrize(
    ("mean", "verdicts"),
    [
        (lambda n: 1.0 / n, {"holds"}),
        (lambda n: 1.0 / n + 10.0 / n**2, {"holds"}),
        (lambda n: n**-0.8, {"fails"}),
        (lambda n: 1.0 / n + 1e-3, {"undecided", "fails"}),  # bends away from any power
    ],
)
def test_an_exponent_in_the_limit(mean, verdicts, fresh_rng):
    samples = [mean(n) * fresh_rng.chisquare(200, 10_000) / 200 for n in SIZES]
    found = decide(Exponent(SIZES, samples, equals=-1.0, statistic="mean", tail=True))
    assert found.verdict in verdicts
    with complaint(ValueError, "four"):
        law(fresh_rng, mean, 10, SIZES[:3], tail=True)


@pytest.mark.parametrize("bend", [0.03, 0.1])
@pytest.mark.parametrize("claimed", [{"equals": -1.1001}, {"at_most": -1.1001}])
def test_an_exponent_in_the_limit_is_seldom_wrong(bend, claimed, fresh_rng):
    """Changes that halve lead to -1, which is just beyond what is claimed."""
    x, trials, level = np.array([10.0, 20.0, 40.0, 80.0]), 60, 0.05
    local = -1.0 - bend * np.array([4.0, 2.0, 1.0])
    means, wrong = 2.0 ** np.concatenate([[0.0], np.cumsum(local)]), 0
    for _ in range(trials):
        samples = [mean * np.exp(0.3 * fresh_rng.standard_normal(1000)) for mean in means]
        measured = Exponent(x, samples, statistic="mean", tail=True, **claimed)
        wrong += decide(measured, level).verdict == "holds"
    rarely(wrong, trials, level)


@pytest.mark.parametrize("sizes", [(100, 120, 140, 160), (10, 20, 40, 41)])
def test_no_limit_is_read_off_sizes_that_are_near_each_other(sizes):
    """Of 1/n + 100/n^2 slopes at 100 to 160 go from -1.5 to -1.4, by small steps."""
    samples = [np.full(4, 1.0 / n + 100.0 / n**2) for n in sizes]
    with complaint(ValueError, "octave"):
        Exponent(sizes, samples, equals=-1.0, tail=True)


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
    replicates = 200 if growth else 100
    along = ["n"] if growth < 0 else ["n", "m"]
    measured = Constant(constants(fresh_rng, growth, replicates), along)
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


#: Constants of a bound, by size: bounded, and not.
BOUNDED = {
    "1 - 1/k": lambda k: 1.0 - 1.0 / k,
    "1 - 1/root k": lambda k: 1.0 - k**-0.5,
    "k/(k + 8)": lambda k: k / (k + 8.0),
    "1 + log(1 + 1/k)": lambda k: 1.0 + np.log1p(1.0 / k),
    "2 - log k/k": lambda k: 2.0 - np.log(k) / k,
}
K = {"octaves": [8, 16, 32], "more octaves": [8, 16, 32, 64, 128], "apart": [100, 550, 3000]}


def measured(rng, typical, sizes, runs, level):
    """Return logarithms of sizes, and of what so many runs find, each off by a tenth or so."""
    sizes = np.array(sizes, dtype=float)
    error = 0.1 * np.sqrt(sizes.size / runs)
    values = np.log(typical(sizes)) + error * rng.standard_normal(sizes.size)
    half = error * norm.isf(level)
    return np.log(sizes), Bounds(values, values - half, values + half)


def along_k(rng, constant, sizes, runs, level):
    line = measured(rng, constant, sizes, runs, level)
    return bounded(["k"], [line], largest=1.0, at={}, level=level, n_trials=runs)


def in_the_limit(rng, mean, sizes, runs, level):
    slope = limit(*measured(rng, mean, sizes, runs, level), level)
    return exponent(slope, -1.0, level=level, n_trials=runs)


def followed(decide, rng, truth, sizes, runs):
    """Decide, and once more as is advised: with ten times the sizes where it takes larger ones."""
    found = decide(rng, truth, sizes, runs, 1e-4)
    if found.verdict != "undecided":
        return found.verdict
    if "about" in found.needed:
        runs = int(found.needed.split("about ")[1].split()[0])
    scale = 10 if "larger" in found.needed else 1
    return decide(rng, truth, [scale * size for size in sizes], runs, 1e-4).verdict


@pytest.mark.parametrize("runs", [300, 30_000])
@pytest.mark.parametrize("name", BOUNDED)
def test_growth_that_comes_to_an_end_does_not_fail(name, runs, fresh_rng):
    trials, level = draws(100), 0.05
    for sizes in K.values():
        found = [along_k(fresh_rng, BOUNDED[name], sizes, runs, level) for _ in range(trials)]
        rarely(sum(each.verdict == "fails" for each in found), trials, level)


@pytest.mark.parametrize("sizes", [[10, 12, 1000], [10, 20, 40, 10_000], [2, 4, 8, 1000, 2000]])
@pytest.mark.parametrize("power", [0.5, 0.7, 1.0])
def test_sizes_may_be_uneven(sizes, power, fresh_rng):
    """Growth of e^4 comes to an end as slowly as is allowed for."""
    found = along_k(
        fresh_rng, lambda k: np.exp(-4.0 * (k / k[0]) ** -power), sizes, 10**9, 1e-4
    )  # fmt: skip
    assert found.verdict == "undecided"


@pytest.mark.parametrize("power", [0.05, 0.2, 0.5])
def test_a_power_law_fails_and_one_at_the_margin_seldom(power, fresh_rng):
    trials, level = draws(100), 0.05
    for sizes in K.values():
        found = [
            along_k(fresh_rng, lambda k: k**power, sizes, 30_000, level) for _ in range(trials)
        ]
        wrong = sum((each.verdict == "fails") != (power > 0.05) for each in found)
        rarely(wrong, trials, level)


@pytest.mark.parametrize(
    ("decide", "truth", "sizes", "runs", "verdict"),
    [
        (along_k, lambda k: k**0.2, "octaves", 100, "fails"),
        (along_k, lambda k: k**0.2, "octaves", 1000, "fails"),
        (along_k, lambda k: 1.0 + 0.0 * k, "octaves", 100, "holds"),
        (along_k, BOUNDED["1 - 1/k"], "octaves", 3_000_000, "holds"),
        (in_the_limit, lambda n: 1.0 / n, "more octaves", 100, "holds"),
        (in_the_limit, lambda n: n**-0.7, "more octaves", 100, "fails"),
        (in_the_limit, lambda n: 1.0 / n + 9.0 / n**2, "more octaves", 1_000_000, "holds"),
    ],
)
def test_following_the_advice_decides(decide, truth, sizes, runs, verdict, fresh_rng):
    trials = draws(100)
    found = [followed(decide, fresh_rng, truth, K[sizes], runs) for _ in range(trials)]
    rarely(sum(each != verdict for each in found), trials, 0.05)


def test_growth_that_may_come_to_an_end_is_named(fresh_rng):
    found = along_k(fresh_rng, BOUNDED["1 - 1/root k"], K["octaves"], 3_000_000, 1e-4)
    assert (found.verdict, found.needed) == ("undecided", "larger k")
    assert "may come to an end" in found.sentence
    assert found.counterexample is None


def test_rare_events_that_did_not_come_are_no_noise_of_zero(fresh_rng):
    """Of 1000 with probability x/1000, else 1, twenty replicates are mostly all 1."""
    x, trials, level = np.array([1.0, 2.0, 4.0]), 100, 1e-3
    wrong = 0
    for _ in range(trials):
        samples = [np.where(fresh_rng.random(20) < 1e-3 * size, 1e3, 1.0) for size in x]
        found = Exponent(x, samples, equals=0.7, statistic="mean")
        wrong += decide(found, level).verdict == "fails"
    rarely(wrong, trials, level)


def test_equal_replicates_decide_where_chance_has_no_part():
    x, samples = [1.0, 2.0, 4.0], [[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]]
    rows = pd.DataFrame({"n": np.repeat(x, 2), "constant": 1.0})
    for make in (
        lambda known: Exponent(x, samples, equals=1.0, along="n", deterministic=known),
        lambda known: Constant(rows, ["n"], deterministic=known),
    ):
        undecided = decide(make(False))
        assert (undecided.verdict, "n = 1, 2, 4" in undecided.sentence) == ("undecided", True)
        assert undecided.needed == "more runs, until replicates differ"
        assert decide(make(True)).verdict == "holds"


def test_the_axis_says_what_is_drawn(fresh_rng):
    """The points are replicates, or sizes: neither the exponent, nor the name of the part."""
    x, samples = power_law(fresh_rng, -0.5)
    for options in ({}, {"name": "along n"}):
        points = decide(Exponent(x, samples, equals=-0.5, **options)).points
        assert set(points["ylabel"]) == {"what is measured"}
        places = [(size, 0.9 * size, 1.1 * size) for size in x]
        points = decide(Threshold(x, places, equals=1.0, **options)).points
        assert set(points["ylabel"]) == {"smallest sufficient size"}
    assert set(decide(Exponent(x, samples, equals=-0.5, of="error")).points["ylabel"]) == {"error"}

"""Going on until claims are decided: what is put together, how often it is wrong, where it ends."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from linrep.claims import (
    Condition,
    Constant,
    Exponent,
    Frequency,
    Mean,
    Missing,
    Paired,
    Rate,
    Readings,
    Threshold,
    Together,
    Trend,
    judge,
    load_file,
    sequential,
)
from linrep.claims.evidence import LEVEL
from linrep.claims.measurements import joined
from linrep.claims.sequential import share, until_decided
from linrep.claims.verdict import runs_decide
from tests.tools import complaint, draws

X = np.array([10.0, 20.0, 40.0, 80.0])

CLAIMS = """
from linrep.claims import Exponent, Mean, Threshold, statement


@statement("mine.close", plain="At most 0.3.", negative_control={"most": -0.5})
def close(budget, rng, *, most=0.3):
    yield Mean(rng.normal(0.0, 1.0, 100), at_most=most)


@statement("mine.curved", plain="A power.", negative_control={"equals": -3.0})
def curved(budget, rng, *, equals=-1.0):
    x = [10.0, 20.0, 40.0, 80.0]
    samples = [(1 / n + 4 / n**2) * rng.uniform(0.999, 1.001, 20) for n in x]
    yield Exponent(x, samples, equals=equals)


@statement("mine.edge", plain="On the edge.", negative_control={"most": -0.5})
def edge(budget, rng, *, most=0.0):
    yield Mean(rng.normal(0.0, 1.0, 100), at_most=most)
"""


def samples(rng, count=10):
    return [rng.uniform(0.9, 1.1, count) / x for x in X]


def test_runs_put_together_are_as_one_run(fresh_rng):
    """Whatever the kind: the numbers of both."""
    first, second = samples(fresh_rng), samples(fresh_rng)
    both = [np.concatenate(each) for each in zip(first, second, strict=True)]

    def rows(values):
        return pd.DataFrame({"n": np.repeat(X, len(values[0])), "constant": np.concatenate(values)})

    def every(values):
        flat = np.concatenate(values)
        return [
            Mean(flat, at_most=1.0),
            Paired(flat, flat + 1.0),
            Trend(np.column_stack(values)),
            Exponent(X, values, equals=-1.0),
            Rate(X, values, {"1/n": lambda n: 1.0 / n}),
            Constant(rows(values), ["n"]),
            Together([Mean(flat, equals=1.0)]),
            Readings([Mean(flat, equals=1.0, name="one"), Condition(True, name="two")], phrase="x"),
        ]

    for left, right in zip(joined([every(first), every(second)]), every(both), strict=True):
        one, other = (judge([item]) for item in (left, right))
        assert one.measured == pytest.approx(other.measured, nan_ok=True), left
        assert (one.n_trials, one.verdict) == (other.n_trials, other.verdict), left
    (frequency,) = joined([[Frequency(1, 9, 0.5)], [Frequency(2, 5, 0.5)]])
    assert (frequency.violations, frequency.trials) == (3, 14)


def test_where_chance_does_not_decide_a_failure_counts():
    good, bad = Condition(True, 1.0), Condition(False, 2.0)
    assert joined([[good], [bad]]) == [bad]
    assert joined([[good], [good]]) == [good]
    with complaint(ValueError, "same kind"):
        joined([[good], [Frequency(0, 9, 0.5)]])
    with complaint(ValueError, "different numbers"):
        joined([[good], [good, good]])
    points = [(x, x / 2, 2 * x) for x in X]
    with complaint(ValueError, "Threshold"):
        joined([[Threshold(X, points, equals=1.0)]] * 2)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Mean([1.0, 2.0], at_least=1.0), Mean([1.0, 2.0], at_least=1.5)),
        (Mean([1.0, 2.0], equals=1.0), Mean([1.0, 2.0], at_most=1.0)),
        (Frequency(1, 9, 0.5), Frequency(1, 9, 0.4)),
        (Frequency(1, 9, 0.5, setting={"d": 3}), Frequency(1, 9, 0.5, setting={"d": 4})),
        (Rate(X, [[1.0, 2.0]] * 4, {"1": X}), Rate(X, [[1.0, 2.0]] * 4, {"1": 1.0 / X})),
    ],
)
def test_runs_about_something_else_are_not_put_together(one, other):
    """Samples of an instance that is drawn say nothing of another one's bound."""
    with complaint(ValueError, "other runs"):
        joined([[one], [other]])
    with complaint(ValueError, "other runs"):
        joined([[Together([one])], [Together([other])]])


def test_shares_of_all_looks_sum_to_the_level():
    assert sum(share(0.05, look) for look in range(1, 100_000)) == pytest.approx(0.05, rel=1e-4)


def sequence(draw, level, looks):
    """Return the first verdict by runs that are doubled, as until_decided does."""
    runs = [[draw()]]
    for look in range(1, looks + 1):
        found = judge(joined(runs), share(level, look))
        if found.verdict != "undecided":
            return found.verdict
        runs += [[draw()] for _ in range(len(runs))]
    return "undecided"


def simulated(kind, rng):
    """Return what draws measurements whose truth is on the boundary of the statement."""
    if kind == "mean":
        return lambda: Mean(rng.normal(1.0, 1.0, 30), at_most=1.0)
    if kind == "frequency":
        return lambda: Frequency(int(rng.binomial(40, 0.1)), 40, 0.1)
    return lambda: Exponent(
        X,
        [n**-0.9 * np.exp(0.3 * rng.standard_normal(20)) for n in X],
        equals=-1.0,
        statistic="median",
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mean", "frequency", "exponent"])
@pytest.mark.parametrize("wrong", ["fails", "holds"])
def test_on_the_boundary_wrong_verdicts_keep_to_the_level(kind, wrong, fresh_rng):
    """On the boundary either verdict is one that the statement's being just so makes wrong."""
    trials, level, looks = draws(2000), 0.05, 6
    verdicts = [sequence(simulated(kind, fresh_rng), level, looks) for _ in range(trials)]
    count = verdicts.count(wrong)
    print(f"{kind}: {count} of {trials} {wrong}")
    assert binom.cdf(count, trials, level + 0.01) < 0.05, f"{count} of {trials} {wrong}"


def test_runs_decide_a_group_if_they_decide_each_part_and_a_reading_if_they_decide_one(fresh_rng):
    by_runs = Mean(fresh_rng.normal(0.0, 1.0, 100), at_most=0.05, name="runs")
    by_sizes = Missing(why="no run converged", needed="larger sizes", name="sizes")
    settled = Condition(True, name="settled")
    assert judge([by_runs]).verdict == "undecided"
    for group in ([by_runs, by_sizes], [by_sizes, by_runs]):
        assert not runs_decide(group)
        assert not runs_decide([Together(group)])
        assert not runs_decide([settled, Together([Together(group, name="inner"), settled])])
        assert runs_decide([Readings(group, phrase="x")])
        assert not runs_decide([Readings(group, phrase="x", name="one"), by_sizes])
    assert runs_decide([Together([by_runs, settled]), by_runs])
    assert not runs_decide([Readings([by_sizes, Condition(False, name="no")], phrase="x")])


@pytest.mark.parametrize(
    ("shifts", "verdict"),
    [((0.9, -0.9, -0.9, -0.9), "holds"), ((0.35, 0.35, 0.35, 0.35), "fails")],
)
def test_a_control_is_decided_by_all_its_runs_together(monkeypatch, shifts, verdict):
    """One run alone may reject a control that is true, and none one that all reject together."""
    signs = np.tile([-1.0, 1.0], 50)
    runs = [[Mean(shift + signs, at_most=0.0)] for shift in shifts]
    alone = [judge(run).verdict for run in runs]
    assert ("fails" in alone) == (verdict == "holds")
    waiting = iter(runs)
    monkeypatch.setattr(sequential, "_measured", lambda *arguments, **options: next(waiting))
    assert sequential._control(None, [None] * 4, share(LEVEL, 3), "store") == verdict


def file(tmp_path):
    path = tmp_path / "mine_claims.py"
    path.write_text(CLAIMS)
    return path, load_file(path)


@pytest.mark.slow
def test_it_goes_on_while_runs_decide(tmp_path):
    path, made = file(tmp_path)
    said = []
    results = until_decided(
        made.values(), store=tmp_path / "runs", file=path, times=16, say=said.append,
        seconds=300.0, progress=False,
    )  # fmt: skip
    close, curved, edge = results
    assert (close.verdict, curved.verdict, edge.verdict) == ("holds", "undecided", "undecided")
    assert close.n_trials > 100
    assert curved.n_trials == 80  # not gone on with
    assert curved.needed == "larger sizes"
    assert edge.n_trials == 100 * 16
    assert len(said) == 4


def test_it_ends_where_the_time_does(tmp_path):
    path, made = file(tmp_path)
    said = []
    (found,) = until_decided(
        [made["mine.edge"]], store=tmp_path / "runs", file=path, say=said.append, seconds=0.0,
        progress=False,
    )  # fmt: skip
    assert found.n_trials == 100
    assert "too few" in said[0]

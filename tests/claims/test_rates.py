"""Rates with several terms, and how often what is said of them is wrong."""

import numpy as np
import pytest
import scipy
from scipy.optimize import OptimizeResult

from linrep.claims import Rate, decide
from linrep.claims.confidence import takes_runs
from linrep.claims.rates import least_change
from tests.tools import complaint, draws, rarely

X = np.array([25.0, 50.0, 100.0, 200.0, 400.0])
TERMS = {
    "1/n": lambda n: 1.0 / n,
    "k/(n-k-1)": lambda n: 10.0 / (n - 11.0),
    "log(n)/n": lambda n: np.log(n) / n,
    "n^-1/2": lambda n: n**-0.5,
    "n^-3/2": lambda n: n**-1.5,
    "1": lambda n: 1.0,
}


def rate(rng, truth, names, replicates=40_000, **options):
    """Return a rate with these terms, of chi-squared replicates with such a mean."""
    samples = [mean * rng.chisquare(5, replicates) / 5 for mean in truth(X)]
    return Rate(X, samples, {name: TERMS[name] for name in names}, **options)


@pytest.mark.parametrize(
    ("truth", "names", "verdict"),
    [
        (lambda n: 3.0 / n, ["1/n"], "holds"),
        (lambda n: 3.0 / n, ["1/n", "1"], "holds"),
        (lambda n: 3.0 / n, ["log(n)/n"], "fails"),
        (lambda n: 10.0 / (n - 11.0), ["k/(n-k-1)"], "holds"),
        (lambda n: 10.0 / (n - 11.0), ["1/n"], "fails"),
        (lambda n: np.log(n) / n, ["1/n"], "fails"),
        (lambda n: np.log(n) / n, ["log(n)/n"], "holds"),
        (lambda n: 1.0 / n + 0.04, ["1", "1/n"], "holds"),
        (lambda n: 1.0 / n + 0.04, ["1/n"], "fails"),
        (lambda n: n**-0.5, ["1/n", "1"], "fails"),
        (lambda n: 1.0 + 0.0 * n, ["1/n", "1"], "undecided"),  # nothing is seen of 1/n
        (lambda n: 1.0 / n, ["1/n", "n^-1/2", "n^-3/2", "1"], "undecided"),  # fits any rate
    ],
)
def test_verdicts(truth, names, verdict):
    assert decide(rate(np.random.default_rng(1), truth, names)).verdict == verdict


def test_what_is_negative_has_to_be_said(fresh_rng):
    def truth(n):
        return 1.0 / n - 10.0 / n**1.5 * 0.4

    names = ["1/n", "n^-3/2"]
    assert decide(rate(fresh_rng, truth, names)).verdict == "fails"
    assert decide(rate(fresh_rng, truth, names, signed=["n^-3/2"], apart=0.5)).verdict != "fails"


@pytest.mark.slow
@pytest.mark.parametrize("deviation", [1.1, 1.11])
def test_at_the_margin_it_is_seldom_wrong(deviation, fresh_rng):
    """A mean that is off by the margin neither fails, nor holds where it is a little more."""
    trials, level, wrong = draws(200), 0.05, 0

    def mean(n):
        return np.array([1.0, 1.0, deviation, 1.0, 1.0]) / n

    for _ in range(trials):
        found = decide(rate(fresh_rng, mean, ["1/n"], 1000), level)
        wrong += found.verdict == ("fails" if deviation == 1.1 else "holds")
    rarely(wrong, trials, level)


def test_following_the_advice_decides(fresh_rng):
    trials, decided = 40, 0
    for _ in range(trials):
        found = decide(rate(fresh_rng, lambda n: 10.0 / (n - 11.0), ["k/(n-k-1)"], 100))
        if found.needed.startswith("about"):
            runs = int(found.needed.split()[1]) // len(X)
            found = decide(rate(fresh_rng, lambda n: 10.0 / (n - 11.0), ["k/(n-k-1)"], runs))
        decided += found.verdict == "holds"
    rarely(trials - decided, trials, 0.05)
    found = decide(rate(fresh_rng, lambda n: 1.0 + 0.0 * n, ["1/n", "1"]))
    assert found.needed == "sizes further apart"


@pytest.mark.parametrize("chance", [0.01, 1.0])
def test_an_event_that_came_never_or_always_is_undecided(chance, fresh_rng):
    """Its frequency is as claimed, but of few replicates all may be equal, in one place or more."""
    seen = 0
    for _ in range(draws(200)):
        samples = (fresh_rng.random((5, 20)) < chance * X[:, None] / X.max()).astype(float)
        if samples.any() and (np.ptp(samples, axis=1) == 0.0).any():
            seen += 1
            found = decide(Rate(X, samples, {"n": lambda n: n}), 0.05)
            assert found.verdict == "undecided"
            assert takes_runs(found.needed)
    assert seen


def test_equal_replicates_say_nothing_unless_they_are_declared_to_be_known():
    samples = np.repeat(1.0 / X[:, None], 4, axis=1)
    found = decide(Rate(X, samples, {"1/n": lambda n: 1.0 / n}, along="n"))
    assert found.verdict == "undecided"
    assert "n = 25, 50, 100, 200, 400" in found.sentence
    assert takes_runs(found.needed)
    known = {"deterministic": True}
    assert decide(Rate(X, samples, {"1/n": lambda n: 1.0 / n}, **known)).verdict == "holds"
    assert decide(Rate(X, samples, {"1": lambda n: 1.0}, **known)).verdict == "fails"
    samples[0] = 0.0
    assert decide(Rate(X, samples, {"1/n": lambda n: 1.0 / n})).verdict == "undecided"
    with complaint(ValueError, "zeros"):
        Rate(X, samples, {"1/n": lambda n: 1.0 / n}, **known)


@pytest.mark.parametrize("status", [1, 3, 4])
def test_a_solver_that_gives_up_refutes_nothing(status, monkeypatch):
    outcome = OptimizeResult(status=status, success=False, message="no more iterations", x=None)
    monkeypatch.setattr(scipy.optimize, "linprog", lambda *_, **__: outcome)
    found = decide(rate(np.random.default_rng(1), lambda n: 1.0 / n, ["1/n"], 100))
    assert found.verdict == "undecided"
    assert "no more iterations" in found.sentence
    with complaint(RuntimeError, "no more iterations"):
        least_change(np.ones((5, 1)), X, X, [0.0])


def test_the_best_constants_are_found():
    terms = np.column_stack([1.0 / X, np.ones(5)])
    change, constants = least_change(terms, 3.0 / X + 0.1, 3.0 / X + 0.1, [0.0, 0.0])
    assert change == pytest.approx(1.0)
    assert constants == pytest.approx([3.0, 0.1])
    change, _ = least_change(1.0 / X[:, None], X**-0.5, X**-0.5, [0.0])
    assert change == pytest.approx((X[-1] / X[0]) ** 0.5)
    assert least_change(-np.ones((5, 1)), X, X, [0.0])[0] == np.inf


def test_what_is_no_rate_is_refused():
    samples = [[1.0, 2.0]] * 3
    with complaint(ValueError, "formula"):
        Rate([1.0, 2.0, 3.0], samples)
    with complaint(ValueError, "signed"):
        Rate([1.0, 2.0, 3.0], samples, {"1": lambda n: 1.0}, signed=["2"])
    for values in ([0.0, 0.0], [-1.0, 1.0]):
        with complaint(ValueError, "positive mean"):
            Rate([1.0, 2.0, 3.0], [values] * 3, {"1": lambda n: 1.0})
    with complaint(ValueError, "three different"):
        Rate([1.0, 2.0, 2.0], samples, {"1": lambda n: 1.0})
    with complaint(ValueError, "formula '1'"):
        Rate([1.0, 2.0, 3.0], samples, {"1": [1.0, 2.0]})

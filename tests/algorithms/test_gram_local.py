"""Local models drawn from their law: the law of the fitted ones."""

import numpy as np
import pytest

import linrep as lr
from tests.algorithms.support import off_by
from tests.algorithms.test_gram import smallest_p
from tests.tools import FALSE_ALARM, complaint

RUNS = 2000

#: Of local_only: changes to n = 2, d = 5, k = 2, noise 0.5.
LOCAL = {
    "m = 1": {"m": 1},
    "m = d - 1": {"m": 4},
    "m = d": {"m": 5},
    "m = d + 1": {"m": 6},
    "m = 3d": {"m": 15},
    "one client, m < d": {"m": 3, "n": 1, "k": 1},
    "one client, m > d": {"m": 8, "n": 1, "k": 1},
    "no noise, m < d": {"m": 2, "noise": 0.0},
    "no noise, m = d": {"m": 5, "noise": 0.0},
    "no noise, m > d": {"m": 9, "noise": 0.0},
    "d = k": {"m": 2, "d": 3, "k": 2},
    "d = m = 1": {"m": 1, "d": 1, "n": 1, "k": 1},
}


def draw_local(batches, rng, *, m, n=2, d=5, k=2, noise=0.5, source=int):
    """Return risk and loss, and their product, which tells whether they depend on each other."""
    truth = lr.SharedRepresentation.random(n=n, d=d, k=k, noise=noise, rng=1)
    rows = []
    for seed in rng.integers(2**63, size=RUNS):
        trace = lr.local_only(truth, m=m, batches=batches, rng=source(seed))
        risk, loss = trace["population_risk"][1], trace["loss"][1]
        rows.append([risk, loss, risk * loss])
    return np.array(rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", LOCAL)
def test_simulated_local_models_have_the_law_of_fitted_ones(name, fresh_rng):
    one = draw_local("fixed", fresh_rng, **LOCAL[name])
    other = draw_local("gram", fresh_rng, **LOCAL[name])
    assert smallest_p(one, other) > FALSE_ALARM / len(LOCAL)


@pytest.mark.slow
@pytest.mark.parametrize("by", [-1, 1])
@pytest.mark.parametrize(
    ("wrong", "changes"),
    [
        ({"chisquare": 3}, {"m": 7, "d": 3}),
        ({"chisquare": 2}, {"m": 4, "d": 3}),
        ({"chisquare": 5}, {"m": 8, "d": 3}),
        ({"chisquare": 3}, {"m": 3, "d": 8}),
        ({"chisquare": 2}, {"m": 3, "d": 4}),
        ({"beta": 1.5}, {"m": 2, "noise": 0.0}),
    ],
    ids=["d", "m - d + 1", "m - d", "m", "d - m + 1", "(d - m) / 2"],
)
def test_a_degree_of_freedom_of_a_local_model_is_caught(by, wrong, changes, fresh_rng):
    by = by / 2 if "beta" in wrong else by
    changes = {"n": 1, "k": 1, "noise": 2.0} | changes
    one = draw_local("fixed", fresh_rng, **changes)
    other = draw_local("gram", fresh_rng, source=off_by(by, **wrong), **changes)
    assert smallest_p(one, other) < FALSE_ALARM / len(LOCAL)


@pytest.mark.parametrize("m", [1, 10**9, 2 * 10**9])
def test_neither_m_nor_d_bounds_a_local_model(m):
    truth = lr.SharedRepresentation.random(n=50, d=10**9, k=3, noise=0.1, store=False, rng=0)
    trace = lr.local_only(truth, m=m, batches="gram", rng=1)
    assert (trace.rounds, trace.state) == (1, {})
    assert np.isnan(trace["loss"][0])
    np.testing.assert_allclose(trace["population_risk"][0], 1.5)
    if m == 1:  # one direction of so many
        np.testing.assert_allclose(trace["population_risk"][1], 1.5, rtol=1e-6)
    if m > truth.d:  # d / (m - d) and (m - d) / m of half the noise's variance
        np.testing.assert_allclose(trace["population_risk"][1], 0.005, rtol=1e-3)
        np.testing.assert_allclose(trace["loss"][1], 0.0025, rtol=1e-3)


TRUTH = lr.SharedRepresentation.random(n=5, d=4, k=2, rng=0)
IMPLICIT = lr.ImplicitRepresentation(TRUTH.W, 4)
UNIFORM = lr.SharedRepresentation(TRUTH.B, TRUTH.W, design="uniform")


@pytest.mark.parametrize(
    ("problem", "m", "batches", "kind", "words"),
    [
        (UNIFORM, 3, "gram", ValueError, ("'gram'", "Gaussian", "'uniform'")),
        (TRUTH, None, "gram", ValueError, ("m must be given",)),
        (TRUTH, 0, "gram", ValueError, ("m ", "at least 1", "0")),
        (TRUTH, [3] * 5, "gram", TypeError, ("m ", "integer")),
        (TRUTH, 3, "fresh", ValueError, ("batches", "'fixed', 'gram'", "'fresh'")),
        (TRUTH.draw(3, rng=0), None, "gram", ValueError, ("'fixed'", "ClientData", "'gram'")),
        (IMPLICIT, 3, "fixed", ValueError, ("no B*", "'gram'")),
    ],
)
def test_local_only_names_what_it_cannot_simulate(problem, m, batches, kind, words):
    with complaint(kind, *words):
        lr.local_only(problem, m=m, batches=batches, rng=0)

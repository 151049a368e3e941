"""FedRep on noisy labels: where runs settle, against rounds one by one and simulated runs."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import linrep as lr
from linrep.theory import bounds, finite
from tests.reference import bounds as reference
from tests.strategies import seeds
from tests.theory.support import check_mean, problem
from tests.tools import close


@pytest.mark.slow
@given(
    seeds, st.integers(1, 3), st.integers(0, 3), st.booleans(), st.booleans(), st.integers(2, 9),
    st.integers(1, 4),
)  # fmt: skip
def test_factors_and_floors_are_those_of_the_twin(seed, k, extra, split, equal, more, N):
    truth = problem(seed, n=4, k=k, d=k + extra, equal=equal)
    m, step = k + more, 0.4
    settings = (truth.W, N, extra, m)
    # A round is linear in the mean square, but for what noise adds.
    images = [
        reference.mean_square_round(each.reshape(k, k), *settings, 0.0, step, split).ravel()
        for each in np.eye(k * k)
    ]
    growth = np.abs(np.linalg.eigvals(np.array(images))).max()
    given = {"m": m, "step_size": step, "batches": "split" if split else "same"}
    given["participation"] = N / 4
    found = finite.floor(truth, **given)
    if extra == 0:
        assert found == 0.0
        return
    close(finite.contraction(truth, **given), np.sqrt(growth), 1e-9)
    assume(abs(growth - 1.0) > 1e-3)
    assert np.isinf(found) == (growth > 1.0)
    if growth < 1.0:
        added = reference.mean_square_round(
            np.zeros((k, k)), *settings, truth.noise, step, split
        ).ravel()
        M = np.linalg.solve(np.eye(k * k) - np.array(images).T, added).reshape(k, k)
        close(found, np.trace(M), 1e-9 * np.trace(M))


def test_small_steps_have_the_simple_formula():
    """n m much larger than d: what the sampling of covariates adds is of relative order d/(n m)."""
    truth = problem(0, n=50, d=8, k=2, noise=0.5)
    S = np.linalg.eigvalsh(truth.W.T @ truth.W / 50)
    for eta in (1e-5, 0.1):
        simple = eta * 0.25 * 6 / (50 * 2000) * np.sum(1 / (2 - eta * (1 - 2 / 2000) * S))
        close(finite.floor(truth, m=2000, step_size=eta), simple, 1e-4 * simple)
    first = 1e-5 * 0.25 * 6 * 2 / (2 * 50 * 2000)
    close(finite.floor(truth, m=2000, step_size=1e-5), first, 1e-4 * first)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("k", "m", "participation", "batches"),
    [(1, 5, 1.0, "gram"), (2, 6, 1.0, "gram"), (2, 6, 0.5, "gram"), (2, 7, 1.0, "gram_split")],
)
def test_runs_settle_at_the_floor(k, m, participation, batches):
    """Steps so long, and samples so few, that what the sampling adds is a quarter and more."""
    truth = problem(5, n=6, d=k + 5, k=k, noise=1e-5, equal=True)
    settings = {"m": m, "step_size": 0.8}
    found = []
    for seed in range(1000):
        trace = lr.fedrep(
            truth, rounds=60, batches=batches, participation=participation, start=1e-5,
            record=60, rng=seed, **settings,
        )  # fmt: skip
        found.append(np.sum(trace.state["Phi"] ** 2))
    expected = finite.floor(
        truth, participation=participation,
        batches="split" if batches == "gram_split" else "same", **settings,
    )  # fmt: skip
    check_mean(found, expected)
    # The formula without what the covariates add is too low.
    simple = 0.8 * 1e-10 * 5 * k / (6 * participation * m * (2 - 0.8 * (1 - k / m)))
    assert simple < 0.9 * expected


def test_fixed_batches_settle_at_the_empirical_risk_minimizer():
    truth = problem(1, n=6, d=4, k=2, noise=1e-4, equal=True)
    data = truth.draw(8, rng=2)
    trace = lr.fedrep(data, k=2, rounds=800, start=truth.B, step_size=0.3, record=800)
    fit = lr.empirical_risk_minimizer(data, 2, restarts=0, starts=[truth.B], rng=0)
    assert lr.subspace.distance(trace.state["B"], fit.B) < 1e-8
    inverse = np.linalg.inv(truth.W.T @ truth.W)
    floor = bounds.cramer_rao(truth, 8, given_design=True).squared_chordal
    close(floor, 1e-8 * 2 * np.trace(inverse) / 6, 1e-20)


def test_what_does_not_settle_is_infinite():
    truth = problem(0, n=4, k=2, d=4)
    too_long = 2.5 / truth.sigma_max() ** 2
    assert finite.floor(truth, m=1000, step_size=too_long) == np.inf
    assert finite.floor(problem(0, d=2, k=2), m=5, step_size=0.1) == 0.0
    single = problem(0, n=1, d=3, k=1)
    assert 0.0 < finite.floor(single, m=50, step_size=0.1) < np.inf

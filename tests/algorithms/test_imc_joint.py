"""Biases and factors of entries without side information, in one problem with a ridge."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrep.algorithms import _imc_joint as joint
from linrep.algorithms import imc
from linrep.problems import Observations
from tests.algorithms.test_imc_ratings import draw
from tests.reference import ratings as naive
from tests.strategies import seeds

RIDGE = 2.0


def whole_objective(seen, fit, U, V, offset):
    """Half the squared error and all penalties, of arrays as the fit keeps them."""
    heads = (seen.items, seen.clients, seen.values, U, V, offset, fit.units)
    penalty = RIDGE * (np.sum(U[:, :-1] ** 2) + np.sum(V[:, :-1] ** 2))
    penalty += np.sum(U[:, -1] ** 2) + np.sum(V[:, -1] ** 2)
    return 0.5 * (np.sum(naive.residuals(*heads) ** 2) + penalty)


@given(seeds, st.integers(1, 8), st.integers(1, 8), st.floats(0.1, 1.0), st.booleans())
def test_every_sweep_goes_downhill(seed, d, n, share, biased):
    rng = np.random.default_rng(seed)
    seen = draw(rng, d, n, max(1, round(share * n * d)))
    fit = joint.Joint(min(d, n, 3), seen, biased)
    size = 1e-10 * np.sum(seen.values**2)
    fit.estimate_units()
    fit.take(rng.standard_normal((d, 2)), rng.standard_normal((n, 2)))
    before = fit.objective(RIDGE)
    for _ in range(5):
        after = fit._sweep(RIDGE)
        expected = whole_objective(seen, fit, fit._U, fit._V, fit.offset)
        np.testing.assert_allclose(after, expected, rtol=1e-9, atol=size)
        assert after <= before * (1.0 + 1e-10) + size
        before = after


def test_the_end_is_stationary_in_all_unknowns(fresh_rng):
    seen = draw(fresh_rng, 20, 25, 300)
    fit = joint.Joint(3, seen, True)
    fit.refit(RIDGE)
    fit.estimate_units()
    assert len(list(fit.fit(RIDGE, 1e-13))) < 500
    assert fit.U.shape[1] > 0
    least = fit.objective(RIDGE)
    for _ in range(20):
        dU, dV = (1e-3 * fresh_rng.standard_normal(F.shape) for F in (fit._U, fit._V))
        moved = [
            whole_objective(
                seen, fit, fit._U + sign * dU, fit._V + sign * dV, fit.offset + sign * 1e-3
            )
            for sign in (1.0, -1.0)
        ]
        # A decrease of 1e-13 in a sweep leaves slopes of about its square root.
        assert abs(moved[0] - moved[1]) < 1e-3 * abs(sum(moved) - 2.0 * least)


def test_the_gap_bounds_what_is_left(fresh_rng):
    """At rough fits it is above what finer ones gain, and at the end it is nearly 0."""
    seen = draw(fresh_rng, 20, 25, 300)
    fit = joint.Joint(None, seen, True)
    fit.refit(RIDGE)
    rough, gap = fit.objective(RIDGE), fit.gap(RIDGE)
    for _ in fit.fit(RIDGE, 1e-13):
        pass
    assert 0.0 <= fit.gap(RIDGE) < 1e-3
    assert rough - fit.objective(RIDGE) <= gap * rough
    fit.take(np.zeros((20, 0)), np.zeros((25, 0)))
    assert fit.gap(RIDGE) > 0.05


@pytest.mark.parametrize("sides", ["", "AZ"])
def test_a_nuclear_norm_tells_its_gap(sides, fresh_rng):
    A = fresh_rng.standard_normal((40, 3)) if sides else None
    Z = fresh_rng.standard_normal((60, 4)) if sides else None
    seen = draw(fresh_rng, 40, 60, 1200, A=A, Z=Z)
    trace = imc.nuclear_norm(seen, ridge=3.0)
    assert trace.stop_reason == "converged"
    assert 0.0 <= trace.settings["duality_gap"] < 2e-3
    cut = imc.nuclear_norm(seen, ridge=3.0, iterations=0)
    assert cut.settings["duality_gap"] > trace.settings["duality_gap"]


@pytest.mark.parametrize("small", [0, 2000])  # by Lanczos' method, and from all of them
def test_the_residuals_largest_singular_value(small, monkeypatch, fresh_rng):
    monkeypatch.setattr(joint, "_SMALL", small)
    seen = draw(fresh_rng, 20, 25, 300)
    fit = joint.Joint(None, seen, False)
    S = np.zeros((20, 25))
    S[seen.items, seen.clients] = seen.values
    norm = np.linalg.norm(S, 2)
    assert norm * (1.0 - 1e-9) <= fit._norm() <= norm * 1.002
    np.testing.assert_allclose(fit.largest(), norm, rtol=1e-5)


def test_a_run_begins_where_it_is_told(fresh_rng):
    seen = draw(fresh_rng, 20, 25, 300)
    start = fresh_rng.standard_normal((20, 2)), fresh_rng.standard_normal((25, 2))
    trace = imc.alternating(seen, 2, ridge=1.0, start=start, iterations=0)
    np.testing.assert_allclose(trace.state["U"] @ trace.state["V"].T, start[0] @ start[1].T)
    found = imc.alternating(seen, 2, ridge=1.0, start=start)
    usual = imc.alternating(seen, 2, ridge=1.0)
    assert abs(found["residual"][-1] - usual["residual"][-1]) < 0.05


def test_sweeps_are_shown(capsys, fresh_rng):
    seen = draw(fresh_rng, 20, 25, 300)
    imc.alternating(seen, 2, progress=True)
    assert "rank 2" in capsys.readouterr().err


def test_one_row_has_no_factors_beyond_it():
    seen = Observations([0, 1, 2, 3], [0, 0, 0, 0], [1.0, 2.0, 4.0, 3.0])
    for trace in (imc.alternating(seen, 1, ridge=0.1), imc.nuclear_norm(seen, ridge=0.1)):
        assert np.isfinite(trace.predict(seen)).all()

"""FLUTE's clients side by side against the reference, and against clients one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.linalg import norm

from linrep.kernels import flute as kernel
from linrep.kernels import flute_abreast as abreast
from linrep.kernels.rounds import COMPLETED, CONVERGED, DIVERGED
from tests.kernels.test_flute import NOTHING, Step, round_error, sources, steps
from tests.reference import flute as reference
from tests.strategies import cases
from tests.tools import EPS, UNITS, close


def run_abreast(case, source, rounds, step, tolerance=0.0):
    moments = abreast.moments(source.S, source.centres, source.rests)
    work = abreast.workspace(case.k, moments)
    for array in work:
        array[:] = np.nan
    BT, W, losses = case.B.T.copy(), case.W.copy(), np.full(rounds, np.nan)
    steps = step.steps(case.n, case.n, tolerance)
    completed, status = abreast.run(moments, BT, W, steps, losses, work)
    return BT.T, W, losses, completed, status


@given(cases(k_within_n=False), steps)
def test_a_round_of_clients_side_by_side_equals_the_reference(case, step):
    settings = step.step_size, step.regularizer, step.gamma1, step.gamma2
    expected = reference.round(
        case.clients, case.B, case.W, np.arange(case.n), *settings, loss=step.loss,
        clients_as=step.clients_as,
    )  # fmt: skip
    source = sources(case)[1]
    B, W, losses, completed, _ = run_abreast(case, source, 1, step)
    longest = 1.0 + max(norm(source.centres), 1.0)
    error = round_error(case.clients, case.B, case.W, step, 1.0) * longest
    assert completed == 1
    close(B, expected[0], error)
    close(W, expected[1], error)
    size = sum((norm(X) * norm(case.B) * norm(case.W) + norm(y)) ** 2 for X, y in case.clients)
    close(losses[0], expected[2], UNITS * EPS * size * longest**2)


@pytest.mark.parametrize(
    ("n", "d", "k"), [(1, 1, 1), (1, 5, 5), (8, 4, 1), (9, 7, 3), (15, 10, 4), (30, 11, 11)]
)
def test_clients_side_by_side_come_to_where_they_come_one_by_one(n, d, k):
    rng = np.random.default_rng(0)
    S = rng.standard_normal((n, d + 1, d))
    S = S.swapaxes(1, 2) @ S / (d + 1)
    B, W = rng.standard_normal((d, k)) / 4.0, rng.standard_normal((n, k)) / 4.0
    source = NOTHING._replace(
        kind=kernel.GRAM, S=S, centres=rng.standard_normal((n, d)), rests=rng.uniform(size=n)
    )
    coefficients = kernel.Steps(0.01, 0.01, 0.02, 0.03, 0.0)
    BT, heads, losses = B.T.copy(), W.copy(), np.empty(20)
    kernel.run(
        rng, source, np.tile(np.arange(n), (20, 1)), BT, heads, coefficients, losses,
        kernel.workspace(k, d, 1, n),
    )  # fmt: skip
    moments = abreast.moments(source.S, source.centres, source.rests)
    work = abreast.workspace(k, moments)
    others = B.T.copy(), W.copy(), np.empty(20)
    assert abreast.run(moments, *others[:2], coefficients, others[2], work) == (20, COMPLETED)
    for one, other in zip((BT, heads, losses), others, strict=True):
        close(one, other, 1e-12 * norm(one))


@given(cases(heads=("normal",)), st.sampled_from([1e20, 1e160]))
def test_clients_side_by_side_keep_the_last_finite_round(case, size):
    step, source = Step(size, size, 0.25, 0.125, "half", "sum"), sources(case)[1]
    B, W, losses, completed, status = run_abreast(case, source, 12, step)
    assert status == DIVERGED
    assert np.isfinite(B).all()
    assert np.isfinite(W).all()
    assert np.isfinite(losses[:completed]).all()
    expected = run_abreast(case, source, completed, step)
    np.testing.assert_array_equal(B, expected[0])
    np.testing.assert_array_equal(W, expected[1])
    small = Step(1e-3, 1e-3, 0.25, 0.125, "half", "sum")
    assert run_abreast(case, source, 4, small, tolerance=1e6)[3:] == (1, CONVERGED)

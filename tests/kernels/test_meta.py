"""Outer gradients of ANIL and MAML, beside the formulas and differences of the outer loss."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrep.kernels import meta as kernel
from tests.reference import meta as reference
from tests.strategies import cases


def at_random(case, seed):
    """Return a head, and one or more clients that take part, in any order."""
    rng = np.random.default_rng(seed)
    participants = rng.permutation(case.n)[: rng.integers(1, case.n + 1)]
    return rng.standard_normal(case.k), participants


def gradients(case, participants, w, alpha, whole, exact):
    work = kernel.workspace(case.k, case.d, int(np.diff(case.offsets).max()))
    for array in work:
        array[:] = np.nan  # nothing may depend on what was there
    loss = kernel.meta_gradients(
        case.X, case.y, case.offsets, participants, np.ascontiguousarray(case.B.T), w, alpha,
        whole, exact, work,
    )  # fmt: skip
    return work.sumT.T / len(participants), work.head_sum / len(participants), loss


@given(
    cases(m=(2, 7), noise=(0.0, 0.5)), st.floats(0.01, 0.5), st.booleans(), st.integers(0, 2**31),
)  # fmt: skip
def test_first_order_gradients_are_the_references(case, alpha, whole, seed):
    w, participants = at_random(case, seed)
    of_B, of_w, loss = gradients(case, participants, w, alpha, whole, False)
    clients = reference.halves([case.clients[i] for i in participants])
    expected = reference.first_order(clients, case.B, w, alpha, whole)
    scale = 1.0 + max(np.abs(each).max() for each in expected)
    np.testing.assert_allclose(of_B, expected[0], rtol=1e-9, atol=1e-11 * scale)
    np.testing.assert_allclose(of_w, expected[1], rtol=1e-9, atol=1e-11 * scale)
    assert loss == pytest.approx(
        reference.objective(clients, case.B, w, alpha, whole), rel=1e-9, abs=1e-14
    )


@given(
    cases(m=(2, 6), noise=(0.0, 0.5)), st.floats(0.01, 0.3), st.booleans(), st.integers(0, 2**31),
)  # fmt: skip
def test_exact_gradients_are_those_of_the_outer_loss_after_the_inner_step(case, alpha, whole, seed):
    w, participants = at_random(case, seed)
    of_B, of_w, _ = gradients(case, participants, w, alpha, whole, True)
    clients = reference.halves([case.clients[i] for i in participants])
    expected = reference.differences(clients, case.B, w, alpha, whole)
    # The differences lose half of the digits of the objective.
    value = reference.objective(clients, case.B, w, alpha, whole)
    size = 1.0 + value + max(np.abs(each).max() for each in expected)
    np.testing.assert_allclose(of_B, expected[0], rtol=1e-5, atol=1e-7 * size)
    np.testing.assert_allclose(of_w, expected[1], rtol=1e-5, atol=1e-7 * size)

"""AltGDmin and AltMinGD against rounds written from their papers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linrep as lr
from tests.algorithms.support import own
from tests.reference import estimators
from tests.reference import fedrep as reference
from tests.strategies import cases
from tests.tools import complaint

TRUTH = lr.SharedRepresentation.random(n=30, d=8, k=2, noise=0.2, rng=0)


def halves(clients):
    """Return the first halves, rounded up, and the second halves."""
    middles = [(len(y) + 1) // 2 for _, y in clients]
    first = [(X[:m], y[:m]) for (X, y), m in zip(clients, middles, strict=True)]
    return first, [(X[m:], y[m:]) for (X, y), m in zip(clients, middles, strict=True)]


@given(cases(orthonormal=True, noise=(0.0, 0.5)), st.sampled_from([0.3, 1.0, 4.0, 36.0]))
def test_the_truncated_start_spans_the_leading_right_singular_vectors(case, truncation):
    B = lr.truncated_start(own(case), case.k, truncation=truncation)
    np.testing.assert_allclose(B.T @ B, np.eye(case.k), atol=1e-12)
    matrix = estimators.truncated_matrix(case.clients, truncation)
    largest = np.sum(np.linalg.svd(matrix, compute_uv=False)[: case.k] ** 2)
    assert np.sum((matrix @ B) ** 2) == pytest.approx(largest, rel=1e-9, abs=1e-14)


def test_the_start_is_one_of_fedreps():
    data = TRUTH.draw(6, rng=1)
    one = lr.fedrep(data, k=2, start="truncated", rounds=3)
    other = lr.fedrep(data, k=2, start=lr.truncated_start(data, 2), rounds=3)
    np.testing.assert_array_equal(one["distance"], other["distance"])
    assert one["floats_up"][0] == 30 * 9
    fresh = lr.fedrep(TRUTH, m=6, start="truncated", rounds=3, rng=2)
    assert fresh.settings["start"] == "truncated"


@given(cases(orthonormal=True, noise=(0.0, 0.5)), st.floats(0.1, 0.5))
def test_altgdmin_takes_the_rounds_of_its_paper(case, c):
    """A sum over samples, and the step c over m times the largest singular value squared.

    Of covariates of mean square 1, as the paper's are, or in units in which it is.
    """
    matrix = estimators.truncated_matrix(case.clients, 36.0)
    largest = np.linalg.svd(matrix, compute_uv=False)[0]
    moment = np.mean([X.T @ X / len(y) for X, y in case.clients], axis=0)
    # In units in which covariates of second moment I have one.
    if (curvature := np.linalg.eigvalsh(moment)[-1]) > 0.0:
        largest /= np.mean(case.X**2) / np.sqrt(curvature)
    if largest == 0.0:
        with complaint(ValueError, "all zero"):
            lr.altgdmin(own(case), k=case.k)
        return
    B, W = lr.truncated_start(own(case), case.k), np.zeros((case.n, case.k))
    start = B
    for _ in range(3):
        gradient = np.zeros_like(B)
        for i, (X, y) in enumerate(case.clients):
            W[i] = np.linalg.lstsq(X @ B, y, rcond=None)[0]
            gradient += np.outer(X.T @ (X @ B @ W[i] - y), W[i]) / len(y)
        B = np.linalg.qr(B - c / largest**2 * gradient)[0]
    trace = lr.altgdmin(own(case), k=case.k, rounds=3, multiplier=c)
    assert trace.rounds <= 3
    if trace.stop_reason == "diverged":
        return
    assert lr.subspace.distance(trace.state["B"], B) < 1e-6
    assert trace.settings["step_size"] == pytest.approx(c * case.n / largest**2)
    assert lr.subspace.distance(lr.altgdmin(own(case), k=case.k, rounds=0).state["B"], start) \
        < 1e-7  # fmt: skip


@given(
    cases(m=(2, 9), orthonormal=True, noise=(0.0, 0.5)), st.floats(0.05, 0.3),
    st.integers(1, 4),
)  # fmt: skip
def test_altmin_gd_takes_heads_from_one_half_and_gradients_from_the_other(case, step, rounds):
    first, second = halves(case.clients)
    B, W = case.B, np.zeros((case.n, case.k))
    losses = []
    for _ in range(rounds):
        B, W, loss = reference.round(
            first, B, W, list(range(case.n)), step, gradient_clients=second
        )
        losses.append(loss)
    trace = lr.altmin_gd(
        own(case), k=case.k, rounds=rounds, start=case.B, step_size=step
    )  # fmt: skip
    if trace.stop_reason == "diverged":
        return
    np.testing.assert_allclose(trace["loss"][1:], losses, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(trace.state["W"] @ trace.state["B"].T, W @ B.T, atol=1e-6)


def test_disjoint_rounds_have_clients_of_their_own():
    data = TRUTH.draw(10, rng=1)
    trace = lr.altmin_gd(data, k=2, rounds=7, disjoint=True, rng=3)
    assert trace.settings["participants"] == 30 // 7
    assert np.sum(np.any(trace.state["W"] != 0.0, axis=1)) == 7 * (30 // 7)
    again = lr.altmin_gd(data, k=2, rounds=7, disjoint=True, rng=3)
    np.testing.assert_array_equal(trace["distance"], again["distance"])

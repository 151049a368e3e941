import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.linalg import norm

import linrep as lr
from linrep.algorithms import step_sizes
from linrep.algorithms.step_sizes import smoothness_step_size, theorem_step_size
from tests.algorithms.support import loss, truths
from tests.reference import fedrep as reference
from tests.strategies import cases, frame, seeds
from tests.tools import EPS, close, condition, rank_is_clear


@given(truths(), st.data())
def test_the_theorems_step_size_is_its_formula(truth, data):
    participants = data.draw(st.integers(1, truth.n))
    expected = 1.0 / (4.0 * truth.sigma_max(participants) ** 2)
    close(theorem_step_size(truth, participants), expected, 4 * EPS * expected)


def curvature(case, W):
    """The Hessian in B of the mean loss at fixed heads, written out."""
    pairs = zip(case.clients, W, strict=True)
    return np.mean([np.kron(X.T @ X / len(y), np.outer(w, w)) for (X, y), w in pairs], axis=0)


@pytest.mark.parametrize("dense", [True, False])
@given(case=cases(heads=("normal",), d=(2, 8)))
def test_the_smoothness_step_size_is_a_quarter_of_the_inverse_curvature(dense, case):
    assume(all(rank_is_clear(X @ case.B) for X, _ in case.clients))
    W = lr.fit_heads(case.data, case.B)
    largest = np.linalg.eigvalsh(curvature(case, W))[-1]
    assume(largest > 0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step_sizes, "_DENSE", np.inf if dense else 1)
        actual = smoothness_step_size(case.data, case.B)
    # The iterative solver stops at a relative error of 1e-6 or less.
    heads = max(condition(X @ case.B) ** 2 for X, _ in case.clients)
    error = 100 * EPS * heads + (0.0 if dense else 1e-6)
    close(actual * 4.0 * largest, 1.0, error)


@given(seeds, st.integers(1, 6), st.integers(1, 6), st.data())
def test_the_two_step_sizes_agree_on_population_data_at_the_truth(seed, n, d, data):
    """X_i'X_i = m I stands for infinitely many samples."""
    k = data.draw(st.integers(1, min(n, d)))
    rng = np.random.default_rng(seed)
    truth = lr.SharedRepresentation(frame(rng, d, k), rng.standard_normal((n, k)))
    X = [np.sqrt(d) * frame(rng, d, d) for _ in range(n)]
    pairs = [(Xi, Xi @ theta) for Xi, theta in zip(X, truth.theta, strict=True)]
    expected = theorem_step_size(truth, n)
    actual = smoothness_step_size(lr.ClientData.from_list(pairs), truth.B)
    close(actual, expected, (200 * d * EPS + (1e-6 if d * k > step_sizes._DENSE else 0)) * expected)


@given(cases(heads=("normal",), kinds=("normal",), m=(4, 9), k=(1, 3)))
def test_a_smoothness_step_does_not_increase_the_loss_of_its_heads(case):
    W = lr.fit_heads(case.data, case.B)
    assume(norm(W) > 1e-3)
    step = 4.0 * smoothness_step_size(case.data, case.B)  # 1/L itself is as far as it goes

    pairs = zip(case.clients, W, strict=True)
    gradient = np.mean([reference.client_gradient(X, y, case.B, w) for (X, y), w in pairs], axis=0)
    before, after = (loss(case.data, W @ B.T) for B in (case.B, case.B - step * gradient))
    # Descent lemma; 1e-6 for the solver's error in L.
    assert after <= before - 0.5 * step * norm(gradient) ** 2 * (1 - 1e-5) + 1e-9 * (1.0 + before)

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import linrep as lr
from linrep.algorithms import step_sizes
from linrep.algorithms.step_sizes import smoothness_step_size, theorem_step_size
from tests.algorithms.support import truths
from tests.strategies import cases
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

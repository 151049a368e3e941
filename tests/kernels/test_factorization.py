import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linrep.kernels import factorization
from tests.strategies import cases


def naive(clients, B, W):
    """Return the loss and its gradients in B and in W, client by client."""
    n, loss, of_B, of_W = len(clients), 0.0, np.zeros_like(B), np.zeros_like(W)
    for i, (X, y) in enumerate(clients):
        residual = X @ B @ W[i] - y
        loss += residual @ residual / (2 * len(y) * n)
        of_B += np.outer(X.T @ residual, W[i]) / (len(y) * n)
        of_W[i] = B.T @ X.T @ residual / (len(y) * n)
    return loss, of_B, of_W


@given(cases(noise=(0.0, 1.0)), st.integers(0, 9))
def test_the_gradient_in_both_factors_is_the_naive_one(case, seed):
    rng = np.random.default_rng(seed)
    B, W = rng.standard_normal((case.d, case.k)), rng.standard_normal((case.n, case.k))
    of_BT, of_W = np.full((case.k, case.d), np.nan), np.full((case.n, case.k), np.nan)
    residual = np.empty(int(np.diff(case.offsets).max()))
    found = factorization.gradient(
        case.X, case.y, case.offsets, np.ascontiguousarray(B.T), W, of_BT, of_W,
        np.empty(case.d), residual, np.empty(case.d),
    )  # fmt: skip
    loss, expected_B, expected_W = naive(case.clients, B, W)
    scale = 1e-12 * (1.0 + max(np.abs(expected_B).max(), np.abs(expected_W).max(), loss))
    np.testing.assert_allclose(found, loss, rtol=1e-12, atol=scale)
    np.testing.assert_allclose(of_BT.T, expected_B, rtol=1e-10, atol=scale)
    np.testing.assert_allclose(of_W, expected_W, rtol=1e-10, atol=scale)

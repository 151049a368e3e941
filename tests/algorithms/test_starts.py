import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.linalg import norm

import linrep as lr
from linrep.problems.random import stream
from tests.algorithms.support import own
from tests.reference import fedrep as reference
from tests.strategies import cases, seeds
from tests.tools import EPS, UNITS, close


@given(seeds, st.integers(1, 6), st.data())
def test_random_start_is_a_frame_and_normal_heads(seed, d, data):
    n = data.draw(st.integers(1, 6))
    k = data.draw(st.integers(1, min(n, d)))
    B, W = lr.random_start(n, d, k, seed)
    close(B.T @ B, np.eye(k), UNITS * EPS)
    # The heads follow the frame in the stream.
    rng = stream(seed, "start")
    np.testing.assert_array_equal(B, lr.subspace.random_frame(d, k, rng))
    np.testing.assert_array_equal(W, rng.standard_normal((n, k)))


@given(cases(), st.integers(1, 4), st.one_of(st.none(), st.floats(0.01, 0.2)))
def test_projected_gradient_start_is_the_references(case, rounds, step_size):
    """Truncation amplifies rounding by the inverse of the relative gap it cuts through."""
    M, error = np.zeros((case.n, case.d)), 0.0
    for t in range(1, rounds + 1):
        values = np.append(np.linalg.svd(stepped(case, M, step_size), compute_uv=False), 0.0)
        size = max(values[0], 1e-300)
        gap = (values[case.k - 1] - values[case.k]) / size
        vanishing = values[case.k - 1] < 1e-14 * size  # nothing but rounding errors is cut off
        assume(gap > 1e-3 or vanishing)
        step_growth = 1.0 + (step_size or 1.0 / max(smoothness(case), 1e-300)) * smoothness(case)
        error = (error * step_growth + UNITS * EPS * size) * (1.0 + 4.0 / max(gap, 1e-3))
        B, W = reference.projected_gradient_start(case.clients, case.k, t, step_size)
        M = W @ B.T
    data = own(case)
    B, W = lr.projected_gradient_start(data, case.k, rounds=rounds, step_size=step_size)
    close(W @ B.T, M, error)
    close(B.T @ B, np.eye(case.k), UNITS * EPS)
    # W has orthogonal columns, longest first: left singular vectors times singular values.
    G = W.T @ W
    close(G, np.diag(np.diag(G)), UNITS * EPS * norm(G))
    assert (np.diff(np.diag(G)) <= UNITS * EPS * norm(G)).all()


def smoothness(case):
    return max(norm(X, 2) ** 2 / len(y) for X, y in case.clients)


def stepped(case, M, step_size):
    if step_size is None:
        largest = smoothness(case)
        step_size = 1.0 / largest if largest > 0.0 else 0.0
    rows = [
        M[i] - step_size / len(y) * X.T @ (X @ M[i] - y) for i, (X, y) in enumerate(case.clients)
    ]
    return np.array(rows)


def test_starts_of_zero_data_are_frames():
    data = lr.ClientData.from_list([(np.zeros((2, 3)), np.zeros(2))] * 2)
    B, W = lr.projected_gradient_start(data, 2)
    close(B.T @ B, np.eye(2), UNITS * EPS)
    np.testing.assert_array_equal(W, np.zeros((2, 2)))
    B = lr.moments_start(data, 2)
    close(B.T @ B, np.eye(2), UNITS * EPS)

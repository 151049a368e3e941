"""The projection on models close together, against plain NumPy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linrep.kernels.diameter import project_differences
from tests.reference import pflmf as reference


@given(
    n=st.integers(1, 7),
    d=st.integers(1, 4),
    delta=st.floats(1e-3, 10.0),
    steps=st.integers(1, 30),
    repeated=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_steps_are_those_of_the_reference(n, d, delta, steps, repeated, seed):
    X = np.random.default_rng(seed).standard_normal((n, d))
    if repeated:
        X[:] = X[0]
    expected = reference.diameter_steps(X, delta, steps)
    D, Y = reference.clip(X[:, None] - X[None], delta), np.zeros((n, n, d))
    theta, means = np.empty((n, d)), D.mean(axis=1)
    left = project_differences(X + X.mean(axis=0), delta, Y, D, theta, means, -1.0, steps)
    for found, wanted in zip((theta, D, Y), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)
    before = reference.diameter_steps(X, delta, steps - 1)[1]
    differences = expected[0][:, None] - expected[0][None]
    rest = max(np.abs(differences - expected[1]).max(), np.abs(expected[1] - before).max())
    np.testing.assert_allclose(left, rest, rtol=1e-8, atol=1e-12)


def test_it_stops_where_little_changes():
    X = np.array([[0.0, 0.0], [4.0, 0.0]])
    D, Y = reference.clip(X[:, None] - X[None], 1.0), np.zeros((2, 2, 2))
    theta = np.empty_like(X)
    left = project_differences(X + X.mean(axis=0), 1.0, Y, D, theta, D.mean(axis=1), 1e-13, 10_000)
    assert left <= 1e-13
    np.testing.assert_allclose(theta, [[1.5, 0.0], [2.5, 0.0]], atol=1e-12)

"""The statement of `linrep.papers.fedrep.theorem2_logarithm`, and what its derivation uses."""

import numpy as np
import pytest

from linrep.algorithms import moments_start
from linrep.papers.fedrep import theorem2_logarithm
from linrep.papers.fedrep.theorem2 import heads
from linrep.problems import SharedRepresentation
from linrep.problems.subspace import distance
from tests.theory.support import check_mean


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize(("d", "n", "m", "k"), [(6, 4, 5, 2), (30, 5, 3, 1), (9, 3, 40, 3)])
def test_starts_have_the_law_of_those_on_samples_in_full(d, n, m, k, rng):
    condition = 1.0 if k == 1 else 1.5
    found = theorem2_logarithm.squared_distances(d, n, m, k, condition, 400, rng)
    truth = SharedRepresentation(np.eye(d, k), heads(n, k, condition, rng))
    drawn = [distance(moments_start(truth.draw(m, rng=rng), k), truth.B) ** 2 for _ in range(400)]
    error = np.hypot(found.std(), np.std(drawn)) / np.sqrt(400)
    assert abs(found.mean() - np.mean(drawn)) < 5.0 * error


@pytest.mark.parametrize(("n", "m", "d", "k"), [(3, 4, 30, 2), (2, 5, 4, 1), (5, 40, 8, 3)])
def test_an_eigenvector_of_a_larger_eigenvalue_than_b_has_is_lost(n, m, d, k, rng):
    """The first step, and that of the largest label, draw by draw."""
    truth = SharedRepresentation.random(n=n, d=d, k=k, rng=rng)
    for seed in range(20):
        data = truth.draw(m, rng=seed)
        M = (data.X * data.y[:, None] ** 2).T @ data.X / len(data.y)
        mu = np.linalg.eigvalsh(truth.B.T @ M @ truth.B)[-1]
        largest = np.linalg.eigvalsh(M)[-1]
        found = distance(moments_start(data, k), truth.B) ** 2
        assert found >= 1.0 - mu / largest - 1e-12
        lengths = np.sum(data.X**2, axis=1) - np.sum((data.X @ truth.B) ** 2, axis=1)
        assert largest >= (data.y**2 * lengths).max() / len(data.y)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_spread_of_the_moments_along_b(k, rng):
    W = SharedRepresentation.random(n=8, d=k, k=k, rng=rng).W
    Z = rng.standard_normal((200_000, 8, k))
    y = np.einsum("tik,ik->ti", Z, W)
    squares = y**4 * np.sum(Z**2, axis=2) ** 2  # of the norms of y^2 z z'
    check_mean(squares.mean(axis=1)[:, None], k**2 * (3 * k**2 + 30 * k + 72))
    for w in W:
        mean = k * np.eye(k) + 2 * np.outer(w, w)
        np.testing.assert_allclose(np.sum(mean**2), k**2 * (k + 8))


def test_a_large_label_is_all_but_certain(rng):
    for N in (108, 1000, 10**5):
        h = np.sqrt(2 * N * np.log(N) / np.pi) / (1 + np.log(N))
        assert np.exp(-h) <= 12 / N
        missed = np.mean(
            [np.square(rng.standard_normal(N)).max() < np.log(N) for _ in range(200_000 // N)]
        )
        assert missed <= np.exp(-h) + 5 * np.sqrt(np.exp(-h) * N / 200_000)
    k = np.arange(1, 1000)
    assert np.all(3 * k**2 + 29 * k + 76 <= 3 * (k + 5) ** 2)

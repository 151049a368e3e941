"""Formulas behind the checks of identities, against naive versions."""

import numpy as np
import pytest

from linrep.claims import judge
from linrep.claims.deviations import readings
from linrep.papers.fedrep import algorithm2, lemma1
from linrep.papers.fedrep._common import exact_heads, head_errors, instance, sensing


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_sensing_operator(rng):
    X, M = rng.standard_normal((3, 2, 4)), rng.standard_normal((3, 4))
    A = sensing(X)
    for i in range(3):
        for j in range(2):
            matrix = np.outer(np.eye(3)[i], X[i, j])
            assert np.allclose(A[2 * i + j], matrix.ravel())
            assert np.isclose((A @ M.ravel())[2 * i + j], np.sum(matrix * M))


def test_blocks_of_the_proof(rng):
    truth, B = instance(3, 5, 2, rng)
    X = rng.standard_normal((3, 4, 5))
    G, C, D = lemma1._blocks(X, B, truth)
    n, k, m = 3, 2, 4
    for p in range(k):
        for q in range(k):
            parts = [np.zeros((n, n)), np.zeros((n, n))]
            for i in range(n):
                for j in range(m):
                    A = np.outer(np.eye(n)[i], X[i, j])
                    parts[0] += A @ np.outer(B[:, p], B[:, q]) @ A.T / m
                    parts[1] += A @ np.outer(B[:, p], truth.B[:, q]) @ A.T / m
            place = np.ix_(range(p * n, p * n + n), range(q * n, q * n + n))
            assert np.allclose(G[place], parts[0])
            assert np.allclose(C[place], parts[1])
            assert np.allclose(D[place], B[:, p] @ truth.B[:, q] * np.eye(n))


def test_step_is_that_of_the_clients(rng):
    truth, B = instance(4, 6, 2, rng)
    data = truth.draw(5, rng=1)
    X, y = data.X.reshape(4, 5, 6), data.y.reshape(4, 5)
    W = exact_heads(X, y, B)
    total = np.zeros_like(B)
    for x, z, w in zip(X, y, W, strict=True):
        for sample, label in zip(x, z, strict=True):
            total += (sample @ B @ w - label) * np.outer(sample, w) / 5
    assert np.allclose(algorithm2._step(truth, B, W, X, 0.3)[2], B - 0.3 / 4 * total)
    assert np.allclose(truth.W @ truth.B.T @ B - head_errors(truth, B, X), W)


def test_a_reading_that_fits_is_found():
    cases = {"one": [(0.5, {})], "two": [(1e-15, {})], "three": [(np.inf, {})]}
    decided = judge([readings(cases, name="(15)", phrase="it")])
    assert decided.verdict == "holds"
    assert decided.measured == 1e-15
    (found,) = decided.parts
    assert [part.verdict for part in found.parts] == ["fails", "holds", "fails"]
    assert judge([readings({"one": [(0.5, {})]}, name="(15)")]).verdict == "fails"

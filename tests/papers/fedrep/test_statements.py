"""What the checks of FedRep's proofs and remarks are built of, against naive versions."""

import numpy as np
import pytest

from linrep.papers.fedrep import assumption3_relaxed, eq48_to_50, lemma4_probability


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_share_of_violations(rng):
    runs, m = 4000, 3
    # Two clients with heads 1 and -1, drawn in full; B = e_1, B* at distance 0.6.
    truth, violations = np.array([0.8, 0.6, 0.0]), 0
    delta = np.sqrt(np.log(2.0) / m)
    for _ in range(runs):
        errors = []
        for head in (1.0, -1.0):
            X = rng.standard_normal((m, 3))
            w = X[:, 0] @ (X @ truth * head) / (X[:, 0] @ X[:, 0])
            errors.append(w - 0.8 * head)
        violations += np.linalg.norm(errors) > delta / (1.0 - delta) * np.sqrt(2.0) * 0.6
    share = lemma4_probability._share(200_000, rng)
    assert abs(violations / runs - share) < 4.0 * np.sqrt(share * (1.0 - share) / runs) + 0.005


@pytest.mark.parametrize("k", [1, 3])
def test_shortened_heads(rng, k):
    norms = np.linalg.norm(assumption3_relaxed._shortened(50, 8, k, 0.5, rng).W, axis=1)
    assert norms.min() >= 0.5 * np.sqrt(k) - 1e-12
    assert norms.max() <= np.sqrt(k) + 1e-12
    W = assumption3_relaxed._shortened(50, 8, k, 1e-3, rng).W
    assert np.allclose(W[:k], np.sqrt(k) * np.eye(k))
    assert np.allclose(np.linalg.norm(W[k:], axis=1), 1e-3 * np.sqrt(k))


@pytest.mark.parametrize("d", [1, 2])
def test_quarter_nets(rng, d):
    points = rng.standard_normal((500, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    net = eq48_to_50.net(d, rng)
    assert np.allclose(np.linalg.norm(net, axis=1), 1.0)
    gaps = np.linalg.norm(points[:, None] - net[None], axis=2).min(axis=1)
    assert gaps.max() <= 0.25

"""Helpers of the checks on the moments start."""

import numpy as np

from linrep.papers.fedrep import theorem2


def test_heads_of_rank_two_have_the_norm_and_condition_asked_for():
    W = theorem2._heads(10, 2, 3.0, np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), np.sqrt(2.0))
    np.testing.assert_allclose(np.linalg.cond(W), 3.0)


def test_skewed_heads_have_the_stated_moment():
    B, W = theorem2._skewed(6, True, np.random.default_rng(0))
    np.testing.assert_allclose(W.T @ W / len(W), [[1.0, 0.8], [0.8, 1.0]])
    np.testing.assert_allclose(B, np.eye(6, 2))


def test_bound_is_a_power_of_the_share_of_samples():
    # kappa~ = 2: sigma_min,*^2 = sin(t)^2 = 1/5.
    point = (50, 10, 8, 2, 2.0)
    expected = 4.0 * 2 * 8 / (0.2 * 50 * 10)
    np.testing.assert_allclose(theorem2._bound(point, 1.0), expected)
    np.testing.assert_allclose(theorem2._bound(point, 0.5), np.sqrt(expected))

"""Helpers of the claim on pFL^MF's Figure 1."""

import numpy as np
import pytest

from linrep.claims.pflmf import figure1 as module

A = np.random.default_rng(0).standard_normal((6, 2)) + 1.0


def test_the_best_line_through_the_origin_is_that_of_the_singular_vector():
    u = np.linalg.svd(A)[2][0]
    np.testing.assert_allclose(module.best_line(A, np.zeros(2)), np.outer(A @ u, u), atol=1e-7)


def test_the_best_line_through_the_mean_is_that_of_the_principal_component():
    mean = A.mean(axis=0)
    u = np.linalg.svd(A - mean)[2][0]
    np.testing.assert_allclose(
        module.best_line(A, mean), mean + np.outer((A - mean) @ u, u), atol=1e-7
    )


def test_two_points_move_towards_each_other():
    pair = A[:2]
    far = module.diameter(pair)
    assert far == pytest.approx(np.linalg.norm(pair[0] - pair[1]))
    # Each moves by half of what the distance is too long.
    assert module.pairwise(pair, 0.4 * far) == pytest.approx((0.3 * far) ** 2)
    assert module.pairwise(pair, far) == pytest.approx(0.0, abs=1e-9)

"""Helpers of the claim on pFL^MF's Figure 1."""

import numpy as np
import pytest

from linrep.papers.pflmf import figure1 as module
from linrep.papers.pflmf.settings import constrained
from linrep.problems.personal import planar

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


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_bounded_distances_are_solved_for(share):
    picture = planar(4, shift=1.0, rng=0)
    best = module.pairwise(picture.local, share * module.diameter(picture.local))
    found = picture.problem.value(constrained(picture, share))
    scale = picture.problem.value(picture.average)
    assert found == pytest.approx(best, abs=1e-4 * scale)


@pytest.mark.compiled
def test_descent_from_random_factors_finds_the_best_line():
    picture = planar(6, shift=0.0, rng=1)
    found = picture.problem.value(module.FIGURE.line(picture, record=200, rng=0))
    best = picture.problem.value(module.best_line(picture.local, np.zeros(2)))
    assert found == pytest.approx(best, rel=1e-4)

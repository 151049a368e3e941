"""Helpers of the checks on the restricted isometry property."""

import numpy as np
import pytest

from linrep.papers.fedrep import claim1


def test_dependent_covariates_have_covariance_i_and_the_stated_atom():
    x = claim1._with_atom(5, 200_000, np.random.default_rng(0))
    np.testing.assert_allclose(x.T @ x / len(x), np.eye(5), atol=0.02)
    np.testing.assert_allclose(np.mean(~x.any(axis=1)), 2.0 / 7.0, atol=0.005)


@pytest.mark.parametrize("d", [1, 2, 7])
def test_dependent_covariates_are_sub_gaussian_by_quadrature(d):
    assert claim1._excess_of_atom(d) <= 1e-9


def test_excess_is_that_of_a_two_point_law_in_one_dimension():
    # d = 1: zero with probability 2/3, else +-sqrt(3).
    v = np.linspace(0.01, 2.0, 60)
    expected = np.max(np.log(2.0 / 3.0 + np.cosh(v * np.sqrt(3.0)) / 3.0) - v**2 / 2.0)
    np.testing.assert_allclose(claim1._excess_of_atom(1), expected, atol=1e-9)


def test_measurements_are_the_inner_products():
    rng = np.random.default_rng(1)
    X, M = rng.standard_normal((3, 4, 5)), rng.standard_normal((3, 5))
    np.testing.assert_allclose(claim1._measure(X, M), np.einsum("ijd,id->ij", X, M))

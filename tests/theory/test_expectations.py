import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.linalg import norm

import linrep as lr
from linrep.theory import expectations
from tests.strategies import frame, seeds
from tests.theory.support import check_mean, fit
from tests.tools import EPS, close, draws

COUNT = 20_000


@pytest.mark.parametrize(("d", "m"), [(1, 12), (3, 14), (6, 20), (12, 2), (14, 3), (9, 1)])
@pytest.mark.parametrize("noise", [0.0, 0.7])
def test_least_squares_on_gaussian_covariates(d, m, noise, fresh_rng):
    theta = fresh_rng.standard_normal(d)
    X = fresh_rng.standard_normal((COUNT, m, d))
    y = X @ theta + noise * fresh_rng.standard_normal((COUNT, m))
    errors = norm(fit(X, y) - theta, axis=1) ** 2
    expected = expectations.least_squares_error(d, m, signal=norm(theta), noise=noise)
    if noise == 0.0 and m >= d:
        assert expected == 0.0
        assert errors.max() < 1e-12 * norm(theta) ** 2
    else:
        check_mean(errors, expected)


def test_least_squares_near_the_square_problem():
    m = np.arange(1, 10)
    errors = expectations.least_squares_error(5, m, signal=2.0, noise=0.1)
    np.testing.assert_array_equal(np.isinf(errors), (m >= 4) & (m <= 6))
    quiet = expectations.least_squares_error(5, m, signal=2.0)
    close(quiet, 4 * np.maximum(1 - m / 5, 0), 10 * EPS)
    assert expectations.least_squares_error(1, 1, noise=0.1) == np.inf
    close(expectations.least_squares_error(4, 10**9, signal=1.0, noise=1.0), 4e-9, 1e-15)


@pytest.mark.parametrize(("k", "m"), [(1, 11), (3, 14), (11, 2)])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_exact_heads_and_new_clients(k, m, noise, fresh_rng):
    """Rows of F in Lemma 1, from samples in R^d."""
    d = k + 3
    B, theta = frame(fresh_rng, d, k), fresh_rng.standard_normal(d)
    X = fresh_rng.standard_normal((COUNT, m, d))
    y = X @ theta + noise * fresh_rng.standard_normal((COUNT, m))
    w = fit(X @ B, y)
    lengths = {"inside": norm(B.T @ theta), "outside": norm(theta - B @ (B.T @ theta))}
    head = expectations.head_error(k, m, noise=noise, **lengths)
    check_mean(norm(w - B.T @ theta, axis=1) ** 2, head)
    if m > k + 1:
        close(head, k * (lengths["outside"] ** 2 + noise**2) / (m - k - 1), 1e-12 * head)
    check_mean(
        norm(w @ B.T - theta, axis=1) ** 2,
        expectations.new_client_error(k, m, noise=noise, **lengths),
    )


def test_heads_have_no_second_moment_at_m_k_and_m_k_plus_1():
    np.testing.assert_array_equal(
        np.isinf(expectations.head_error(3, [2, 3, 4, 5], outside=0.1)), [True, True, True, False]
    )
    np.testing.assert_array_equal(expectations.head_error(3, [3, 4, 5], outside=0.0), [0, 0, 0])


DESIGNS = ["gaussian", "rademacher", "uniform", "sphere", "student_t"]


@pytest.mark.parametrize("design", DESIGNS)
def test_second_moments_of_the_moments_start(design, fresh_rng):
    truth = lr.SharedRepresentation.random(
        n=2, d=3, k=2, noise=0.4, design=design, degrees_of_freedom=30.0, rng=fresh_rng
    )
    m = draws(100_000)
    data = truth.draw(m, rng=fresh_rng)
    products = data.X[:, :, None] * data.X[:, None, :] * (data.y**2)[:, None, None]
    expected = expectations.moments_matrix(
        truth.theta, design=design, degrees_of_freedom=30.0, noise=0.4
    )
    upper = np.triu_indices(3)
    pairs = 0.5 * (products[:m] + products[m:])  # one sample of each client
    check_mean(pairs[:, *upper], expected[upper])


@pytest.mark.parametrize("design", ["gaussian", "rademacher", "uniform", "student_t"])
def test_fourth_moments(design, fresh_rng):
    truth = lr.SharedRepresentation.random(
        n=1, d=2, k=1, design=design, degrees_of_freedom=30.0, rng=fresh_rng
    )
    X = truth.draw(draws(100_000), rng=fresh_rng).X
    check_mean(X[:, 0] ** 4, expectations.fourth_moment(design, 30.0))


@given(seeds, st.sampled_from(["gaussian", "sphere"]))
def test_the_moments_start_finds_the_representation_in_round_designs(seed, design):
    truth = lr.SharedRepresentation.random(n=5, d=6, k=2, design=design, noise=0.3, rng=seed)
    gap = truth.sigma_min() ** 2
    assert expectations.moments_distance(truth) <= 1e-13 / gap


def test_the_moments_start_misses_the_representation_in_other_designs():
    """Rademacher, theta along (1, 1, 2): the matrix is known by hand."""
    B = np.array([[1.0], [1.0], [2.0]]) / np.sqrt(6.0)
    truth = lr.SharedRepresentation(B, np.ones((4, 1)), design="rademacher")
    expected = np.eye(3) + 2 * (B @ B.T) - 2 * np.diag((B**2).ravel())
    close(expectations.moments_matrix(truth.theta, design="rademacher"), expected, 10 * EPS)
    vector = np.linalg.eigh(expected)[1][:, -1:]
    close(expectations.moments_distance(truth), lr.subspace.distance(vector, B), 1e-13)
    assert expectations.moments_distance(truth) > 0.1
    aligned = lr.SharedRepresentation(np.eye(3)[:, :1], np.ones((4, 1)), design="uniform")
    assert expectations.moments_distance(aligned) < 1e-13

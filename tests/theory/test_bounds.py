import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linrep as lr
from linrep.theory import bounds, design_bounds, expectations
from tests.reference import bounds as reference
from tests.strategies import frame, seeds
from tests.theory.support import check_mean, problem
from tests.tools import close, draws


def orthogonal(truth, sizes, rng):
    """Return data with X_i'X_i = m_i I, for which means over covariates are what there is."""
    X = [np.sqrt(m) * np.linalg.qr(rng.standard_normal((m, truth.d)))[0] for m in sizes]
    return lr.ClientData.from_list([(x, np.zeros(len(x))) for x in X])


@st.composite
def problems(draw):
    """Problems with few samples and many, one client, d = k, no noise, equal singular values."""
    k, extra, n = draw(st.integers(1, 3)), draw(st.integers(0, 3)), draw(st.integers(1, 5))
    equal = draw(st.booleans()) and n >= k
    noise = draw(st.sampled_from([0.0, 0.5, 1.0]))
    truth = problem(draw(seeds), n=n, d=k + extra, k=k, noise=noise, equal=equal)
    sizes = draw(st.lists(st.integers(1, 8), min_size=n, max_size=n))
    return truth.draw(sizes, rng=draw(seeds))


def compared(actual, errors, squared_chordal, noise):
    """Compare with the twin, which knows no noise other than 1."""
    expected = np.append(errors, squared_chordal)
    finite = np.isfinite(expected)
    found = np.append(actual.errors, actual.squared_chordal)
    np.testing.assert_array_equal(np.isfinite(found), finite)
    # Designs are random, and may be close to singular ones.
    close(found[finite], noise**2 * expected[finite], 1e-6 * noise**2 * (1 + expected[finite] ** 2))


@given(problems())
def test_bounds_for_covariates_at_hand(data):
    truth = data.truth
    Xs = [data.client(i)[0] for i in range(data.n)]
    arguments = (Xs, truth.B, truth.W, 1.0)
    compared(design_bounds.cramer_rao(data), *reference.cramer_rao(*arguments), truth.noise)
    compared(design_bounds.known_heads(data), *reference.known_heads(*arguments), truth.noise)
    errors = reference.known_representation(*arguments)
    compared(design_bounds.known_representation(data), errors, 0.0, truth.noise)


@given(seeds, st.integers(1, 3), st.integers(0, 3), st.booleans())
def test_closed_forms_are_exact_where_covariates_are_orthogonal(seed, k, extra, equal):
    truth = problem(seed, n=4, k=k, d=k + extra, equal=equal)
    rng = np.random.default_rng(seed)
    sizes = rng.integers(truth.d, truth.d + 9, 4)
    data = orthogonal(truth, sizes, rng)
    accuracy = 1e-10 * (1.0 + 1.0 / np.linalg.svd(truth.W)[1][-1] ** 2)
    for name in ("cramer_rao", "known_heads"):
        expected = getattr(bounds, name)(truth, sizes)
        found = getattr(design_bounds, name)(data, truth)
        close(found.errors, expected.errors, accuracy)
        close(found.squared_chordal, expected.squared_chordal, accuracy)
    heads = design_bounds.known_representation(data, truth)
    close(heads.errors, truth.noise**2 * k / sizes, 1e-12)


def test_known_representations_are_least_squares_in_dimension_k():
    truth = problem(0, n=4, k=2)
    sizes = np.array([1, 3, 5, 9])
    bound = bounds.known_representation(truth, sizes)
    lengths = np.linalg.norm(truth.W, axis=1)
    close(bound.errors[2:], 0.09 * 2 / (sizes[2:] - 3.0), 1e-15)
    assert bound.errors[1] == np.inf
    one = expectations.least_squares_error(2, 1, signal=lengths[0], noise=0.3)
    assert bound.errors[0] == one
    assert bound.squared_chordal == 0.0
    close(bounds.known_representation(truth, 7).total, 4 * 0.09 * 2 / 4, 1e-15)


@pytest.mark.parametrize(
    ("n", "d", "m"), [(5, 3, 12), (1, 2, 14), pytest.param(20, 6, 10, marks=pytest.mark.slow)]
)
def test_means_over_gaussian_covariates(n, d, m, fresh_rng):
    """Rank 1 and equal heads: information matrices are Wishart, of n (m - 1) and n m."""
    truth = lr.SharedRepresentation(frame(fresh_rng, d, 1), np.full((n, 1), 2.0), 0.3)
    found, count = [], draws(2000)
    for _ in range(count):
        data = truth.draw(m, rng=fresh_rng)
        both, heads = design_bounds.cramer_rao(data), design_bounds.known_heads(data)
        alone = design_bounds.known_representation(data)
        found.append([both.squared_chordal, both.mean, heads.mean, alone.mean])
    s2 = 0.09
    outside = s2 * (d - 1) / (n * (m - 1) - d)
    exact = [
        outside / 4.0,
        s2 / (m - 2) + outside * (m - 1) / (m - 2),
        s2 * d / (n * m - d - 1),
        s2 / (m - 2),
    ]
    check_mean(found, exact)
    closed = bounds.cramer_rao(truth, m, given_design=True)
    close(closed.squared_chordal, s2 * (d - 1) / (4.0 * n * (m - 1)), 1e-15)
    close(closed.mean, s2 / (m - 2) + s2 * (d - 1) / (n * (m - 2)), 1e-15)
    # Bounds by Jensen are below the means, and the bound for all covariates is below both.
    assert closed.squared_chordal < exact[0]
    assert closed.mean < exact[1]
    assert bounds.known_heads(truth, m).mean < exact[2]
    assert bounds.cramer_rao(truth, m).mean < closed.mean
    assert bounds.cramer_rao(truth, m).squared_chordal < closed.squared_chordal


def minimizers(truth, data, count, rng):
    """Return errors and distances of the empirical risk minimizer over draws of the noise."""
    X, clean = data.X, np.einsum("ij,ij->i", data.X, np.repeat(truth.theta, data.m, axis=0))
    errors, distances = [], []
    for _ in range(count):
        y = clean + truth.noise * rng.standard_normal(len(clean))
        fit = lr.empirical_risk_minimizer(
            lr.ClientData(X, y, data.offsets), truth.k, restarts=0, starts=[truth.B], rng=rng
        )
        errors.append(np.sum((fit.W @ fit.B.T - truth.theta) ** 2, axis=1))
        distances.append(np.sum(np.sin(lr.subspace.principal_angles(fit.B, truth.B)) ** 2))
    return np.array(errors), np.array(distances)


@pytest.mark.compiled
@pytest.mark.parametrize(("k", "sizes"), [(1, [5, 6, 9]), (2, [4, 7, 9, 6])])
def test_the_empirical_risk_minimizer_attains_the_bound(k, sizes, fresh_rng):
    """Noise of 1e-4, so that what is of second order is 1e-4 of the errors."""
    truth = problem(fresh_rng, n=len(sizes), d=4, k=k, noise=1e-4, equal=True)
    data = truth.draw(sizes, rng=fresh_rng)
    errors, distances = minimizers(truth, data, 200, fresh_rng)
    bound = design_bounds.cramer_rao(data)
    check_mean(errors, bound.errors)
    check_mean(distances, bound.squared_chordal)


def test_what_samples_do_not_determine_is_infinite():
    truth = problem(0, n=4, d=5, k=2)
    few = truth.draw([2, 1, 2, 1], rng=0)
    assert np.isinf(design_bounds.cramer_rao(few).errors).all()
    assert design_bounds.cramer_rao(few).squared_chordal == np.inf
    # A client with enough samples of its own needs no other.
    one = design_bounds.cramer_rao(truth.draw([9, 1, 1, 1], rng=0))
    np.testing.assert_array_equal(np.isfinite(one.errors), [True, False, False, False])
    assert one.squared_chordal == np.inf
    given = bounds.cramer_rao(truth, 2, given_design=True)
    assert np.isinf(given.errors).all()
    assert given.squared_chordal == np.inf
    silent = lr.SharedRepresentation(truth.B, truth.W)
    assert bounds.cramer_rao(silent, 3, given_design=True).total == 0.0
    assert bounds.cramer_rao(silent, 2, given_design=True).total == np.inf
    assert bounds.cramer_rao(silent, 1).total == 0.0
    some = bounds.cramer_rao(silent, [1, 9, 9, 2], given_design=True)
    np.testing.assert_array_equal(some.errors, [np.inf, 0.0, 0.0, 0.0])


def test_closed_forms_need_no_stored_representation():
    truth = problem(0, n=9, d=40, k=2)
    implicit = lr.ImplicitRepresentation(truth.W, 40, truth.noise)
    for bound in (bounds.cramer_rao, bounds.known_heads, bounds.known_representation):
        np.testing.assert_array_equal(bound(implicit, 9).errors, bound(truth, 9).errors)
    assert repr(bounds.cramer_rao(truth, 9)).startswith("ErrorBound(errors=ndarray of shape (9,)")

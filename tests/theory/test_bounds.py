import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linrep as lr
from linrep.theory import bounds, design_bounds, expectations
from tests.reference import bounds as reference
from tests.strategies import frame, seeds
from tests.theory.support import check_mean, problem
from tests.tools import EPS, close, draws


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


def test_the_twin_by_hand():
    """One client, d = 2, k = 1: the model is any vector, and its error that of least squares."""
    X = np.array([[1.0, 1.0], [0.0, 2.0], [1.0, 0.0]])
    errors, distance = reference.cramer_rao([X], np.array([[1.0], [0.0]]), np.array([[2.0]]), 3.0)
    # X'X = (2, 1; 1, 5) has the inverse (5, -1; -1, 2)/9.
    close(errors[0], 9.0 * 7.0 / 9.0, 1e-12)
    close(distance, 9.0 * 2.0 / 9.0 / 2.0**2, 1e-12)
    errors, distance = reference.known_heads([X], np.eye(2)[:, :1], np.array([[2.0]]), 3.0)
    close(np.array([errors[0], distance]), np.array([7.0, 0.5]), 1e-12)
    errors = reference.known_representation([X], np.eye(2)[:, :1], np.array([[2.0]]), 3.0)
    close(errors[0], 9.0 / 2.0, 1e-12)


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


def test_the_cramer_rao_bound_counts_parameters():
    truth = problem(0, n=7, d=9, k=3, noise=2.0)
    close(bounds.cramer_rao(truth, 10).total, 4.0 * 3 * (7 + 9 - 3) / 10, 1e-12)
    close(bounds.known_heads(truth, 10).total, 4.0 * 9 * 3 / 10, 1e-12)
    close(bounds.cramer_rao(truth, 10).mean, 4.0 * 3 * (7 + 9 - 3) / 70, 1e-12)
    H = np.linalg.inv(truth.W.T @ truth.W)
    close(bounds.cramer_rao(truth, 10).squared_chordal, 4.0 * 6 * np.trace(H) / 10, 1e-10)
    # Where the covariates are given: m - k in place of m.
    given = bounds.cramer_rao(truth, 10, given_design=True)
    close(given.squared_chordal, 4.0 * 6 * np.trace(H) / 7, 1e-10)


def test_a_representation_of_full_dimension_shares_nothing():
    truth = problem(0, n=2, d=3, k=3)
    expected = np.full(2, 0.09 * 3 / 8)
    for bound in (bounds.cramer_rao(truth, 8),):
        close(bound.errors, expected, 1e-15)
        assert bound.squared_chordal == 0.0
    given = bounds.cramer_rao(truth, 8, given_design=True)
    close(given.errors, np.full(2, 0.09 * 3 / 4), 1e-15)
    assert given.squared_chordal == 0.0


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


def test_many_clients_with_few_samples_come_close_to_the_closed_form(fresh_rng):
    truth = problem(fresh_rng, n=4000, d=4, k=2)
    sizes = fresh_rng.integers(1, 9, truth.n)
    data = truth.draw(sizes, rng=fresh_rng)
    bound = bounds.cramer_rao(truth, sizes, given_design=True)
    # The information's relative spread is about sqrt(d k/N), N = 10 000 degrees of freedom.
    close(design_bounds.cramer_rao(data).squared_chordal / bound.squared_chordal, 1.0, 0.15)
    np.testing.assert_array_equal(np.isinf(bound.errors), sizes <= 3)


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


@pytest.mark.slow
def test_the_empirical_risk_minimizer_attains_the_closed_form(fresh_rng):
    """n m much larger than d: what Jensen loses is about d/(n (m - k)), here below a tenth."""
    truth = problem(fresh_rng, n=60, d=8, k=2, noise=1e-4, equal=True)
    errors, distances = [], []
    for _ in range(300):
        found = minimizers(truth, truth.draw(6, rng=fresh_rng), 1, fresh_rng)
        errors.append(found[0].mean())
        distances.append(found[1][0])
    bound = bounds.cramer_rao(truth, 6, given_design=True)
    ratio = np.mean(distances) / bound.squared_chordal
    spread = np.std(distances) / np.sqrt(300) / bound.squared_chordal
    assert 1.0 - 5 * spread < ratio < 1.1 + 5 * spread
    # A head's error has a heavy tail for m = 6, k = 2: chi squared of 5 below it.
    assert 0.9 < np.mean(errors) / bound.mean < 1.2


def test_generalized_least_squares_has_the_errors_of_known_heads(fresh_rng):
    truth = problem(fresh_rng, n=3, d=4, k=2)
    data = truth.draw([3, 5, 4], rng=fresh_rng)
    clients = np.repeat(np.arange(3), data.m)
    Z = np.einsum("ij,ia->ija", data.X, truth.W[clients]).reshape(len(data.X), -1)
    noise = truth.noise * fresh_rng.standard_normal((draws(20_000), len(Z)))
    E = (noise @ np.linalg.pinv(Z).T).reshape(-1, 4, 2)
    errors = np.sum(np.einsum("sja,ia->sij", E, truth.W) ** 2, axis=2)
    check_mean(errors, design_bounds.known_heads(data).errors)
    outside = E - truth.B @ (truth.B.T @ E)
    squared_chordal = np.sum(outside**2, axis=(1, 2))
    check_mean(squared_chordal, design_bounds.known_heads(data).squared_chordal)


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


def test_a_basis_plays_no_part():
    truth = problem(0, n=5, d=6, k=2)
    rotation = lr.subspace.random_frame(2, 2, rng=1)
    turned = lr.SharedRepresentation(truth.B @ rotation, truth.W @ rotation, truth.noise)
    data = truth.draw(7, rng=2)
    for first, second in (
        (bounds.cramer_rao(truth, 7), bounds.cramer_rao(turned, 7)),
        (design_bounds.cramer_rao(data), design_bounds.cramer_rao(data, turned)),
    ):
        close(first.errors, second.errors, 1e5 * EPS)
        close(first.squared_chordal, second.squared_chordal, 1e5 * EPS)
    assert repr(bounds.cramer_rao(truth, 7)).startswith("ErrorBound(errors=ndarray of shape (5,)")

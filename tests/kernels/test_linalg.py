import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.linalg import cond, norm

from linrep.kernels import linalg
from tests.reference import subspace as reference
from tests.strategies import frame, seeds
from tests.tools import EPS, close

sizes = st.integers(1, 6)


def symmetric(rng, size, spectrum):
    Q = frame(rng, size, size)
    G = Q * spectrum @ Q.T
    return (G + G.T) / 2.0


@given(seeds, sizes, st.integers(0, 3))
def test_solve_normal_equations_solves_the_leading_system_and_leaves_the_rest(seed, size, more):
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((size + more, size + more))
    G[:size, :size] = symmetric(rng, size, 10.0 ** rng.uniform(-2, 2, size))
    b = rng.standard_normal(size + more)
    A, right = G[:size, :size].copy(), b[:size].copy()
    rest_of_G, rest_of_b = G[size:].copy(), b[size:].copy()
    assert linalg.solve_normal_equations(G, b, size)
    # Cholesky is backward stable: relative error below about size^2 eps times the condition number.
    expected = np.linalg.solve(A, right)
    close(b[:size], expected, 10 * size**2 * EPS * cond(A) * norm(expected))
    L = np.tril(G[:size, :size])
    np.fill_diagonal(L, 1 / np.diagonal(L))
    close(L @ L.T, A, 10 * size**2 * EPS * norm(A, 2))
    np.testing.assert_array_equal(G[size:], rest_of_G)
    np.testing.assert_array_equal(b[size:], rest_of_b)


@given(seeds, sizes)
def test_solve_normal_equations_refuses_what_is_singular(seed, size):
    rng = np.random.default_rng(seed)
    # Integers, so that the Gram matrix of the dependent columns is exact.
    Z = rng.integers(-9, 10, (8, size)).astype(float)
    place = rng.integers(size)
    Z[:, place] = Z[:, :place] @ rng.integers(-3, 4, place) if place else 0.0
    assert not linalg.solve_normal_equations(Z.T @ Z, np.ones(size), size)


@given(seeds, st.integers(2, 6), st.floats(4.0, 12.0))
def test_solve_normal_equations_refuses_nearly_dependent_columns(seed, size, digits):
    rng = np.random.default_rng(seed)
    Q = frame(rng, 9, size)
    Q[:, -1] = Q[:, 0] + 10.0**-digits * Q[:, -1]  # a share of 10^(-2 digits) < 1e-7 unexplained
    assert not linalg.solve_normal_equations(Q.T @ Q, np.ones(size), size)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, 0.0])
def test_solve_normal_equations_refuses_a_bad_diagonal(value):
    G = np.eye(3)
    G[1, 1] = value
    assert not linalg.solve_normal_equations(G, np.ones(3), 3)


@given(seeds, sizes, st.sampled_from(["any", "repeated", "graded", "one"]))
def test_largest_eigenvalue_is_numpys(seed, size, kind):
    rng = np.random.default_rng(seed)
    spectrum = {
        "any": rng.standard_normal(size),
        "repeated": rng.choice([-1.0, 1.0, 3.0], size),
        "graded": 10.0 ** -rng.uniform(0, 30, size),
        "one": np.full(size, 0.7),
    }[kind]
    G = symmetric(rng, size, spectrum)
    expected = np.linalg.eigvalsh(G)[-1]
    close(linalg.largest_eigenvalue(G.copy()), expected, 20 * size * EPS * norm(G, 2))


@given(
    seeds,
    st.integers(1, 12),
    st.sampled_from(["any", "repeated", "graded", "one", "deficient", "few samples"]),
    st.integers(-150, 150),
)
def test_gram_norm_is_numpys(seed, size, kind, exponent):
    rng = np.random.default_rng(seed)
    spectrum = {
        "any": rng.chisquare(2, size),
        "repeated": rng.choice([0.5, 1.0, 3.0], size),
        "graded": 10.0 ** -rng.uniform(0, 30, size),
        "one": np.full(size, 0.7),
        "deficient": rng.choice([0.0, 1e-8, 1.0], size),
        "few samples": np.ones(size),
    }[kind]
    root = np.sqrt(spectrum)[:, None] * np.linalg.qr(rng.standard_normal((size, size)))[0]
    if kind == "few samples":
        root = rng.standard_normal((rng.integers(1, size + 1), size))
    G = 10.0**exponent * (root.T @ root)
    expected = np.linalg.eigvalsh(G)[-1]
    close(linalg.gram_norm(G.copy()), expected, 20 * size * EPS * expected)


@pytest.mark.parametrize("size", range(1, 6))
def test_gram_norm_of_simple_matrices(size):
    assert linalg.gram_norm(np.zeros((size, size))) == 0.0
    np.testing.assert_allclose(linalg.gram_norm(4.0 * np.eye(size)), 4.0, rtol=4 * EPS)
    np.testing.assert_allclose(linalg.gram_norm(np.ones((size, size))), size, rtol=8 * EPS)
    bad = np.eye(size)
    bad[0, 0] = np.inf
    assert linalg.gram_norm(bad) == np.inf


@pytest.mark.parametrize("size", range(1, 6))
def test_largest_eigenvalue_of_simple_matrices(size):
    assert linalg.largest_eigenvalue(np.zeros((size, size))) == 0.0
    assert linalg.largest_eigenvalue(np.diag(np.arange(1.0, size + 1))) == size
    close(linalg.largest_eigenvalue(np.ones((size, size))), float(size), 10 * size**2 * EPS)
    assert linalg.largest_eigenvalue(np.full((1, 1), -float(size))) == -size
    assert linalg.largest_eigenvalue(1e-200 * np.eye(size)) == 1e-200  # squares underflow
    exchange = np.fliplr(np.eye(size + 1))  # nothing positive on the diagonal of the even ones
    close(linalg.largest_eigenvalue(exchange), 1.0, 10 * size * EPS)


@given(seeds, st.integers(1, 12), st.data())
def test_orthonormalize_equals_the_reference(seed, d, data):
    k = data.draw(st.integers(1, d))
    B = np.random.default_rng(seed).standard_normal((d, k))
    BT = B.T.copy()
    independence = linalg.orthonormalize(BT)
    # Q moves by at most about the condition number times a relative change of B.
    close(BT.T, reference.orthonormalize(B), 20 * d * k * EPS * cond(B))
    shares = np.abs(np.diag(np.linalg.qr(B)[1])) / norm(B, axis=0)
    close(independence, shares.min(), 20 * d * k * EPS)


@given(seeds, st.integers(2, 12), st.data())
def test_orthonormalize_is_orthonormal_however_bad_the_conditioning(seed, d, data):
    k = data.draw(st.integers(2, d))
    worst = data.draw(st.sampled_from([1e3, 1e8, 1e12]))
    rng = np.random.default_rng(seed)
    B = frame(rng, d, k) * np.geomspace(worst, 1.0, k) @ frame(rng, k, k).T
    BT = B.T.copy()
    assert linalg.orthonormalize(BT) > 0.0
    close(BT @ BT.T, np.eye(k), 10 * d * EPS)
    R = BT @ B
    # B = QR, R upper triangular with a positive diagonal.
    close(BT.T @ np.triu(R), B, 10 * d * k * EPS * norm(B, 2))
    # What rounding leaves below a diagonal entry of 1/worst times the norm cannot hide its sign
    # while worst * eps is far below 1.
    assert (np.diag(R) > 0.0).all()


@given(seeds, st.integers(1, 8), st.data())
def test_orthonormalize_reports_dependent_and_bad_rows(seed, d, data):
    k = data.draw(st.integers(1, d))
    rng = np.random.default_rng(seed)
    BT = frame(rng, d, k).T.copy()
    place = int(rng.integers(k))
    dependent = BT.copy()
    dependent[place] = rng.standard_normal(place) @ BT[:place] if place else 0.0
    assert linalg.orthonormalize(dependent) <= d * EPS
    for value in (np.nan, np.inf):
        bad = BT.copy()
        bad[place, rng.integers(d)] = value
        assert not linalg.orthonormalize(bad) > 0.0


@given(seeds, sizes, st.integers(1, 9))
def test_gram_is_the_matrix_of_inner_products(seed, k, d):
    ET = np.random.default_rng(seed).standard_normal((k, d))
    G = np.full((k, k), np.nan)
    linalg.gram(ET, G)
    np.testing.assert_array_equal(G, G.T)
    close(G, ET @ ET.T, 2 * d * EPS * norm(ET) ** 2)


@given(seeds, st.integers(1, 7), st.integers(1, 9), st.integers(1, 20))
def test_subtract_product_subtracts_a_product_of_any_shape(seed, rows, k, size):
    rng = np.random.default_rng(seed)
    F, ET = rng.standard_normal((rows, k)), rng.standard_normal((k, size))
    outT = rng.standard_normal((rows, size))
    expected = outT - F @ ET
    linalg.subtract_product(F, ET, outT)
    np.testing.assert_allclose(outT, expected, atol=1e-13)


@given(seeds, st.integers(1, 10), st.data())
def test_remove_span_subtracts_the_projection(seed, d, data):
    k, rows = data.draw(st.integers(1, d)), data.draw(st.integers(1, 5))
    rng = np.random.default_rng(seed)
    Q, ET = frame(rng, d, k), rng.standard_normal((rows, d))
    expected = ET - ET @ Q @ Q.T
    size = norm(ET)
    linalg.remove_span(np.ascontiguousarray(Q.T), ET)
    close(ET, expected, 10 * d * k * EPS * size)


@given(seeds, st.integers(1, 5), st.integers(0, 4), st.floats(0.0, 17.0))
def test_outside_gram_leaves_only_what_lies_outside(seed, k, more, digits):
    """However small that is: 17 digits below the basis it is still orthogonal to the span."""
    d, rng = k + more, np.random.default_rng(seed)
    Q = frame(rng, d, k)
    ET = frame(rng, k, k) @ (Q + 10.0**-digits * rng.standard_normal((d, k))).T
    before, G = ET.copy(), np.full((k, k), np.nan)
    linalg.outside_gram(np.ascontiguousarray(Q.T), ET, G)
    close(ET, before - before @ Q @ Q.T, 10 * d * k * EPS * norm(before))
    close(G, ET @ ET.T, 10 * d * EPS * norm(ET) ** 2)
    # A part below 1e-6 is projected twice; for a larger one rounding is a share below 1e-9 of it.
    assert norm(ET @ Q) <= 10 * d * k * EPS * (norm(ET) + EPS if norm(ET) < 1e-7 else norm(before))


@given(seeds, st.integers(1, 8), st.data())
def test_orthonormalize_if_needed_keeps_a_frame_and_repairs_the_rest(seed, d, data):
    k = data.draw(st.integers(1, d))
    rng = np.random.default_rng(seed)
    unit = np.eye(d)[rng.permutation(d)[:k]]
    kept = unit.copy()
    assert linalg.orthonormalize_if_needed(kept, np.empty((k, k))) == 1.0
    np.testing.assert_array_equal(kept, unit)
    B = rng.standard_normal((k, d))
    expected = B.copy()
    independence = linalg.orthonormalize(expected)
    assert linalg.orthonormalize_if_needed(B, np.empty((k, k))) == independence
    np.testing.assert_array_equal(B, expected)
    assert not linalg.orthonormalize_if_needed(np.full((k, d), np.nan), np.empty((k, k))) > 0.0


@given(seeds, st.integers(1, 9), st.data())
def test_distance_between_equals_the_reference(seed, d, data):
    k = data.draw(st.integers(1, d))
    rng = np.random.default_rng(seed)
    B1, B2 = rng.standard_normal((2, d, k))
    sine, first, second = linalg.distance_between(B1.T.copy(), B2.T.copy(), np.empty((k, k)))
    close(sine, reference.distance(B1, B2), 20 * d * k * EPS * (cond(B1) + cond(B2)))
    assert 0.0 <= sine <= 1.0
    for B, independence in ((B1, first), (B2, second)):
        assert independence == linalg.orthonormalize(B.T.copy())

"""Sums over clients and coordinates of simulated batches against the same in NumPy."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.linalg import cond, matrix_rank, norm

from linrep.kernels import gram
from tests.strategies import seeds
from tests.tools import EPS, UNITS, close


@given(seeds, st.integers(1, 6), st.integers(1, 11), st.data())
def test_products_are_added_to_those_rows_only(seed, count, rows, data):
    first = data.draw(st.integers(0, rows))
    last = data.draw(st.integers(first, rows))
    rng = np.random.default_rng(seed)
    x, X, out = rng.standard_normal(8), rng.standard_normal((rows, count)), np.ones(rows)
    gram.add_products(x, X, first, last, count, out)
    expected = np.ones(rows)
    for row in range(first, last):
        expected[row] += sum(x[i] * X[row, i] for i in range(count))
    close(out, expected, UNITS * EPS * (1.0 + norm(x) * norm(X)))


@given(seeds, st.integers(1, 5), st.integers(0, 5))
@example(0, 1, 0)
@example(1, 4, 1)
def test_a_semidefinite_matrix_is_the_product_of_its_factor(seed, k, rank):
    """Also of a rank that is too low, where pivots vanish."""
    A = np.random.default_rng(seed).standard_normal((k, min(rank, k)))
    S = A @ A.T
    factor = S.copy()
    gram.factor_semidefinite(factor)
    L = np.tril(factor)
    # Below a pivot that is taken for 0, of at most 4 k EPS, entries are up to its root.
    close(L @ L.T, S, 2.0 * np.sqrt(4.0 * k * EPS) * norm(S))
    if k <= rank and cond(S) < 1e6:
        close(L @ L.T, S, UNITS * EPS * norm(S))


@given(seeds, st.integers(1, 5), st.integers(1, 7), st.booleans())
def test_coordinates_keep_all_inner_products(seed, k, width, repeated):
    rng = np.random.default_rng(seed)
    E = rng.standard_normal((k, width))
    if repeated:
        E[-1] = E[0]
    Phi = np.full((min(k, width), k), np.nan)
    gram.triangularize(E.copy(), Phi)
    close(Phi.T @ Phi, E @ E.T, UNITS * EPS * norm(E) ** 2)
    assert matrix_rank(Phi) == matrix_rank(E)

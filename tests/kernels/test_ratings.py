"""Alternating least squares on entries, against their naive twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrep.kernels import ratings
from tests.reference import ratings as naive
from tests.strategies import seeds

RIDGE = 0.7
UNITS = st.sampled_from([(0.0, 0.0), (1.3, 0.6), (0.0, 0.5)])


def draw(rng, rows, columns, k, count):
    """Return entries in any order, some rows without and pairs repeated, factors and an offset."""
    places, others = rng.integers(0, rows, count), rng.integers(0, columns, count)
    return places, others, rng.standard_normal(count), rng.standard_normal((columns, k + 1)), 0.4


def by_row(places, others, values, rows):
    """Return offsets, columns and values, sorted by row."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=rows))])
    columns, sorted_values = np.empty(others.size, dtype=np.int32), np.empty(values.size)
    ratings.sort_by(
        places.astype(np.int32), offsets[:-1].copy(), others.astype(np.int32), values, columns,
        sorted_values,
    )  # fmt: skip
    return offsets, columns, sorted_values


def weighted(rng, weighted, places, count):
    """Return weights, and their roots by row; none for weights of 1."""
    if not weighted:
        return np.ones(count), ratings.UNWEIGHTED
    weights = rng.uniform(0.0, 3.0, count)
    return weights, np.sqrt(weights)[np.argsort(places, kind="stable")]


@given(seeds, st.integers(1, 6), st.integers(1, 6), st.integers(0, 40))
def test_entries_are_sorted_stably(seed, rows, columns, count):
    places, others, values, _, _ = draw(np.random.default_rng(seed), rows, columns, 1, count)
    _, found, sorted_values = by_row(places, others, values, rows)
    order = np.argsort(places, kind="stable")
    np.testing.assert_array_equal(found, others[order])
    np.testing.assert_array_equal(sorted_values, values[order])


@given(seeds, st.integers(1, 5), st.integers(1, 6), st.integers(0, 5), st.integers(0, 40),
       UNITS, st.booleans(), st.booleans())  # fmt: skip
def test_rows_are_fitted_with_a_ridge(seed, rows, columns, k, count, units, weights, priors):
    rng = np.random.default_rng(seed)
    places, others, values, factors, offset = draw(rng, rows, columns, k, count)
    weights, roots = weighted(rng, weights, places, count)
    prior = rng.standard_normal((rows, k + 1)) if priors else np.zeros((rows, k + 1))
    found = np.full((rows, k + 1), np.nan)
    ratings.fit_rows(
        *by_row(places, others, values, rows), roots, factors, offset, units, RIDGE,
        prior if priors else ratings.NO_PRIORS, found, *ratings.workspace(k),
    )  # fmt: skip
    expected = naive.fit_rows(places, others, values, weights, factors, offset, units, RIDGE, prior)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("count", [1, 31, 64, 65, 200])
def test_long_rows_are_fitted_in_blocks(count, fresh_rng):
    places, others, values, factors, offset = draw(fresh_rng, 1, 9, 3, count)
    weights, roots = weighted(fresh_rng, True, places, count)
    found = np.empty((1, 4))
    ratings.fit_rows(
        *by_row(places, others, values, 1), roots, factors, offset, (1.0, 1.0), RIDGE,
        ratings.NO_PRIORS, found, *ratings.workspace(3),
    )  # fmt: skip
    expected = naive.fit_rows(
        places, others, values, weights, factors, offset, (1.0, 1.0), RIDGE, np.zeros((1, 4))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@given(seeds, st.integers(1, 5), st.integers(1, 6), st.integers(0, 5), st.integers(0, 40),
       st.booleans())  # fmt: skip
def test_residuals_and_their_sums(seed, rows, columns, k, count, weights):
    rng = np.random.default_rng(seed)
    places, others, values, factors, offset = draw(rng, rows, columns, k, count)
    weights, roots = weighted(rng, weights, places, count)
    heads, residuals = rng.standard_normal((rows, k + 1)), np.empty(count)
    table = by_row(places, others, values, rows)
    sums = ratings.find_residuals(*table, roots, heads, factors, offset, (1.3, 0.6), residuals)
    expected = naive.residuals(places, others, values, heads, factors, offset, (1.3, 0.6))
    times = weights * expected
    order = np.argsort(places, kind="stable")
    np.testing.assert_allclose(residuals, times[order], atol=1e-12)
    np.testing.assert_allclose(sums, (times.sum(), times @ expected), atol=1e-10)


def test_dependent_columns_are_no_division_by_zero():
    """One entry, ten columns, and a ridge that is lost beside it."""
    table = np.array([0, 1]), np.zeros(1, dtype=np.int32), np.ones(1)
    found, columns = np.empty((1, 11)), np.full((1, 11), 1e3)
    columns[:, -1] = 0.0
    ratings.fit_rows(
        *table, ratings.UNWEIGHTED, columns, 0.0, (0.0, 0.0), 1e-14, ratings.NO_PRIORS, found,
        *ratings.workspace(10),
    )  # fmt: skip
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[:, :-1] @ columns[0, :-1], 1.0, rtol=1e-3)

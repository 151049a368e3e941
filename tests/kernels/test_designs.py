from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from linrep.kernels import designs
from linrep.problems.regression import DESIGNS
from tests.strategies import seeds
from tests.tools import EPS, FALSE_ALARM, close, draws

DEGREES = 5.0
names = pytest.mark.parametrize("name", DESIGNS)


def covariates(rng, name, m, d, degrees=DEGREES):
    X = np.full((m, d), np.nan)
    designs.draw_covariates(rng, DESIGNS[name], degrees, X)
    return X


def naive(rng, name, m, d):
    """The design as its definition says, by NumPy, in the same order of random numbers."""
    if name == "gaussian":
        return rng.standard_normal((m, d))
    if name == "rademacher":
        return np.where(rng.random((m, d)) < 0.5, 1.0, -1.0)
    if name == "uniform":
        return np.sqrt(3.0) * (2.0 * rng.random((m, d)) - 1.0)
    if name == "sphere":
        X = rng.standard_normal((m, d))
        return np.sqrt(d) * X / np.linalg.norm(X, axis=1, keepdims=True)
    return rng.standard_t(DEGREES, (m, d)) / np.sqrt(DEGREES / (DEGREES - 2.0))


@names
@given(seed=seeds, m=st.integers(1, 20), d=st.integers(1, 6))
def test_covariates_are_numpys_draws_of_the_same_stream(name, seed, m, d):
    ours, theirs = np.random.default_rng(seed), np.random.default_rng(seed)
    X, expected = covariates(ours, name, m, d), naive(theirs, name, m, d)
    # A few roundings of the same random numbers; the two libraries' logarithms differ in the last
    # digits.
    np.testing.assert_allclose(X, expected, rtol=100 * d * EPS, atol=0)
    assert ours.bit_generator.state == theirs.bit_generator.state


@given(seeds, st.integers(1, 20), st.integers(1, 6), st.sampled_from([0.0, 0.3]))
def test_labels_are_the_models_values_plus_numpys_normal_noise(seed, m, d, noise):
    rng = np.random.default_rng(seed)
    X, theta, y = rng.standard_normal((m, d)), rng.standard_normal(d), np.full(m, np.nan)
    ours, theirs = np.random.default_rng(seed + 1), np.random.default_rng(seed + 1)
    designs.draw_labels(ours, X, theta, noise, y)
    expected = X @ theta + noise * theirs.standard_normal(m)
    close(y, expected, 4 * d * EPS * (np.linalg.norm(X) * np.linalg.norm(theta) + 10 * noise))
    # As many random numbers with noise and without: what is drawn next is the same.
    assert ours.bit_generator.state == theirs.bit_generator.state


def schedule(rng, n, participants, rounds):
    rows = np.full((rounds, participants), -1)
    designs.draw_participants(rng, np.arange(n), rows)
    return rows


@given(seeds, st.integers(1, 9), st.integers(1, 5))
def test_full_participation_takes_every_client_in_order(seed, n, rounds):
    rng = np.random.default_rng(seed)
    state = rng.bit_generator.state
    rows = schedule(rng, n, n, rounds)
    np.testing.assert_array_equal(rows, np.tile(np.arange(n), (rounds, 1)))
    assert rng.bit_generator.state == state


@given(seeds, st.integers(2, 9), st.data())
def test_participants_do_not_depend_on_how_the_rounds_are_cut_up(seed, n, data):
    participants, first = data.draw(st.integers(1, n)), data.draw(st.integers(1, 5))
    whole = schedule(np.random.default_rng(seed), n, participants, 6)
    rng, order = np.random.default_rng(seed), np.arange(n)
    parts = [np.empty((size, participants), np.int64) for size in (first, 6 - first)]
    for part in parts:
        designs.draw_participants(rng, order, part)
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def subset_numbers(rows, n):
    number = {subset: place for place, subset in enumerate(combinations(range(n), rows.shape[1]))}
    return np.array([number[tuple(sorted(row))] for row in rows.tolist()])


def test_every_subset_of_participants_is_equally_likely(fresh_rng):
    """Chi-square over the 20 subsets of 3 out of 6, 20 000 rounds (400 uncompiled)."""
    numbers = subset_numbers(schedule(fresh_rng, 6, 3, draws(20_000)), 6)
    assert stats.chisquare(np.bincount(numbers, minlength=20)).pvalue > FALSE_ALARM


def test_participants_of_successive_rounds_are_independent(fresh_rng):
    """Chi-square over the 36 pairs of successive subsets of 2 out of 4, 36 000 disjoint pairs."""
    numbers = subset_numbers(schedule(fresh_rng, 4, 2, 2 * draws(36_000)), 4)
    pairs = numbers[0::2] * 6 + numbers[1::2]
    assert stats.chisquare(np.bincount(pairs, minlength=36)).pvalue > FALSE_ALARM


@names
@given(seed=seeds, sizes=st.lists(st.integers(1, 6), min_size=1, max_size=5), d=st.integers(1, 6))
def test_clients_are_drawn_as_they_are_one_by_one(name, seed, sizes, d):
    theta, offsets = np.random.default_rng(seed).random((len(sizes), d)), np.cumsum([0, *sizes])
    X, y = np.full((offsets[-1], d), np.nan), np.full(offsets[-1], np.nan)
    ours, other = np.random.default_rng(seed), np.random.default_rng(seed)
    designs.draw_clients(ours, DESIGNS[name], DEGREES, 0.5, theta, offsets, X, y)
    for i, m in enumerate(sizes):
        alone, labels = covariates(other, name, m, d), np.full(m, np.nan)
        designs.draw_labels(other, alone, theta[i], 0.5, labels)
        np.testing.assert_array_equal(X[offsets[i] : offsets[i + 1]], alone)
        np.testing.assert_array_equal(y[offsets[i] : offsets[i + 1]], labels)
    assert ours.bit_generator.state == other.bit_generator.state

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


def law(name, d):
    """Return the distribution of one coordinate."""
    if name == "gaussian":
        return stats.norm()
    if name == "uniform":
        return stats.uniform(-np.sqrt(3.0), 2.0 * np.sqrt(3.0))
    if name == "student_t":
        return stats.t(DEGREES, scale=np.sqrt((DEGREES - 2.0) / DEGREES))
    # One coordinate of a point on the sphere of radius sqrt(d), by the law of its square.
    return stats.beta((d - 1) / 2, (d - 1) / 2, loc=-np.sqrt(d), scale=2.0 * np.sqrt(d))


@pytest.mark.parametrize("name", [name for name in DESIGNS if name != "rademacher"])
def test_each_coordinate_has_the_designs_distribution(name, fresh_rng):
    """Kolmogorov-Smirnov on 50 000 draws (1 000 uncompiled) of each of four coordinates."""
    X = covariates(fresh_rng, name, draws(50_000), 4)
    for column in X.T:
        assert stats.kstest(column, law(name, 4).cdf).pvalue > FALSE_ALARM / 4


@names
@pytest.mark.parametrize("d", [2, 5])
def test_covariates_have_mean_zero_and_covariance_identity(name, d, fresh_rng):
    """Normal approximation of means over 200 000 draws (4 000 uncompiled), all in one allowance.

    Thirty degrees of freedom for Student's t, whose squares would otherwise be too far from normal.
    """
    X = covariates(fresh_rng, name, draws(200_000), d, degrees=30.0)
    moments = [X[:, a] for a in range(d)]
    moments += [X[:, a] * X[:, b] - (a == b) for a in range(d) for b in range(a + 1)]
    limit = stats.norm.isf(FALSE_ALARM / 2 / len(moments))
    for values in moments:
        # Values that are the same number every time (Rademacher squares) must be 0 themselves.
        error = values.std() / np.sqrt(len(values)) if np.ptp(values) > 1e-12 else 1e-12
        assert abs(values.mean()) <= limit * error


@pytest.mark.parametrize("name", ["gaussian", "rademacher", "uniform", "student_t"])
def test_signs_of_coordinates_and_samples_are_independent(name, fresh_rng):
    """Chi-square over the eight sign patterns of two coordinates and the next sample's first."""
    signs = covariates(fresh_rng, name, draws(100_000), 2) > 0.0
    pattern = signs[0::2, 0] * 4 + signs[0::2, 1] * 2 + signs[1::2, 0]
    assert stats.chisquare(np.bincount(pattern, minlength=8)).pvalue > FALSE_ALARM


@given(seeds, st.integers(1, 30), st.integers(1, 6))
def test_rademacher_covariates_are_signs(seed, m, d):
    X = covariates(np.random.default_rng(seed), "rademacher", m, d)
    np.testing.assert_array_equal(np.abs(X), np.ones((m, d)))


@given(seeds, st.integers(1, 30), st.integers(1, 6))
def test_sphere_covariates_have_norm_sqrt_d(seed, m, d):
    X = covariates(np.random.default_rng(seed), "sphere", m, d)
    close(np.linalg.norm(X, axis=1), np.full(m, np.sqrt(d)), 4 * d * EPS * np.sqrt(d))


def test_sphere_covariates_have_no_preferred_direction(fresh_rng):
    """Projections on random directions have the distribution of a coordinate."""
    d = 3
    X = covariates(fresh_rng, "sphere", draws(50_000), d)
    for _ in range(3):
        direction = fresh_rng.standard_normal(d)
        direction /= np.linalg.norm(direction)
        assert stats.kstest(X @ direction, law("sphere", d).cdf).pvalue > FALSE_ALARM / 3


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


def test_label_noise_is_normal_with_the_given_standard_deviation(fresh_rng):
    m, d = draws(50_000), 3
    X, theta, y = fresh_rng.standard_normal((m, d)), fresh_rng.standard_normal(d), np.empty(m)
    designs.draw_labels(fresh_rng, X, theta, 0.3, y)
    assert stats.kstest(y - X @ theta, stats.norm(scale=0.3).cdf).pvalue > FALSE_ALARM


def schedule(rng, n, participants, rounds):
    rows = np.full((rounds, participants), -1)
    designs.draw_participants(rng, np.arange(n), rows)
    return rows


@given(seeds, st.integers(1, 9), st.integers(1, 20), st.data())
def test_participants_are_distinct_clients(seed, n, rounds, data):
    participants = data.draw(st.integers(1, n))
    rows = schedule(np.random.default_rng(seed), n, participants, rounds)
    assert rows.min() >= 0
    assert rows.max() < n
    assert all(len(set(row)) == participants for row in rows.tolist())


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

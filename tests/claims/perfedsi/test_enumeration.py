"""Walks of all clients and what is computed from them, against steps taken one by one."""

from itertools import product

import numpy as np
import pytest

from linrep.claims.perfedsi import _enumeration as enumeration
from linrep.claims.perfedsi import _states as states
from tests.reference import perfedsi as naive


@pytest.fixture
def state(fresh_rng):
    return states.drawn(fresh_rng, n=3, d=3, p=2, k=2, error=0.5, tilt=1.5)


def naive_walks(state, items, step_size):
    """Return, for each client, where it is after each step on each sequence."""
    truth, found = state.truth, []
    for z in truth.Z:
        paths = []
        for sequence in items:
            path = [(state.U, state.V)]
            for item in sequence:
                path.append(naive.local_step(*path[-1], item, truth.M[item] @ z, z, step_size))
            paths.append(path)
        found.append(paths)
    return found


def regular(state, client, U, V, limits):
    """Tell whether one iterate satisfies Definition 3.1."""
    truth, z = state.truth, state.truth.Z[client]
    error, sigma = (U @ V.T - truth.M) @ z, truth.singular_values[0]
    return (
        max(np.linalg.norm(U, 2), np.linalg.norm(V, 2)) <= limits.c * np.sqrt(sigma)
        and 0.5 * error @ error <= limits.c * state.loss
        and np.max(np.sum(U**2, axis=1)) <= limits.rows * truth.k * sigma / truth.d
        and np.max(error**2) <= limits.errors / truth.d * error @ error
    )


def test_sequences_are_all_or_balanced(fresh_rng):
    assert enumeration.sequences(3, 2).tolist() == [
        list(pair) for pair in product(range(3), repeat=2)
    ]
    items = enumeration.balanced(4, 5, 3, fresh_rng)
    assert items.shape == (12, 5)
    assert all((np.bincount(column) == 3).all() for column in items.T)
    assert len(enumeration.items_for(3, 2, 9, fresh_rng)) == 9
    assert len(enumeration.items_for(3, 3, 9, fresh_rng)) == 9


def test_walks_are_local_steps(state):
    items = enumeration.sequences(3, 3)
    walks = enumeration.Walks(state, items, 0.1)
    for client, paths in enumerate(naive_walks(state, items, 0.1)):
        for place, path in enumerate(paths):
            for s, (U, V) in enumerate(path):
                np.testing.assert_allclose(walks.U[s][client, place], U, atol=1e-12)
                np.testing.assert_allclose(walks.V[s][client, place], V, atol=1e-12)


def test_walks_go_on_from_a_shift(state):
    items = enumeration.sequences(3, 2)
    once = enumeration.Walks(state, items[:, :1], 0.1)
    shift = [part[1, 4] for part in once.shifts[-1]]
    moved = states.State(state.truth, state.U + shift[0], state.V + shift[1])
    found = enumeration.Walks(state, items, 0.1, shift)
    expected = enumeration.Walks(moved, items, 0.1)
    np.testing.assert_allclose(found.U[-1], expected.U[-1], atol=1e-12)
    np.testing.assert_allclose(found.V[-1], expected.V[-1], atol=1e-12)
    assert found.loss == pytest.approx(moved.loss)


@pytest.mark.parametrize("quantile", [1.0, 0.8])
def test_expectations_are_sums_over_everything(state, quantile):
    """All clients' sequences together are enumerated, with the event of all of them."""
    d, n, step_size = 3, 3, 0.2
    items = enumeration.sequences(d, 1)
    walks = enumeration.Walks(state, items, step_size)
    limits = walks.limits(quantile)
    naive_paths = naive_walks(state, items, step_size)
    good = np.array(
        [
            [all(regular(state, m, U, V, limits) for U, V in path) for path in paths]
            for m, paths in enumerate(naive_paths)
        ]
    )
    assert (walks.kept(limits, 1) == good).all()
    assert good.all() == (quantile == 1.0)
    gradient = state.measured[1]
    drift, summed, chance = np.zeros_like(gradient), np.zeros_like(gradient), 0.0
    for places in product(range(d), repeat=n):
        if not all(good[m, place] for m, place in enumerate(places)):
            continue
        chance += 1.0 / d**n
        for m, place in enumerate(places):
            z = state.truth.Z[m]
            U, V = naive_paths[m][place][1]
            error = U @ V.T - state.truth.M
            drift += (error @ np.outer(z, z) @ V - gradient) / (n * d**n)
            summed += (d * (state.U - U) / step_size - gradient) / (n * d**n)
    found, _, share = walks.drift(limits, 1)
    np.testing.assert_allclose(found, drift, atol=1e-12)
    assert share == pytest.approx(chance)
    total, share = walks.summed(limits, future=True)
    assert share == pytest.approx(chance)
    assert total >= np.linalg.norm(summed) - 1e-12


@pytest.mark.parametrize("quantile", [1.0, 0.8])
def test_moments_and_progress_are_means_over_pairs(state, quantile):
    items, step_size = enumeration.sequences(3, 2), 0.2
    walks = enumeration.Walks(state, items, step_size)
    limits = walks.limits(quantile)
    ends = [
        (*path[-1], all(regular(state, m, U, V, limits) for U, V in path))
        for m, paths in enumerate(naive_walks(state, items, step_size))
        for path in paths
    ]
    square, left, share = 0.0, 0.0, 0.0
    for (U, V, good), (other_U, other_V, other_good) in product(ends, repeat=2):
        weight = float(good and other_good) / len(ends) ** 2
        new = 0.5 * (U + other_U), 0.5 * (V + other_V)
        square += weight * np.sum((new[0] - state.U) ** 2)
        left += weight * naive.loss(*new, state.truth.M, state.truth.Z) / state.loss
        share += weight
    in_U, _, chance = walks.moments(limits, 2)
    gained, kept = enumeration.progress(walks, limits, 2)
    assert in_U == pytest.approx(square)
    assert gained == pytest.approx(1.0 - left)
    assert chance == pytest.approx(share)
    assert kept == pytest.approx(share)


def test_progress_is_exact_for_tiny_steps():
    state = states.alike(2, 4)
    items = enumeration.sequences(4, 1)
    rates = []
    for step_size in (1e-6, 1e-18):
        walks = enumeration.Walks(state, items, step_size)
        rates.append(enumeration.progress(walks, walks.limits())[0] / step_size)
    assert rates[1] == pytest.approx(rates[0], rel=1e-4)


def test_families_are_at_their_limits():
    state = states.unbalanced(4.0, 2.0)
    assert np.linalg.norm(state.V, 2) == pytest.approx(4.0)
    assert state.truth.singular_values.tolist() == pytest.approx([1.0, 0.5])
    limits = enumeration.start_of(state).limits()
    assert limits.errors == pytest.approx(1.0)
    assert limits.c == pytest.approx(4.0)
    edge, limits = states.edge(4)
    walks = enumeration.Walks(edge, enumeration.sequences(4, 1), 1e-5)
    assert walks.kept(limits, 0).all()
    assert walks.kept(limits, 1).sum() == 2
    aligned = states.aligned(3, 4)
    assert np.linalg.matrix_rank(aligned.truth.Z) == 3
    assert np.allclose(np.sum(aligned.truth.Z**2, axis=1), 3.0)

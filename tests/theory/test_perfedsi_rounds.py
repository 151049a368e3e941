"""Exact expectations over rounds of PerFedSI, against steps taken one by one."""

from itertools import product

import numpy as np
import pytest

from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi_rounds as rounds
from tests.reference import perfedsi as naive


@pytest.fixture
def state(fresh_rng):
    truth = SideInformationCompletion.random(n=3, d=3, p=2, k=2, rng=fresh_rng)
    U = 1.5 * (truth.U + 0.5 * fresh_rng.standard_normal((3, 2)) / np.sqrt(3))
    V = (truth.V + 0.5 * fresh_rng.standard_normal((2, 2)) / np.sqrt(2)) / 1.5
    return rounds.State(truth, U, V)


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
    assert rounds.sequences(3, 2).tolist() == [list(pair) for pair in product(range(3), repeat=2)]
    items = rounds.balanced(4, 5, 3, rng=fresh_rng)
    assert items.shape == (12, 5)
    assert all((np.bincount(column) == 3).all() for column in items.T)


def test_a_state_gains_what_its_loss_falls(state, fresh_rng):
    in_U, in_V = fresh_rng.standard_normal((3, 2)), fresh_rng.standard_normal((2, 2))
    truth = state.truth
    before = naive.loss(state.U, state.V, truth.M, truth.Z)
    after = naive.loss(state.U + in_U, state.V + in_V, truth.M, truth.Z)
    assert state.loss == pytest.approx(before)
    assert state.gain(in_U, in_V) == pytest.approx(before - after)
    assert "L=" in repr(state)


def test_walks_are_local_steps(state):
    items = rounds.sequences(3, 3)
    walks = rounds.Walks(state, items, 0.1)
    for client, paths in enumerate(naive_walks(state, items, 0.1)):
        for place, path in enumerate(paths):
            for s, (U, V) in enumerate(path):
                np.testing.assert_allclose(walks.U[s][client, place], U, atol=1e-12)
                np.testing.assert_allclose(walks.V[s][client, place], V, atol=1e-12)


def test_walks_go_on_from_a_shift(state):
    items = rounds.sequences(3, 2)
    once = rounds.Walks(state, items[:, :1], 0.1)
    shift = [part[1, 4] for part in once.shifts[-1]]
    moved = rounds.State(state.truth, state.U + shift[0], state.V + shift[1])
    found = rounds.Walks(state, items, 0.1, shift)
    expected = rounds.Walks(moved, items, 0.1)
    np.testing.assert_allclose(found.U[-1], expected.U[-1], atol=1e-12)
    np.testing.assert_allclose(found.V[-1], expected.V[-1], atol=1e-12)
    assert found.loss == pytest.approx(moved.loss)


@pytest.mark.parametrize("quantile", [1.0, 0.8])
def test_expectations_are_sums_over_everything(state, quantile):
    """All clients' sequences together are enumerated, with the event of all of them."""
    d, n, step_size = 3, 3, 0.2
    items = rounds.sequences(d, 1)
    walks = rounds.Walks(state, items, step_size)
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
    gradient = state.gradients[0]
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
    items, step_size = rounds.sequences(3, 2), 0.2
    walks = rounds.Walks(state, items, step_size)
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
    gained, kept = rounds.progress(walks, limits, 2)
    assert in_U == pytest.approx(square)
    assert gained == pytest.approx(1.0 - left)
    assert chance == pytest.approx(share)
    assert kept == pytest.approx(share)


def test_progress_of_rounds_is_a_mean_over_participants_and_items(state):
    """Two rounds of one participant, every client and item of both, one step each."""
    truth, step_size = state.truth, 0.2
    ends = []
    for choices in product(product(range(3), range(3)), repeat=2):
        U, V = state.U, state.V
        for client, item in choices:
            z = truth.Z[client]
            U, V = naive.local_step(U, V, item, truth.M[item] @ z, z, step_size)
        ends.append(naive.loss(U, V, truth.M, truth.Z))
    left = np.mean(ends) / naive.loss(state.U, state.V, truth.M, truth.Z)
    everything = rounds.Limits(np.inf, np.inf, np.inf)
    found, chance = rounds.progress_of_rounds(
        state, everything, rounds.sequences(3, 1), step_size, rounds=2
    )
    assert chance == pytest.approx(1.0)
    assert found == pytest.approx(1.0 - left)


def test_progress_of_a_round_is_that_of_one_round(state):
    """With one client, whose walk is the event's only one."""
    alone = SideInformationCompletion(state.truth.U, state.truth.V, state.truth.Z[:1])
    one = rounds.State(alone, state.U, state.V)
    items = rounds.sequences(3, 2)
    walks = rounds.Walks(one, items, 0.2)
    chances = []
    for quantile in (0.6, 0.7, 0.8, 0.9, 1.0):  # from no walk in the event, for some states, to all
        limits = walks.limits(quantile)
        expected = rounds.progress(walks, limits)
        assert rounds.progress_of_rounds(one, limits, items, 0.2, 1) == pytest.approx(expected)
        chances.append(expected[1])
    assert chances == sorted(chances)
    assert chances[-1] == 1.0


def test_progress_is_exact_for_tiny_steps(state):
    items, rates = rounds.sequences(3, 1), []
    for step_size in (1e-6, 1e-18):
        walks = rounds.Walks(state, items, step_size)
        rates.append(rounds.progress(walks, walks.limits())[0] / step_size)
    assert rates[1] == pytest.approx(rates[0], rel=1e-4)


def test_bad_input_is_named(state):
    with pytest.raises(ValueError, match="items must be sequences of items 0 to 2"):
        rounds.Walks(state, np.array([[3]]), 0.1)
    walks = rounds.Walks(state, rounds.sequences(3, 1), 0.1)
    with pytest.raises(ValueError, match="participants must be 1 or 2, got 3"):
        rounds.progress(walks, walks.limits(), 3)
    with pytest.raises(ValueError, match="rounds"):
        rounds.progress_of_rounds(state, walks.limits(), rounds.sequences(3, 1), 0.1, 0)

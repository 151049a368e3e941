"""Helpers of the claims on FedRep's synthetic figures."""

import numpy as np
import pytest

import linrep as lr
from linrep.papers.fedrep import figure4, trajectories
from linrep.papers.fedrep.settings import CONVENTIONS, draw_problem
from tests.reference.subspace import distance


def test_arrival_is_exact_for_a_geometric_decay_and_infinite_for_none():
    distances = 0.8 * 0.9 ** np.arange(40)
    assert trajectories.arrival(distances, 0.8 * 0.9**12.25) == pytest.approx(12.25)
    assert trajectories.arrival(distances, distances[7]) == pytest.approx(7.0)
    assert trajectories.arrival(distances, 0.9) == 0.0
    assert trajectories.arrival(distances, 1e-9) == np.inf


def test_speeds_are_values_at_lengths_and_rounds_to_shares_of_the_longest_way():
    near, far = 0.9 ** np.arange(101), 0.99 ** np.arange(101)
    found = trajectories.speeds(np.array([near, far, np.full(101, 0.9**100)]), (10, 100))
    assert len(found) == len(trajectories.ways("distance", (10, 100)))
    np.testing.assert_allclose(found[:, 0], [0.9**10, 0.9**100, 50, 90, 99])
    np.testing.assert_allclose(found[:2, 1], far[[10, 100]])
    assert (found[2:, 1:] == 100).all()  # the second never gets there, the third has no way


def test_a_trajectory_that_diverges_has_the_worst_from_there_on():
    found = trajectories.padded(np.array([2.0, 1.0, np.nan, 0.0]), 5, 3.0)
    assert found.tolist() == [2.0, 1.0, 3.0, 2e-12, 3.0, 3.0]
    assert trajectories.padded(np.array([2.0]), 1)[1] == 2e12


def test_the_best_step_is_chosen_on_the_first_runs_alone():
    numbers = np.array([[[1.0, 3.0, 9.0], [2.0, 2.5, 5.0]], [[4.0, 4.0, 7.0], [3.0, 3.0, 8.0]]])
    assert trajectories.at_best(numbers, 2).tolist() == [[9.0], [8.0]]
    assert trajectories.at_best(numbers[:, :1], 2).tolist() == [[9.0], [7.0]]


@pytest.mark.compiled
def test_representations_are_those_of_one_long_run():
    truth, data = draw_problem(figure4.FIGURE, 0, **CONVENTIONS["text"])
    start = lr.random_start(data.n, data.d, 2, 0)
    run = lr.fedsgd(data, k=2, step_size=0.1, rounds=20, start=start)["distance"]
    found = figure4._representations("a random start", data, 0, (5, 20))
    assert [distance(B, truth.B) for B in found] == pytest.approx(run[[5, 20]])


def test_errors_of_new_clients_alone():
    errors, _ = figure4._newcomers(0, (1, 30), ("local",), (5,))
    # One sample shows a twentieth of the model.
    assert errors[0][0][0][0] == pytest.approx(0.95, abs=0.05)
    assert errors[0][0][0][1] < 0.1

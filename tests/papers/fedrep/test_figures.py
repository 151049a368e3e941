"""Helpers of the claims on FedRep's synthetic figures."""

import numpy as np
import pytest

import linrep as lr
from linrep.claims import judge
from linrep.papers.fedrep import figure3, figure4, trajectories
from linrep.papers.fedrep.settings import CONVENTIONS, DATA, draw_problem
from tests.reference.subspace import distance


def test_scaling_is_of_each_n_and_the_next_or_of_both_ends(monkeypatch):
    """FedRep takes 1/10 of the rounds from n to n, 10GD-GD 1/2, and GD-GD first 1/20, then all."""
    rounds = np.array([[1.0, 1.0, 1.0], [0.1, 0.5, 0.05], [0.01, 0.25, 0.05]])  # n, methods
    rounds = np.broadcast_to(rounds[None, :, None, :, None], (1, 3, 1, 3, 40))
    methods = ("FedRep", "10GD-GD", "GD-GD")
    over = {"step and start": ["own"], "n": (10, 100, 1000), "faster": ["rounds"]}
    monkeypatch.setattr(figure3, "race", lambda *_, **__: ({**over, "method": methods}, rounds))
    (cells,) = figure3.scaling.measure("standard", 0)
    rows = judge([cells]).parts[0].map.rows()
    rows = rows[rows["tie"] == "no tie"].set_index(["n", "does not scale"])["verdict"]
    slower, less, half = (
        "slower with more clients", "gains less than FedRep",
        "gains less than half of what FedRep gains",
    )  # fmt: skip
    for steps in ("each to the next", "the smallest to the largest"):
        assert rows[steps, slower] == "fails"
    assert rows["each to the next", less] == "fails"  # GD-GD from 10 to 100
    assert rows["the smallest to the largest", less] == "holds"  # 4 and 20 are less than 100
    assert rows["the smallest to the largest", half] == "fails"  # 20 is more than its root


def test_arrival_is_exact_for_a_geometric_decay_and_infinite_for_none():
    distances = 0.8 * 0.9 ** np.arange(40)
    assert trajectories.arrival(distances, 0.8 * 0.9**12.25) == pytest.approx(12.25)
    assert trajectories.arrival(distances, distances[7]) == pytest.approx(7.0)
    assert trajectories.arrival(distances, 0.9) == 0.0
    assert trajectories.arrival(distances, 1e-9) == np.inf


def test_speeds_are_values_contraction_and_rounds_to_shares_of_the_common_way():
    near, far = 0.5 * 0.9 ** np.arange(101), np.maximum(0.97 ** np.arange(101), 0.97**75)
    found = trajectories.speeds(np.array([near, far, np.ones(101)]), (10, 100))
    assert len(found) == len(trajectories.ways("distance", (10, 100)))
    end = 0.97**75  # from 1/2, where the nearest starts, to where the farthest that moves ends
    way = np.array([0.5, 0.9, 0.99]) * np.log(end / 0.5)
    np.testing.assert_allclose(found[:, 0], [*near[[10, 100]], 0.9**10, *(way / np.log(0.9))])
    rounds = (np.log(0.5) + way) / np.log(0.97)
    np.testing.assert_allclose(found[:, 1], [0.97**10, end, 0.97**10, *rounds])
    assert found[2:, 2].tolist() == [1.0, 100.0, 100.0, 100.0]  # never, and all of the rounds


def test_without_a_way_nothing_gets_anywhere():
    values = np.array([np.full(41, 0.5), np.linspace(0.6, 1.0, 41)])
    found = trajectories.speeds(values[None], (10,))
    assert found.shape == (1, 5, 2)
    assert (found[0, 2:] == 40).all()


def test_a_trajectory_that_diverges_has_the_worst_from_there_on():
    found = trajectories.padded(np.array([2.0, 1.0, np.nan, 0.0]), 5, 3.0)
    assert found.tolist() == [2.0, 1.0, 3.0, 2e-12, 3.0, 3.0]
    assert trajectories.padded(np.array([2.0]), 1)[1] == 2e12


def test_best_steps_are_chosen_of_the_mean_logarithm_after_the_notebooks_rounds():
    def run(seed, multiples, rounds):
        assert rounds == 200
        ends = {"short": (seed, multiples["short"]), "long": (1.0, 1.0 / multiples["long"])}
        return np.array([[100.0, np.prod(ends[name])] for name in multiples])

    found = trajectories.best_steps(run, ("short", "long"), (1, 2))
    assert found == {"short": 1.0, "long": 8.0}


@pytest.mark.compiled
def test_representations_are_those_of_one_long_run():
    truth, data = draw_problem(figure4.FIGURE, 0, **CONVENTIONS["text"])
    start = lr.random_start(data.n, data.d, 2, 0)
    run = lr.fedsgd(data, k=2, step_size=0.1, rounds=20, start=start)["distance"]
    found = figure4._representations("a random start", data, 0, (5, 20))
    assert [distance(B, truth.B) for B in found] == pytest.approx(run[[5, 20]])


@pytest.mark.parametrize("data", DATA)
def test_errors_of_new_clients_alone(data):
    errors, _ = figure4._newcomers(0, (1, 30), ("local",), (5,), **DATA[data])
    # One sample shows a twentieth of the model.
    assert errors[0][0][0][0] == pytest.approx(0.95, abs=0.05)
    assert errors[0][0][0][1] < 0.1

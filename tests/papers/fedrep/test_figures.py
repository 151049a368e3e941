"""Helpers of the claims on FedRep's synthetic figures."""

import numpy as np
import pytest

import linrep as lr
from linrep.claims import UNDECIDED, decide
from linrep.papers.fedrep import _figures, figure3, figure4
from linrep.papers.fedrep.settings import CONVENTIONS, Figure1, Figure3
from tests.reference.subspace import distance


@pytest.mark.compiled
def test_global_model_of_pooled_samples_is_that_of_all_clients():
    _, data = _figures.draw_problem(Figure1(), 0, m=5, **CONVENTIONS["text"])
    B, W = lr.random_start(100, 20, 2, 7)
    expected = lr.fedsgd(data, step_size=0.1, rounds=500, start=(B, W)).state
    found, model = _figures.global_model(data, Figure1(), 7)
    np.testing.assert_allclose(found, expected["B"], atol=1e-10)
    np.testing.assert_allclose(model, expected["B"] @ expected["w"], atol=1e-10)


def test_races_stop_at_the_first_round_within_the_goal():
    truth, data = _figures.draw_problem(Figure3(), 3, n=20, **CONVENTIONS["text"])
    found = figure3._race(20, 3, "text", 0.2, ("FedRep",), start=0.5)["FedRep"]
    trace = lr.fedrep(data, rounds=int(np.ceil(found)), participation=0.1, start=0.5, rng=3)
    assert trace["distance"][-1] <= 0.2 < trace["distance"][-2]
    assert distance(trace.state["B"], truth.B) == pytest.approx(trace["distance"][-1])


def test_arrival_is_exact_for_a_geometric_decay_and_infinite_for_none():
    distances = 0.8 * 0.9 ** np.arange(40)
    assert _figures.arrival(distances, 0.8 * 0.9**12.25) == pytest.approx(12.25)
    assert _figures.arrival(distances, distances[7]) == pytest.approx(7.0)
    assert _figures.arrival(distances, 0.9) == 0.0
    assert _figures.arrival(distances, 1e-9) == np.inf


def test_pairs_that_neither_finishes_drop_out():
    early = np.array([1.0] * 20 + [np.inf] * 20)
    late = np.array([2.0] * 20 + [np.inf] * 20)
    found = decide(_figures.before(early, late, name="", setting={}), 0.01)
    assert (found.verdict, found.n_trials, found.measured) == ("holds", 20, 0.5)
    never = decide(_figures.before(early[20:], late[20:], name="", setting={}))
    assert never.verdict == UNDECIDED


def test_errors_of_new_clients_on_the_true_representation():
    found = figure4._new_client_errors(0, (1, 30), ("local",))
    # One sample shows a twentieth of the model.
    assert found[1, "local"] == pytest.approx(0.95, abs=0.05)
    assert found[30, "local"] < 0.1

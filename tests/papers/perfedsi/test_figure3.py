"""Helpers of the claims on PerFedSI's Figure 3."""

import numpy as np
import pytest

import linrep as lr
from linrep.claims import judge
from linrep.papers.perfedsi import figure3
from linrep.papers.perfedsi.figure3 import FIGURE, instance, losses, straight
from linrep.papers.perfedsi.settings import MODELS, STARTS, view


def test_an_instance_is_that_of_the_appendix():
    seen = instance(3)
    assert (seen.d, seen.n, seen.Z.shape, seen.truth.k) == (16, 20, (20, 4), 2)
    assert (seen.per_client == 5).all()
    np.testing.assert_allclose(np.linalg.norm(seen.Z, axis=1), 1.0)
    for factor in (seen.truth.U, seen.truth.V):
        np.testing.assert_allclose(factor.T @ factor, np.eye(2), atol=1e-14)
    np.testing.assert_array_equal(seen.items, instance(3).items)
    assert len(instance(3, 16)) == 320


@pytest.mark.parametrize(("model", "p"), [("side", 4), ("one-hot", 20), ("one model", 1)])
def test_models_see_the_same_entries(model, p):
    seen = instance(1)
    known = view(seen, model)
    np.testing.assert_array_equal(known.values, seen.values)
    assert (known.n if known.Z is None else known.Z.shape[1]) == p


@pytest.mark.parametrize("model", MODELS)
def test_losses_are_relative_to_the_start(model):
    seen = instance(0)
    path = losses(seen, model, "random", 5, records=4, rounds=400)
    assert len(path) == 5
    assert path[0] == 1.0
    # The loss is that of the whole matrix.
    rounds = losses(seen, model, "random", 5, records=1, rounds=200)
    np.testing.assert_allclose(rounds[-1], path[2], rtol=1e-12)


def test_near_the_truth_a_run_starts_near():
    for model in ("side", "one-hot"):
        seen = view(instance(2), model)
        truth = seen.truth if model == "side" else seen.truth.without_side_information()
        rng = np.random.default_rng([7, 1])
        start = tuple(F + STARTS["near"] * rng.standard_normal(F.shape) for F in (truth.U, truth.V))
        trace = lr.perfedsi(
            seen, step_size=0.3, local_steps=5, participants=4, rounds=100, start=start,
            record=100, rng=7,
        )  # fmt: skip
        assert trace["error"][0] < 0.5
        found = losses(instance(2), model, "near", 7, records=1, rounds=100)[-1]
        np.testing.assert_allclose(found, (trace["error"][-1] / trace["error"][0]) ** 2)


def test_choices_are_as_long_in_local_steps_of_one_size():
    for changes in figure3.CHOICES.values():
        figure = FIGURE.changed(changes)
        assert figure.rounds * figure.local_steps * figure.step_size == 2 * 30_000
        assert figure.rounds % figure3.RECORDS == 0
    places = {"2500": 5, "5000": 10, "10000": 20, "20000": 40, "40000": 80}
    assert figure3.AXES["rounds"] == places


def test_paths_that_bend_are_not_straight():
    t = np.arange(41)
    for row in np.exp(0.1 * np.random.default_rng(0).standard_normal((60, 41))):
        assert straight(np.exp(-0.4 * t) * row)
        assert not straight((1.0 + t) ** -3.0 * row)
        assert not straight(np.exp(0.4 * t) * row)


def test_readings_count_the_runs_that_converge():
    rows = judge(figure3.whatsoever.measure("quick", 3)).parts[0].map.rows()
    shared = rows[rows["how often"] != "every instance"]  # of which a count is read
    ends = shared.groupby(["loss", "rounds", "start", "without"])["estimate"]
    assert (ends.nunique() == 1).all()  # how often is allowed is read of the same runs
    shares = ends.first().unstack("loss")
    assert (np.diff(shares[["1e-6", "1e-3", "1e-2", "0.25"]]) >= 0.0).all()
    every = rows[rows["how often"] == "every instance"]
    assert ((every["verdict"] == "fails") == (every["estimate"] > 0.0)).all()
    by = ["loss", "rounds", "start", "without"]
    assert np.allclose(
        every.set_index(by)["estimate"], 32 * ends.first()[every.set_index(by).index]
    )

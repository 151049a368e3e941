"""Helpers of the claims on PerFedSI's Figure 3."""

import numpy as np
import pytest

import linrep as lr
from linrep.claims import decide
from linrep.papers.perfedsi import figure3 as module
from linrep.papers.perfedsi.figure3 import instance, losses, most, view


def test_an_instance_is_that_of_the_appendix():
    seen = instance(3)
    assert (seen.d, seen.n, seen.Z.shape, seen.truth.k) == (16, 20, (20, 4), 2)
    assert (seen.per_client == 5).all()
    np.testing.assert_allclose(np.linalg.norm(seen.Z, axis=1), 1.0)
    for factor in (seen.truth.U, seen.truth.V):
        np.testing.assert_allclose(factor.T @ factor, np.eye(2), atol=1e-14)
    np.testing.assert_array_equal(seen.items, instance(3).items)
    assert len(instance(3, 16)) == 320


@pytest.mark.parametrize(("model", "p"), [("Z", 4), ("one-hot", 20), ("global model", 1)])
def test_models_see_the_same_entries(model, p):
    seen = instance(1)
    known = view(seen, model)
    np.testing.assert_array_equal(known.values, seen.values)
    assert (known.n if known.Z is None else known.Z.shape[1]) == p


@pytest.mark.parametrize(("model", "start"), module.RUNS)
def test_losses_are_relative_to_the_start(model, start):
    path = losses(instance(0), model, start, 5, records=4, rounds=400)
    assert len(path) == 5
    assert path[0] == 1.0
    # The loss is that of the whole matrix.
    seen = instance(0)
    rounds = losses(seen, model, start, 5, rounds=200)
    np.testing.assert_allclose(rounds[-1], path[2], rtol=1e-12)


def test_near_the_truth_a_run_starts_near():
    for model in ("Z", "one-hot"):
        seen = view(instance(2), model)
        truth = seen.truth if model == "Z" else seen.truth.without_side_information()
        rng = np.random.default_rng([7, 1])
        start = tuple(F + 0.03 * rng.standard_normal(F.shape) for F in (truth.U, truth.V))
        trace = lr.perfedsi(
            seen, step_size=0.3, local_steps=5, participants=4, rounds=100, start=start,
            record=100, rng=7,
        )  # fmt: skip
        assert trace["error"][0] < 0.5
        found = losses(instance(2), model, "near", 7, rounds=100)[-1]
        np.testing.assert_allclose(found, (trace["error"][-1] / trace["error"][0]) ** 2)


def test_paths_that_bend_are_told_from_straight_ones():
    t = np.arange(41)
    rng = np.random.default_rng(0)
    noise = np.exp(0.1 * rng.standard_normal((60, 41)))
    run = ("Z", "random")
    straight = [(run, np.exp(-0.4 * t) * row) for row in noise]
    bent = [(run, (1.0 + t) ** -3.0 * row) for row in noise]
    assert decide(module._straight(straight, "random"), 1e-4).verdict == "holds"
    assert decide(module._straight(bent, "random"), 1e-4).verdict == "fails"
    assert decide(module._straight(bent, "near"), 1e-4).verdict == "undecided"


def test_most_is_decided_on_either_side():
    for wins, expected, verdict in ((60, True, "holds"), (60, False, "fails"), (30, True, None)):
        successes = np.arange(60) < wins
        found = decide(most(successes, "x", expected=expected), 1e-4)
        assert found.verdict == (verdict or "undecided")

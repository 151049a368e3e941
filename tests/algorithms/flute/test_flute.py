from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.linalg import norm

import linrep as lr
from linrep import ClientData, LowRankRegression
from linrep.algorithms.flute import rounds as flute_rounds
from tests.algorithms.support import clients_of, schedule, streams
from tests.reference import flute as reference
from tests.strategies import seeds
from tests.tools import close


@st.composite
def problems(draw, noise=(0.0, 0.2)):
    """Draw a truth of d < n, d = n or d > n, its rank above, at or below k, and k."""
    n, d = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    k = draw(st.integers(1, min(n, d, 3)))
    kind = draw(st.sampled_from(["normal", "rank 1", "equal"]))
    values = {"normal": None, "rank 1": [1.0], "equal": np.ones(min(n, d))}[kind]
    noise = draw(st.sampled_from(noise))
    seed = draw(seeds, label="seed of the truth")
    return LowRankRegression.random(n=n, d=d, singular_values=values, noise=noise, rng=seed), k


conventions = st.fixed_dictionaries(
    {
        "step_size": st.floats(1e-3, 0.03),
        "regularizer_step_size": st.floats(1e-3, 0.03),
        "gamma1": st.floats(0.0, 0.5),
        "gamma2": st.floats(0.0, 0.5),
        "loss": st.sampled_from(["half", "full"]),
        "aggregate": st.sampled_from(["sum", "mean"]),
    }
)


def follow(problem, k, m, seed, options, batches, participants, rounds, scale):
    """Return what the reference makes of the same streams: B, W and the losses."""
    data_rng, _, start_rng = streams(seed)
    data = problem.draw(m, rng=data_rng) if batches == "fixed" else None
    B = scale * start_rng.standard_normal((problem.d, k))
    W = scale * start_rng.standard_normal((problem.n, k))
    losses = [np.nan]
    for selected in schedule(seed, problem.n, participants, rounds):
        if data is None:
            batch = problem.draw(m, rng=data_rng, clients=selected)
            clients = [None] * problem.n
            for place, i in enumerate(selected):
                clients[i] = batch.client(place)
        else:
            clients = clients_of(data)
        B, W, loss = reference.round(
            clients, B, W, selected, options["step_size"], options["regularizer_step_size"],
            options["gamma1"], options["gamma2"], loss=options["loss"],
            clients_as=options["aggregate"],
        )  # fmt: skip
        losses.append(loss)
    return B, W, np.array(losses)


@given(
    problems(),
    seeds,
    st.integers(1, 8),
    conventions,
    st.sampled_from(["fixed", "fresh"]),
    st.data(),
)
def test_flute_equals_the_reference(problem, seed, m, options, batches, data):
    truth, k = problem
    participants = data.draw(st.integers(1, truth.n), label="participants")
    trace = lr.flute(
        truth, k=k, m=m, rounds=4, batches=batches, scale=0.5, rng=seed,
        participation=participants / truth.n, **options,
    )  # fmt: skip
    B, W, losses = follow(truth, k, m, seed, options, batches, participants, 4, 0.5)
    if trace.stop_reason == "rounds":
        close(trace.state["B"], B, 1e-10 * (1 + norm(B)))
        close(trace.state["W"], W, 1e-10 * (1 + norm(W)))
        np.testing.assert_allclose(trace["loss"], losses, rtol=1e-9, atol=1e-12)
    target = truth.best(k).Phi
    B, W = trace.state["B"], trace.state["W"]
    error = 1e-12 * (1 + norm(B @ W.T) + norm(truth.Phi)) ** 2
    close(trace["error"][-1], norm(B @ W.T - target) / norm(target), error / norm(target))
    close(trace["client_error"][-1], norm(B @ W.T - target, axis=0).mean(), error)
    close(trace["truth_error"][-1], norm(B @ W.T - truth.Phi, axis=0).mean(), error)
    risk = np.sum((B @ W.T - truth.Phi) ** 2) / (2 * truth.n)
    close(trace["population_risk"][-1], risk, error)
    sent = participants * k * (truth.d + 1) * np.arange(trace.rounds + 1)
    np.testing.assert_array_equal(trace["floats_up"], sent)
    np.testing.assert_array_equal(trace["floats_down"], sent)


@given(problems(), seeds, conventions)
def test_population_rounds_are_those_of_orthogonal_covariates(problem, seed, options):
    """With X'X/m = I and no noise every batch is the population."""
    truth, k = problem
    truth = replace(truth, noise=0.0)
    X = np.sqrt(truth.d) * np.eye(truth.d)
    data = ClientData.from_list([(X, X @ phi) for phi in truth.theta])
    data = replace(data, truth=truth)
    run = {"k": k, "rounds": 5, "scale": 0.3, "rng": seed, **options}
    population = lr.flute(truth, batches="population", **run)
    sampled = lr.flute(data, **run)
    assert "loss" not in population
    for name in ("error", "client_error", "truth_error", "population_risk"):
        np.testing.assert_allclose(population[name], sampled[name], rtol=1e-9, atol=1e-12)
    close(population.state["B"], sampled.state["B"], 1e-10 * (1 + norm(sampled.state["B"])))


def test_metrics_of_ones_own():
    """Along a run, with a truth and without."""
    truth = LowRankRegression.random(n=5, d=4, noise=0.1, rng=0)
    data = truth.draw(9, rng=0)
    for problem in (data, replace(data, truth=None)):
        trace = lr.flute(
            problem, k=2, step_size=0.01, rounds=20, record=5, rng=1,
            measure=lambda B, W: {"imbalance": norm(B.T @ B - W.T @ W)},
        )  # fmt: skip
        B, W = trace.state["B"], trace.state["W"]
        assert len(trace["imbalance"]) == 5
        assert trace["imbalance"][-1] == norm(B.T @ B - W.T @ W)


@given(problems(), seeds)
def test_the_spectrum_is_that_of_the_lifted_iterate(problem, seed):
    truth, k = problem
    trace = lr.flute(
        truth, k=k, step_size=1e-3, rounds=0, batches="population", scale=1.0, rng=seed,
        spectrum=True,
    )  # fmt: skip
    Theta, eigenvalues = reference.lifted(truth.Phi, trace.state["B"], trace.state["W"])
    Theta = Theta[np.argsort(-eigenvalues, kind="stable")]
    size = norm(Theta)
    close(trace["sigma_1"][0], norm(Theta, 2), 1e-12 * size)
    if truth.gap(k) > 1e-9:  # otherwise the leading rows are not unique
        close(trace["sigma_k"][0], norm(Theta[:k], -2), 1e-8 * size)
        close(trace["sigma_res"][0], norm(Theta[k:], 2), 1e-8 * size)


def test_given_starts_and_step_sizes():
    truth = LowRankRegression.random(n=4, d=5, singular_values=[2, 1], rng=0)
    best = truth.best(1)
    trace = lr.flute(
        truth, k=1, step_size="theorem", rounds=3, batches="population", start=(best.B, best.W)
    )
    assert trace.step_size == pytest.approx(2.0**2 / (228 * 8))
    assert (trace["error"] < 1e-14).all()
    start = lr.gaussian_start(4, 5, 1, 0.25, rng=3)
    drawn = lr.flute(truth, k=1, step_size=0.1, rounds=0, batches="population", scale=0.25, rng=3)
    np.testing.assert_allclose(drawn.state["B"] @ drawn.state["W"].T, start[0] @ start[1].T)


@pytest.mark.parametrize(
    ("limit", "value", "n"), [("_CLIENTS", range(0), 17), ("PACKED_FROM", 5, 6)]
)
def test_other_ways_to_compute_rounds_differ_by_rounding(limit, value, n, monkeypatch):
    """Many clients of few dimensions side by side; triangles of second moments in many dimensions.

    A run may go on from the other kind of rounds.
    """
    truth = lr.LowRankRegression.random(n=n, d=5, singular_values=[3, 2, 1], noise=0.1, rng=0)
    data, settings = truth.draw(9, rng=1), {"step_size": 0.02, "k": 2}
    usual = lr.flute(data, rounds=300, rng=1, **settings)
    monkeypatch.setattr(flute_rounds, limit, value)
    other = lr.flute(data, rounds=300, rng=1, **settings)
    for name in ("error", "loss"):
        np.testing.assert_allclose(usual[name], other[name], rtol=1e-9)
    assert not np.array_equal(usual["loss"], other["loss"])
    more = lr.flute(data, rounds=50, start=usual, **settings)
    monkeypatch.undo()
    again = lr.flute(data, rounds=50, start=usual, **settings)
    np.testing.assert_allclose(again["error"], more["error"], rtol=1e-9)

import numpy as np
import pytest

import linrep as lr
from linrep.algorithms import biases
from linrep.theory import perfedsi as theory


def truth(**options):
    setting = {"n": 20, "d": 5, "p": 3, "noise": 0.3, "rng": 0}
    return lr.BiasedRegression.random(**(setting | options))


def test_biases_have_the_spread_and_the_share_asked_for():
    some = truth(n=50, spread=2.0, explained=0.75)
    left = some.biases - some.Z @ np.linalg.lstsq(some.Z, some.biases, rcond=None)[0]
    np.testing.assert_allclose(
        [np.mean(some.biases**2), np.mean(left**2), np.linalg.norm(some.theta)], [4.0, 1.0, 1.0]
    )


def test_samples_are_the_models():
    data = truth(noise=0.0).draw([2] * 10 + [7] * 10, rng=1)
    expected = data.X @ data.truth.theta + np.repeat(data.truth.biases, np.diff(data.offsets))
    np.testing.assert_allclose(data.y, expected, atol=1e-12)


@pytest.mark.parametrize("side", ["given", "one", "each"])
def test_least_squares_minimizes_the_mean_over_clients(side, fresh_rng):
    data = truth(explained=0.5).draw([4] * 10 + [9] * 10, rng=1)
    fit = biases.least_squares(data, side=side)
    for _ in range(20):
        theta = fit.state["theta"] + 1e-3 * fresh_rng.standard_normal(5)
        theta_2 = fit.state["theta_2"] + 1e-3 * fresh_rng.standard_normal(fit.state["theta_2"].size)
        Z = {"given": data.truth.Z, "one": np.ones((20, 1)), "each": np.eye(20)}[side]
        losses = [
            0.5 * np.mean((data.X[a:b] @ theta + z @ theta_2 - data.y[a:b]) ** 2)
            for a, b, z in zip(data.offsets[:-1], data.offsets[1:], Z, strict=True)
        ]
        assert np.mean(losses) > fit["loss"][-1]


def test_every_client_alone_is_its_own_least_squares():
    data = truth().draw(12, rng=1)
    fit = biases.local_only(data)
    X = np.hstack([data.X[24:36], np.ones((12, 1))])
    expected = np.linalg.lstsq(X, data.y[24:36], rcond=None)[0]
    np.testing.assert_allclose(fit.state["theta"][2], expected[:-1])
    np.testing.assert_allclose(fit.state["biases"][2], expected[-1])


def test_federated_averaging_is_written_out():
    """Two local steps of two of three clients, on (theta, theta_2) themselves."""
    data = truth(n=3, p=2).draw(4, rng=1)
    trace = biases.fedavg(data, step_size=0.1, rounds=1, local_steps=2, participation=0.6, rng=3)
    ends = []
    for i in range(3):
        theta, theta_2, z = np.zeros(5), np.zeros(2), data.truth.Z[i]
        rows = slice(data.offsets[i], data.offsets[i + 1])
        for _ in range(2):
            residual = data.X[rows] @ theta + z @ theta_2 - data.y[rows]
            theta = theta - 0.1 * data.X[rows].T @ residual / 4
            theta_2 = theta_2 - 0.1 * residual.mean() * z
        ends.append(np.concatenate([theta, theta_2]))
    means = [(ends[a] + ends[b]) / 2 for a, b in ((0, 1), (0, 2), (1, 2))]
    found = np.concatenate([trace.state["theta"], trace.state["theta_2"]])
    assert min(np.abs(found - mean).max() for mean in means) < 1e-14
    np.testing.assert_array_equal(trace["floats_up"], [0.0, 2 * 7])


@pytest.mark.parametrize("side", ["given", "one"])
def test_one_local_step_of_all_leads_to_least_squares(side):
    data = truth().draw(30, rng=1)
    trace = biases.fedavg(data, side=side, step_size=0.1, rounds=3000)
    fit = biases.least_squares(data, side=side)
    np.testing.assert_allclose(trace.state["theta"], fit.state["theta"], atol=1e-8)
    np.testing.assert_allclose(trace["excess_risk"][-1], fit["excess_risk"][-1], rtol=1e-6)


@pytest.mark.slow
def test_the_same_in_expectation(fresh_rng):
    """The closed form against the mean of 4000 draws: 4 standard errors."""
    some = truth(explained=0.8)
    for side, Z in (("given", some.Z), ("one", np.ones((20, 1))), ("each", np.eye(20))):
        risks = [
            biases.least_squares(some.draw(4, rng=fresh_rng), side=side)["excess_risk"][-1]
            for _ in range(4000)
        ]
        expected = theory.bias_risk(Z, some.biases, d=5, m=4, noise=0.3)
        assert abs(np.mean(risks) - expected) < 4.0 * np.std(risks) / np.sqrt(4000)

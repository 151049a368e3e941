"""FLUTE and PerFedSI where they end: against perturbations, loops and runs."""

import numpy as np
import pytest

import linrep as lr
from linrep.theory.asymptotics import flute, perfedsi
from tests.reference import asymptotics as reference
from tests.tools import close


def low_rank(n, d, values, noise=0.5):
    values = np.sqrt(n) * np.array(values)
    return lr.LowRankRegression.random(n=n, d=d, singular_values=values, noise=noise, rng=0)


@pytest.mark.parametrize(("n", "d", "k"), [(5, 8, 2), (8, 5, 2), (6, 6, 1)])
def test_flute_floor_is_that_of_perturbed_decompositions(n, d, k):
    truth = low_rank(n, d, [1.5, 1.0, 0.4, 0.2])
    draws = 2000
    found = reference.flute_error(truth.Phi.T, k, 0.5, np.random.default_rng(1), draws)
    floor = flute.floor(truth, k, 100)
    np.testing.assert_allclose(found / 10.0, floor.by_client, rtol=4.0 / np.sqrt(draws))
    close(flute.sufficient_samples(truth, k, floor.error), 100.0, 1e-9)


RATES = [  # n, d, k, step over 1/lambda_1, regularizer's step over it
    (5, 4, 2, 0.2, 1.1), (4, 6, 2, 0.98, 0.9), (6, 5, 3, 0.2, 0.01), (5, 6, 1, 0.3, 3.2),
    (5, 3, 3, 0.2, 0.5), (3, 3, 3, 0.1, 2.0),
]  # fmt: skip


def near(n, d, step, share):
    values = [1.5, 1.1, 0.8, 0.5][: min(n, d)]
    truth = lr.LowRankRegression.random(n=n, d=d, singular_values=values, rng=0)
    return truth, {"step_size": step / 1.5, "regularizer_step_size": share * step / 1.5}


@pytest.mark.parametrize(("n", "d", "k", "step", "share"), RATES)
def test_flute_local_rate_is_that_of_the_derivative(n, d, k, step, share):
    truth, steps = near(n, d, step, share)
    twin = reference.flute_local_rate(truth.Phi, k, *steps.values())
    np.testing.assert_allclose(flute.local_rate(truth, k, **steps), twin, rtol=1e-8)


def completion(**sizes):
    return lr.SideInformationCompletion.random(side="isometric", rng=1, **sizes)


@pytest.mark.parametrize(("tau", "C"), [(1, 4), (3, 2)])
def test_perfedsi_mean_square_is_that_of_sums(tau, C):
    truth = completion(n=6, d=4, p=2, k=1)
    gauge = np.concatenate([truth.U.ravel(), -truth.V.ravel()])
    gauge /= np.linalg.norm(gauge)
    keep = np.eye(6) - np.outer(gauge, gauge)
    units = np.eye(36).reshape(36, 6, 6)
    star = truth.U, truth.V, truth.Z
    images = [
        keep @ reference.perfedsi_second_moment(*star, 0.3, tau, C, keep @ S @ keep) @ keep
        for S in units
    ]
    growth = np.abs(np.linalg.eigvals(np.reshape(images, (36, 36)))).max()
    rate = perfedsi.mean_square_rate(truth, step_size=0.3, local_steps=tau, participants=C)
    close(growth, rate, 1e-9)
    assert rate >= perfedsi.mean_rate(truth, step_size=0.3, local_steps=tau) ** 2
    limit = perfedsi.step_limit(truth, local_steps=tau, participants=C)
    at = perfedsi.mean_square_rate(truth, step_size=limit, local_steps=tau, participants=C)
    close(at, 1.0, 1e-6)


@pytest.mark.parametrize("step", [0.2, 0.9])
def test_perfedsi_typical_runs_are_those_of_the_linear_map(step):
    truth = completion(n=12, d=5, p=3, k=1)
    settings = {"step_size": step, "local_steps": 2, "participants": 3}
    rate, low, high = perfedsi.typical_rate(truth, **settings, rng=0)
    assert low < rate < high
    assert low**2 < perfedsi.mean_square_rate(truth, **settings)
    start = tuple(M + 1e-7 * np.ones_like(M) for M in (truth.U, truth.V))
    logs = [
        np.log(np.divide(*run["error"][[60, 20]])) / 40
        for run in (
            lr.perfedsi(truth, rounds=60, start=start, rng=x, **settings) for x in range(60)
        )
    ]
    error = np.std(logs, ddof=1) / np.sqrt(60)
    assert abs(np.mean(logs) - np.log(rate)) <= 4.0 * error + np.log(high / low)


def test_perfedsi_small_steps():
    truth = completion(n=20, d=6, p=4, k=2, singular_values=(2.0, 1.0))
    rate = perfedsi.mean_rate(truth, step_size=1e-4, local_steps=3)
    small = perfedsi.small_step_rate(truth, step_size=1e-4, local_steps=3)
    close((1.0 - rate) / (1.0 - small), 1.0, 1e-3)

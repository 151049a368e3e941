"""FLUTE on fixed samples and PerFedSI near the truth: against perturbations, loops and runs."""

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


def test_flute_runs_end_at_the_floor():
    truth = low_rank(10, 6, [1.0, 1.0, 0.3])
    m = 400
    ends = [
        lr.flute(truth, m=m, k=2, rounds=1500, record=1500, rng=seed)["client_error"][-1]
        for seed in range(12)
    ]
    spread = 4.0 * np.std(ends, ddof=1) / np.sqrt(len(ends))
    predicted = flute.floor(truth, 2, m).error
    assert abs(np.mean(ends) - predicted) <= spread + predicted * truth.d / m


def test_flute_refuses_equal_singular_values():
    with pytest.raises(ValueError, match="above the next one"):
        flute.floor(low_rank(6, 5, [1.0, 1.0, 0.5]), 1, 50)
    truth = lr.LowRankRegression(np.diag([2.0, 1.0]), design="rademacher")
    with pytest.raises(ValueError, match="normal covariates"):
        flute.floor(truth, 1, 50)


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


def test_perfedsi_small_steps():
    truth = completion(n=20, d=6, p=4, k=2, singular_values=(2.0, 1.0))
    rate = perfedsi.mean_rate(truth, step_size=1e-4, local_steps=3)
    small = perfedsi.small_step_rate(truth, step_size=1e-4, local_steps=3)
    close((1.0 - rate) / (1.0 - small), 1.0, 1e-3)


def test_perfedsi_runs_near_the_truth():
    truth = completion(n=12, d=5, p=3, k=1)
    rng = np.random.default_rng(0)
    start = tuple(M + 1e-4 * rng.standard_normal(M.shape) for M in (truth.U, truth.V))
    settings = {"step_size": 0.2, "local_steps": 2, "participants": 12}
    squares = np.array([
        lr.perfedsi(truth, rounds=30, start=start, rng=seed, **settings)["error"][[10, 30]] ** 2
        for seed in range(100)
    ])  # fmt: skip
    first, last = squares.mean(axis=0)
    errors = squares.std(axis=0, ddof=1) / 10.0 / squares.mean(axis=0)
    rate = perfedsi.mean_square_rate(truth, **settings)
    assert abs(np.log(last / first) / 20 - np.log(rate)) <= 4.0 * np.hypot(*errors) / 20 + 5e-3

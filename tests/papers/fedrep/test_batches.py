"""The steps that the checks of FedRep's lemmas draw, against one another and against theory."""

import numpy as np
import pytest
from scipy.stats import f, kstest

from linrep.papers.fedrep.model import (
    DESIGNS,
    covariates,
    exact_heads,
    gaussian_head_errors,
    gaussian_step,
    instance,
    least_squares,
    sampled_step,
    sphere_heads,
    tilt,
)
from linrep.theory.fedrep_limits import gradient_bias


def test_sampled_step_is_that_of_the_paper():
    rng = np.random.default_rng(0)
    truth, B = instance(5, 7, 2, rng, distance=0.6)
    state = rng.bit_generator.state
    step = sampled_step(truth, B, 9, rng, split=False)
    rng.bit_generator.state = state
    X = covariates("gaussian", (5, 9, 7), rng)
    W = exact_heads(X, np.einsum("imd,id->im", X, truth.theta), B)
    Q = W @ B.T - truth.theta
    S = np.stack([x.T @ x @ q / 9 for x, q in zip(X, Q, strict=True)])
    np.testing.assert_allclose(step.heads, W, atol=1e-10)
    assert np.linalg.norm(step.error, 2) == pytest.approx(np.linalg.norm((S - Q).T @ W / 5, 2))
    stepped = B - 0.3 * S.T @ W / 5
    np.testing.assert_allclose(step.triangle(0.3), stepped.T @ stepped, atol=1e-10)


@pytest.mark.parametrize("split", [False, True])
def test_gaussian_steps_have_the_law_of_sampled_ones(split):
    rng = np.random.default_rng(1)
    drawn, sampled = [], []
    C, Phi = tilt(2, 0.5)
    for _ in range(1500):
        W = sphere_heads(20, 2, rng)
        step = gaussian_step(W, C, Phi, 10, 6, rng, split=split)
        drawn.append([np.linalg.norm(x, 2) for x in (step.error, step.gradient, step.heads)])
        truth, B = instance(20, 6, 2, rng, distance=0.5)
        step = sampled_step(truth, B, 10, rng, split=split)
        sampled.append([np.linalg.norm(x, 2) for x in (step.error, step.gradient, step.heads)])
    drawn, sampled = np.array(drawn), np.array(sampled)
    spread = np.sqrt((drawn.var(axis=0) + sampled.var(axis=0)) / len(drawn))
    assert np.all(np.abs(drawn.mean(axis=0) - sampled.mean(axis=0)) < 4.5 * spread)


def test_mean_of_one_batch_is_the_bias():
    rng = np.random.default_rng(2)
    W, (C, Phi) = sphere_heads(30, 2, rng), tilt(2, 0.5)
    errors = [gaussian_step(W, C, Phi, 14, 5, rng, split=False).error for _ in range(4000)]
    mean, spread = np.mean(errors, axis=0), np.std(errors, axis=0) / np.sqrt(len(errors))
    expected = np.vstack([*gradient_bias(W, C, Phi, m=14), np.zeros((1, 2))])
    assert np.all(np.abs(mean - expected) < 5.0 * spread)


@pytest.mark.parametrize("design", DESIGNS)
def test_covariates_are_isotropic(design):
    X = covariates(design, (40_000, 3), np.random.default_rng(3))
    np.testing.assert_allclose(X.T @ X / len(X), np.eye(3), atol=0.05)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=0.05)


def test_least_squares_of_least_norm():
    rng = np.random.default_rng(4)
    Z, y = rng.standard_normal((3, 2, 4)), rng.standard_normal((3, 2))
    expected = [np.linalg.pinv(z) @ target for z, target in zip(Z, y, strict=True)]
    np.testing.assert_allclose(least_squares(Z, y), expected, atol=1e-9)


@pytest.mark.parametrize(("k", "m"), [(1, 11), (3, 3), (3, 4)])  # at m = k without a mean
def test_head_errors_have_an_f_distribution(k, m):
    rng = np.random.default_rng(5)
    truth, B = instance(4000, 2 * k, k, rng, distance=0.5)
    outside = truth.theta - truth.theta @ B @ B.T
    X = rng.standard_normal((4000, m, truth.d))
    errors = least_squares(X @ B, (X @ outside[:, :, None])[..., 0])
    squares = np.sum(outside**2, axis=1)
    for found in (errors, gaussian_head_errors(squares, m, k, rng)):
        ratios = np.sum(found**2, axis=1) / squares * (m - k + 1) / k
        assert kstest(ratios, f(k, m - k + 1).cdf).pvalue > 1e-4

"""Gradients of simulated batches: how they depend on the head's error, given the residual.

The laws of whole rounds hardly notice an error here; given the residual's length it is plain.
"""

import numpy as np
import pytest
from scipy.stats import kstest

from linrep.kernels.gram_clients import (
    BLOCK,
    Batch,
    client_workspace,
    draw_gradients,
    fit_and_step,
)
from linrep.kernels.rounds import EXACT, Settings
from tests.tools import COMPILED, FALSE_ALARM

D, NOISE = 9, 0.3
RUNS = 2000 if COMPILED else 200


def error(k, noise, rng):
    """Return C, Phi, a true head, and what it adds outside, with s^2, for one client."""
    C, Phi = np.vsplit(np.linalg.qr(rng.standard_normal((2 * k, k)))[0], 2)
    C, Phi = C.copy(), Phi.copy()
    star = rng.standard_normal(k)
    outside = Phi @ star
    return C, star, outside, outside @ outside + noise**2


def apart(rng, m, k, noise):
    """Let one client draw its gradient for a given error; return error, gradient, |r|^2."""
    _, _, outside, square = error(k, noise, rng)
    lack, g = np.zeros((2 * k, BLOCK)), np.zeros((2 * k, BLOCK))
    squares, length, share = np.zeros((3, BLOCK))
    lack[k:, 0], squares[0] = outside, square
    draw_gradients(rng, float(m - k), k, noise, 1, lack, squares, length, share, g)
    return outside, g[k:, 0], length[0], square


def stepped(rng, m, k, noise, local_steps, step_size):
    """Let one client fit its head and draw its gradient; return w0 - w, f, gradient, |r|, s^2."""
    C, star, outside, square = error(k, noise, rng)
    work = client_workspace(k, D)
    work.star[:, 0], work.lack[:] = star, 0.0
    w = rng.standard_normal((k, 1))
    work.lack[k:, 0], work.square[0] = outside, square
    settings = Settings(0.1, True, local_steps, step_size, True, -1.0)
    fit_and_step(rng, Batch(m, noise, False), settings, 0, C, w, work)
    return C @ star - w[:, 0], outside, work.g[:, 0], work.length[0], square


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("m", [1, 2, 3, 4, 9])
@pytest.mark.parametrize(("local_steps", "step_size"), [(1, 0.1), (3, 0.0), (EXACT, 0.0)])
def test_the_same_with_heads_that_are_stepped(k, m, local_steps, step_size, fresh_rng):
    inside, outside, g, length, _ = stepped(fresh_rng, m, k, 0.0, local_steps, step_size)
    found = inside @ g[:k] + outside @ g[k:]
    scale = np.linalg.norm(np.append(inside, outside)) * np.linalg.norm(g)
    np.testing.assert_allclose(found, -(length**2), rtol=1e-10, atol=1e-12 * scale)


@pytest.mark.parametrize("k", [1, 3])
def test_with_noise_the_rest_is_normal(k, fresh_rng):
    rest = np.empty(RUNS)
    for run in range(RUNS):
        outside, g, length, square = apart(fresh_rng, k + 3, k, NOISE)
        norm = np.linalg.norm(outside)
        rest[run] = (outside @ g + norm**2 * length**2 / square) / (
            NOISE * norm * length / np.sqrt(square)
        )
    assert kstest(rest, "norm").pvalue > FALSE_ALARM


@pytest.mark.parametrize(("m", "k"), [(1, 1), (2, 3), (6, 2)])
def test_with_noise_and_stepped_heads_too(m, k, fresh_rng):
    rest = np.empty(RUNS)
    for run in range(RUNS):
        inside, outside, g, length, square = stepped(fresh_rng, m, k, NOISE, 2, 0.1)
        norm, s = np.linalg.norm(outside), np.sqrt(square)
        # r = -Z (w0 - w) - s u, so that u'r is known.
        along = -(inside @ g[:k] + length**2) / s
        rest[run] = (outside @ g[k:] - norm**2 * along / s) / (NOISE * norm * length / s)
    assert kstest(rest, "norm").pvalue > FALSE_ALARM

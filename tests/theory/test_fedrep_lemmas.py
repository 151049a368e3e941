from math import log, sqrt

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.linalg import norm

import linrep as lr
from linrep.theory import fedrep_lemmas as lemmas
from tests.strategies import frame, seeds
from tests.tools import EPS, close

positive = st.floats(0.01, 10.0)
shares = st.floats(0.0, 1.0)


@given(st.integers(1, 9), st.integers(1, 99), st.integers(1, 999), st.integers(1, 999), positive)
def test_deltas_are_as_defined(k, d, rn, m, c):
    close(lemmas.delta(k, rn, m, c), c * k**1.5 * sqrt(log(rn)) / sqrt(m), 1e-12 * c * k**2)
    expected = c * k * sqrt(d) / sqrt(rn * m)
    close(lemmas.delta_prime(k, d, rn, m, c), expected, 1e-12 * expected)
    assert lemmas.delta(k, 1, m) == 0.0  # a single participant


@given(st.floats(0.0, 0.99), positive, shares)
def test_the_bound_of_lemma_3(delta, heads_norm, distance):
    cross = delta * heads_norm * distance
    close(lemmas.cross_bound(delta, heads_norm, distance), cross, 1e-13 * cross)


def test_nothing_is_left_of_bounds_with_delta_1():
    for delta in (1.0, 2.0):
        assert lemmas.triangle_bound(delta, step_size=0.1, sigma_max=1.0) == np.inf
        sigmas = {"sigma_min": 1.0, "sigma_max": 1.0}
        assert lemmas.shrinking_bound(delta, step_size=0.1, distance=0.5, **sigmas) == np.inf


@given(seeds, shares, st.floats(0.0, 0.5), st.integers(1, 4))
def test_heads_with_errors_shrink_the_step_as_67_says(seed, share, delta, k):
    """Under the condition of (64), which the proof adds."""
    rng = np.random.default_rng(seed)
    n, d = 6, 8
    truth = lr.SharedRepresentation(frame(rng, d, k), rng.standard_normal((n, k)))
    B = lr.subspace.frame_at_distance(truth.B, share, rng=rng)
    distance = lr.subspace.distance(B, truth.B)
    bound_F = lemmas.cross_bound(delta, norm(truth.W, 2), distance) / (1.0 - delta)
    F = rng.standard_normal((n, k))
    F *= bound_F / norm(F, 2)
    exact = truth.W @ truth.B.T @ B
    W = exact - F
    step = 0.25 / truth.sigma_max() ** 2
    actual = norm(np.eye(k) - step / n * W.T @ W, 2)
    bound = lemmas.shrinking_bound(
        delta,
        step_size=step,
        sigma_min=truth.sigma_min(),
        sigma_max=truth.sigma_max(),
        distance=distance,
    )
    smallest = np.linalg.svd(truth.B.T @ B, compute_uv=False)[-1]
    printed = (
        1
        - step * truth.sigma_min() ** 2 * smallest**2
        + 2 * step * delta / (1 - delta) * truth.sigma_max() ** 2
    )
    close(bound, printed, 1e-12)
    if 2 * norm(F.T @ exact, 2) <= n * (truth.sigma_min() * smallest) ** 2:
        assert actual <= bound + 1e-12


def test_the_terms_of_84_as_printed():
    step, largest, delta = 0.2, 1.1, 0.1
    x = 4 * step * delta / (1 - delta) ** 2 * largest**2
    close(
        lemmas.triangle_bound(delta, step_size=step, sigma_max=largest), (1 - x) ** -0.5, 10 * EPS
    )
    assert lemmas.triangle_bound(0.0, step_size=step, sigma_max=largest) == 1.0
    assert lemmas.triangle_bound(0.6, step_size=step, sigma_max=largest) == np.inf

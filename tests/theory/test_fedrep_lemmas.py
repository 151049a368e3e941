from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.linalg import norm

import linrep as lr
from linrep.theory import fedrep_lemmas as lemmas
from linrep.theory.fedrep import contraction, failure_probability
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
def test_bounds_of_lemmas_2_to_5(delta, heads_norm, distance):
    close(lemmas.inverse_bound(delta), 1 / (1 - delta), 1e-13 / (1 - delta))
    cross = delta * heads_norm * distance
    close(lemmas.cross_bound(delta, heads_norm, distance), cross, 1e-13 * cross)
    error = cross / (1 - delta)
    close(lemmas.head_error_bound(delta, heads_norm, distance), error, 1e-12 * error)
    assert lemmas.concentration_bound(delta, distance) == delta * distance


def test_nothing_is_left_of_bounds_with_delta_1():
    for delta in (1.0, 2.0):
        assert lemmas.inverse_bound(delta) == np.inf
        assert lemmas.head_error_bound(delta, 1.0, 0.0) == np.inf
        assert lemmas.triangle_bound(delta, step_size=0.1, sigma_max=1.0) == np.inf
        sigmas = {"sigma_min": 1.0, "sigma_max": 1.0}
        assert lemmas.shrinking_bound(delta, step_size=0.1, distance=0.5, **sigmas) == np.inf
        assert lemmas.descent_bound(delta, step_size=0.1, **sigmas) == np.inf
    np.testing.assert_array_equal(lemmas.inverse_bound([0.0, 0.5, 1.0]), [1.0, 2.0, np.inf])


def test_probabilities_of_failure_as_printed():
    """rn = 1.02 stands for a logarithm so small that the bounds are numbers."""
    d, k, rn = 0.5 + 0.5, 1.5, 1.02
    at = {"d": d, "k": k, "participants": rn}
    square, cube = k**2 * log(rn), k**3 * log(rn)
    for lemma, proof, expected in (
        (2, False, exp(-111 * cube)),
        (2, True, exp(-110 * cube)),
        (3, False, exp(-111 * square)),
        (3, True, exp(-110 * square)),
        (4, False, exp(-110 * square)),
        (4, True, exp(-110 * cube) + exp(-110 * square)),
        (5, False, exp(-110 * d) + exp(-110 * square)),
        (5, True, exp(-110 * (d + k)) + exp(-110 * square)),
        (6, False, exp(-100 * min(square, d))),
        (6, True, exp(-110 * d) + exp(-110 * square)),
    ):
        assert 0.0 < expected < 1.0
        close(lemmas.lemma_failure(lemma, proof=proof, **at), expected, 1e-12)
    assert lemmas.lemma_failure(6, **at) == failure_probability(1, d, k, rn)
    assert lemmas.lemma_failure(4, n=50, **at) < lemmas.lemma_failure(4, **at)
    assert lemmas.lemma_failure(4, n=50, proof=True, **at) == lemmas.lemma_failure(
        4, proof=True, **at
    )


@pytest.mark.parametrize("lemma", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("proof", [False, True])
def test_a_single_participant_makes_every_probability_one(lemma, proof):
    assert lemmas.lemma_failure(lemma, d=9, k=2, participants=1, proof=proof) == 1.0


@given(seeds, shares, st.floats(0.0, 0.5), st.integers(1, 4))
def test_heads_with_errors_shrink_the_step_as_67_says(seed, share, delta, k):
    """Under the condition of (64), which the proof adds."""
    rng = np.random.default_rng(seed)
    n, d = 6, 8
    truth = lr.SharedRepresentation(frame(rng, d, k), rng.standard_normal((n, k)))
    B = lr.subspace.frame_at_distance(truth.B, share, rng=rng)
    distance = lr.subspace.distance(B, truth.B)
    bound_F = lemmas.head_error_bound(delta, norm(truth.W, 2), distance)
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
    close(lemmas.cross_term_bound(delta, step_size=step), 2 * step * delta, EPS)


@given(st.floats(1.0, 20.0), st.floats(0.0, 0.99), shares, shares)
def test_lemma_6_follows_from_its_last_bound(kappa, distance, step, fraction):
    """With delta up to the limit that the proof sets."""
    settings = {"step_size": 0.01 + 0.24 * step, "initial_distance": distance}
    bound = lemmas.descent_bound(
        fraction * lemmas.delta_limit(kappa, distance),
        sigma_min=1.0 / kappa,
        sigma_max=1.0,
        **settings,
    )
    assert bound <= contraction(1.0 / kappa, **settings) + 10 * EPS


def test_lemma_6_would_not_follow_from_what_the_proof_keeps_of_delta():
    """It keeps delta/(1 - delta)^2 <= E0/(5 kappa^2), where the limit has room to spare."""
    grid = np.linspace(0.0, 0.5, 100_001)
    delta = grid[grid / (1 - grid) ** 2 <= 0.2][-1]
    bound = lemmas.descent_bound(delta, step_size=0.25, sigma_min=1.0, sigma_max=1.0)
    assert bound > contraction(1.0, step_size=0.25)

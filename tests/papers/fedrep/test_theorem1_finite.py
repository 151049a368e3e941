"""`fedrep.theorem1.finite`: its bound, what moves it, and the moments that its derivation uses."""

import numpy as np
import pytest
from scipy.stats import chi2

from linrep.papers.fedrep import theorem1_finite
from linrep.papers.fedrep.theorem1_finite import Round, allowed, mean_and_bound, near
from linrep.problems import ImplicitRepresentation
from linrep.theory import finite, finite_bounds
from tests.reference import finite as reference
from tests.tools import close

CONSTANTS = {"own": 0.0, "left_out": 0.0, "pairs": 0.0, "cosine": 0.0, "added": 0.5}


def heads_of(n, k, seed=0):
    return np.random.default_rng(seed).standard_normal((n, k))


@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_the_bound_of_the_statement_is_that_of_the_theory(noise):
    for n, N, d, k, m in ((5, 2, 9, 2, 6), (4, 4, 3, 2, 4), (1, 1, 8, 1, 5)):
        W = heads_of(n, k)
        rho2, b = allowed(Round(W, N, d, m, np.zeros(k), 0.6, 0.2, noise))
        settings = {"m": m, "step_size": 0.2, "participation": N / n}
        truth = ImplicitRepresentation(W, d, noise)
        close(finite_bounds.contraction(truth, within=0.6, **settings) ** 2, rho2, 1e-12)
        close(finite_bounds.floor(truth, **settings), b, 1e-12)


@pytest.mark.parametrize(("constant", "noise"), CONSTANTS.items())
def test_three_percent_less_is_refuted_where_the_bound_is_met(constant, noise):
    ratios = [np.divide(*mean_and_bound(at)) for at in near(noise)]
    assert 1.0 - 1e-6 < min(ratios) <= max(ratios) <= 1.0 + 1e-9
    less = [np.divide(*mean_and_bound(at, **{constant: 0.97})) for at in near(noise)]
    assert max(less) > 1.0 + 1e-5


def test_short_steps_from_afar_meet_the_bound_after_the_factorization_too():
    """Of many samples a round is the population's; 3 % less in 1 - d_1^2 is refuted by it."""
    *_, at = near()
    h, s2 = at.step_size * (1.0 - 1.0 / at.m), float(at.sines[0]) ** 2
    moved = (1.0 - h * (1.0 - s2)) ** 2 * s2
    after = moved / (moved + (1.0 - s2) * (1.0 + h * s2) ** 2)
    assert after > allowed(at, cosine=0.97)[0] * s2
    assert after < allowed(at)[0] * s2


def test_near_the_truth_it_is_the_factor_of_the_mean_square():
    for n, N, d, k, m, step in theorem1_finite._NEAR:
        truth = ImplicitRepresentation(np.sqrt(k) * np.eye(k)[np.arange(n) % k], d)
        settings = {"m": m, "step_size": step, "participation": N / n}
        rho = finite.contraction(truth, **settings)
        close(finite_bounds.contraction(truth, within=1e-5, **settings), rho, 1e-9)


def rooted(values, q):
    return np.mean(np.abs(values) ** q) ** (1.0 / q)


def test_moments_of_chi_are_those_of_draws():
    rng = np.random.default_rng(0)
    for q, nu in ((2, 3), (4, 6), (6, 20)):
        squares = rng.chisquare(nu, 400_000)
        close(finite_bounds._spread(q, nu), rooted(squares - nu, q), 0.05)
        close(finite_bounds._chi(q, nu), rooted(np.sqrt(squares), q), 0.02)
    inverse = chi2(9).expect(lambda x: x**-2.0)
    close(finite_bounds._chi(-4, 9), inverse ** (-1 / 4), 1e-6)
    assert finite_bounds._chi(4, 0) == 0.0


@pytest.mark.parametrize(("N", "q"), [(6, 2), (6, 4), (2, 4), (1, 6)])
def test_moments_of_sampled_rounds_are_within_the_bound(N, q):
    rng, d, k, m, within = np.random.default_rng(N), 7, 2, 14, 0.4
    W = heads_of(6, k)
    step = 0.5 * 6 / np.linalg.norm(W, 2) ** 2
    truth, B = reference.frames(d, (within, 0.2), rng)
    moved, _ = reference.rounds(
        np.tile(B, (5000, 1, 1)), truth, W, participants=N, m=m, step_size=step, noise=0.0, rng=rng
    )
    sines = np.sqrt(reference.squared_sines(np.linalg.qr(moved)[0], truth))
    rho = finite_bounds.contraction(
        ImplicitRepresentation(W, d), m=m, step_size=step, within=within, participation=N / 6,
        moment=q,
    )  # fmt: skip
    mean = np.mean(np.sum(sines**q, axis=1)) ** (1.0 / q)
    assert mean < rho * (within**q + 0.2**q) ** (1.0 / q)


def test_so_many_samples_are_the_least():
    truth = ImplicitRepresentation(np.sqrt(2.0) * np.eye(2)[np.arange(100) % 2], 20)
    near_start, far = (
        finite_bounds.least_samples(truth, step_size=0.25, initial_distance=x) for x in (0.1, 0.3)
    )
    assert near_start == 4.0
    assert 4.0 < far < 12.0
    few = finite_bounds.least_samples(
        truth, step_size=0.25, initial_distance=0.3, participation=0.02
    )
    assert few == np.inf
    # A far start: the squared sines add up to 1.62, and a high moment covers it.
    assert 100 < finite_bounds.least_samples(truth, step_size=0.25, initial_distance=0.9) < 1000
    assert finite_bounds.least_samples(truth, step_size=0.25, initial_distance=0.99) == np.inf

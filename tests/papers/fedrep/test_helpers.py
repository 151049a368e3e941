"""What the checks are built of, against naive versions."""

from itertools import combinations, product
from math import prod

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2

from linrep.papers.fedrep import (
    assumption1_definition2,
    assumption2_3,
    assumption3_relaxed,
    claim1,
    collaboration,
    eq48_to_50,
    eq70_to_84,
    heads,
    lemma2,
    lemma3_4,
    theorem2,
)
from linrep.papers.fedrep.concentration import sampled_sides
from linrep.papers.fedrep.model import sensing
from linrep.theory.fedrep_lemmas import triangle_bound


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_moments_of_signs(rng):
    v = rng.standard_normal(4)
    products = np.array(list(product((-1.0, 1.0), repeat=4))) @ v
    assert np.isclose(assumption1_definition2.mgf("rademacher", v), np.exp(products).mean())
    assert np.isclose(assumption1_definition2.fourth("rademacher", v), (products**4).mean())


def test_moments_of_uniform_covariates(rng):
    v, ends = rng.standard_normal(3), 3.0**0.5
    each = [quad(lambda x, a=a: np.exp(a * x), -ends, ends)[0] / (2 * ends) for a in v]
    assert np.isclose(assumption1_definition2.mgf("uniform", v), np.prod(each))
    x = rng.uniform(-ends, ends, (400_000, 3)) @ v
    assert np.isclose(assumption1_definition2.fourth("uniform", v), (x**4).mean(), rtol=0.02)
    assert np.isclose(assumption1_definition2.mgf("uniform", v * 1e-6), 1.0)


def test_moments_on_the_sphere(rng):
    v = np.array([0.3, -1.1, 0.6])
    x = rng.standard_normal((400_000, 3))
    products = np.sqrt(3.0) * (x @ v) / np.linalg.norm(x, axis=1)
    radius = np.sqrt(3.0) * np.linalg.norm(v)  # a coordinate is uniform (Archimedes)
    assert np.isclose(assumption1_definition2.mgf("sphere", v), np.sinh(radius) / radius)
    assert np.isclose(assumption1_definition2.fourth("sphere", v), (products**4).mean(), rtol=0.02)


def test_moments_of_dependent_coordinates():
    for j in range(1, 8):  # of 0 with probability 2/3, else +-sqrt(3)
        normal = prod(range(1, 2 * j, 2))
        assert claim1.moment(1, j) * normal == 3 ** (j - 1)


def test_first_update_that_is_enough():
    spectrum, error = np.array([3.0, 1.0, 0.2]), np.array([1.0, 2.0, 0.5])
    left, s = error.copy(), 0
    while np.linalg.norm(left) > 1e-3 * np.linalg.norm(error):
        left *= 1.0 - spectrum / 3.0
        s += 1
    assert heads.first(spectrum, error, np.log(1e3)) == s


def test_no_polynomial_lowers_the_loss_sooner(rng):
    spectrum, error = rng.uniform(0.1, 3.0, 7), rng.standard_normal(7)
    losses = [np.sum(spectrum * error**2)]
    for s in range(1, 8):
        # The loss after s updates, minimized over the coefficients of the gradients.
        span = np.stack([spectrum ** (j + 1) * error for j in range(s)], axis=1)
        root = np.sqrt(spectrum)
        best = np.linalg.lstsq(root[:, None] * span, -root * error, rcond=None)[0]
        losses.append(np.sum(spectrum * (error + span @ best) ** 2))
    for epsilon in (0.5, 1e-1, 1e-2, 1e-3):
        expected = next((s for s in range(1, 7) if losses[s] <= epsilon * losses[0]), 7)
        assert heads.krylov(spectrum, error, epsilon) == expected


@pytest.mark.parametrize("rn", [3, 4, 9])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_extreme_subsets(rng, rn, sign):
    W = rng.standard_normal((9, 3))
    values = [
        np.linalg.eigvalsh(W[list(chosen)].T @ W[list(chosen)] / rn)[0 if sign < 0.0 else -1]
        for chosen in combinations(range(9), rn)
    ]
    expected = min(values) if sign < 0.0 else max(values)
    assert np.isclose(assumption2_3.extreme_subset(W, rn, sign, rng), expected)


@pytest.mark.parametrize("k", [1, 3])
def test_shortened_heads(rng, k):
    norms = np.linalg.norm(assumption3_relaxed.shortened(50, 8, k, 0.5, rng).W, axis=1)
    assert norms.min() >= 0.5 * np.sqrt(k) - 1e-12
    assert norms.max() <= np.sqrt(k) + 1e-12
    W = assumption3_relaxed.shortened(50, 8, k, 1e-3, rng).W
    assert np.allclose(W[:k], np.sqrt(k) * np.eye(k))
    assert np.allclose(np.linalg.norm(W[k:], axis=1), 1e-3 * np.sqrt(k))


@pytest.mark.parametrize("d", [1, 2])
def test_quarter_nets(rng, d):
    points = rng.standard_normal((500, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    net = eq48_to_50.net(d, rng)
    assert np.allclose(np.linalg.norm(net, axis=1), 1.0)
    gaps = np.linalg.norm(points[:, None] - net[None], axis=2).min(axis=1)
    assert gaps.max() <= 0.25


def test_needed_inverts_the_bound():
    for least in (0.4, 0.9, 0.999):
        delta = eq70_to_84.needed(np.diag([least, 1.0]), 0.1, 1.3)
        bound = triangle_bound(delta, step_size=0.1, sigma_max=1.3)
        assert float(bound) == pytest.approx(least**-0.5)
    assert eq70_to_84.needed(1.5 * np.eye(2), 0.1, 1.3) == 0.0


def test_sensing_operator(rng):
    X, M = rng.standard_normal((3, 2, 4)), rng.standard_normal((3, 4))
    A = sensing(X)
    for i, j in product(range(3), range(2)):
        matrix = np.outer(np.eye(3)[i], X[i, j])
        assert np.allclose(A[2 * i + j], matrix.ravel())
        assert np.isclose((A @ M.ravel())[2 * i + j], np.sum(matrix * M))


def test_smallest_eigenvalues_by_the_triangular_factor(rng):
    drawn = lemma2.smallest_eigenvalues(3, 12, 2, 1500, rng)
    sampled = [sampled_sides("gaussian", 3, 12, 2, rng)[0] for _ in range(1500)]
    spread = np.sqrt((drawn.var() + np.var(sampled)) / 1500)
    assert abs(drawn.mean() - np.mean(sampled)) < 4.5 * spread


@pytest.mark.parametrize("df", [1.0, 2.0, 3.0, 8.0, 100.0])
def test_tails_are_bounded_from_above(df):
    x = df * np.array([0.5, 1.0, 2.0, 3.0])
    assert np.all(chi2.logsf(x, df) <= lemma3_4.chernoff(df, x) + 1e-9)


def test_lemma_3_is_violated_at_least_as_often_as_bounded_from_below(rng):
    """At c = 1/4, k = rn = 2, heads sqrt(k) e_i, and one sample each."""
    found = lemma3_4.violated(0.25, None, 4.0)
    assert (found.setting["k"], found.setting["m"]) == (2, 1)
    u, z = rng.standard_normal((20_000, 2)), rng.chisquare(2, (20_000, 2))
    rows = np.sqrt(2.0) * np.abs(u) * np.sqrt(z)  # sqrt(k) |u| |z|
    share = np.mean(np.linalg.norm(rows, axis=1) > 0.25 * 2**1.5 * np.sqrt(2.0 * np.log(2.0)))
    bound = float(found.measured) - 4.0 * 4.0 * np.log(2.0)
    assert bound <= np.log(share)


@pytest.mark.parametrize("power", [-1.0, 0.0, 2.0])
def test_fitted_exponent_of_a_power_law(power):
    x = np.array([1, 4, 16])
    assert collaboration.fitted(x, 3.0 * x**power) == pytest.approx(power)


def test_heads_of_rank_two_and_skewed_ones(rng):
    W = theorem2.heads(10, 2, 3.0, rng)
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), np.sqrt(2.0))
    np.testing.assert_allclose(np.linalg.cond(W), 3.0)
    B, W = theorem2.skewed(6, True, rng)
    np.testing.assert_allclose(W.T @ W / len(W), [[1.0, 0.8], [0.8, 1.0]])
    np.testing.assert_allclose(B, np.eye(6, 2))


def test_bound_is_a_power_of_the_share_of_samples():
    expected = 4.0 * 2 * 8 / (0.2 * 50 * 10)  # kappa~ = 2: sigma_min,*^2 = sin(t)^2 = 1/5
    np.testing.assert_allclose(theorem2.bound((50, 10, 8, 2, 2.0), 1.0), expected)
    np.testing.assert_allclose(theorem2.bound((50, 10, 8, 2, 2.0), 0.5), np.sqrt(expected))

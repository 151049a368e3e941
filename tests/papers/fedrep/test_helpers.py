"""Formulas behind the checks of definitions and assumptions, against naive versions."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.integrate import quad

from linrep.claims import Budget
from linrep.papers.fedrep import (
    assumption1_definition2,
    assumption2_3,
    definition1,
    definition3,
    eq4_eq5,
    heads,
)
from linrep.problems import SharedRepresentation


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def signs(d):
    return np.array(list(product((-1.0, 1.0), repeat=d)))


def test_moments_of_signs(rng):
    v = rng.standard_normal(4)
    products = signs(4) @ v
    assert np.isclose(assumption1_definition2._mgf("rademacher", v), np.exp(products).mean())
    assert np.isclose(assumption1_definition2._fourth("rademacher", v), (products**4).mean())


def test_moments_of_uniform_covariates(rng):
    v = rng.standard_normal(3)
    ends = 3.0**0.5
    each = [quad(lambda x, a=a: np.exp(a * x), -ends, ends)[0] / (2 * ends) for a in v]
    assert np.isclose(assumption1_definition2._mgf("uniform", v), np.prod(each))
    x = rng.uniform(-ends, ends, (400_000, 3)) @ v
    assert np.isclose(assumption1_definition2._fourth("uniform", v), (x**4).mean(), rtol=0.02)
    assert np.isclose(assumption1_definition2._mgf("uniform", v * 1e-6), 1.0)


def test_moments_on_the_sphere(rng):
    v = np.array([0.3, -1.1, 0.6])
    x = rng.standard_normal((400_000, 3))
    products = np.sqrt(3.0) * (x @ v) / np.linalg.norm(x, axis=1)
    # In three dimensions a coordinate is uniform (Archimedes).
    radius = np.sqrt(3.0) * np.linalg.norm(v)
    assert np.isclose(assumption1_definition2._mgf("sphere", v), np.sinh(radius) / radius)
    assert np.isclose(assumption1_definition2._fourth("sphere", v), (products**4).mean(), rtol=0.02)


def test_first_update_that_is_enough():
    spectrum, weights = np.array([3.0, 1.0, 0.2]), np.array([1.0, 2.0, 0.5])
    for step in (1.0 / 3.0, 2.0 / 3.2):
        left, s = weights.copy(), 0
        while left.sum() > 1e-6 * weights.sum():
            left *= (1.0 - step * spectrum) ** 2
            s += 1
        assert heads._first(spectrum, weights, step, np.log(1e-6)) == s


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
        assert heads._krylov(spectrum, error, epsilon) == expected


def test_slopes_are_regressions(rng):
    counts = heads._count_updates(Budget("quick"), rng)
    slopes = heads._slopes(counts)
    for batch, rows in list(counts.groupby("batch"))[::10]:
        for name in heads._METHODS:
            slope = np.polyfit(rows["log"], rows[name], 1)[0]
            assert np.isclose(slopes.loc[batch, name], slope, atol=1e-9)


@pytest.mark.parametrize("rn", [1, 2, 4, 9])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_extreme_subsets(rng, rn, sign):
    W = rng.standard_normal((9, 3))
    values = [
        np.linalg.eigvalsh(W[list(chosen)].T @ W[list(chosen)] / rn)[0 if sign < 0.0 else -1]
        for chosen in combinations(range(9), rn)
    ]
    expected = max(min(values), 0.0) if sign < 0.0 else max(values)
    assert np.isclose(assumption2_3.extreme_subset(W, rn, sign, rng), expected, atol=1e-12)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_search_for_extreme_subsets(rng, monkeypatch, sign):
    W = rng.standard_normal((14, 2))
    exact = assumption2_3.extreme_subset(W, 6, sign, rng)
    monkeypatch.setattr(assumption2_3, "comb", lambda n, k: 10**9)
    assert np.isclose(assumption2_3.extreme_subset(W, 6, sign, rng), exact)


def test_smallest_parameter(rng):
    M = rng.standard_normal((5, 3))
    mu = definition3._parameter(M)
    rows = [np.linalg.norm(row) for row in M]
    limit = mu * np.sqrt(3) / np.sqrt(5) * np.sqrt(sum(x**2 for x in M.ravel()))
    assert np.isclose(max(rows), limit)


def test_printed_distance(rng):
    B1, B2 = rng.standard_normal((2, 7, 3))
    Q1, Q2 = np.linalg.qr(B1)[0], np.linalg.qr(B2)[0]
    assert np.isclose(definition1._printed(B1, B2), np.linalg.norm(Q2 - Q1 @ Q1.T @ Q2, 2))
    assert definition1._printed(np.eye(3), np.eye(3)) == 0.0
    thin = B1[:, :1] @ np.ones((1, 3))  # a basis of three columns and rank 1
    assert np.isclose(definition1._printed(B1, thin), 0.0)
    assert np.isclose(definition1._printed(thin, B1), 1.0)


def test_far_minimizers(rng):
    for d, k, n in ((5, 1, 4), (6, 2, 5), (9, 3, 7), (4, 3, 8)):
        for centred in (False, True):
            W = rng.standard_normal((n, k))
            truth = SharedRepresentation(
                np.linalg.qr(rng.standard_normal((d, k)))[0], W - centred * W.mean(axis=0)
            )
            B, w = eq4_eq5._far_minimizer(truth, truth.theta.mean(axis=0), centred)
            assert B.shape == (d, k)
            assert np.allclose(B @ w, truth.theta.mean(axis=0))
            assert np.linalg.matrix_rank(B) == k

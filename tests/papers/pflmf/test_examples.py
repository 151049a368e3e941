"""Helpers of the claims on pFL^MF's examples."""

import numpy as np
import pytest
from scipy.special import expit

import linrep as lr
from linrep.papers.pflmf import example1_2_3 as module
from linrep.problems import personal


@pytest.mark.parametrize("loss", module.LOSSES)
def test_no_model_near_an_optimum_has_a_smaller_loss(loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = np.where(rng.random(60) < expit(X[:, 0]), 1.0, -1.0)
    ridge = 0.0 if loss == "hinge" else 0.1

    def value(theta):
        margins = y * (X @ theta)
        losses = {
            "logistic": np.log1p(np.exp(-margins)),
            "hinge": np.maximum(0.0, 1.0 - margins),
            "least squares": 0.5 * (X @ theta - y) ** 2,
        }
        return losses[loss].mean() + 0.5 * ridge * theta @ theta

    found = module.optimum(loss, X, y, ridge, rng)
    near = found + 1e-3 * rng.standard_normal((200, 3))
    assert value(found) < min(map(value, near))


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_separable_samples_have_no_optimum(loss):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((10, 2))
    assert module.optimum(loss, X, np.sign(X @ [1.0, 2.0]), 0.0, rng) is None


def test_alternating_solutions_reach_the_optimum():
    rng = np.random.default_rng(2)
    A, root = rng.standard_normal((12, 5)), rng.standard_normal((5, 5))
    problem = lr.QuadraticObjectives(A, root @ root.T)
    for k in (1, 3):
        found = module.alternating(A, root @ root.T, k, rng)
        assert found == pytest.approx(problem.best(k).value, rel=1e-9)


@pytest.mark.parametrize("kind", module.KINDS)
def test_ratings_have_the_rank_that_they_should(kind, monkeypatch):
    monkeypatch.setattr(module, "NOISE", 0.0)
    M = module.ratings(kind, 3, np.random.default_rng(3))
    rank = {"factors": 3, "factors around common scores": 4}.get(kind, 30)
    assert np.linalg.matrix_rank(M) == rank


def test_every_item_and_client_is_seen_and_means_are_of_what_is_seen():
    rng = np.random.default_rng(4)
    M = rng.standard_normal((20, 15))
    mask = module.seen_in_part(M, 0.05, rng)
    assert mask.any(axis=0).all()
    assert mask.any(axis=1).all()
    expected = [M[mask[:, j], j].mean() for j in range(15)]
    np.testing.assert_allclose(module.item_means(M, mask), expected)


@pytest.mark.compiled
def test_factors_are_found_from_half_of_the_entries():
    rng = np.random.default_rng(5)
    M = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30))
    mask = module.seen_in_part(M, 0.6, rng)
    np.testing.assert_allclose(module.factorized(M, mask, 2, rounds=5000), M, atol=1e-6)
    assert personal.masked(M, mask).value(M) == 0.0

"""Counterexamples that claims of FedRep compute in fractions, against floating-point arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

import linrep as lr
from linrep.papers.fedrep import collaboration
from linrep.papers.fedrep.counterexamples import (
    a1_w,
    claim1_proof,
    eq12,
    eq85,
    global_minima,
    heads_gd,
    init_remark,
    lemma2_eq31,
    lemma5_eq50,
    lemma5_union,
    privacy,
)
from linrep.papers.fedrep.eq48_to_50 import net
from linrep.problems.subspace import distance
from linrep.theory.expectations import moments_distance
from linrep.theory.fedrep import sample_size, total_samples_of_theorem1


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_one_sample_is_read_off_its_statistic():
    assert privacy.error() == 0
    x = np.array(privacy.found(), dtype=float)
    np.testing.assert_allclose(9.0 * np.outer(x, x), privacy.statistic())


def test_the_start_of_sign_vectors_loses_a_direction():
    heads = np.array(init_remark.HEADS, dtype=float)
    truth = lr.SharedRepresentation(np.eye(3, 2), heads, design="rademacher")
    assert moments_distance(truth) == pytest.approx(float(init_remark.squared_distance()) ** 0.5)
    data = truth.draw(20_000, rng=0)
    assert distance(lr.moments_start(data, 2), truth.B) == pytest.approx(1.0, abs=0.01)
    assert truth.condition == pytest.approx(4 / 3)
    mean = [init_remark.image(tuple(map(int, row))) for row in np.eye(3)]
    values = np.linalg.eigvalsh(np.array(mean, dtype=float))
    np.testing.assert_allclose(values, sorted(map(float, init_remark.eigenvalues())))


def test_heads_of_the_appendix_have_their_mean_square(rng):
    for n, k in ((2, 1), (10, 2)):
        W = lr.SharedRepresentation.random(n=n, d=k, k=k, heads="scaled_qr", rng=rng).W
        assert np.mean(np.sum(W**2, axis=1)) == pytest.approx(float(a1_w.mean(n, k, k)))
    assert a1_w.sides() == (1, Fraction(16, 25))


def test_what_a_ratio_leaves_open_is_what_is_left_of_the_parameters():
    for d, m in ((4, 1), (4, 2), (20, 6), (20, 10)):
        delta = np.linspace(0.0, 1.0, 100_001)
        left = np.mean(1.0 + delta >= d / (2 * m))
        assert max(float(claim1_proof.left_open(d, m)), 0.0) == pytest.approx(left, abs=1e-4)


def test_the_bounds_of_logarithms_are_bounds():
    left, right = map(float, lemma2_eq31.sides())
    root = np.sqrt(2 * np.log(50))
    assert left <= 121 * 8 * np.log(50)
    assert right >= 2 * (12 * root - 1) ** 2
    assert float(lemma5_union.sides()[1]) >= np.exp(2.0)


def test_a_lone_sample_on_nets_of_the_circle():
    left, right = lemma5_eq50.sides()
    M = np.array([[float(lemma5_eq50.matrix(2, 1, 1))]])
    assert np.linalg.norm(M, 2) ** 2 == left
    assert 2 * (net(1) @ M @ net(1).T).max() == right


def test_the_loss_of_pairs_in_fractions(rng):
    W, Q = rng.integers(-3, 4, (2, 2)), np.array([[2, 1], [1, 1]])
    B = np.eye(3, 2, dtype=int)
    pair = [[[Fraction(int(x)) for x in row] for row in matrix] for matrix in (W, Q)]
    inverse = np.linalg.inv(Q)
    np.testing.assert_allclose(np.array(global_minima.inverse(pair[1]), dtype=float), inverse)
    expected = [(inverse @ W) @ (B @ Q.T).T, (B @ Q.T @ (inverse @ W.T)).T]
    for models, heads in zip(expected, global_minima.printed(*pair).values(), strict=True):
        risk = 0.5 * np.mean(np.sum((models - W @ B.T) ** 2, axis=1))
        assert float(global_minima.loss(heads, *pair)) == pytest.approx(risk)


def test_the_second_half_of_85():
    left, right = eq85.right_half(Fraction(1, 4), Fraction(1, 10))
    assert (left, right) == (Fraction(3, 5), Fraction(7, 8))


def test_one_update_leaves_most_of_the_loss_whatever_the_step():
    spectrum, error = (np.array(x, dtype=float) for x in (heads_gd.SPECTRUM, heads_gd.ERROR))
    steps = np.linspace(0.0, 100.0, 100_001)
    losses = (spectrum * ((1.0 - steps[:, None] * spectrum) * error) ** 2).sum(axis=1)
    assert losses.min() / losses[0] == pytest.approx(float(heads_gd.left_by_one_update()), rel=1e-6)


def test_the_lower_bound_of_the_samples_is_near_what_theorem_1_asks_for():
    kappa, far, eps = 64.0, 0.5, 1e-6
    asked = total_samples_of_theorem1(eps, 1e9, 2, 20, condition=kappa, initial_distance=far)
    unit = sample_size(1e9, 2, 20) * np.log(1.0 / eps)  # (12) at kappa = 1
    bound = eq12.over_claimed(Fraction(64), Fraction(3, 4), 4, 0)
    assert 0.99 < float(bound) * kappa**4 * unit / float(asked) <= 1.0


def test_a_lone_client_needs_more_than_a_thousand_times_the_federated_rate():
    relation, where = collaboration.large_both(14)
    d, n = where["d"], where["n"]
    assert relation.left == d > relation.right >= 1000 * (d / n + np.log(n))
    relation, _ = collaboration.large_both(10)
    assert relation.left < relation.right

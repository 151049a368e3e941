"""Counterexamples that claims of FedRep compute in fractions, against floating-point arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

import linrep as lr
from linrep.papers.fedrep import collaboration, eq11_eq12, heads, privacy, theorem2
from linrep.problems.subspace import distance
from linrep.theory.expectations import moments_distance
from linrep.theory.fedrep import sample_size, total_samples_of_theorem1


def test_one_sample_is_read_off_its_statistic():
    error, where = privacy._smallest_leak()
    assert error == 0
    x = np.array(where["x found, up to a factor"])
    np.testing.assert_allclose(9.0 * np.outer(x, x), where["Z"])


def test_the_start_of_sign_vectors_loses_a_direction():
    squared, limit, where = theorem2._lost_direction(0.9)
    truth = lr.SharedRepresentation(np.eye(3, 2), np.array(where["heads"]), design="rademacher")
    assert moments_distance(truth) == pytest.approx(float(squared) ** 0.5)
    assert limit == Fraction(81, 100)
    data = truth.draw(20_000, rng=0)
    assert distance(lr.moments_start(data, 2), truth.B) == pytest.approx(1.0, abs=0.01)
    kappa = truth.condition
    assert kappa == pytest.approx(4 / 3)


def test_one_update_leaves_most_of_the_loss_whatever_the_step():
    case = heads._two_directions(0.0, 1.0).cases[0]
    spectrum, error = np.array(case[2]["eigenvalues of G"]), np.array(case[2]["first error"])
    steps = np.linspace(0.0, 100.0, 100_001)
    losses = (spectrum * ((1.0 - steps[:, None] * spectrum) * error) ** 2).sum(axis=1)
    assert losses.min() / losses[0] == pytest.approx(float(case[0]), rel=1e-6)
    assert case[2]["updates"] == 1
    assert heads._two_directions(1.0, 1.0).cases[0][0] == 0


def test_the_lower_bound_of_the_samples_is_near_what_theorem_1_asks_for():
    kappa, far, eps = 64.0, 0.5, 1e-6
    asked = total_samples_of_theorem1(eps, 1e9, 2, 20, condition=kappa, initial_distance=far)
    unit = sample_size(1e9, 2, 20) * np.log(1.0 / eps)  # (12) at kappa = 1
    bound, _, _ = eq11_eq12._over_claimed(Fraction(64), Fraction(3, 4), 4.0, 0.0)
    assert 0.99 < float(bound) * kappa**4 * unit / float(asked) <= 1.0


def test_a_lone_client_needs_more_than_a_thousand_times_the_federated_rate():
    needed, claimed, where = collaboration._large_both(14)
    d, n = where["d"], where["n"]
    assert needed == d > claimed >= 1000 * (d / n + np.log(n))
    assert collaboration._large_both(10)[0] < collaboration._large_both(10)[1]

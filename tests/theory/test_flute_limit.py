"""Where FLUTE ends on samples: bounds against their parts, and by themselves."""

import numpy as np
import pytest
from scipy.stats import norm

import linrep as lr
from linrep.theory import asymptotics
from linrep.theory.flute_limit import Perturbation, limit, perturbation, sufficient_samples


def truth_of(n=7, d=5, values=(2.0, 1.5, 0.7), noise=0.3, unit=1.0):
    values = unit * np.array(values)
    return lr.LowRankRegression.random(n=n, d=d, singular_values=values, noise=unit * noise, rng=0)


@pytest.mark.parametrize(
    ("n", "d", "k", "values", "noise"),
    [(5, 4, 2, [2.0, 1.5, 0.7], 0.3), (3, 6, 1, [1.0], 0.5), (6, 3, 3, [3.0, 2.0, 1.0], 1.0)],
)
def test_bounds_are_those_of_the_derivation(n, d, k, values, noise):
    truth, m, failure = truth_of(n, d, values, noise), 400, 0.05
    found = perturbation(truth, k, m, failure=failure)
    u, q = np.log(8 * n / failure), norm.isf(failure / 4)
    t, kappa = ((d + 1) ** 0.5 + (2 * u) ** 0.5) / m**0.5, 2 * (u / m) ** 0.5 + 2 * u / m
    best, square, sizes = truth.best(k), 0.0, []
    for i, r in enumerate((truth.Phi - best.B @ best.W.T).T):  # V, an entry of zeta at a time
        U, _, V = truth.svd
        sizes.append(r @ r + noise**2)
        variances = np.diag(U.T @ (sizes[-1] * np.eye(d) + np.outer(r, r)) @ U)
        kept = np.outer(variances, V[i] ** 2)
        square += kept.sum() - kept[k:, k:].sum()
    largest, tail = max(sizes) ** 0.5, [*values, 0.0][k]
    along = (square / (0.5 - failure / 8)) ** 0.5 + 2 * (1 + t) * q * largest
    whole = sum(sizes) ** 0.5 + (d**0.5 + q) * largest
    expected = (
        (1 + t) ** 2 - 1, kappa * tail + ((1 + kappa) / m) ** 0.5 * whole, along / m**0.5
    )  # fmt: skip
    np.testing.assert_allclose(found, expected)


def test_the_samples_that_are_enough_are_the_least_in_any_unit():
    for k in (1, 2, 3):
        truth = truth_of()
        m = int(sufficient_samples(truth, k, 0.1))
        ends = [limit(truth, k, perturbation(truth, k, size)).distance for size in (m - 1, m)]
        assert ends[0] > 0.1 * 7**0.5 >= ends[1]
        assert m > asymptotics.flute.sufficient_samples(truth, k, 0.1)
        assert abs(sufficient_samples(truth_of(unit=1e3), k, 100.0) - m) <= 1


def test_many_samples_leave_the_noise_over_the_gap_and_few_nothing():
    truth = truth_of()
    changed = perturbation(truth, 2, 10**14)
    found = limit(truth, 2, changed)
    assert found.distance == pytest.approx(changed.along / (1.0 - 0.7 / 1.5), rel=1e-4)
    assert found.curvature == pytest.approx(truth.gap(2) / 2, rel=1e-4)
    assert limit(truth, 2, Perturbation(0.0, 0.0, 0.0)).distance == 0.0
    for changed in (perturbation(truth, 2, 1000), (0.0, 1.4, 0.0), (0.0, 0.41, 0), (0.2, 0.0, 0.0)):
        assert limit(truth, 2, Perturbation(*changed)) == (np.inf, 0.0)

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linrep as lr
from linrep.theory import bounds, minimax
from tests.strategies import seeds
from tests.theory.support import problem
from tests.tools import close


def test_prediction_errors_by_hand():
    """d = 9, k = 2, n = 4: 8/(m - 3) of the heads, 18/m of the representation."""
    m = np.array([1, 2, 3, 4, 5, 6, 8])
    found = minimax.prediction_error(9, 2, 4, m, noise=0.5)
    np.testing.assert_array_equal(found[:3], np.inf)
    close(found[3:], 0.25 * np.array([8.0, 4.0, 3.0, 2.25]), 1e-15)
    close(minimax.prediction_error(2, 2, 4, 8, noise=0.5), 0.25 * 8 / 5, 1e-15)
    np.testing.assert_array_equal(
        minimax.prediction_error(9, 2, 4, [1, 2, 5], noise=0.0), [np.inf, 0.0, 0.0]
    )


@given(seeds, st.integers(1, 3), st.integers(0, 3), st.integers(0, 6))
def test_prediction_errors_are_those_of_the_easier_problems(seed, k, extra, more):
    truth = problem(seed, n=4, d=k + extra, k=k)
    m = k + 2 + more
    found = minimax.prediction_error(truth.d, k, 4, m, noise=truth.noise)
    easier = bounds.known_representation(truth, m).total, bounds.known_heads(truth, m).total
    close(found, max(easier), 1e-9)
    # At least half of what counting parameters gives, and below the bound for unbiased estimators.
    assert found >= 0.5 * bounds.cramer_rao(truth, m).total
    assert found <= bounds.cramer_rao(truth, m, given_design=True).total * (1 + 1e-9)


def bayes_risk(information, radius):
    """Return the least mean squared sine, over angles phi = arctan z with a cosine-squared prior.

    An observation is z plus a normal error of the given information. Of the posterior the best
    angle is half the argument of c = E exp(2 i phi), and its mean squared sine (1 - |c|)/2.
    """
    z = np.linspace(-radius, radius, 1001)
    prior = np.cos(0.5 * np.pi * z / radius) ** 2
    prior /= prior.sum()
    spread = radius + 8.0 / np.sqrt(information)
    y, step = np.linspace(-spread, spread, 1001, retstep=True)
    joint = prior * np.exp(-0.5 * information * (y[:, None] - z) ** 2)
    joint *= np.sqrt(information / (2.0 * np.pi)) * step
    mean = joint @ np.exp(2j * np.arctan(z))
    close(joint.sum(), 1.0, 1e-6)
    return 0.5 * float(np.sum(joint.sum(axis=1) - np.abs(mean)))


@pytest.mark.parametrize("radius", [0.05, 0.2, 0.4, 0.49])
@pytest.mark.parametrize("information", [1e1, 1e2, 1e3, 1e4, 3e5])
def test_no_bayes_estimator_is_below_the_bound_in_the_plane(information, radius):
    """d = 2, k = 1, heads known: g/sigma^2 is the information on the slope."""
    W = np.array([[1.0], [-2.0]])  # 5 m/noise^2
    truth = lr.SharedRepresentation(np.eye(2)[:, :1], W, np.sqrt(50.0 / information))
    bound = minimax.squared_chordal(truth, 10, radius=radius)
    risk = bayes_risk(information, radius)
    assert bound <= risk
    if information * radius**2 > 500 and radius <= 0.05:
        assert bound >= 0.95 * risk


def test_the_formula_by_hand():
    """d = 3, k = 1: (1 - 4r^2)/(1 + r^2) * 2/(g/sigma^2 + 2 pi^2/r^2)."""
    truth = lr.SharedRepresentation(np.eye(3)[:, :1], np.array([[3.0], [4.0]]), 0.1)
    expected = 0.75 / 1.0625 * 2.0 / ((9 * 6 + 16 * 2) / 0.01 + 2 * np.pi**2 * 16)
    close(minimax.squared_chordal(truth, [6, 2], radius=0.25), expected, 1e-15)
    assert minimax.squared_chordal(truth, [6, 2]) >= expected


@given(seeds, st.integers(1, 3), st.integers(1, 3))
def test_many_samples_lead_to_the_cramer_rao_bound(seed, k, extra):
    truth = problem(seed, n=5, k=k, d=k + extra, noise=1.0)
    smallest = np.linalg.svd(truth.W)[1][-1] ** 2
    for m, share in ((10, 0.0), (int(1e8 * max(1.0, 1.0 / smallest)), 0.98)):
        exact = bounds.cramer_rao(truth, m).squared_chordal
        assert share * exact < minimax.squared_chordal(truth, m) <= exact


def test_nothing_to_be_learned():
    assert minimax.squared_chordal(problem(0, d=2, k=2), 5) == 0.0
    assert minimax.squared_chordal(problem(0, noise=0.0), 5) == 0.0

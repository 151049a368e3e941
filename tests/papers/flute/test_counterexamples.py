"""Counterexamples in fractions beside what they are about, calculated naively."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from linrep.papers.flute.counterexamples import (
    eq5_6,
    eq18,
    lemmaa4_range,
    lemmaa6,
    lemmaa16,
    local_span,
    nc,
    observationb2,
    observationb3,
    observationb3_minimizer,
    theorem5_1,
    tr_and_lemmaa5,
)


@pytest.mark.parametrize("data", [1, 2])  # A.1, and (5), (6), whose losses have no 1/2
def test_theorem_5_1_s_start_diverges(data):
    first, eta = theorem5_1.L, theorem5_1.ETA
    assert eta == first**2 / (228 * first**3)  # Delta = 2 (l - l/2)
    Phi = np.array([[first, 0], [0, first / 2]])
    for scale in (1, 3):
        # s = 1368 l and more, b_1 w_1 < 0.
        b, w = (np.array([Fraction(x, 1000) * scale for x in pair]) for pair in ((26, 3), (-1, 27)))
        assert b @ b + w @ w >= 1368 * first
        for _ in range(5):
            off, imbalance, before = np.outer(b, w) - Phi, b @ b - w @ w, b @ b + w @ w
            assert b[0] * w[0] < 0
            b, w = (
                b - data * eta * off @ w - eta / 2 * b * imbalance,
                w - data * eta * off.T @ b + eta / 2 * w * imbalance,
            )
            assert b @ b + w @ w > before


def test_theorem_5_1_s_start_in_its_unit_is_no_counterexample():
    left, right = theorem5_1.sides(Fraction(1, 20) / 1000)
    assert left <= right


@pytest.mark.parametrize("module", [eq18, tr_and_lemmaa5])
def test_one_step_of_the_population_map(module):
    s, a, rest = float(module.S), float(module.A), float(module.rest()) ** 0.5
    Theta = np.array([[a], [rest], [0.0], [0.0]])
    after = Theta + (np.diag([2 * s, s, -s, -2 * s]) @ Theta - Theta @ Theta.T @ Theta) / (24 * s)
    grown = float(module.sides()[1])
    expected = after[0, 0] / a if module is eq18 else max(a, after[0, 0]) ** 2
    assert grown == pytest.approx(expected, rel=1e-12)


def test_lemma_a16_in_floating_point():
    eta, values = 0.03, np.diag([1.0, 0.7, 0.0])
    U = np.array([[0.8, -0.6], [0.6, 0.8]])
    Theta = np.vstack([U * [1.2, 1e-4], [[-0.36, -0.47]]])
    after = Theta + eta / 2 * (values @ Theta - Theta @ Theta.T @ Theta)
    growth = (np.linalg.svd(after[:2], compute_uv=False)[-1] / 1e-4) ** 2
    assert growth <= float(lemmaa16.sides()[1]) <= growth * (1 + 1e-6)


def test_a_positive_mean_of_an_odd_number_of_signs_has_probability_half():
    assert lemmaa6.sides()[0] == Fraction(1, 2)
    counted = [sum(signs) > 0 for signs in product((-1, 1), repeat=5)]
    assert Fraction(sum(counted), len(counted)) == Fraction(1, 2)


def test_tails_of_the_normal_law_are_bounded_from_below():
    from scipy.stats import norm

    for inverse in (1, 2, 3, 10):
        assert 0 < 1 - lemmaa4_range.sides(0, inverse)[1] < 2 * norm.sf(inverse)


def test_norms_and_angles_of_heads():
    m, own = 3, 2
    u = np.arange(m) < own
    T = np.outer(u, u) * (np.eye(m) - 1 / m) / np.sqrt(m - 1)
    assert float(nc.sides()[1]) == pytest.approx(np.sum(T**2))
    f = np.eye(3) - 1 / 3
    h = f[0] - (f[0] + f[1]) / 2
    assert float(observationb3.sides()[1]) == pytest.approx(
        (f[0] @ h) ** 2 / (f[0] @ f[0]) / (h @ h)
    )


def test_heads_of_unequal_classes_have_a_slope():
    """With (56), (57) and slopes 0 in features and biases, that in head 1 is along h_2 - h_3."""
    p, r = np.array([0.6, 0.3, 0.1]), 0.01
    q, h = r / p, np.eye(3) - 1 / 3
    wrong = q[:, None] / 2 * (1 - np.eye(3)) + np.diag(1 - q)  # probabilities of classes
    signs = np.eye(3) - wrong
    f = signs @ h  # up to a factor; features by slopes of 0
    assert np.abs(p @ signs).max() < 1e-15  # biases
    assert all(np.linalg.matrix_rank(np.array([f[c], h[c]]), tol=1e-12) == 1 for c in range(3))
    slope = -(p * signs[:, 0]) @ f
    along = (slope @ (h[1] - h[2])) / 2
    assert abs(along) == pytest.approx(0.75 * r**2 * float(observationb2.sides()[0]))
    assert observationb2.sides((Fraction(1, 3),) * 3) == (0, 0)


def test_lowering_a_bias_raises_the_probability_of_the_right_class():
    logits = np.log([2.0, 1.0, 1.0])
    shares = [np.exp(z[0]) / np.exp(z).sum() for z in (logits - [0, 0, np.log(2)], logits)]
    assert [float(side) for side in observationb3_minimizer.sides()] == pytest.approx(shares)


def test_a_difference_over_two_is_the_slope_of_a_square():
    assert eq5_6.changes() == (-2, -1)
    assert eq5_6.changes(Fraction(1, 2)) == (-1, -1)


def test_the_column_outside():
    assert local_span.sides() == (1, 0)

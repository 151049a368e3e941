"""Helpers of the checks on the objective, the update and its target."""

import numpy as np
import pytest

from linrep.papers.flute import appendix_b, eq3_example1, eq4_to_6, lifted, minimisers
from tests.algorithms.support import clients_of
from tests.reference import flute as reference


def test_gradients_are_those_of_the_reference():
    case = lifted.draw_case(np.random.default_rng(0), "d > n")
    found = eq4_to_6.gradients(lambda B, W: eq4_to_6.regularizer(B, W, 0.3, 0.2), case.B, case.W)
    for mine, other in zip(
        found, reference.regularizer_gradients(case.B, case.W, 0.3, 0.2), strict=True
    ):
        np.testing.assert_allclose(mine, other, rtol=1e-10)


@pytest.mark.parametrize("loss", ["half", "full"])
def test_values_are_those_of_the_reference(loss):
    case = lifted.draw_case(np.random.default_rng(1), "d < n")
    weight = {"half": 0.5, "full": 1.0}[loss]
    found = eq4_to_6.data_term(case.B, case.W, case.data, weight)
    found += eq4_to_6.regularizer(case.B, case.W, 0.25, 0.125)
    expected = reference.objective(
        clients_of(case.data), case.B, case.W, 0.25, 0.125, loss=loss, clients_as="sum"
    )
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_balanced_factors_have_the_same_product():
    rng = np.random.default_rng(3)
    B, W = rng.standard_normal((5, 2)), rng.standard_normal((4, 2))
    even = minimisers.balanced(B, W)
    np.testing.assert_allclose(even[0] @ even[1].T, B @ W.T)
    np.testing.assert_allclose(even[0].T @ even[0], even[1].T @ even[1], atol=1e-14)


def test_decompositions_are_told_from_other_matrices():
    rng = np.random.default_rng(4)
    U, V = (np.linalg.qr(rng.standard_normal((4, 4)))[0] for _ in range(2))
    Phi = U @ np.diag([2.0, 1.0, 1.0, 0.3]) @ V.T
    turned = np.array([0.6, 0.8])  # within the repeated singular value
    u, v = U[:, 1:3] @ turned, V[:, 1:3] @ turned
    good = 2.0 * np.outer(U[:, 0], V[:, 0]) + np.outer(u, v)
    assert eq3_example1.decomposition_error(good, Phi, 2, 1.0) < 1e-14
    bad = 2.0 * np.outer(U[:, 0], V[:, 0]) + 0.3 * np.outer(U[:, 3], V[:, 3])
    assert eq3_example1.decomposition_error(bad, Phi, 2, 1.0) > 0.1


def test_the_softmax_loss_is_the_mean_of_negative_logarithms():
    rng = np.random.default_rng(6)
    H, F, b = rng.standard_normal((2, 3)), rng.standard_normal((2, 3)), rng.standard_normal(3)
    weights, decay = np.array([0.3, 0.7, 0.0]), (0.1, 0.2)
    expected = 0.0
    for c, weight in enumerate(weights):
        shares = np.exp(H.T @ F[:, c] + b)
        expected += weight * (-np.log(shares[c] / shares.sum()) + 0.1 * F[:, c] @ F[:, c])
    expected += 0.2 * np.sum(H**2)
    np.testing.assert_allclose(appendix_b.softmax_loss(H, F, b, weights, decay), expected)

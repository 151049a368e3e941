"""Helpers of the checks on the objective, the update and its target."""

import numpy as np
import pytest

from linrep.papers.flute import eq4_to_6, lifted, minimisers
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

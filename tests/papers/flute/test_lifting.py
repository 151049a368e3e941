"""Helpers of the checks on the lifted iterate."""

import numpy as np
import pytest

from linrep.papers.flute import _lifted, eq13, lemma_a18, modes
from linrep.theory.flute_lift import discrepancy
from tests.algorithms.support import clients_of
from tests.reference import flute as reference


@pytest.mark.parametrize("shape", _lifted.SHAPES)
def test_cases_have_the_shape_they_say(shape):
    rng = np.random.default_rng(0)
    for _ in range(20):
        case = _lifted.draw_case(rng, shape)
        d, n = case.truth.d, case.truth.n
        assert {"d < n": d < n, "d = n": d == n, "d > n": d > n}[shape]
        assert case.B.shape == (d, case.settings["k"])


@pytest.mark.parametrize("shape", _lifted.SHAPES)
def test_noise_as_printed_is_that_of_the_reference(shape):
    case = _lifted.draw_case(np.random.default_rng(1), shape)
    given = case.truth.Phi, case.B, case.W, case.eta
    expected = reference.discrepancy(clients_of(case.data), *given)
    for found in (eq13._printed_noise(case), discrepancy(case.data, *given)):
        for mine, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-12 * np.abs(case.B).max())


@pytest.mark.parametrize("name", _lifted.CONVENTIONS)
def test_conventions_are_those_of_the_reference(name):
    case = _lifted.draw_case(np.random.default_rng(2), "d > n")
    settings = {"gamma1": 0.25, "gamma2": 0.125, "loss": "half", "aggregate": "sum"}
    settings |= _lifted.in_units(_lifted.CONVENTIONS[name](case.truth.n), case.eta)
    expected = reference.round(
        clients_of(case.data), case.B, case.W, range(case.truth.n), settings["step_size"],
        settings["regularizer_step_size"], settings["gamma1"], settings["gamma2"],
        loss=settings["loss"], clients_as=settings["aggregate"],
    )  # fmt: skip
    found = _lifted.after_round(case, **settings)
    for mine, other in zip(found, expected, strict=False):
        np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-12 * np.abs(case.B).max())


def test_terms_are_squared_errors_of_the_three_products():
    case = _lifted.draw_case(np.random.default_rng(3), "d < n")
    k = case.B.shape[1]
    U, values, VT = np.linalg.svd(case.truth.Phi)
    U, values, V = U[:, :k], values[:k], VT[:k].T
    expected = (
        np.sum((case.B @ case.B.T - U @ np.diag(values) @ U.T) ** 2),
        np.sum((case.W @ case.W.T - V @ np.diag(values) @ V.T) ** 2),
        np.sum((case.B @ case.W.T - U @ np.diag(values) @ V.T) ** 2),
    )
    np.testing.assert_allclose(lemma_a18._terms(case.truth, k, case.B, case.W), expected)


def test_the_derivative_is_that_of_the_map():
    rng = np.random.default_rng(4)
    eigenvalues = np.array([2.0, 1.0, -1.0, -2.0])
    Theta = rng.standard_normal((4, 2))
    J = modes._jacobian(Theta, eigenvalues, 0.1)
    move = rng.standard_normal((4, 2))
    gram, mixed = Theta.T @ Theta, Theta @ move.T @ Theta
    expected = move + 0.05 * (
        eigenvalues[:, None] * move - move @ gram - mixed - Theta @ Theta.T @ move
    )
    np.testing.assert_allclose(J @ move.ravel(), expected.ravel(), atol=1e-8)


def test_fixed_points_are_fixed():
    eigenvalues = np.array([2.0, 1.0, 0.5, -0.5, -1.0, -2.0])
    Theta = modes._fixed_point(eigenvalues, (0, 2), 3, np.random.default_rng(5))
    np.testing.assert_allclose(reference.theta_map(Theta, eigenvalues, 0.1), Theta, atol=1e-14)

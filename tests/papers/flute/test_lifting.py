"""Helpers of the checks on the lifted iterate."""

import numpy as np
import pytest

from linrep.papers.flute import eq13, lifted, modes
from tests.algorithms.support import clients_of
from tests.reference import flute as reference


@pytest.mark.parametrize("shape", lifted.SHAPES)
def test_cases_have_the_shape_they_say(shape):
    rng = np.random.default_rng(0)
    for _ in range(20):
        case = lifted.draw_case(rng, shape)
        d, n = case.truth.d, case.truth.n
        assert {"d < n": d < n, "d = n": d == n, "d > n": d > n}[shape]
        assert case.B.shape == (d, case.settings["k"])


@pytest.mark.parametrize("shape", lifted.SHAPES)
def test_noise_as_printed_is_that_of_the_reference(shape):
    case = lifted.draw_case(np.random.default_rng(1), shape)
    expected = reference.discrepancy(
        clients_of(case.data), case.truth.Phi, case.B, case.W, case.eta
    )
    for found in (eq13.printed_noise(case), lifted.discrepancy(case)):
        for mine, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-12 * np.abs(case.B).max())


@pytest.mark.parametrize("name", lifted.CONVENTIONS)
def test_conventions_are_those_of_the_reference(name):
    case = lifted.draw_case(np.random.default_rng(2), "d > n")
    settings = {"gamma1": 0.25, "gamma2": 0.125, "loss": "half", "aggregate": "sum"}
    settings |= {"step_size": 1.0, "regularizer_step_size": 1.0}
    settings |= lifted.CONVENTIONS[name](case.truth.n)
    expected = reference.round(
        clients_of(case.data), case.B, case.W, range(case.truth.n),
        case.eta * settings["step_size"], case.eta * settings["regularizer_step_size"],
        settings["gamma1"], settings["gamma2"], loss=settings["loss"],
        clients_as=settings["aggregate"],
    )  # fmt: skip
    found = lifted.after_round(case, **settings)
    for mine, other in zip(found, expected, strict=False):
        np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-12 * np.abs(case.B).max())


def test_the_derivative_is_that_of_the_map():
    rng = np.random.default_rng(4)
    eigenvalues = np.array([2.0, 1.0, -1.0, -2.0])
    Theta = rng.standard_normal((4, 2))
    J = modes.jacobian(Theta, eigenvalues, 0.1)
    move = rng.standard_normal((4, 2))
    gram, mixed = Theta.T @ Theta, Theta @ move.T @ Theta
    expected = move + 0.05 * (
        eigenvalues[:, None] * move - move @ gram - mixed - Theta @ Theta.T @ move
    )
    np.testing.assert_allclose(J @ move.ravel(), expected.ravel(), atol=1e-8)


def test_fixed_points_are_fixed():
    eigenvalues = np.array([2.0, 1.0, 0.5, -0.5, -1.0, -2.0])
    Theta = modes.fixed_point(eigenvalues, (0, 2), 3, np.random.default_rng(5))
    np.testing.assert_allclose(reference.theta_map(Theta, eigenvalues, 0.1), Theta, atol=1e-14)

"""The public calls of FLUTE's dynamics against their naive twins."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.linalg import norm

from linrep import kernels
from tests.reference import flute
from tests.strategies import seeds
from tests.tools import EPS, UNITS, close, complaint

thetas = st.tuples(st.integers(1, 9), st.integers(1, 4))


@given(seeds, thetas, st.floats(0.01, 0.1), st.booleans())
def test_steps_of_theta_are_the_papers(seed, shape, step_size, perturbed):
    rng = np.random.default_rng(seed)
    Theta, R = rng.standard_normal(shape), 0.1 * rng.standard_normal(shape)
    eigenvalues = rng.uniform(-2.0, 2.0, shape[0])
    options = {"step_size": step_size, "R": R if perturbed else None}
    orbit = kernels.theta_orbit(Theta, eigenvalues, np.array([0, 1, 3]), **options)
    assert (orbit.steps, orbit.status) == (3, "completed")
    step = kernels.theta_step(Theta, eigenvalues, **options)
    expected = [Theta]
    for _ in range(3):
        expected.append(flute.theta_map(expected[-1], eigenvalues, step_size, R * perturbed))
    error = UNITS * EPS * max(1.0, norm(Theta)) ** 3
    close(step, expected[1], error)
    for found, t in zip(orbit.Theta, (0, 1, 3), strict=True):
        close(found, expected[t], error * 3**t)


def test_an_orbit_that_diverges_keeps_its_last_finite_point():
    Theta, eigenvalues = np.full((4, 1), 1e3), np.ones(4)
    orbit = kernels.theta_orbit(Theta, eigenvalues, np.array([1, 50]), step_size=1.0)
    assert orbit.status == "diverged"
    assert 0 < orbit.steps < 50
    assert np.isfinite(orbit.Theta).all()
    with complaint(FloatingPointError, "finite", "nothing was written"):
        kernels.theta_step(orbit.Theta[1].copy(), eigenvalues, step_size=1.0)

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.linalg import norm

import linrep as lr
from linrep import LowRankRegression
from linrep.theory import flute_lift as lift
from linrep.theory.flute import Spectrum
from tests.algorithms.support import clients_of
from tests.reference import flute as reference
from tests.strategies import seeds
from tests.tools import close

sides = st.integers(1, 7)


@st.composite
def states(draw):
    """Draw a truth of any shape and spectrum, repeated singular values too, and a state (B, W)."""
    n, d = draw(sides), draw(sides)
    kind = draw(st.sampled_from(["normal", "equal", "rank 1"]))
    values = {"normal": None, "equal": np.ones(min(n, d)), "rank 1": [2.0]}[kind]
    noise = draw(st.sampled_from([0.0, 0.5]))
    seed = draw(seeds)
    truth = LowRankRegression.random(n=n, d=d, singular_values=values, noise=noise, rng=seed)
    k = draw(st.integers(1, min(n, d, 4)))
    rng = np.random.default_rng(seed)
    return truth, rng.standard_normal((d, k)), rng.standard_normal((n, k)), seed


@given(states())
def test_lifting_and_its_inverse(state):
    truth, B, W, _ = state
    Theta = lift.lift(truth, B, W)
    assert Theta.shape == (2 * max(truth.n, truth.d), B.shape[1])
    close(Theta.T @ Theta, B.T @ B + W.T @ W, 1e-12 * norm(Theta) ** 2)
    back = lift.lower(truth, Theta)
    close(back[0], B, 1e-13 * norm(Theta))
    close(back[1], W, 1e-13 * norm(Theta))
    unsorted, eigenvalues = reference.lifted(truth.Phi, B, W)
    size = max(truth.n, truth.d)
    rows = np.concatenate([unsorted[:size], unsorted[size:][::-1]])
    close(Theta, rows, 1e-13 * norm(Theta))
    spectrum = Spectrum.of(truth, B.shape[1])
    expected = reference.eigenvalues(truth.singular_values, truth.n, truth.d)
    np.testing.assert_array_equal(spectrum.eigenvalues, expected[1])
    np.testing.assert_allclose(eigenvalues, expected[0], atol=1e-14)


@given(states(), st.integers(1, 6), st.floats(1e-3, 0.5))
def test_the_discrepancy_is_that_of_the_reference(state, m, eta):
    truth, B, W, seed = state
    data = truth.draw(m, rng=seed)
    Q, Q_heads = lift.discrepancy(data, truth.Phi, B, W, eta)
    expected = reference.discrepancy(clients_of(data), truth.Phi, B, W, eta)
    size = (1 + norm(data.X) ** 2) * (1 + norm(B)) ** 2 * (1 + norm(W)) ** 2 * (1 + norm(truth.Phi))
    close(Q, expected[0], 1e-13 * size)
    close(Q_heads, expected[1], 1e-13 * size)


@given(states(), st.integers(1, 6))
def test_flutes_own_rounds_obey_equation_13(state, m):
    truth, B, W, seed = state
    data = truth.draw(m, rng=seed)
    eta = 0.01
    eigenvalues = Spectrum.of(truth, B.shape[1]).eigenvalues
    start = {"k": B.shape[1], "step_size": eta, "rounds": 1, "start": (B, W)}
    trace = lr.flute(data, **start)
    R = lift.lift(truth, *lift.discrepancy(data, truth.Phi, B, W, eta))
    orbit = lift.iterate(lift.lift(truth, B, W), eigenvalues, eta, [1], R)
    if trace.stop_reason != "diverged":
        actual = lift.lift(truth, trace.state["B"], trace.state["W"])
        close(actual, orbit.Theta[0], 1e-12 * (norm(actual) + norm(R)))
    population = lr.flute(truth, batches="population", **start)
    orbit = lift.iterate(lift.lift(truth, B, W), eigenvalues, eta, [1])
    actual = lift.lift(truth, population.state["B"], population.state["W"])
    close(actual, orbit.Theta[0], 1e-12 * norm(actual))


# The map.


@given(seeds, st.integers(1, 3), st.integers(1, 3))
def test_orbits_of_many_starts_are_those_of_each(seed, k, trials):
    rng = np.random.default_rng(seed)
    spectrum = Spectrum([1.0, 0.9, 0.3], n=4, d=3, k=k)
    starts = rng.standard_normal((2, trials, 8, k))
    sizes = rng.uniform(0.01, 0.1, (2, 1))
    R = 0.01 * rng.standard_normal((8, k))
    orbit = lift.iterate(starts, spectrum.eigenvalues, sizes, [0, 2, 5], R)
    assert orbit.Theta.shape == (2, trials, 3, 8, k)
    assert (orbit.steps == 5).all()
    for place in np.ndindex(2, trials):
        Theta = starts[place]
        np.testing.assert_array_equal(orbit.Theta[place][0], Theta)
        for t in range(1, 6):
            Theta = reference.theta_map(Theta, spectrum.eigenvalues, sizes[place[0], 0], R)
            if t in (2, 5):
                record = orbit.Theta[place][1 if t == 2 else 2]
                close(record, Theta, 1e-11 * (1 + norm(Theta)))


def test_small_deviations_die_at_the_local_factors():
    """The slowest factors belong to the gap; each entry of the rest has its own."""
    spectrum = Spectrum([1.0, 0.7, 0.4], n=3, d=4, k=2)
    eta = 0.1
    factors = lift.local_factors(spectrum, eta)
    assert factors.rest.max() == pytest.approx(1 - eta * spectrum.gap / 2)
    optimum = np.zeros((8, 2))
    optimum[:2] = np.diag(np.sqrt(spectrum.eigenvalues[:2]))
    deviation = 1e-7 * np.random.default_rng(0).standard_normal((8, 2))
    deviation[:2] = deviation[:2] + deviation[:2].T
    orbit = lift.iterate(optimum + deviation, spectrum.eigenvalues, eta, [0, 1])
    before, after = orbit.Theta
    close(after[2:], factors.rest * before[2:], 1e-13)
    squares = [
        Theta[:2] @ Theta[:2].T - np.diag(spectrum.eigenvalues[:2]) for Theta in (before, after)
    ]
    close(squares[1], factors.leading * squares[0], 1e-13)
    target = np.diag(np.append(spectrum.eigenvalues[:2], np.zeros(6)))
    errors = [norm(Theta @ Theta.T - target) for Theta in orbit.Theta]
    close(lift.product_error(orbit.Theta, spectrum), np.array(errors), 1e-13)

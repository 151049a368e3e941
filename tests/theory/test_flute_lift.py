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


# Equation (13): which conventions make it exact.


def relative_error_of_13(case, eta, step_size, regularizer_step_size, gammas, **conventions):
    """Return how far a round, lifted, is from (13) with step eta and R from Q and Q~."""
    truth, data, B, W = case
    B_new, W_new, _ = reference.round(
        clients_of(data), B, W, range(truth.n), step_size, regularizer_step_size, *gammas,
        **conventions,
    )  # fmt: skip
    Theta = lift.lift(truth, B, W)
    R = lift.lift(truth, *lift.discrepancy(data, truth.Phi, B, W, eta))
    eigenvalues = Spectrum.of(truth, B.shape[1]).eigenvalues
    expected = reference.theta_map(Theta, eigenvalues, eta, R)
    return norm(lift.lift(truth, B_new, W_new) - expected) / norm(expected)


def fifty_cases():
    """Return cases with d < n, d = n and d > n, above and below m, ranks above and below k."""
    rng = np.random.default_rng(13)
    cases = []
    for index in range(50):
        n, d = int(rng.integers(2, 9)), int(rng.integers(2, 9))
        if index % 5 == 0:
            d = n
        values = None if index % 3 else [2.0, 2.0][: min(n, d)]
        truth = LowRankRegression.random(n=n, d=d, singular_values=values, noise=0.3, rng=rng)
        data = truth.draw(int(rng.integers(1, 10)), rng=rng)
        k = int(rng.integers(1, min(n, d) + 1))
        cases.append((truth, data, rng.standard_normal((d, k)), rng.standard_normal((n, k))))
    assert {np.sign(truth.d - truth.n) for truth, *_ in cases} == {-1, 0, 1}
    return cases


QUARTERS, HALVES = (0.25, 0.125), (0.5, 0.25)
EXACT = {
    "half losses, summed, 1/4 and 1/8": lambda n: (1.0, 1.0, QUARTERS, {}),
    "(5) as printed, eta_l halved": lambda n: (0.5, 1.0, QUARTERS, {"loss": "full"}),
    "(5) as printed, half the step of (13)": lambda n: (0.5, 0.5, HALVES, {"loss": "full"}),
    "half losses of (4)": lambda n: (n, 1.0, QUARTERS, {"clients_as": "mean"}),
    "losses of (4)": lambda n: (n / 2, 1.0, QUARTERS, {"clients_as": "mean", "loss": "full"}),
}
INEXACT = {
    "(5) as printed": lambda n: (1.0, 1.0, QUARTERS, {"loss": "full"}),
    "(5) as printed, eta halved in (13)": lambda n: (0.5, 0.5, QUARTERS, {"loss": "full"}),
    "(4) as printed": lambda n: (1.0, 1.0, QUARTERS, {"loss": "full", "clients_as": "mean"}),
    "regularized at the averages": lambda n: (1.0, 1.0, QUARTERS, {"regularized_at": "moved"}),
    "gamma_1 = gamma_2": lambda n: (1.0, 1.0, (0.25, 0.25), {}),
    "gamma_1 = gamma_2/1.5": lambda n: (1.0, 1.0, (0.25, 0.375), {}),
}


@pytest.mark.parametrize("name", EXACT)
def test_equation_13_is_exact(name):
    eta = 0.05
    for case in fifty_cases():
        data, shape, gammas, conventions = EXACT[name](case[0].n)
        assert relative_error_of_13(case, eta, data * eta, shape * eta, gammas, **conventions) < (
            1e-14
        )


@pytest.mark.parametrize("name", INEXACT)
def test_equation_13_is_not_exact(name):
    eta = 0.05
    errors = []
    for case in fifty_cases():
        data, shape, gammas, conventions = INEXACT[name](case[0].n)
        errors.append(
            relative_error_of_13(case, eta, data * eta, shape * eta, gammas, **conventions)
        )
    assert np.median(errors) > 1e-3


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


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("shape", [(4, 6), (5, 5), (6, 4)])
def test_small_starts_converge_to_the_leading_eigenvalues(k, shape):
    n, d = shape
    spectrum = Spectrum([1.0, 0.9, 0.5, 0.1], n=n, d=d, k=k)
    rng = np.random.default_rng(k)
    starts = 1e-3 * rng.standard_normal((5, 2 * spectrum.size, k))
    orbit = lift.iterate(starts, spectrum.eigenvalues, 0.1, [50_000])
    assert (orbit.status == 1).all()  # settled
    assert (orbit.steps < 10_000).all()
    assert (lift.product_error(orbit.Theta[:, -1], spectrum) < 1e-12).all()


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

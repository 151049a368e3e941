"""FLUTE's kernels against the reference: one round or step each, and how runs end."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.linalg import norm

from linrep.kernels import flute as kernel
from linrep.kernels.designs import GAUSSIAN
from linrep.kernels.rounds import COMPLETED, CONVERGED, DIVERGED
from linrep.problems import LowRankRegression
from tests.reference import flute as reference
from tests.strategies import cases, seeds
from tests.tools import EPS, UNITS, close

NOTHING = kernel.Source(
    kind=kernel.STORED,
    design=GAUSSIAN,
    degrees_of_freedom=0.0,
    noise=0.0,
    X=np.empty((0, 0)),
    y=np.empty(0),
    offsets=np.empty(0, np.int64),
    S=np.empty((0, 0, 0)),
    triangles=np.empty((0, 0)),
    centres=np.empty((0, 0)),
    rests=np.empty(0),
)


@dataclass(frozen=True)
class Step:
    """Settings of a round in the reference's words; `steps` has them in the kernels'."""

    step_size: float
    regularizer: float
    gamma1: float
    gamma2: float
    loss: str
    clients_as: str

    def steps(self, n, participants, tolerance=0.0):
        data = self.step_size * (2.0 if self.loss == "full" else 1.0)
        data /= n if self.clients_as == "mean" else 1
        return kernel.Steps(
            data,
            data * n / participants,
            2 * self.gamma1 * self.regularizer,
            4 * self.gamma2 * self.regularizer,
            tolerance,
        )


steps = st.builds(
    Step,
    st.floats(1e-3, 0.1),
    st.floats(1e-3, 0.1),
    st.floats(0.0, 1.0),
    st.floats(0.0, 1.0),
    st.sampled_from(["half", "full"]),
    st.sampled_from(["sum", "mean"]),
)


def sources(case):
    """Return stored samples, their Gram matrices, and the upper triangles of these."""
    S, centres, rests = [], [], []
    for X, y in case.clients:
        S.append(X.T @ X / len(y))
        centres.append(np.linalg.lstsq(X, y, rcond=None)[0])
        rests.append(np.sum((X @ centres[-1] - y) ** 2) / (2 * len(y)))
    stored = NOTHING._replace(X=case.X, y=case.y, offsets=case.offsets)
    grams = NOTHING._replace(
        kind=kernel.GRAM, S=np.array(S), centres=np.array(centres), rests=np.array(rests)
    )
    upper = np.triu_indices(case.d)
    triangles = np.array([each[upper] for each in S])
    return stored, grams, grams._replace(kind=kernel.PACKED, triangles=triangles)


def run(case, source, schedule, step, tolerance=0.0, fill=np.nan):
    BT, W = case.B.T.copy(), case.W.copy()
    losses = np.full(len(schedule), fill)
    work = kernel.workspace(case.k, case.d, case.m, schedule.shape[1])
    for array in work:
        array[:] = fill
    completed, status = kernel.run(
        np.random.default_rng(0), source, schedule, BT, W,
        step.steps(case.n, schedule.shape[1], tolerance), losses, work,
    )  # fmt: skip
    return BT.T, W, losses, completed, status


def round_error(clients, B, W, step, n_over_participants):
    """Bound what rounding does to a round: all terms, were nothing to cancel."""
    size = norm(B) + norm(W)
    weight = step.step_size * 2 * n_over_participants
    data = sum(
        norm(X) / len(y) * (norm(X) * norm(B) * norm(W) + norm(y) * (1 + norm(X))) * size
        for X, y in clients
    )
    shape = step.regularizer * (step.gamma1 + step.gamma2) * 4 * size**3
    return UNITS * EPS * (size + weight * data + shape)


@given(cases(k_within_n=False), st.data())
def test_losses_and_gradients_equal_the_reference(case, data):
    selected = np.array(sorted(data.draw(st.sets(st.integers(0, case.n - 1), min_size=1))))
    clients = [case.clients[i] for i in selected]
    chosen = case.W[selected]
    expected_B = sum(
        reference.client_gradient(X, y, case.B, w)
        for (X, y), w in zip(clients, chosen, strict=True)
    )
    expected_W = np.full(case.W.shape, 7.0)
    for (X, y), i in zip(clients, selected, strict=True):
        expected_W[i] = reference.head_gradient(X, y, case.B, case.W[i])
    expected = reference.objective(clients, case.B, chosen, 0.0, 0.0, loss="half", clients_as="sum")
    unit = Step(1.0, 0.0, 0.0, 0.0, "half", "sum")
    error = round_error(clients, case.B, case.W, unit, 1.0)
    for source in sources(case):
        work = kernel.workspace(case.k, case.d, case.m, 1)
        gradientT, heads = np.full((case.k, case.d), np.nan), np.full(case.W.shape, 7.0)
        loss = kernel.evaluate(source, selected, case.B.T.copy(), case.W, gradientT, heads, work)
        close(gradientT.T, expected_B, error)
        close(heads, expected_W, error)
        size = sum((norm(X) * norm(case.B) * norm(case.W) + norm(y)) ** 2 for X, y in clients)
        close(loss, expected, UNITS * EPS * size)


@given(cases(k_within_n=False), steps, st.data())
def test_a_round_equals_the_reference(case, step, data):
    """From samples, from their Gram matrices and from triangles, d above and below m."""
    participants = data.draw(st.integers(1, case.n), label="participants")
    schedule = case.rng.permutation(case.n)[None, :participants]
    settings = step.step_size, step.regularizer, step.gamma1, step.gamma2
    expected = reference.round(
        case.clients, case.B, case.W, schedule[0], *settings, loss=step.loss,
        clients_as=step.clients_as,
    )  # fmt: skip
    error = round_error(case.clients, case.B, case.W, step, case.n / participants)
    for source in sources(case):
        B, W, losses, completed, status = run(case, source, schedule, step)
        assert completed == 1
        # A step too small to show in B and W is a step.
        assert status == COMPLETED or ((case.B == B).all() and (case.W == W).all())
        # Least-squares models of badly conditioned samples are long, and their rounding is.
        longest = 1.0 + max(norm(source.centres), 1.0)
        close(B, expected[0], error * longest)
        close(W, expected[1], error * longest)
        size = sum((norm(X) * norm(case.B) * norm(case.W) + norm(y)) ** 2 for X, y in case.clients)
        close(losses[0], expected[2], UNITS * EPS * size * longest**2)


@given(cases(heads=("normal",)), st.integers(1, 6))
def test_rounds_go_on_from_where_the_last_one_ended(case, rounds):
    step = Step(0.02, 0.02, 0.25, 0.125, "half", "sum")
    schedule = np.tile(np.arange(case.n), (rounds, 1))
    for source in sources(case):
        B, W, losses, *_ = run(case, source, schedule, step)
        again = run(case, source, schedule, step, fill=7.0)
        for one, other in zip((B, W, losses), again[:3], strict=True):
            np.testing.assert_array_equal(one, other)
        BT, heads = case.B.T.copy(), case.W.copy()
        for _ in range(rounds):
            kernel.run(
                np.random.default_rng(0), source, schedule[:1], BT, heads,
                step.steps(case.n, case.n), np.empty(1),
                kernel.workspace(case.k, case.d, case.m, case.n),
            )  # fmt: skip
        np.testing.assert_array_equal(B, BT.T)
        np.testing.assert_array_equal(W, heads)


@given(cases(heads=("normal",)), st.sampled_from([1e20, 1e160]))
def test_a_diverging_run_keeps_the_last_finite_round(case, size):
    step = Step(size, size, 0.25, 0.125, "half", "sum")
    schedule = np.tile(np.arange(case.n), (12, 1))
    for source in sources(case):
        B, W, losses, completed, status = run(case, source, schedule, step)
        assert np.isfinite(B).all()
        assert np.isfinite(W).all()
        assert np.isfinite(losses[:completed]).all()
        assert status == DIVERGED
        expected = run(case, source, schedule[:completed], step)
        np.testing.assert_array_equal(B, expected[0])
        np.testing.assert_array_equal(W, expected[1])


@given(cases(k_within_n=False))
def test_a_round_that_changes_little_is_the_last(case):
    step = Step(1e-3, 1e-3, 0.25, 0.125, "half", "sum")
    schedule = np.tile(np.arange(case.n), (4, 1))
    *_, completed, status = run(case, sources(case)[0], schedule, step, tolerance=1e6)
    assert (completed, status) == (1, CONVERGED)


@given(seeds, st.integers(1, 4), st.integers(1, 5), st.integers(1, 6), st.integers(1, 3))
def test_fresh_batches_are_those_the_truth_draws(seed, n, d, m, k):
    rng = np.random.default_rng(seed)
    truth = LowRankRegression.random(n=n, d=d, noise=0.3, rng=seed)
    B, W = rng.standard_normal((d, k)), rng.standard_normal((n, k))
    step = Step(0.05, 0.03, 0.3, 0.2, "full", "sum")
    schedule = rng.permutation(n)[None, : max(1, n - 1)]
    batch = truth.draw(m, rng=np.random.default_rng(seed), clients=schedule[0])
    clients = [None] * n
    for place, i in enumerate(schedule[0]):
        clients[i] = batch.client(place)
    expected = reference.round(
        clients, B, W, schedule[0], step.step_size, step.regularizer, step.gamma1, step.gamma2,
        loss="full",
    )  # fmt: skip
    BT, heads, losses = B.T.copy(), W.copy(), np.empty(1)
    source = NOTHING._replace(
        kind=kernel.FRESH, noise=0.3, X=np.empty((m, d)), y=np.empty(m), centres=truth.theta
    )
    kernel.run(
        np.random.default_rng(seed), source, schedule, BT, heads,
        step.steps(n, schedule.shape[1]), losses, kernel.workspace(k, d, m, schedule.shape[1]),
    )  # fmt: skip
    drawn = [clients[i] for i in schedule[0]]
    error = round_error(drawn, B, W, step, n / schedule.shape[1])
    close(BT.T, expected[0], error)
    close(heads, expected[1], error)
    close(losses[0], expected[2], 1e-10 * (1.0 + expected[2]))


def run_population(B, W, Phi, coefficients, rounds):
    """Rotate into the singular bases, run, and rotate back."""
    k = B.shape[1]
    U, singular_values, VT = np.linalg.svd(Phi)
    BT, WT = (U.T @ B).T.copy(), (VT @ W).T.copy()
    data_step, first, second = coefficients
    work = kernel.PopulationWorkspace(
        *(np.full(shape, np.nan) for shape in (BT.shape, WT.shape, (k, k), (k, k)))
    )
    completed, status = kernel.run_population(
        BT, WT, singular_values, kernel.Steps(data_step, np.nan, first, second, 0.0), rounds, work
    )
    return U @ BT.T, VT.T @ WT.T, completed, status


shapes = st.tuples(st.integers(1, 7), st.integers(1, 7), st.integers(1, 4))


@given(seeds, shapes, st.floats(1e-3, 0.2), st.floats(0.0, 0.2), st.floats(0.0, 0.2), st.booleans())
def test_population_rounds_equal_the_reference(seed, shape, data, first, second, repeated):
    n, d, k = shape
    rng = np.random.default_rng(seed)
    Phi = np.eye(d, n) if repeated else rng.standard_normal((d, n))
    B, W = rng.standard_normal((d, k)), rng.standard_normal((n, k))
    expected = reference.population_round(Phi, B, W, data, first, second)
    actual = run_population(B, W, Phi, (data, first, second), 1)
    size = norm(B) + norm(W) + norm(Phi)
    error = UNITS * EPS * (size + (data + first + second) * size**3)
    close(actual[0], expected[0], error)
    close(actual[1], expected[1], error)
    assert actual[2] == 1
    assert actual[3] != DIVERGED


def test_population_rounds_stop_where_nothing_moves_or_nothing_is_finite():
    B, W, Phi = np.eye(3, 2), np.eye(4, 2), np.eye(3, 4)
    *_, completed, status = run_population(B, W, Phi, (0.1, 0.05, 0.05), 10)
    assert (completed, status) == (1, CONVERGED)
    far, heads, completed, status = run_population(9.0 * B, W, Phi, (1e30, 0.0, 1.0), 50)
    assert status == DIVERGED
    assert completed < 50
    assert np.isfinite(far).all()
    assert np.isfinite(heads).all()


def run_theta(Thetas, eigenvalues, step_sizes, record, R=None, fill=np.nan):
    trials, rows, k = Thetas.shape
    ThetaT = Thetas.transpose(0, 2, 1).copy()
    RT = np.zeros_like(ThetaT) if R is None else np.ascontiguousarray(R.transpose(0, 2, 1))
    out = np.full((trials, len(record), k, rows), fill)
    completed, status = np.empty(trials, np.int64), np.empty(trials, np.int64)
    kernel.run_theta(
        ThetaT, eigenvalues, step_sizes, RT, np.asarray(record), out, np.full((k, rows), fill),
        np.full((k, k), fill), completed, status,
    )  # fmt: skip
    return out.transpose(0, 1, 3, 2), completed, status


def test_the_theta_map_stops_at_rounding_level_but_never_at_a_saddle():
    """The second direction takes over long after the first has come to rest."""
    eigenvalues = np.array([[2.0, 0.2, 0.0, -0.2, -2.0]])
    Thetas = np.full((1, 5, 2), 1e-30)
    Thetas[0, 1, 1] = -1e-30
    record = np.array([0, 4_000, 40_000, 400_000])
    out, completed, status = run_theta(Thetas, eigenvalues, np.array([0.1]), record)
    assert status[0] == CONVERGED
    assert completed[0] < 40_000
    expected = np.diag([2.0, 0.2, 0.0, 0.0, 0.0])
    close(out[0, -1] @ out[0, -1].T, expected, 1e-13)
    np.testing.assert_array_equal(out[0, -2], out[0, -1])
    assert norm(out[0, 1] @ out[0, 1].T - expected) == pytest.approx(0.2, rel=1e-6)  # the saddle

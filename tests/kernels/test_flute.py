"""FLUTE's kernels against the reference: one round each."""

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.linalg import norm

from linrep.kernels import flute as kernel
from linrep.kernels.designs import GAUSSIAN
from linrep.kernels.rounds import COMPLETED, CONVERGED, DIVERGED
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


@given(cases(k_within_n=False))
def test_a_round_that_changes_little_is_the_last(case):
    step = Step(1e-3, 1e-3, 0.25, 0.125, "half", "sum")
    schedule = np.tile(np.arange(case.n), (4, 1))
    *_, completed, status = run(case, sources(case)[0], schedule, step, tolerance=1e6)
    assert (completed, status) == (1, CONVERGED)


shapes = st.tuples(st.integers(1, 7), st.integers(1, 7), st.integers(1, 4))


@given(seeds, shapes, st.floats(1e-3, 0.2), st.floats(0.0, 0.2), st.floats(0.0, 0.2), st.booleans())
def test_population_rounds_equal_the_reference(seed, shape, data, first, second, repeated):
    """In the singular bases, and rotated back."""
    n, d, k = shape
    rng = np.random.default_rng(seed)
    Phi = np.eye(d, n) if repeated else rng.standard_normal((d, n))
    B, W = rng.standard_normal((d, k)), rng.standard_normal((n, k))
    expected = reference.population_round(Phi, B, W, data, first, second)
    U, singular_values, VT = np.linalg.svd(Phi)
    BT, WT = (U.T @ B).T.copy(), (VT @ W).T.copy()
    work = [np.full(shape, np.nan) for shape in (BT.shape, WT.shape, (k, k), (k, k))]
    steps = kernel.Steps(data, np.nan, first, second, 0.0)
    work = kernel.PopulationWorkspace(*work)
    completed, status = kernel.run_population(BT, WT, singular_values, steps, 1, work)
    size = norm(B) + norm(W) + norm(Phi)
    error = UNITS * EPS * (size + (data + first + second) * size**3)
    close(U @ BT.T, expected[0], error)
    close(VT.T @ WT.T, expected[1], error)
    assert completed == 1
    assert status != DIVERGED

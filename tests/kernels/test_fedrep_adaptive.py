"""Steps found on the way against the reference, round by round from where the kernel stood."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from linrep.kernels import fedrep_adaptive as kernel
from linrep.kernels.fedrep import Samples
from linrep.kernels.rounds import COMPLETED, EXACT, LOSS, Settings, no_truth, workspace
from tests.compare import heads_are_clear
from tests.reference import fedrep_adaptive as reference
from tests.strategies import cases, frame, seeds

ROUNDS = 6


def memory_of(case):
    memory = kernel.memory(case.n, case.k, case.d)
    m = max(case.m, 1)
    kernel.largest_curvatures(
        case.X, case.offsets, memory.largest, np.full(m, np.nan), np.full(case.d, np.nan)
    )
    return memory


def run(case, memory, schedule, BT, W, local_steps=None):
    """Run rounds in place; return their metrics."""
    settings = Settings(1.0, True, EXACT if local_steps is None else local_steps, 0.0, True, -1.0)
    metrics = np.full((len(schedule) + 1, 5), np.nan)
    work = workspace(case.k, case.d, case.m, schedule.shape[1])
    for each in work:
        each[:] = np.nan
    completed, status = kernel.run_adaptive(
        Samples(case.X, case.y, case.offsets), memory, schedule, BT, W, settings,
        no_truth(case.d, case.k), metrics, work,
    )  # fmt: skip
    assert (completed, status) == (len(schedule), COMPLETED)
    return metrics


def state_of(memory):
    """Return the reference's state where the kernel stands."""
    accepted = int(memory.numbers[kernel.ACCEPTED])
    losses = [memory.losses[place % 8] for place in range(max(0, accepted - 8), accepted)]
    return {
        "losses": losses, "length": float(memory.numbers[kernel.LENGTH]), "rounds": accepted,
        "last": memory.last.copy(), "share": float(memory.numbers[kernel.SHARE]),
        "seen": int(memory.numbers[kernel.SEEN]), "change": float(memory.numbers[kernel.CHANGE]),
        "known": memory.known > 0.0, "curvature": float(memory.numbers[kernel.CURVATURE]),
        "B": memory.BT.T.copy(), "G": memory.GT.T.copy(), "P": memory.PT.T.copy(),
    }  # fmt: skip


@given(cases(orthonormal=True, noise=(0.1, 1.0), heads=("normal", "equal")), st.data())
def test_a_round_equals_the_reference(case, data):
    local_steps = data.draw(st.one_of(st.none(), st.integers(1, 4)), label="local_steps")
    participants = data.draw(st.integers(1, case.n), label="participants")
    memory = memory_of(case)
    for i, (X, _) in enumerate(case.clients):
        assert memory.largest[i] == pytest.approx(reference.largest_eigenvalue(X), rel=1e-9)
    BT, W = case.B.T.copy(), case.W.copy()
    for _ in range(ROUNDS):
        selected = case.rng.permutation(case.n)[:participants].astype(np.int64)
        assume(heads_are_clear(case.clients, selected, BT.T, {"local_steps": local_steps}))
        before, state = (BT.T.copy(), W.copy()), state_of(memory)
        metrics = run(case, memory, selected[None], BT, W, local_steps)
        B, heads, loss, length, _ = reference.round(
            case.clients, *before, selected, state, memory.largest, local_steps=local_steps
        )
        np.testing.assert_allclose(W, heads, rtol=1e-6, atol=1e-8)
        if memory.numbers[kernel.ACCEPTED] > state["rounds"]:  # what is to be reported
            np.testing.assert_array_equal(memory.BT.T, before[0])
            np.testing.assert_array_equal(memory.W, W)
        assert metrics[1, LOSS] == pytest.approx(loss, rel=1e-8, abs=1e-14)
        # Of a fit that leaves nothing to gain, direction and length are those of rounding.
        assume(loss > 1e-8 and np.abs(memory.GT).max() > 1e-7)
        H = reference.head_curvature(heads, memory.largest, memory.known > 0.0)
        assume(np.linalg.cond(H) < 1e6)
        assert metrics[1, kernel.STEP] == pytest.approx(length, rel=1e-3)
        if not np.isclose(metrics[1, kernel.STEP], length, rtol=1e-7):
            return  # a difference of gradients that nearly cancels
        np.testing.assert_allclose(BT.T, B, rtol=1e-5, atol=1e-6)


@given(cases(orthonormal=True), st.booleans())
def test_rounds_in_one_call_are_those_of_several(case, everyone):
    participants = case.n if everyone else max(1, case.n // 2)
    rows = [case.rng.permutation(case.n)[:participants] for _ in range(ROUNDS)]
    schedule = np.array(rows, dtype=np.int64)
    whole, parts = memory_of(case), memory_of(case)
    first, second = (case.B.T.copy(), case.W.copy()), (case.B.T.copy(), case.W.copy())
    metrics = run(case, whole, schedule, *first)
    pieces = [run(case, parts, schedule[t : t + 1], *second)[1] for t in range(ROUNDS)]
    np.testing.assert_array_equal(metrics[1:], pieces)
    for one, two in zip((*first, *whole), (*second, *parts), strict=True):
        np.testing.assert_array_equal(one, two)


@given(
    seeds, st.integers(1, 12), st.integers(1, 6), st.sampled_from([1e-6, 1.0, 1e6]), st.booleans()
)
def test_no_data_make_it_diverge_or_leave_it_worse(seed, n, d, scale, repeated):
    """No step is kept after which the loss is above that at the start, whatever the data."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, min(n, d) + 1))
    m = rng.integers(1, 9, n)
    offsets = np.concatenate(([0], np.cumsum(m)))
    X = rng.standard_normal((offsets[-1], d)) * scale ** rng.random(d)
    if repeated:
        X[:, -1] = X[:, 0]
    y = rng.standard_normal(offsets[-1])
    memory = kernel.memory(n, k, d)
    kernel.largest_curvatures(X, offsets, memory.largest, np.empty(m.max()), np.empty(d))
    BT, W = np.ascontiguousarray(frame(rng, d, k).T), np.zeros((n, k))
    metrics = np.full((31, 5), np.nan)
    schedule = np.tile(np.arange(n), (30, 1))
    settings = Settings(1.0, True, EXACT, 0.0, True, -1.0)
    outcome = kernel.run_adaptive(
        Samples(X, y, offsets), memory, schedule, BT, W, settings, no_truth(d, k), metrics,
        workspace(k, d, int(m.max()), n),
    )  # fmt: skip
    assert outcome == (30, COMPLETED)
    assert np.isfinite(metrics[1:, LOSS]).all()
    assert memory.losses.max() <= metrics[1, LOSS] * (1.0 + 1e-9) + 1e-12
    undone = int(np.sum(metrics[1:, LOSS] > metrics[1, LOSS] * (1.0 + 1e-9) + 1e-12))
    assert memory.numbers[kernel.ACCEPTED] <= 30 - undone
    np.testing.assert_allclose(BT @ BT.T, np.eye(k), atol=1e-10)

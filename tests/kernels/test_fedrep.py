"""The trajectories against the reference, round by round: each from where the kernel stood."""

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from linrep.kernels import fedrep as kernel
from linrep.kernels.rounds import (
    COMPLETED,
    CONVERGED,
    DISTANCE,
    DIVERGED,
    EXACT,
    LOSS,
    Settings,
    no_truth,
    truth_of,
    workspace,
)
from linrep.problems.regression import DESIGNS, SharedRepresentation
from tests.compare import check_round, heads_are_clear, is_lost
from tests.reference import fedrep as reference
from tests.strategies import cases, seeds
from tests.tools import close, exact_head_error, rank_is_clear

ROUNDS = 3


@dataclass(frozen=True)
class Options:
    """Settings in the reference's words; `settings` has them in the kernels'."""

    step_size: float
    normalization: str = "theorem"
    local_steps: int | None = None
    head_step_size: float | None = None
    orthonormal: bool = True
    tolerance: float = -1.0

    @property
    def settings(self):
        return Settings(
            self.step_size,
            self.normalization == "theorem",
            EXACT if self.local_steps is None else self.local_steps,
            0.0 if self.head_step_size is None else self.head_step_size,
            self.orthonormal,
            float(self.tolerance),
        )

    @property
    def of_round(self):
        return {name: value for name, value in vars(self).items() if name != "tolerance"}


@st.composite
def options(draw, orthonormal=None):
    local_steps = draw(st.one_of(st.none(), st.integers(1, 10)), label="local_steps")
    sizes = st.one_of(st.none(), st.floats(0.01, 0.3))
    return Options(
        step_size=draw(st.floats(1e-3, 0.5), label="step_size"),
        normalization=draw(st.sampled_from(["theorem", "published"]), label="normalization"),
        local_steps=local_steps,
        head_step_size=None if local_steps is None else draw(sizes, label="head_step_size"),
        orthonormal=draw(st.booleans()) if orthonormal is None else orthonormal,
    )


def draw_schedule(case, participants, rounds=ROUNDS):
    rows = [case.rng.permutation(case.n)[:participants] for _ in range(rounds)]
    return np.array(rows, dtype=np.int64).reshape(rounds, participants)


def scratch(case, participants, fill=np.nan):
    work = workspace(case.k, case.d, case.m, participants)
    for array in work:
        array[:] = fill
    return work


def known(case):
    return truth_of(case.B_star, case.W_star)


def run_fixed(case, schedule, options, *, truth=known, fill=np.nan):
    """Return B, W, metrics, rounds completed and status."""
    BT, W, metrics = case.B.T.copy(), case.W.copy(), np.full((len(schedule) + 1, 4), np.nan)
    completed, status = kernel.run_fixed(
        kernel.Samples(case.X, case.y, case.offsets), schedule, BT, W, options.settings,
        truth(case), metrics, scratch(case, schedule.shape[1], fill),
    )  # fmt: skip
    return BT.T, W, metrics, completed, status


def named(row):
    names = ("distance", "loss", "head_error", "population_risk")
    return dict(zip(names, row, strict=True))


@given(cases(k_within_n=False), st.data())
def test_run_fixed_equals_the_reference_round_by_round(case, data):
    settings = data.draw(options(orthonormal=None if case.orthonormal else False))
    participants = data.draw(st.integers(1, case.n), label="participants")
    schedule = draw_schedule(case, participants)
    before = case.B, case.W
    for t, selected in enumerate(schedule):
        assume(heads_are_clear(case.clients, selected, before[0], settings.of_round))
        *after, metrics, completed, status = run_fixed(case, schedule[: t + 1], settings)
        lost = is_lost(before, case.clients, selected, settings.of_round)
        assert lost or status == COMPLETED
        if lost:
            return
        assert (completed, status) == (t + 1, COMPLETED)
        check_round(
            before, after, named(metrics[t + 1]), case.clients, selected, settings.of_round,
            (case.B_star, case.W_star),
        )  # fmt: skip
        before = after


@given(cases(), options())
def test_run_fixed_without_a_truth_takes_the_same_path_and_records_the_loss_only(case, settings):
    schedule = draw_schedule(case, case.n)
    with_truth = run_fixed(case, schedule, settings)
    assume(with_truth[4] == COMPLETED)  # a risk that overflows ends only the run that measures it
    without = run_fixed(case, schedule, settings, truth=lambda case: no_truth(case.d, case.k))
    for place in (0, 1, 3, 4):
        np.testing.assert_array_equal(with_truth[place], without[place])
    np.testing.assert_array_equal(with_truth[2][:, LOSS], without[2][:, LOSS])
    assert np.isnan(np.delete(without[2], LOSS, axis=1)).all()


@given(cases(orthonormal=True), options(orthonormal=True), st.data())
def test_run_fixed_stops_at_the_first_distance_within_tolerance(case, settings, data):
    schedule = draw_schedule(case, case.n, 5)
    free = run_fixed(case, schedule, settings)
    stop = data.draw(st.integers(1, 5))
    distances = free[2][1:, DISTANCE]
    settings = replace(settings, tolerance=distances[stop - 1])
    first = int(np.argmax(distances <= settings.tolerance)) + 1
    B, W, metrics, completed, status = run_fixed(case, schedule, settings)
    assert (completed, status) == (first, CONVERGED)
    np.testing.assert_array_equal(metrics[: first + 1], free[2][: first + 1])
    assert np.isnan(metrics[first + 1 :]).all()
    expected = run_fixed(case, schedule[:first], replace(settings, tolerance=-1.0))
    np.testing.assert_array_equal(B, expected[0])
    np.testing.assert_array_equal(W, expected[1])


@given(cases(heads=("normal",)), options(), st.sampled_from([1e20, 1e100, 1e160, 1e300]), st.data())
def test_a_diverging_run_keeps_the_last_finite_round(case, settings, size, data):
    """Also where only the measured risk, or the norm of a column, overflows."""
    schedule = draw_schedule(case, data.draw(st.integers(1, case.n)), 8)
    settings = replace(settings, step_size=size)
    B, W, metrics, completed, status = run_fixed(case, schedule, settings)
    assert status == (COMPLETED if completed == len(schedule) else DIVERGED)
    assert np.isfinite(B).all()
    assert np.isfinite(W).all()
    assert np.isfinite(metrics[1 : completed + 1]).all()
    assert (metrics[1 : completed + 1, DISTANCE] <= 1.0).all()
    # The state is that of a run that was given no more rounds than it could complete.
    expected = run_fixed(case, schedule[:completed], settings)
    np.testing.assert_array_equal(B, expected[0])
    np.testing.assert_array_equal(W, expected[1])
    assert expected[4] == COMPLETED
    assert np.linalg.matrix_rank(B / np.abs(B).max(axis=0), tol=0) == case.k


def run_fresh(case, schedule, options, *, rng, m, split, design="gaussian", fill=np.nan):
    BT, W, metrics = case.B.T.copy(), case.W.copy(), np.full((len(schedule) + 1, 4), np.nan)
    work = workspace(case.k, case.d, m, schedule.shape[1])
    for array in work:
        array[:] = fill
    room = np.full((m, case.d), fill), np.full(m, fill), np.full(case.d, fill)
    batch = kernel.Batch(DESIGNS[design], 5.0, case.noise, split, *room)
    completed, status = kernel.run_fresh(
        rng, batch, schedule, BT, W, options.settings, known(case), metrics, work
    )
    return BT.T, W, metrics, completed, status


@given(
    cases(k_within_n=False),
    seeds,
    st.integers(1, 8),
    st.booleans(),
    st.sampled_from(list(DESIGNS)),
    st.data(),
)
def test_run_fresh_equals_the_reference_on_what_the_truth_draws(case, seed, m, split, design, data):
    """One participant after the other draws a batch, and with split a second one."""
    settings = data.draw(options(orthonormal=None if case.orthonormal else False))
    schedule = draw_schedule(case, data.draw(st.integers(1, case.n), label="participants"))
    truth = SharedRepresentation(case.B_star, case.W_star, case.noise, design)
    # The truth stores its frame with its own rounding; both sides are to see the same one.
    case = replace(case, B_star=truth.B)
    stream = np.random.default_rng(seed)
    before = case.B, case.W
    for t, selected in enumerate(schedule):
        batches = [[None] * case.n, [None] * case.n]
        for i in selected:
            for batch in batches[: 1 + split]:
                batch[i] = truth.draw(m, rng=stream, clients=[i]).client(0)
        assume(heads_are_clear(batches[0], selected, before[0], settings.of_round))
        *after, metrics, completed, status = run_fresh(
            case, schedule[: t + 1], settings, rng=np.random.default_rng(seed), m=m, split=split,
            design=design,
        )  # fmt: skip
        gradient_clients = batches[1] if split else None
        lost = is_lost(before, batches[0], selected, settings.of_round, gradient_clients)
        assert lost or status == COMPLETED
        if lost:
            return
        assert (completed, status) == (t + 1, COMPLETED)
        check_round(
            before, after, named(metrics[t + 1]), batches[0], selected, settings.of_round,
            (case.B_star, case.W_star), gradient_clients,
        )  # fmt: skip
        before = after


@given(cases(heads=("normal",)), seeds, st.booleans())
def test_run_fresh_stops_diverged_or_converged(case, seed, split):
    schedule = draw_schedule(case, case.n, 40)
    diverging = Options(step_size=0.1, local_steps=1, head_step_size=1e30)
    rng = np.random.default_rng(seed)
    B, W, metrics, completed, status = run_fresh(
        case, schedule, diverging, rng=rng, m=4, split=split
    )
    assert status == DIVERGED
    assert np.isfinite(B).all()
    assert np.isfinite(W).all()
    assert np.isfinite(metrics[1 : completed + 1]).all()
    always = replace(diverging, head_step_size=None, tolerance=1.0)
    _, _, metrics, completed, status = run_fresh(case, schedule, always, rng=rng, m=4, split=split)
    assert (completed, status) == (1, CONVERGED)
    assert np.isnan(metrics[2:]).all()


@given(cases(k_within_n=False))
def test_fit_heads_is_numpys_least_squares_client_by_client(case):
    assume(all(rank_is_clear(X @ case.B) for X, _ in case.clients))
    W = np.full((case.n, case.k), np.nan)
    kernel.fit_heads(case.X, case.y, case.offsets, case.B.T.copy(), W, scratch(case, 1))
    for (X, y), w in zip(case.clients, W, strict=True):
        expected = reference.head_least_squares(X, y, case.B)
        close(w, expected, exact_head_error(X @ case.B, y, expected))

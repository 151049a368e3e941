"""The trajectories against the reference, round by round: each from where the kernel stood."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from linrep.kernels import fedrep as kernel
from linrep.kernels.rounds import COMPLETED, EXACT, Settings, truth_of, workspace
from linrep.problems.regression import DESIGNS, SharedRepresentation
from tests.compare import check_round, heads_are_clear, is_lost
from tests.reference import fedrep as reference
from tests.strategies import cases, seeds
from tests.tools import close, exact_head_error, rank_is_clear

METRICS = ("distance", "loss", "head_error", "population_risk")
#: A seed, samples per client, whether heads and gradients see different ones, and their design.
BATCHES = seeds, st.integers(1, 8), st.booleans(), st.sampled_from(list(DESIGNS))


@st.composite
def options(draw, orthonormal):
    """Draw settings in the reference's words."""
    local_steps = draw(st.one_of(st.none(), st.integers(1, 10)), label="local_steps")
    sizes = st.one_of(st.none(), st.floats(0.01, 0.3))
    return {
        "step_size": draw(st.floats(1e-3, 0.5), label="step_size"),
        "normalization": draw(st.sampled_from(["theorem", "published"]), label="normalization"),
        "local_steps": local_steps,
        "head_step_size": None if local_steps is None else draw(sizes, label="head_step_size"),
        "orthonormal": orthonormal and draw(st.booleans()),
    }


def scratch(case, m, participants):
    """Return a workspace of which nothing may be read before it is written."""
    work = workspace(case.k, case.d, m, participants)
    for array in work:
        array[:] = np.nan
    return work


def run(function, source, case, schedule, options, m):
    """Return B, W, metrics after the last round, rounds completed and status."""
    size, averaged = options["step_size"], options["normalization"] == "theorem"
    heads = options["local_steps"] or EXACT, options["head_step_size"] or 0.0
    settings = Settings(size, averaged, *heads, options["orthonormal"], -1.0)
    BT, W, metrics = case.B.T.copy(), case.W.copy(), np.full((len(schedule) + 1, 4), np.nan)
    truth, work = truth_of(case.B_star, case.W_star), scratch(case, m, schedule.shape[1])
    ended = function(*source, schedule, BT, W, settings, truth, metrics, work)
    return BT.T, W, dict(zip(METRICS, metrics[-1], strict=True)), *ended


@pytest.mark.parametrize("fixed", [True, False])
@given(cases(k_within_n=False), *BATCHES, st.data())
def test_rounds_equal_the_reference_one_by_one(fixed, case, seed, m, split, design, data):
    """On stored data; or one participant after the other draws a batch, with split a second one."""
    settings = data.draw(options(case.orthonormal))
    participants = data.draw(st.integers(1, case.n), label="participants")
    schedule = np.array([case.rng.permutation(case.n)[:participants] for _ in range(3)], np.int64)
    if not fixed:
        truth = SharedRepresentation(case.B_star, case.W_star, case.noise, design)
        # The truth stores its frame with its own rounding; both sides are to see the same one.
        case = replace(case, B_star=truth.B)
    stream, before = np.random.default_rng(seed), (case.B, case.W)
    clients, others = case.clients, None
    for t, selected in enumerate(schedule):
        rounds = schedule[: t + 1]
        if fixed:
            samples = kernel.Samples(case.X, case.y, case.offsets)
            found = run(kernel.run_fixed, [samples], case, rounds, settings, case.m)
        else:
            clients, second = [None] * case.n, [None] * case.n
            for i in selected:
                for batch in (clients, second)[: 1 + split]:
                    batch[i] = truth.draw(m, rng=stream, clients=[i]).client(0)
            others = second if split else None
            room = (np.full(shape, np.nan) for shape in ((m, case.d), m, case.d))
            batch = kernel.Batch(DESIGNS[design], 5.0, case.noise, split, *room)
            source = np.random.default_rng(seed), batch
            found = run(kernel.run_fresh, source, case, rounds, settings, m)
        *after, row, completed, status = found
        assume(heads_are_clear(clients, selected, before[0], settings))
        lost = is_lost(before, clients, selected, settings, others)
        assert lost or (completed, status) == (t + 1, COMPLETED)
        if lost:
            return
        truths = case.B_star, case.W_star
        check_round(before, after, row, clients, selected, settings, truths, others)
        before = after


@given(cases(k_within_n=False))
def test_fit_heads_is_numpys_least_squares_client_by_client(case):
    assume(all(rank_is_clear(X @ case.B) for X, _ in case.clients))
    W = np.full((case.n, case.k), np.nan)
    kernel.fit_heads(case.X, case.y, case.offsets, case.B.T.copy(), W, scratch(case, case.m, 1))
    for (X, y), w in zip(case.clients, W, strict=True):
        expected = reference.head_least_squares(X, y, case.B)
        close(w, expected, exact_head_error(X @ case.B, y, expected))

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.linalg import norm

import linrep as lr
from linrep.algorithms.fedrep import rounds as fedrep_rounds
from linrep.algorithms.step_sizes import smoothness_step_size
from linrep.problems.subspace import orthonormalize
from tests.algorithms.support import clients_of, same_numbers, schedule, sizes, streams, truths
from tests.compare import check_metrics, check_round, heads_are_clear, is_lost
from tests.strategies import cases, frame, seeds
from tests.tools import EPS, UNITS, close, complaint, condition, metric_errors

ROUNDS = 3
METRICS = ["distance", "loss", "head_error", "population_risk", "floats_up", "floats_down",
           "samples"]  # fmt: skip


@st.composite
def settings(draw):
    """Draw the step size and the options of the reference's round."""
    local_steps = draw(st.one_of(st.none(), st.integers(1, 10)), label="local_steps")
    head_step_size = st.one_of(st.none(), st.floats(0.01, 0.1))
    return {
        "step_size": draw(st.floats(1e-3, 0.3), label="step_size"),
        "local_steps": local_steps,
        "head_step_size": None if local_steps is None else draw(head_step_size),
        "normalization": draw(st.sampled_from(["theorem", "published"])),
        "orthonormal": draw(st.booleans(), label="orthonormal"),
    }


def prefixes(problem, rounds=ROUNDS, **options):
    """Return the traces of the first 0, 1, …, rounds rounds of a run."""
    return [lr.fedrep(problem, rounds=t, **options) for t in range(rounds + 1)]


def state(trace):
    return trace.state["B"], trace.state["W"]


def last_row(trace):
    return {name: trace[name][-1] for name in trace}


def check_start(trace, B, W, orthonormal, truth):
    """A start is taken to an orthonormal B, if asked, with the models W B' kept."""
    np.testing.assert_array_equal(trace.state["B"], orthonormalize(B) if orthonormal else B)
    close(trace.state["W"] @ trace.state["B"].T, W @ B.T, UNITS * EPS * norm(W))
    assert np.isnan(trace["loss"][0])
    check_metrics(state(trace), last_row(trace), (truth.B, truth.W))


def starting_point(name, sample, truth, rng):
    if name == "random":
        return lr.random_start(truth.n, truth.d, truth.k, rng)
    if name == "moments":
        return lr.moments_start(sample, truth.k), np.zeros((truth.n, truth.k))
    return lr.projected_gradient_start(sample, truth.k)


starts = st.sampled_from(["random", "moments", "projected_gradient"])


# Against the reference, round by round: each from where the run stood.


@given(truths(), seeds, settings(), starts, st.data())
def test_fixed_batches_follow_the_reference(truth, seed, options, start, data):
    ragged = st.lists(st.integers(1, 6), min_size=truth.n, max_size=truth.n)
    m = data.draw(st.one_of(st.integers(1, 6), ragged), label="m")
    participants = data.draw(st.integers(1, truth.n), label="participants")
    sample = truth.draw(m, rng=streams(seed)[0])
    common = {"m": m, "batches": "fixed", "participation": participants / truth.n, "rng": seed}
    traces = prefixes(truth, start=start, **common, **options)
    B, W = starting_point(start, sample, truth, streams(seed)[2])
    check_start(traces[0], B, W, options["orthonormal"], truth)
    clients = clients_of(sample)
    for t, selected in enumerate(schedule(seed, truth.n, participants, ROUNDS)):
        before, after = traces[t], traces[t + 1]
        assume(heads_are_clear(clients, selected, before.state["B"], options))
        lost = is_lost(state(before), clients, selected, options)
        assert lost or after.stop_reason == "rounds"
        if lost:
            return
        check_round(
            state(before), state(after), last_row(after), clients, selected, options,
            (truth.B, truth.W),
        )  # fmt: skip


@given(truths(), seeds, settings(), starts, st.integers(1, 6), st.booleans(), st.data())
def test_fresh_and_split_batches_follow_the_reference(truth, seed, options, start, m, split, data):
    participants = data.draw(st.integers(1, truth.n), label="participants")
    batches = "split" if split else "fresh"
    common = {"m": m, "batches": batches, "participation": participants / truth.n, "rng": seed}
    traces = prefixes(truth, start=start, **common, **options)
    stream, _, start_rng = streams(seed)
    sample = None if start == "random" else truth.draw(m, rng=start_rng)
    B, W = starting_point(start, sample, truth, start_rng)
    check_start(traces[0], B, W, options["orthonormal"], truth)
    for t, selected in enumerate(schedule(seed, truth.n, participants, ROUNDS)):
        before, after = traces[t], traces[t + 1]
        head_batch, gradient_batch = [None] * truth.n, [None] * truth.n
        for i in selected:
            for batch in (head_batch, gradient_batch)[: 1 + split]:
                batch[i] = truth.draw(m, rng=stream, clients=[i]).client(0)
        gradient_batch = gradient_batch if split else None
        assume(heads_are_clear(head_batch, selected, before.state["B"], options))
        lost = is_lost(state(before), head_batch, selected, options, gradient_batch)
        assert lost or after.stop_reason == "rounds"
        if lost:
            return
        check_round(
            state(before), state(after), last_row(after), head_batch, selected, options,
            (truth.B, truth.W), gradient_batch,
        )  # fmt: skip


@given(cases(), settings())
def test_own_data_without_a_truth_follow_the_reference(case, options):
    data = lr.ClientData(case.X, case.y, case.offsets)
    traces = prefixes(data, k=case.k, start=(case.B, case.W), rng=0, **options)
    # A start that is not orthonormal is made so, where asked, with the models W B' kept.
    B, W = state(traces[0])
    size = norm(case.W) * norm(case.B)
    close(W @ B.T, case.W @ case.B.T, UNITS * EPS * condition(case.B) * size)
    if options["orthonormal"]:
        np.testing.assert_array_equal(B, orthonormalize(case.B))
    else:
        np.testing.assert_array_equal(B, case.B)
    for trace in traces:
        assert list(trace) == ["loss", "floats_up", "floats_down", "samples"]
    everyone = np.arange(case.n)
    for before, after in pairwise(traces):
        assume(heads_are_clear(case.clients, everyone, before.state["B"], options))
        lost = is_lost(state(before), case.clients, everyone, options)
        # Of data without a truth such a loss is divergence, and the state an earlier one.
        lost = lost or after["loss"][-1] > 100.0 * after["loss"][1]
        assert lost or after.stop_reason == "rounds"
        if lost:
            return
        check_round(
            state(before), state(after), last_row(after), case.clients, everyone, options, None
        )


# What does not change the numbers.


@given(truths(), seeds, settings(), st.sampled_from(["fixed", "fresh", "split"]), starts)
def test_a_seed_gives_the_same_numbers_and_another_seed_others(
    truth, seed, options, batches, start
):
    run = {"m": 4, "batches": batches, "start": start, "rounds": ROUNDS, **options}
    same_numbers(lr.fedrep(truth, rng=seed, **run), lr.fedrep(truth, rng=seed, **run))
    one, other = lr.fedrep(truth, rng=seed, **run), lr.fedrep(truth, rng=seed + 1, **run)
    assert not np.array_equal(one["loss"][1:], other["loss"][1:]) or one["loss"][1:].max() < 1e-20


@given(truths(), seeds, settings(), st.sampled_from(["fixed", "fresh", "split"]))
def test_a_shorter_run_is_the_beginning_of_a_longer_one(truth, seed, options, batches):
    run = {"m": 3, "batches": batches, "rng": seed, "participation": 0.6, **options}
    long = lr.fedrep(truth, rounds=6, **run)
    for rounds in range(long.rounds + 1):
        short = lr.fedrep(truth, rounds=rounds, **run)
        assert short.rounds == rounds
        same_numbers(short, long, rounds)


@given(truths(), seeds, settings(), st.sampled_from(["fixed", "fresh", "split"]), st.integers(1, 4))
def test_cutting_a_run_into_calls_changes_nothing(truth, seed, options, batches, per_call):
    run = {"m": 3, "batches": batches, "rng": seed, "participation": 0.6, "rounds": 7, **options}
    whole = lr.fedrep(truth, **run)
    participants = whole.settings["participants"]
    calls = []

    def counted(function):
        def call(*arguments):
            calls.append(function)
            return function(*arguments)

        return call

    with pytest.MonkeyPatch.context() as patch:
        work = per_call * participants * 3 * truth.d * truth.k
        patch.setattr(fedrep_rounds, "WORK_PER_CALL", work)
        patch.setattr(fedrep_rounds, "run_fixed", counted(fedrep_rounds.run_fixed))
        patch.setattr(fedrep_rounds, "run_fresh", counted(fedrep_rounds.run_fresh))
        parts = lr.fedrep(truth, **run)
    same_numbers(whole, parts)
    if whole.stop_reason == "rounds":
        assert len(calls) == -(-7 // per_call)


@given(truths(), seeds, settings(), st.sampled_from(["random", "moments", "projected_gradient"]))
def test_a_truth_with_fixed_batches_runs_on_the_data_it_draws(truth, seed, options, start):
    run = {"start": start, "rounds": ROUNDS, "rng": seed, **options}
    drawn = truth.draw(4, rng=seed)
    from_truth = lr.fedrep(truth, m=4, batches="fixed", **run)
    same_numbers(from_truth, lr.fedrep(drawn, **run))


@given(cases(), settings())
def test_the_callers_arrays_stay_as_they_are(case, options):
    arrays = [array.copy() for array in (case.X, case.y, case.B, case.W)]
    lr.fedrep(case.data, start=(case.B, case.W), rounds=ROUNDS, rng=0, **options)
    for array, before in zip((case.X, case.y, case.B, case.W), arrays, strict=True):
        np.testing.assert_array_equal(array, before)


# Invariances of the trajectory.

easy = cases(n=(3, 5), d=(4, 8), k=(1, 3), m=(6, 9), kinds=("normal",), heads=("normal",))


def trajectory_error(case, start, options):
    """Bound how far rounding can drive two runs apart, metric by metric.

    How far a perturbation of 1e-8 of the start drives them, times as many units of rounding as
    there are rounds, with room for other directions than the one that was tried.
    """
    size, B = 1e-8, start
    reference_run = lr.fedrep(case.data, start=B, **options)
    bump = size * frame(np.random.default_rng(0), *B.shape)
    moved = lr.fedrep(case.data, start=B + bump, **options)
    return {
        name: UNITS
        * ROUNDS
        * EPS
        * (1.0 + 100.0 * np.nanmax(np.abs(moved[name] - reference_run[name])) / size)
        * (1.0 + np.nanmax(reference_run[name]))
        for name in METRICS[:4]
    }


def agree(trace, other, errors):
    for name, error in errors.items():
        close(trace[name][1:], other[name][1:], error)
        if name != "loss":
            close(trace[name][0], other[name][0], error)


RUN = {"rounds": ROUNDS, "step_size": 0.1, "rng": 0}


@given(easy)
def test_a_rotation_of_the_space_rotates_the_run(case):
    O = frame(case.rng, case.d, case.d)  # noqa: E741
    truth = lr.SharedRepresentation(O @ case.B_star, case.W_star)
    rotated = lr.ClientData(case.X @ O.T, case.y, case.offsets, truth=truth)
    one = lr.fedrep(case.data, start=case.B, **RUN)
    other = lr.fedrep(rotated, start=O @ case.B, **RUN)
    errors = trajectory_error(case, case.B, RUN)
    agree(one, other, errors)
    close(O @ one.state["B"], other.state["B"], sum(errors.values()))


@given(easy)
def test_the_order_of_the_clients_does_not_matter(case):
    order = case.rng.permutation(case.n)
    truth = lr.SharedRepresentation(case.B_star, case.W_star[order])
    permuted = lr.ClientData.from_list([case.clients[i] for i in order])
    permuted = lr.ClientData(permuted.X, permuted.y, permuted.offsets, truth=truth)
    one = lr.fedrep(case.data, start=case.B, **RUN)
    other = lr.fedrep(permuted, start=case.B, **RUN)
    errors = trajectory_error(case, case.B, RUN)
    agree(one, other, errors)
    close(one.state["W"][order], other.state["W"], 10 * sum(errors.values()))


@given(easy, st.booleans())
def test_a_rotation_of_the_truths_factors_changes_nothing(case, theorem):
    """B* O and W* O are the same models; what is measured and the theorem's step size agree."""
    O = frame(case.rng, case.k, case.k)  # noqa: E741
    truth = lr.SharedRepresentation(case.B_star @ O, case.W_star @ O)
    other_data = lr.ClientData(case.X, case.y, case.offsets, truth=truth)
    run = RUN | {"step_size": "theorem" if theorem else 0.1, "start": case.B}
    one, other = lr.fedrep(case.data, **run), lr.fedrep(other_data, **run)
    close(one.settings["step_size"] / other.settings["step_size"], 1.0, 100 * EPS)
    errors = trajectory_error(case, case.B, RUN)
    if not theorem:
        same_numbers_of_state(one, other)
        errors = metric_errors(*state(one), case.W_star, EPS, 0.0)
    agree(one, other, errors)


def same_numbers_of_state(one, other):
    for name, value in one.state.items():
        np.testing.assert_array_equal(value, other.state[name])


@given(easy, st.booleans())
def test_only_the_span_of_the_start_matters(case, orthonormal):
    """With exact heads, for a rotation of the columns; with orthonormalization for any basis.

    Distance and loss then. The recorded models B w do depend on the basis where a QR factorization
    comes between the fit of w and the B they are combined with: R is triangular in every basis.
    """
    start = orthonormalize(case.B)
    R = frame(case.rng, case.k, case.k)
    if orthonormal:
        R = R * np.exp(case.rng.uniform(-1.0, 1.0, case.k))
    run = RUN | {"orthonormal": orthonormal}
    one = lr.fedrep(case.data, start=start, **run)
    other = lr.fedrep(case.data, start=start @ R, **run)
    errors = trajectory_error(case, start, run)
    if orthonormal:
        errors = {name: errors[name] for name in ("distance", "loss")}
    else:
        models, others = (trace.state["W"] @ trace.state["B"].T for trace in (one, other))
        close(models, others, 10 * sum(errors.values()))
    agree(one, other, errors)


@given(easy, st.floats(0.1, 10.0))
def test_scaling_the_labels_scales_the_heads_and_the_step(case, scale):
    truth = lr.SharedRepresentation(case.B_star, scale * case.W_star)
    scaled = lr.ClientData(case.X, scale * case.y, case.offsets, truth=truth)
    one = lr.fedrep(case.data, start=case.B, **RUN)
    other = lr.fedrep(scaled, start=case.B, **RUN | {"step_size": 0.1 / scale**2})
    errors = trajectory_error(case, case.B, RUN)
    close(one["distance"], other["distance"], errors["distance"])
    close(one["loss"][1:], other["loss"][1:] / scale**2, errors["loss"])
    close(one["head_error"], other["head_error"] / scale, errors["head_error"])


@given(easy, st.data())
def test_the_published_normalization_is_a_longer_step(case, data):
    participants = data.draw(st.integers(1, case.n))
    run = RUN | {"participation": participants / case.n}
    one = lr.fedrep(case.data, start=case.B, **run)
    other = lr.fedrep(
        case.data,
        start=case.B,
        **run | {"normalization": "published", "step_size": 0.1 / participants},
    )
    agree(one, other, trajectory_error(case, case.B, run))


# Settings.


@given(truths(), st.data(), st.sampled_from(["theorem", "published"]))
def test_the_default_step_size_is_the_theorems(truth, data, normalization):
    participants = data.draw(st.integers(1, truth.n))
    trace = lr.fedrep(
        truth, m=3, rounds=1, participation=participants / truth.n, normalization=normalization,
        rng=0,
    )  # fmt: skip
    expected = 1.0 / (4.0 * truth.sigma_max(participants) ** 2)
    if normalization == "published":
        expected /= participants
    close(trace.step_size, expected, 10 * EPS * expected)


@given(easy, st.sampled_from(["theorem", "published"]), st.booleans())
def test_the_default_step_without_a_truth_is_adaptive_or_from_the_smoothness(
    case, normalization, qr
):
    data = lr.ClientData(case.X, case.y, case.offsets)
    run = {"k": case.k, "rounds": 1, "start": case.B, "rng": 0}
    run |= {"normalization": normalization, "orthonormal": qr}
    trace = lr.fedrep(data, **run)
    if qr and normalization == "theorem":
        assert trace.step_size == trace.settings["step_size_rule"] == "adaptive"
        assert trace["step_size"][1] > 0.0
        trace = lr.fedrep(data, step_size="smoothness", **run)
    else:
        with complaint(ValueError, "step_size='adaptive' needs"):
            lr.fedrep(data, step_size="adaptive", **run)
    assert trace.settings["step_size_rule"] == "smoothness"
    assert trace.settings["prescribed_step_size"] is None
    assert "step_size" not in trace
    expected = smoothness_step_size(data, orthonormalize(case.B) if qr else case.B)
    if normalization == "published":
        expected /= case.n
    assert trace.step_size == expected


@given(truths(), st.data(), st.sampled_from(["random", "moments", "projected_gradient"]))
def test_the_numbers_sent_are_counted(truth, data, start):
    participants = data.draw(st.integers(1, truth.n))
    trace = lr.fedrep(
        truth, m=3, rounds=4, participation=participants / truth.n, start=start, step_size=1e-3,
        rng=0,
    )  # fmt: skip
    n, d, k, t = truth.n, truth.d, truth.k, np.arange(5.0)
    up = {"random": 0, "moments": n * d * (d + 1) // 2, "projected_gradient": 10 * n * d}[start]
    down = 10 * n * d if start == "projected_gradient" else 0
    np.testing.assert_array_equal(trace["floats_up"], up + t * participants * d * k)
    np.testing.assert_array_equal(trace["floats_down"], down + t * participants * d * k)


def test_a_trace_says_what_was_run():
    truth = lr.SharedRepresentation.random(n=4, d=5, k=2, rng=0)
    trace = lr.fedrep(truth, m=3, rounds=2, participation=0.5, rng=0)
    assert list(trace) == METRICS
    assert trace.settings == {
        "problem": repr(truth),
        "m": 3,
        "k": 2,
        "rounds": 2,
        "batches": "fresh",
        "start": "moments",
        "participation": 0.5,
        "participants": 2,
        "local_steps": None,
        "step_size": trace.step_size,
        "step_size_rule": "theorem",
        "prescribed_step_size": trace.step_size,
        "head_step_size": None,
        "normalization": "theorem",
        "orthonormal": True,
        "tolerance": None,
        "coordinates": "given",
        "factored": False,
    }
    assert trace.state["B"].shape == (5, 2)
    assert trace.state["W"].shape == (4, 2)
    assert trace.wall_time > 0.0
    given_start = lr.fedrep(truth.draw(3, rng=0), start=truth.B, rounds=1)
    assert (given_start.settings["start"], given_start.settings["batches"]) == ("given", "fixed")


@pytest.mark.parametrize(("steps", "name"), [(None, "FedRep"), (1, "GD-GD"), (10, "10GD-GD")])
def test_methods_have_the_papers_names(steps, name):
    truth = lr.SharedRepresentation.random(n=2, d=3, k=1, rng=0)
    assert lr.fedrep(truth, m=3, rounds=1, local_steps=steps, rng=0).algorithm == name


def test_numpy_scalars_are_numbers_too():
    truth = lr.SharedRepresentation.random(n=2, d=3, k=1, rng=0)
    run = {"rounds": 2, "local_steps": 2, "step_size": 0.125, "rng": 0}
    numpy_run = {name: np.array(value)[()] for name, value in run.items() if name != "rng"}
    same_numbers(lr.fedrep(truth, m=3, **run), lr.fedrep(truth, m=np.int32(3), **numpy_run, rng=0))


# Endings.


@given(truths(noise=(0.0,)), seeds, st.integers(0, 6))
def test_a_run_stops_as_soon_as_the_distance_is_within_tolerance(truth, seed, stop):
    run = {"m": truth.k + 3, "rounds": 6, "start": "random", "rng": seed}
    free = lr.fedrep(truth, **run)
    tolerance = float(free["distance"][stop])
    first = int(np.argmax(free["distance"] <= tolerance))
    trace = lr.fedrep(truth, tolerance=tolerance, **run)
    assert trace.stop_reason == "converged"
    assert trace.rounds == first
    assert trace["distance"][-1] <= tolerance
    assert (trace["distance"][:-1] > tolerance).all()
    same_numbers(trace, free, first)
    below = float(free["distance"].min()) * (1.0 - 1e-9) - 1e-300
    if below >= 0.0:
        unreached = lr.fedrep(truth, tolerance=below, **run)
        same_numbers(unreached, free)
        assert unreached.stop_reason == "rounds"


def check_ending(trace):
    """All that a trace records is finite, whatever became of the run."""
    for name in trace:
        assert np.isfinite(trace[name][1 if name == "loss" else 0 :]).all(), name
    for value in trace.state.values():
        assert np.isfinite(value).all()
    if "distance" in trace:
        assert (trace["distance"] <= 1.0).all()


HUGE = st.sampled_from([1e20, 1e100, 1e155, 1e200, 1e308])


@given(truths(), seeds, settings(), HUGE, st.sampled_from([None, "fixed", "fresh", "split"]))
def test_a_huge_step_leaves_finite_numbers(truth, seed, options, size, batches):
    """Batches None stands for data without a truth."""
    options = options | {"step_size": size}
    run = {"start": "random", "rounds": 30, "rng": seed, "participation": 0.7, **options}
    problem = truth
    if batches is None:
        drawn = truth.draw(3, rng=seed)
        problem = lr.ClientData(drawn.X, drawn.y, drawn.offsets)
        run |= {"k": truth.k}
    else:
        run |= {"m": 3, "batches": batches}
    trace = lr.fedrep(problem, **run)
    check_ending(trace)
    if batches is None and trace.stop_reason == "diverged":
        return  # with the state of the least loss: tests/algorithms/test_diagnosis.py
    assert trace.stop_reason == ("rounds" if trace.rounds == 30 else "diverged")
    # The state belongs to the last row.
    shorter = lr.fedrep(problem, **run | {"rounds": trace.rounds})
    same_numbers_of_state(shorter, trace)


noisy_truths = truths(noise=(0.1,), sizes=st.just((4, 5, 2)))


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    "options",
    [
        {"step_size": 1e30, "participation": 0.25},  # one client: a step of rank one takes over
        {"local_steps": 1, "step_size": 0.1, "head_step_size": 1e30},
        {"local_steps": 10, "step_size": 0.1, "head_step_size": 10.0},
        {"local_steps": 1, "orthonormal": False, "step_size": 10.0, "head_step_size": 10.0},
    ],
)
@given(truth=noisy_truths, seed=seeds)
def test_a_diverging_run_says_so(known, options, truth, seed):
    data = truth.draw(6, rng=seed)
    if not known:
        data = lr.ClientData(data.X, data.y, data.offsets)
    trace = lr.fedrep(data, k=2, start="random", rounds=300, rng=seed, **options)
    assert trace.stop_reason == "diverged"
    assert trace.rounds < 300
    check_ending(trace)


@given(noisy_truths, seeds)
def test_a_risk_that_overflows_is_a_divergence_where_it_is_measured(truth, seed):
    """B of size 1e200 and heads of size 1, fitted before B grew; the loss knows nothing of it."""
    data = truth.draw(6, rng=seed)
    run = {"start": "random", "rounds": 3, "orthonormal": False, "step_size": 1e200, "rng": seed}
    trace = lr.fedrep(data, **run)
    assert (trace.stop_reason, trace.rounds) == ("diverged", 0)
    check_ending(trace)
    own = lr.fedrep(lr.ClientData(data.X, data.y, data.offsets), k=2, **run)
    assert own.stop_reason == "rounds"
    assert np.abs(own.state["B"]).max() > 1e190
    check_ending(own)


def test_no_rounds_measure_the_start_only():
    truth = lr.SharedRepresentation.random(n=3, d=4, k=2, rng=0)
    trace = lr.fedrep(truth, m=3, rounds=0, start=truth.B, rng=0)
    assert (trace.rounds, trace.stop_reason) == (0, "rounds")
    close(trace["distance"], np.zeros(1), 100 * EPS)
    np.testing.assert_array_equal(trace["floats_up"], [0.0])
    # Heads of zero: the risk is that of predicting zero.
    expected = 0.5 * norm(truth.W) ** 2 / 3
    close(trace["population_risk"], np.array([expected]), UNITS * EPS * expected)


@given(sizes, seeds)
def test_without_noise_the_truth_is_where_fedrep_stays(size, seed):
    n, d, k = size
    truth = lr.SharedRepresentation.random(n=n, d=d, k=k, rng=seed)
    trace = lr.fedrep(truth, m=k + 2, rounds=3, start=truth.B, rng=seed)
    # Normal equations serve squared condition numbers up to some 1e7, so heads are exact to 1e-7
    # or better, and that moves B by no more; the loss is quadratic in it.
    assert trace["distance"].max() < 1e-6
    assert np.nanmax(trace["loss"]) < 1e-10 * d


# Errors.

TRUTH = lr.SharedRepresentation.random(n=6, d=5, k=2, rng=0)
DATA = TRUTH.draw(4, rng=0)
OWN = lr.ClientData(DATA.X, DATA.y, DATA.offsets)
NAN = np.full((5, 2), np.nan)


@pytest.mark.parametrize(
    ("problem", "options", "kind", "words"),
    [
        (None, {}, TypeError, ("problem", "SharedRepresentation or ClientData", "NoneType")),
        (DATA.X, {}, TypeError, ("problem", "ndarray")),
        (TRUTH, {"m": None}, ValueError, ("m must be given",)),
        (TRUTH, {"m": 0}, ValueError, ("m ", "at least 1", "0")),
        (TRUTH, {"m": 2.5}, TypeError, ("m ", "integer", "2.5")),
        (TRUTH, {"m": [4] * 6}, TypeError, ("m ", "integer")),
        (TRUTH, {"m": 0, "batches": "fixed"}, ValueError, ("m ", "at least 1", "0")),
        (TRUTH, {"m": [4] * 5, "batches": "fixed"}, ValueError, ("m ", "6 integers")),
        (DATA, {"m": 3}, ValueError, ("m must not be given", "ClientData")),
        (DATA, {"batches": "fresh"}, ValueError, ("batches", "'fixed'", "'fresh'")),
        (OWN, {"k": 2, "batches": "split"}, ValueError, ("batches", "'fixed'", "'split'")),
        (TRUTH, {"batches": "stale"}, ValueError, ("batches", "'fixed', 'fresh'", "'stale'")),
        (OWN, {}, ValueError, ("k must be given",)),
        (TRUTH, {"k": 3}, ValueError, ("k ", "rank 2", "3")),
        (OWN, {"k": 6}, ValueError, ("k ", "5 = min(n, d)", "6")),
        (OWN, {"k": 0}, ValueError, ("k ", "at least 1", "0")),
        (OWN, {"k": 1.0}, TypeError, ("k ", "integer", "1.0")),
        (TRUTH, {"rounds": -1}, ValueError, ("rounds", "at least 0", "-1")),
        (TRUTH, {"rounds": 1.5}, TypeError, ("rounds", "integer", "1.5")),
        (TRUTH, {"rounds": None}, TypeError, ("rounds", "integer", "None")),
        (TRUTH, {"participation": 0}, ValueError, ("participation", "greater than 0", "0")),
        (TRUTH, {"participation": -0.5}, ValueError, ("participation", "greater than 0", "-0.5")),
        (TRUTH, {"participation": 1.01}, ValueError, ("participation", "at most 1", "1.01")),
        (TRUTH, {"participation": 0.05}, ValueError, ("participation", "none of 6", "0.0833")),
        (TRUTH, {"participation": np.nan}, ValueError, ("participation", "finite")),
        (TRUTH, {"participation": "all"}, TypeError, ("participation", "real number", "'all'")),
        (TRUTH, {"local_steps": 0}, ValueError, ("local_steps", "at least 1", "0")),
        (TRUTH, {"local_steps": 1.0}, TypeError, ("local_steps", "integer", "1.0")),
        (TRUTH, {"head_step_size": 0.1}, ValueError, ("head_step_size", "local_steps")),
        (TRUTH, {"local_steps": 1, "head_step_size": 0}, ValueError, ("head_step_size", "greater")),
        (TRUTH, {"local_steps": 1, "head_step_size": "a"}, TypeError, ("head_step_size", "real")),
        (TRUTH, {"step_size": 0}, ValueError, ("step_size", "greater than 0", "0")),
        (TRUTH, {"step_size": np.inf}, ValueError, ("step_size", "finite")),
        (TRUTH, {"step_size": "large"}, ValueError, ("step_size", "'theorem'", "'large'")),
        (TRUTH, {"step_size": [0.1]}, TypeError, ("step_size", "real number")),
        (OWN, {"k": 2, "step_size": "theorem"}, ValueError, ("step_size", "known truth")),
        (TRUTH, {"step_size": "smoothness"}, ValueError, ("step_size", "batches='fixed'")),
        (TRUTH, {"normalization": "mean"}, ValueError, ("normalization", "'published'", "'mean'")),
        (TRUTH, {"tolerance": -1}, ValueError, ("tolerance", "at least 0", "-1")),
        (TRUTH, {"tolerance": "low"}, TypeError, ("tolerance", "real number", "'low'")),
        (OWN, {"k": 2, "tolerance": 0.1}, ValueError, ("tolerance", "known truth")),
        (
            TRUTH,
            {"start": "zero"},
            ValueError,
            ("start", "'moments', 'models', 'random'", "'zero'"),
        ),
        (TRUTH, {"start": TRUTH.B.T}, ValueError, ("start", "(5, 2)", "(2, 5)")),
        (TRUTH, {"start": NAN}, ValueError, ("start", "finite")),
        (TRUTH, {"start": TRUTH.B + 0j}, TypeError, ("start", "complex")),
        (TRUTH, {"start": np.ones((5, 2))}, ValueError, ("start", "full column rank")),
        (
            TRUTH,
            {"start": np.zeros((5, 2)), "orthonormal": False},
            ValueError,
            ("start", "full column rank"),
        ),
        (TRUTH, {"start": (TRUTH.B, TRUTH.W[:3])}, ValueError, ("start's heads", "(6, 2)")),
        (TRUTH, {"start": (TRUTH.B, TRUTH.W * np.nan)}, ValueError, ("start's heads", "finite")),
        (TRUTH, {"start": (TRUTH.B,)}, ValueError, ("start", "pair (B, W)")),
        (TRUTH, {"start": (TRUTH.B, TRUTH.W, 1)}, ValueError, ("start", "pair (B, W)")),
        (
            lr.SharedRepresentation(TRUTH.B, 0 * TRUTH.W),
            {},
            ValueError,
            ("step_size='theorem'", "heads", "zero"),
        ),
    ],
)
def test_bad_arguments_are_named(problem, options, kind, words):
    defaults = {"m": 4} if isinstance(problem, lr.SharedRepresentation) else {}
    with complaint(kind, *words):
        lr.fedrep(problem, **(defaults | {"rounds": 2, "rng": 0} | options))


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError, match="lokal_steps"):
        lr.fedrep(TRUTH, m=3, lokal_steps=2)


def test_data_of_a_low_rank_regression_have_the_error_against_its_models():
    truth = lr.LowRankRegression.random(n=8, d=5, noise=0.1, rng=0)
    data = truth.draw(7, rng=1)
    options = {"k": 2, "start": "moments", "participation": 0.5, "step_size": 0.1, "rng": 2}
    trace = lr.fedrep(data, rounds=7, record=3, **options)
    np.testing.assert_array_equal(trace.recorded, [0, 3, 6, 7])
    assert list(trace) == ["loss", "truth_error", "floats_up", "floats_down", "samples"]
    for place, rounds in enumerate(trace.recorded):
        B, W = state(lr.fedrep(data, rounds=rounds, **options))
        expected = np.mean([norm(B @ w - phi) for w, phi in zip(W, truth.Phi.T, strict=True)])
        assert trace["truth_error"][place] == pytest.approx(expected, rel=1e-12)


def test_what_is_recorded_changes_nothing_else():
    truth = lr.SharedRepresentation.random(n=8, d=5, k=2, rng=0)
    options = {"m": 6, "rounds": 7, "participation": 0.5, "rng": 2}
    every, some = lr.fedrep(truth, **options), lr.fedrep(truth, record=[2], **options)
    np.testing.assert_array_equal(some.recorded, [0, 2, 7])
    for name in METRICS:
        np.testing.assert_array_equal(some[name], every[name][[0, 2, 7]])
    np.testing.assert_array_equal(some.state["B"], every.state["B"])


def test_a_run_that_diverges_or_converges_ends_its_record_there():
    data = lr.LowRankRegression.random(n=8, d=5, rng=0).draw(7, rng=1)
    trace = lr.fedrep(
        data, k=2, rounds=400, record=100, local_steps=1, head_step_size=1e100, step_size=1.0
    )
    assert trace.stop_reason == "diverged"
    assert trace.rounds < 100
    assert np.isfinite(trace["truth_error"]).all()
    truth = lr.SharedRepresentation.random(n=8, d=5, k=2, rng=0)
    trace = lr.fedrep(truth, m=20, rounds=4000, record=1000, tolerance=0.01, rng=1)
    assert trace.stop_reason == "converged"
    assert trace["distance"][-1] <= 0.01

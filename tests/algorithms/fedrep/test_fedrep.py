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
from tests.algorithms import support
from tests.algorithms.support import clients_of, own, same_numbers, schedule, streams, truths
from tests.compare import check_metrics, check_round, heads_are_clear, is_lost
from tests.strategies import cases, seeds
from tests.tools import EPS, UNITS, close, complaint, condition

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


def follow(traces, batches, options, truth=None):
    """Compare rounds with the reference's, until one leaves B or other numbers out of range.

    Batches are, round by round, who takes part, the clients' samples, and those of the gradient
    where they are others.
    """
    truth = truth and (truth.B, truth.W)
    for (before, after), (selected, clients, others) in zip(pairwise(traces), batches, strict=True):
        assume(heads_are_clear(clients, selected, before.state["B"], options))
        lost = is_lost(state(before), clients, selected, options, others)
        if truth is None:  # such a loss is divergence, and the state an earlier one
            lost = lost or after["loss"][-1] > 100.0 * after["loss"][1]
        assert lost or after.stop_reason == "rounds"
        if lost:
            return
        check_round(
            state(before), state(after), last_row(after), clients, selected, options, truth, others
        )


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
    clients, selected = clients_of(sample), schedule(seed, truth.n, participants, ROUNDS)
    follow(traces, ((some, clients, None) for some in selected), options, truth)


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

    def drawn():
        for selected in schedule(seed, truth.n, participants, ROUNDS):
            both = [[None] * truth.n for _ in range(1 + split)]
            for i in selected:
                for batch in both:
                    batch[i] = truth.draw(m, rng=stream, clients=[i]).client(0)
            yield selected, both[0], both[1] if split else None

    follow(traces, drawn(), options, truth)


@given(cases(), settings())
def test_own_data_without_a_truth_follow_the_reference(case, options):
    traces = prefixes(own(case), k=case.k, start=(case.B, case.W), rng=0, **options)
    # A start that is not orthonormal is made so, where asked, with the models W B' kept.
    B, W = state(traces[0])
    size = norm(case.W) * norm(case.B)
    close(W @ B.T, case.W @ case.B.T, UNITS * EPS * condition(case.B) * size)
    start = orthonormalize(case.B) if options["orthonormal"] else case.B
    np.testing.assert_array_equal(B, start)
    for trace in traces:
        assert list(trace) == ["loss", "floats_up", "floats_down", "samples"]
    follow(traces, [(np.arange(case.n), case.clients, None)] * ROUNDS, options)


# What does not change the numbers.


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


def same_numbers_of_state(one, other):
    for name, value in one.state.items():
        np.testing.assert_array_equal(value, other.state[name])


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


@given(
    cases(kinds=("normal",), heads=("normal",), m=(6, 9)),
    st.sampled_from(["theorem", "published"]),
    st.booleans(),
)
def test_the_default_step_without_a_truth_is_adaptive_or_from_the_smoothness(
    case, normalization, qr
):
    data = own(case)
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
        "weights": "clients",
        "tolerance": None,
        "coordinates": "given",
        "factored": False,
    }
    assert trace.state["B"].shape == (5, 2)
    assert trace.state["W"].shape == (4, 2)
    assert trace.wall_time > 0.0
    given_start = lr.fedrep(truth.draw(3, rng=0), start=truth.B, rounds=1)
    assert (given_start.settings["start"], given_start.settings["batches"]) == ("given", "fixed")


@pytest.mark.parametrize("start", ["moments", "given"])
@pytest.mark.parametrize("step_size", [0.05, "adaptive", "smoothness"])
def test_a_client_of_weight_two_is_two(start, step_size):
    truth = lr.SharedRepresentation.random(n=6, d=5, k=2, noise=0.5, rng=0)
    drawn = truth.draw(np.array([3, 9, 4, 20, 6, 5]), rng=1)
    data, counts = lr.ClientData(drawn.X, drawn.y, drawn.offsets), np.array([2, 1, 3, 1, 1, 2])
    twice = np.repeat(np.arange(6), counts)
    several = lr.ClientData.from_list([data.client(i) for i in twice])
    if start == "given":
        start = lr.moments_start(data, 2)
    settings = {"k": 2, "rounds": 15, "step_size": step_size, "start": start}
    one = lr.fedrep(data, weights=counts, **settings)
    other = lr.fedrep(several, **settings)
    np.testing.assert_allclose(one["loss"], other["loss"], rtol=1e-9)
    assert lr.subspace.distance(one.state["B"], other.state["B"]) < 1e-7
    np.testing.assert_allclose(one.models[twice], other.models, rtol=1e-6, atol=1e-9)
    assert one.settings["weights"] == tuple(counts.tolist())
    again = lr.fedrep(data, weights=counts, **settings | {"start": one, "rounds": 3})
    long = lr.fedrep(data, weights=counts, **settings | {"rounds": 18})
    np.testing.assert_array_equal(again["loss"][-1], long["loss"][-1])
    with complaint(ValueError, "start must be a trace"):
        lr.fedrep(data, **settings | {"start": one})


@pytest.mark.filterwarnings("ignore::linrep.algorithms.diagnosis.RunWarning")
def test_weights_by_samples_are_nearer_where_sizes_differ():
    truth = lr.SharedRepresentation.random(n=100, d=20, k=3, noise=0.5, rng=0)
    drawn = truth.draw(np.repeat([4, 200], 50), rng=1)
    data = lr.ClientData(drawn.X, drawn.y, drawn.offsets)
    errors = {
        weights: lr.subspace.distance(lr.fedrep(data, k=3, weights=weights).state["B"], truth.B)
        for weights in ("clients", "samples")
    }
    assert 2.0 * errors["samples"] < errors["clients"]


def test_weights_that_say_nothing_are_refused():
    truth = lr.SharedRepresentation.random(n=4, d=5, k=2, rng=0)
    with complaint(ValueError, "weights must be 'clients' where every round draws"):
        lr.fedrep(truth, m=5, weights="samples")
    with complaint(ValueError, "weights must be positive for all clients"):
        lr.fedrep(truth.draw(5, rng=0), weights=[1, 0, 1, 1])


@pytest.mark.parametrize(("steps", "name"), [(None, "FedRep"), (1, "GD-GD"), (10, "10GD-GD")])
def test_methods_have_the_papers_names(steps, name):
    truth = lr.SharedRepresentation.random(n=2, d=3, k=1, rng=0)
    assert lr.fedrep(truth, m=3, rounds=1, local_steps=steps, rng=0).algorithm == name


# Endings.


HUGE = st.sampled_from([1e20, 1e100, 1e155, 1e200, 1e308])


@given(truths(), seeds, settings(), HUGE, st.sampled_from([None, "fixed", "fresh", "split"]))
def test_a_huge_step_leaves_finite_numbers(truth, seed, options, size, batches):
    """Batches None stands for data without a truth."""
    options = options | {"step_size": size}
    run = {"start": "random", "rounds": 30, "rng": seed, "participation": 0.7, **options}
    problem, more = support.posed(truth, batches, seed)
    trace = lr.fedrep(problem, **run, **more)
    support.check_ending(trace)
    if batches is None and trace.stop_reason == "diverged":
        return  # with the state of the least loss: tests/algorithms/test_diagnosis.py
    assert trace.stop_reason == ("rounds" if trace.rounds == 30 else "diverged")
    # The state belongs to the last row.
    shorter = lr.fedrep(problem, **run | more | {"rounds": trace.rounds})
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
        data = own(data)
    trace = lr.fedrep(data, k=2, start="random", rounds=300, rng=seed, **options)
    assert trace.stop_reason == "diverged"
    assert trace.rounds < 300
    support.check_ending(trace)


@given(noisy_truths, seeds)
def test_a_risk_that_overflows_is_a_divergence_where_it_is_measured(truth, seed):
    """B of size 1e200 and heads of size 1, fitted before B grew; the loss knows nothing of it."""
    data = truth.draw(6, rng=seed)
    run = {"start": "random", "rounds": 3, "orthonormal": False, "step_size": 1e200, "rng": seed}
    trace = lr.fedrep(data, **run)
    assert (trace.stop_reason, trace.rounds) == ("diverged", 0)
    support.check_ending(trace)
    alone = lr.fedrep(own(data), k=2, **run)
    assert alone.stop_reason == "rounds"
    assert np.abs(alone.state["B"]).max() > 1e190
    support.check_ending(alone)


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

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.linalg import cond as condition
from numpy.linalg import norm

import linrep as lr
from linrep.problems.subspace import orthonormalize
from tests.algorithms import support
from tests.algorithms.support import clients_of, own, same_numbers, schedule, streams, truths
from tests.compare import check_metrics, global_model_error, global_model_loss_error
from tests.reference import fedrep as reference
from tests.strategies import cases, seeds
from tests.tools import EPS, close

ROUNDS = 3
step_sizes = st.floats(1e-3, 0.05)
local = st.integers(1, 3)
METRICS = ["distance", "loss", "head_error", "population_risk", "floats_up", "floats_down",
           "samples"]  # fmt: skip


def prefixes(problem, **options):
    return [lr.fedavg(problem, rounds=t, **options) for t in range(ROUNDS + 1)]


def check_round(before, after, clients, selected, step_size, local_steps, truth):
    B, w = before.state["B"], before.state["w"]
    expected = reference.global_model_round(clients, B, w, selected, step_size, local_steps)
    if after.stop_reason == "diverged":  # steps too long for these data; nothing of it was kept
        assert not np.isfinite(expected[0]).all() or condition(expected[0]) > 1e9
        assert after.rounds == before.rounds
        return False
    error = global_model_error(clients, B, w, selected, step_size, local_steps)
    close(after.state["B"], expected[0], error)
    close(after.state["w"], expected[1], error)
    close(after["loss"][-1], expected[2], global_model_loss_error(clients, B, w, selected))
    if truth is not None:
        row = {name: after[name][-1] for name in after}
        check_metrics((after.state["B"], after.state["W"]), row, (truth.B, truth.W))
    return True


@given(truths(), seeds, step_sizes, local, st.sampled_from(["fixed", "fresh"]), st.data())
def test_fedavg_follows_the_reference(truth, seed, step_size, local_steps, batches, data):
    """On the data, participants and start that fedrep has with this seed."""
    participants, m = data.draw(st.integers(1, truth.n)), data.draw(st.integers(1, 6))
    options = {
        "m": m,
        "batches": batches,
        "start": "random",
        "participation": participants / truth.n,
        "rng": seed,
    }
    traces = prefixes(truth, step_size=step_size, local_steps=local_steps, **options)
    data_rng, _, start_rng = streams(seed)
    B, W = lr.random_start(truth.n, truth.d, truth.k, start_rng)
    np.testing.assert_array_equal(traces[0].state["B"], B)
    close(traces[0].state["w"], W.mean(axis=0), 4 * EPS * norm(W))
    assert np.isnan(traces[0]["loss"][0])
    if batches == "fixed":
        clients = clients_of(truth.draw(m, rng=data_rng))
    for t, selected in enumerate(schedule(seed, truth.n, participants, ROUNDS)):
        if batches == "fresh":
            clients = [None] * truth.n
            for i in selected:
                clients[i] = truth.draw(m, rng=data_rng, clients=[i]).client(0)
        both = traces[t], traces[t + 1]
        if not check_round(*both, clients, selected, step_size, local_steps, truth):
            return


@given(cases(), step_sizes, local)
def test_fedavg_on_own_data_without_a_truth_follows_the_reference(case, step_size, local_steps):
    data = own(case)
    traces = prefixes(
        data, k=case.k, start=(case.B, case.W), step_size=step_size, local_steps=local_steps
    )
    everyone = np.arange(case.n)
    for t in range(ROUNDS):
        assert list(traces[t]) == ["loss", "floats_up", "floats_down", "samples"]
        both = traces[t], traces[t + 1]
        if not check_round(*both, case.clients, everyone, step_size, local_steps, None):
            return


@given(truths(), seeds, step_sizes, st.sampled_from(["fixed", "fresh"]))
def test_fedsgd_is_fedavg_with_one_local_step(truth, seed, step_size, batches):
    run = {"m": 3, "rounds": 4, "batches": batches, "step_size": step_size, "rng": seed}
    one, other = lr.fedsgd(truth, **run), lr.fedavg(truth, local_steps=1, **run)
    same_numbers(one, other)
    assert one.algorithm == other.algorithm == "FedSGD"
    assert lr.fedavg(truth, local_steps=2, **run).algorithm == "FedAvg"


@given(truths(), seeds, st.sampled_from(["random", "moments", "projected_gradient"]))
def test_fedavg_starts_where_fedrep_starts(truth, seed, start):
    run = {"m": 3, "batches": "fixed", "rounds": 0, "start": start, "rng": seed}
    one, other = lr.fedavg(truth, step_size=0.1, **run), lr.fedrep(truth, **run)
    np.testing.assert_array_equal(orthonormalize(one.state["B"]), other.state["B"])
    close(one.state["w"], other.state["W"].mean(axis=0), 4 * EPS * norm(other.state["W"]))


@given(truths(), st.data())
def test_every_clients_head_is_the_shared_one_and_the_numbers_sent_are_counted(truth, data):
    participants = data.draw(st.integers(1, truth.n))
    trace = lr.fedavg(
        truth, m=3, rounds=4, step_size=1e-3, participation=participants / truth.n, rng=0
    )
    np.testing.assert_array_equal(trace.state["W"], np.tile(trace.state["w"], (truth.n, 1)))
    assert list(trace) == METRICS
    sent = np.arange(5.0) * participants * (truth.d + 1) * truth.k
    start = truth.n * truth.d * (truth.d + 1) // 2
    np.testing.assert_array_equal(trace["floats_up"], start + sent)
    np.testing.assert_array_equal(trace["floats_down"], sent)
    assert trace.settings["participants"] == participants


@given(
    truths(sizes=st.just((3, 4, 2))),
    seeds,
    st.sampled_from([1e3, 1e20, 1e100, 1e155, 1e200, 1e308]),
    local,
    st.sampled_from([None, "fixed", "fresh"]),
    st.sampled_from(["random", "moments"]),
)
def test_a_huge_step_ends_diverged_with_finite_numbers(
    truth, seed, step_size, steps, batches, start
):
    """Batches None stands for data without a truth, where only the loss is watched.

    From the moments' start the head is zero: it may overflow before B has moved.
    """
    run = {"rounds": 200, "step_size": step_size, "local_steps": steps, "rng": seed, "start": start}
    problem, more = support.posed(truth, batches, seed)
    trace = lr.fedavg(problem, **run, **more)
    assert trace.stop_reason == "diverged"
    assert trace.rounds < 200
    support.check_ending(trace)
    assert len(trace["floats_up"]) == trace.rounds + 1


def test_a_head_that_overflows_before_the_loss_does_is_not_kept():
    """From w = 0 the first step leaves B where it is; the loss of (B, 0) is finite."""
    data = lr.ClientData.from_list([(np.eye(3), np.full(3, 20.0))] * 2)
    start = np.full((3, 1), 3.0**-0.5)
    trace = lr.fedsgd(data, k=1, start=start, rounds=5, step_size=1e308, rng=0)
    assert (trace.stop_reason, trace.rounds) == ("diverged", 0)
    np.testing.assert_array_equal(trace.state["w"], [0.0])
    np.testing.assert_array_equal(trace.state["B"], start)

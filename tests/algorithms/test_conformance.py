"""What record, tolerance, divergence, seeds and interrupts mean, the same for every algorithm."""

import os
import pickle
import signal
import threading
import time
from functools import cache, partial

import numpy as np
import pytest

import linrep as lr
from linrep.algorithms import imc
from tests.tools import complaint

SHARED = lr.SharedRepresentation.random(n=8, d=5, k=2, noise=0.1, rng=0)
DATA = SHARED.draw(9, rng=1)
LOW_RANK = lr.LowRankRegression.random(n=8, d=6, singular_values=[3, 2, 1, 0.5], noise=0.1, rng=0)
COMPLETION = lr.SideInformationCompletion.random(n=10, d=8, p=4, k=2, side="unit", rng=0)
ENTRIES = COMPLETION.without_side_information().observe(5, rng=1)
QUADRATIC = lr.QuadraticObjectives(np.random.default_rng(0).standard_normal((12, 5)))

fedrep = partial(lr.fedrep, m=9, start="random", step_size=0.1)
flute = partial(lr.flute, LOW_RANK, k=2)
pflmf = partial(lr.pflmf, k=2, participation=0.5)
perfedsi = partial(lr.perfedsi, COMPLETION, participants=3)


def own(problem, *, step_size, rounds, rng, record=1):
    """Gradient descent on the second moments of fresh samples, as a user would write it."""
    data_rng, _, start_rng = lr.streams(rng, "data", "participation", "start")
    draws = [problem.draw(9, rng=each) for each in data_rng.spawn(rounds)]

    def step(state, t):
        batch = draws[t - 1]
        with np.errstate(all="ignore"):
            moment = (batch.X * batch.y[:, None] ** 2).T @ (batch.X @ state["B"]) / len(batch.y)
            return {"B": state["B"] * (1.0 - step_size) + step_size * moment}

    return lr.run_rounds(
        step,
        {"B": lr.subspace.random_frame(problem.d, problem.k, start_rng)},
        rounds=rounds,
        record=record,
        measure=lambda state: {"size": np.abs(state["B"]).max()},
    )


# An algorithm with its settings, a step size that works, and one with which it diverges, or None.
ALGORITHMS = {
    "fedrep": (partial(fedrep, SHARED, participation=0.5), 0.1, None),
    "fedrep split": (partial(fedrep, SHARED, batches="split"), 0.1, None),
    "fedrep gram": (partial(fedrep, SHARED, batches="gram", participation=0.5), 0.1, None),
    "fedrep fixed": (partial(lr.fedrep, DATA, k=2), 0.1, None),
    "fedrep adaptive": (partial(lr.fedrep, DATA, k=2), "adaptive", None),
    "fedrep adaptive, some": (partial(lr.fedrep, DATA, k=2, participation=0.5), "adaptive", None),
    "gd-gd adaptive": (partial(lr.fedrep, DATA, k=2, local_steps=2), "adaptive", None),
    "gd-gd": (partial(fedrep, SHARED, local_steps=1, head_step_size=0.1), 0.1, None),
    "gd-gd not orthonormal": (
        partial(lr.fedrep, DATA, k=2, local_steps=2, head_step_size=0.1, orthonormal=False),
        0.1, 80.0,
    ),
    "fedrep on others' models": (partial(lr.fedrep, LOW_RANK.draw(9, rng=1), k=2), 0.1, None),
    "fedavg": (
        partial(lr.fedavg, DATA, k=2, start="random", local_steps=2, participation=0.5), 0.1, 80.0,
    ),
    "fedsgd gram": (partial(lr.fedsgd, SHARED, m=9, start="random", batches="gram"), 0.1, 80.0),
    "own": (partial(own, SHARED), 0.1, 80.0),
    "flute": (partial(flute, m=9, participation=0.5), 0.02, 9.0),
    "flute fresh": (partial(flute, m=9, batches="fresh"), 0.02, 9.0),
    "flute population": (partial(flute, batches="population"), 0.05, 9.0),
    "pflmf": (partial(pflmf, QUADRATIC), 0.5, 80.0),
    "pflmf fixed number": (partial(pflmf, QUADRATIC, sampling="fixed", local_steps=3), 0.3, 80.0),
    "pflmf alternating": (partial(pflmf, QUADRATIC, order="alternating"), 0.5, 80.0),
    "pflmf noise": (partial(pflmf, QUADRATIC, gradient_noise=0.1, local_steps=2), 0.3, 80.0),
    "pflmf samples": (partial(pflmf, DATA, sampling="fixed"), 0.3, 200.0),
    "pflmf batch": (partial(pflmf, DATA, batch=4, gradient_noise=0.1), 0.3, 200.0),
    "perfedsi": (perfedsi, 0.3, 60.0),
    "perfedsi without replacement": (partial(perfedsi, replacement=False), 0.3, 60.0),
    "perfedsi private": (partial(perfedsi, privacy=0.05), 0.3, 60.0),
    "perfedsi on entries": (
        partial(lr.perfedsi, ENTRIES, k=2, participants=4),
        0.1, 60.0,
    ),
}  # fmt: skip
WILD = [name for name, (_, _, wild) in ALGORITHMS.items() if wild]
# Those whose steps are found.
ALGORITHMS |= {
    f"{name}, found": (run, None, None)
    for name, run in {
        "flute": partial(lr.flute, DATA, k=2),
        "flute of some": partial(lr.flute, DATA, k=2, participation=0.5),
        "fedsgd": partial(lr.fedsgd, DATA, start="random"),
        "fedavg": partial(lr.fedavg, DATA, start="random", local_steps=3),
        "fedavg of some": partial(lr.fedavg, DATA, local_steps=3, participation=0.5),
        "pflmf": partial(lr.pflmf, DATA, k=2),
        "pflmf local steps": partial(lr.pflmf, DATA, k=2, local_steps=3),
        "pflmf of some": partial(pflmf, DATA, local_steps=3, head_step_size="theorem"),
        "pflmf batch": partial(lr.pflmf, DATA, k=2, batch=3),
        "altgdmin": partial(lr.altgdmin, DATA, k=2),
        "altmin_gd": partial(lr.altmin_gd, DATA, k=2),
        "anil": partial(lr.anil, SHARED, m=9, participation=0.5),
        "maml": partial(lr.maml, DATA, k=2),
    }.items()
}
ROUNDS = 24
RECORDS = (1, ROUNDS, 5, [3, 4, 17])


def same(one, other):
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def thinned(trace, recorded):
    """Return the metrics of a trace of all rounds at some of them."""
    return {name: values[recorded] for name, values in trace.metrics.items()}


def compare(every, run, records):
    """Assert that a run ends as it does where every round is recorded."""
    for record in records:
        some = run(record=record)
        assert (some.stop_reason, some.rounds) == (every.stop_reason, every.rounds)
        same(some.metrics, thinned(every, some.recorded))
        same(some.state, every.state)


@cache
def whole(name):
    """Return the trace of a whole run, of which all rounds are recorded."""
    run, step_size, _ = ALGORITHMS[name]
    return run(step_size=step_size, rounds=ROUNDS, rng=3)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_what_is_recorded_changes_nothing_else(name):
    run, step_size, _ = ALGORITHMS[name]
    assert whole(name).stop_reason == "rounds"
    assert whole(name).recorded.tolist() == list(range(ROUNDS + 1))
    for record in RECORDS:
        some = run(step_size=step_size, rounds=ROUNDS, rng=3, record=record)
        wanted = range(0, ROUNDS, record) if isinstance(record, int) else record
        assert some.recorded.tolist() == sorted({0, *wanted, ROUNDS})
        same(some.metrics, thinned(whole(name), some.recorded))
        same(some.state, whole(name).state)


@pytest.mark.parametrize("first", [0, 7])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_short_run_is_the_beginning_of_a_long_one_and_goes_on_as_that(name, first):
    run, step_size, _ = ALGORITHMS[name]
    begun = run(step_size=step_size, rounds=first, rng=3)
    same(begun.metrics, thinned(whole(name), begun.recorded))
    if name == "own":  # keeps no streams to go on with
        return
    begun = pickle.loads(pickle.dumps(begun))  # goes on from a file as well
    for _ in range(2):  # going on changes nothing in where it goes on from
        rest = run(step_size=step_size, rounds=ROUNDS - first, start=begun)
        assert rest.recorded.tolist() == list(range(first, ROUNDS + 1))
        same(rest.metrics, thinned(whole(name), rest.recorded))
        same(rest.state, whole(name).state)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_same_seed_gives_the_same_bits_and_another_one_others(name):
    run, step_size, _ = ALGORITHMS[name]
    traces = [run(step_size=step_size, rounds=5, rng=seed) for seed in (3, 3)]
    traces += [run(step_size=step_size, rounds=5, rng=np.random.default_rng(s)) for s in (3, 3, 4)]
    for one, other in (traces[:2], traces[2:4]):
        same(one.metrics, other.metrics)
        same(one.state, other.state)
    deterministic = name in (
        "fedrep fixed", "fedrep adaptive", "gd-gd adaptive", "gd-gd not orthonormal",
        "fedrep on others' models", "altgdmin, found", "altmin_gd, found",
    )  # fmt: skip
    alike = [np.array_equal(traces[3].state[part], traces[4].state[part]) for part in "BWUV"
             if part in traces[3].state]  # fmt: skip
    assert all(alike) == deterministic  # all clients' stored data, from their moments


@pytest.mark.parametrize("name", WILD)
def test_a_run_that_diverges_ends_with_its_last_finite_round(name):
    run, _, wild = ALGORITHMS[name]
    every = run(step_size=wild, rounds=300, rng=3)
    assert every.stop_reason == "diverged"
    assert 0 < every.rounds < 300
    assert all(np.isfinite(values).all() for values in every.state.values())
    compare(
        every,
        partial(run, step_size=wild, rounds=300, rng=3),
        (300, 5, [every.rounds + 2], [every.rounds - 1]),
    )
    until = run(step_size=wild, rounds=every.rounds, rng=3)
    assert until.stop_reason == "rounds"
    same(until.metrics, every.metrics)


@pytest.mark.parametrize(
    ("run", "tolerance"),
    [
        (partial(fedrep, SHARED, m=60), 0.3),
        (partial(fedrep, SHARED, m=60, batches="gram"), 0.3),
        (partial(flute, m=40, step_size=0.05), 1e-3),
        (partial(flute, batches="population", step_size=0.05), 1e-3),
        (partial(lr.pflmf, QUADRATIC, k=2, step_size=0.5, head_step_size=5.0), 1e-3),
    ],
)
def test_a_tolerance_ends_a_run_in_the_same_round_whatever_is_recorded(run, tolerance):
    every = run(rounds=2000, tolerance=tolerance, rng=3)
    assert every.stop_reason == "converged"
    assert 2 < every.rounds < 2000
    compare(every, partial(run, rounds=2000, tolerance=tolerance, rng=3), (2000, 7, [2]))


LARGE = lr.SharedRepresentation.random(n=400, d=60, k=4, rng=0)
LARGE_COMPLETION = lr.SideInformationCompletion.random(n=500, d=100, p=40, k=4, side="unit", rng=0)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "run",
    [
        partial(lr.fedrep, LARGE, m=50, rounds=10**6),
        partial(lr.fedrep, LARGE, m=50, rounds=10**6, batches="gram"),
        partial(lr.flute, LARGE, m=50, step_size=1e-9, rounds=10**6, record=10**6),
        partial(
            lr.flute, LARGE, batches="population", step_size=1e-9, rounds=10**8, record=10**8
        ),
        partial(lr.pflmf, LARGE, m=50, step_size=1e-9, rounds=10**6, record=10**6),
        partial(
            lr.perfedsi, LARGE_COMPLETION, step_size=1e-9, participants=100, rounds=10**6,
            record=10**6,
        ),
    ],
)  # fmt: skip
def test_an_interrupt_is_heard_soon(run):
    """Also where nothing is recorded for long."""
    run(rounds=2, record=1)  # compiled by now
    sent = []

    def interrupt():
        time.sleep(0.3)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run()
    thread.join()
    assert time.perf_counter() - sent[0] < 2.0  # seconds on a busy machine; half of one on an idle


def test_what_a_start_has_sent_is_counted_once():
    run = partial(lr.fedrep, SHARED, m=9, batches="fixed", step_size="smoothness")
    whole = run(rounds=5, start="projected_gradient", rng=3)
    begun = run(rounds=2, start="projected_gradient", rng=3)
    rest = run(rounds=3, start=begun, step_size=whole.step_size)
    same(rest.metrics, thinned(whole, rest.recorded))
    same(rest.state, whole.state)


@pytest.mark.parametrize(
    "run",
    [
        partial(lr.fedrep, SHARED, m=9, start="random", participation=0.5),
        partial(lr.fedrep, SHARED, m=9, start="random", participation=0.5, batches="gram"),
        partial(lr.fedrep, SHARED.with_heads(SHARED.W), m=9, batches="gram_split", start=0.9),
        partial(
            lr.fedrep, lr.ImplicitRepresentation(SHARED.W, 50), m=30, batches="gram", start="random"
        ),
        partial(
            lr.pflmf, QUADRATIC, k=2, step_size=0.5, head_step_size=5.0, participation=0.5,
            aggregate="full",
        ),
    ],
)  # fmt: skip
def test_a_run_that_converged_goes_on_to_a_smaller_tolerance(run):
    wide, narrow = (0.5, 0.1) if run.func is lr.fedrep else (0.05, 1e-6)
    begun = run(rounds=3000, tolerance=wide, rng=3)
    rest = run(rounds=3000, tolerance=narrow, **{**run.keywords, "start": begun})
    whole = run(rounds=3000, tolerance=narrow, rng=3)
    assert begun.stop_reason == rest.stop_reason == whole.stop_reason == "converged"
    assert begun.rounds < whole.rounds == rest.rounds
    same(rest.metrics, thinned(whole, rest.recorded))
    same(rest.state, whole.state)


BEGUN = fedrep(SHARED, rounds=2, rng=3)
OF_OWN = own(SHARED, step_size=0.1, rounds=2, rng=3)
FITTED = lr.fedrep(DATA, k=2, rounds=2, start="random", rng=3)
DIVERGED = lr.fedsgd(DATA, k=2, rounds=300, step_size=80.0, start="random", rng=3)
WITHOUT = pflmf(QUADRATIC, step_size=0.5, rounds=2, stationarity=False, rng=3)
OTHER = lr.SharedRepresentation.random(n=8, d=5, k=2, noise=0.1, rng=5)
SAME = "start must be a trace of the same algorithm"


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (partial(fedrep, SHARED, start=BEGUN, rng=3), "rng must not be given with start=trace"),
        (partial(lr.fedsgd, DATA, k=2, step_size=0.1, start=DIVERGED), "not be a diverged trace"),
        (partial(lr.fedsgd, SHARED, m=9, step_size=0.1, start=BEGUN), SAME),
        (partial(fedrep, SHARED, start=OF_OWN), SAME),
        (partial(perfedsi, step_size=0.1, start=BEGUN), "a trace with U and V in its state"),
        (partial(lr.pflmf, QUADRATIC, k=2, step_size=0.1, start=BEGUN), SAME),
        (partial(fedrep, OTHER, start=BEGUN), f"{SAME} on the same"),
        (partial(lr.fedrep, SHARED.draw(9, rng=2), k=2, start=FITTED), f"{SAME} on the same"),
        (partial(fedrep, SHARED, start=BEGUN, step_size=0.2), "same settings: its step_size is"),
        (partial(fedrep, SHARED, start=BEGUN, m=8), "same settings: its m is"),
        (partial(fedrep, SHARED, start=BEGUN, participation=0.5), "its participation is"),
        (partial(fedrep, SHARED, start=BEGUN, orthonormal=False), "its orthonormal is"),
        (partial(pflmf, QUADRATIC, step_size=0.5, start=WITHOUT), "its stationarity is"),
    ],
)  # fmt: skip
def test_a_run_says_from_which_traces_it_cannot_go_on(run, words):
    with complaint(ValueError, words):
        run(rounds=2)


def test_a_solver_does_not_go_on():
    assert DIVERGED.stop_reason == "diverged"
    with complaint(ValueError, "start must be 'spectral' or a pair (U, V), got a Trace"):
        imc.gauss_newton(ENTRIES, k=2, start=WITHOUT)

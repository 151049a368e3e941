import threading
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linrep as lr
from linrep.problems.random import stream
from tests.algorithms.support import same_numbers, truths
from tests.strategies import seeds


def mine(problem, *, rng, rounds):
    """Stand in for a user's algorithm: a random walk on the sphere."""
    rng = np.random.default_rng(rng)
    return lr.run_rounds(
        lambda state, _: {"B": state["B"] + rng.standard_normal(state["B"].shape)},
        {"B": rng.standard_normal(problem.B.shape)},
        rounds=rounds,
        measure=lambda state: {"distance": lr.subspace.distance(state["B"], problem.B)},
        algorithm="walk",
    )


METHODS = {
    "FedRep": partial(lr.fedrep, m=3, rounds=3, participation=0.6),
    "fixed": partial(lr.fedrep, m=3, rounds=3, batches="fixed", start="random"),
    "GD-GD": partial(lr.fedrep, m=3, rounds=3, local_steps=1, step_size=0.05, start="random"),
    "FedSGD": partial(lr.fedsgd, m=3, rounds=3, step_size=0.01),
    "local": partial(lr.local_only, m=3),
    "of a user": partial(mine, rounds=4),
}


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=25)
@given(truth=truths(), seed=seeds, trials=st.integers(1, 4))
def test_the_numbers_do_not_depend_on_the_workers(method, truth, seed, trials):
    run = {"trials": trials, "rng": seed}
    one = lr.run_trials(METHODS[method], truth, workers=1, **run)
    two = lr.run_trials(METHODS[method], truth, workers=2, **run)
    assert len(one) == len(two) == trials
    for first, second in zip(one, two, strict=True):
        same_numbers(first, second)


@given(truths(), seeds)
def test_a_trial_depends_on_its_place_only(truth, seed):
    """More trials leave the first ones as they were, and each is a run of its own stream."""
    few = lr.run_trials(METHODS["FedRep"], truth, trials=2, rng=seed)
    many = lr.run_trials(METHODS["FedRep"], truth, trials=4, rng=seed)
    for first, second in zip(few, many[:2], strict=True):
        same_numbers(first, second)
    streams = [generator.spawn(2) for generator in stream(seed, "trials").spawn(4)]
    for trace, (_, run_rng) in zip(many, streams, strict=True):
        same_numbers(trace, METHODS["FedRep"](truth, rng=run_rng))
    losses = {trace["loss"][1] for trace in many if trace["loss"][1] > 1e-20}
    assert len(losses) == sum(trace["loss"][1] > 1e-20 for trace in many)


@given(seeds)
def test_a_problem_may_be_drawn_anew_for_every_trial(seed):
    draw = partial(lr.SharedRepresentation.random, n=4, d=5, k=2)
    seen = lr.run_trials(
        lambda problem, *, rng: problem, lambda rng: draw(rng=rng), trials=3, rng=seed
    )
    assert len({problem.B.tobytes() for problem in seen}) == 3
    # Another algorithm meets the same problems and, in them, the same data.
    others = lr.run_trials(
        partial(lr.fedrep, m=3, rounds=0), lambda rng: draw(rng=rng), trials=3, rng=seed
    )
    local = lr.run_trials(
        partial(lr.local_only, m=3), lambda rng: draw(rng=rng), trials=3, rng=seed
    )
    streams = [generator.spawn(2) for generator in stream(seed, "trials").spawn(3)]
    for problem, trace, alone, (_, run_rng) in zip(seen, others, local, streams, strict=True):
        expected = 0.5 * np.sum(problem.W**2) / 4
        assert trace["population_risk"][0] == pytest.approx(expected, rel=1e-12)
        same_numbers(alone, lr.local_only(problem, m=3, rng=run_rng))


def test_workers_are_threads_at_the_same_time():
    barrier = threading.Barrier(2, timeout=30)

    def meet(problem, *, rng):
        barrier.wait()  # a single worker would wait for the other in vain
        return threading.get_ident()

    assert len(set(lr.run_trials(meet, None, trials=2, workers=2))) == 2

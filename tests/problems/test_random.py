"""Streams by purpose: one seed may be used for everything."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import SeedSequence

import linrep as lr
from linrep.problems.random import stream, streams
from tests.strategies import seeds

PURPOSES = ("truth", "data", "participation", "start", "frame", "tilt", "trials")


def first(generator):
    return generator.integers(2**63, size=4).tolist()


@given(seeds, st.permutations(PURPOSES), st.integers(1, len(PURPOSES)))
def test_a_stream_depends_on_seed_and_purpose_only(seed, order, count):
    together = streams(seed, *order[:count])
    assert [first(g) for g in together] == [first(stream(seed, name)) for name in order[:count]]


@given(seeds)
def test_purposes_and_seeds_have_different_streams(seed):
    drawn = [tuple(first(stream(s, name))) for name in PURPOSES for s in (seed, seed + 1)]
    drawn.append(tuple(first(np.random.default_rng(seed))))
    assert len(set(drawn)) == 2 * len(PURPOSES) + 1


@given(seeds)
def test_a_seed_may_come_in_any_form(seed):
    expected = first(stream(seed, "data"))
    for same in (np.int64(seed), [seed], SeedSequence(seed)):
        assert first(stream(same, "data")) == expected


@given(seeds)
def test_a_seed_sequence_stays_as_it_is_and_its_children_differ(seed):
    sequence = SeedSequence(seed)
    assert first(stream(sequence, "data")) == first(stream(sequence, "data"))
    child, other = sequence.spawn(2)
    assert first(stream(child, "data")) != first(stream(other, "data"))
    assert first(stream(child, "data")) != first(stream(seed, "data"))


def test_no_seed_is_a_new_one_every_time():
    assert first(stream(None, "data")) != first(stream(None, "data"))
    one, other = streams(None, "data", "data")
    assert first(one) == first(other)


@given(seeds)
def test_a_generator_is_the_callers_own_stream(seed):
    generator = np.random.default_rng(seed)
    assert stream(generator, "data") is generator
    children = streams(generator, "data", "start")
    expected = np.random.default_rng(seed).spawn(2)
    assert [first(g) for g in children] == [first(g) for g in expected]


@pytest.mark.parametrize("bad", [-1, "seed", 0.5, [0.5]])
def test_what_is_no_seed_is_refused(bad):
    with pytest.raises((TypeError, ValueError)):
        stream(bad, "data")


# What follows from it for those who use one seed throughout.


@given(seeds)
def test_what_is_drawn_with_the_truths_seed_is_not_the_truth(seed):
    """As far as any frame of a plane in R^6 is: nearer than 1e-3 has a probability below 1e-9."""
    truth = lr.SharedRepresentation.random(n=4, d=6, k=2, rng=seed)
    start, _ = lr.random_start(4, 6, 2, seed)
    X = truth.draw(2, rng=seed).client(0)[0]
    for B in (start, lr.subspace.random_frame(6, 2, seed), X.T):
        assert lr.subspace.distance(B, truth.B) > 1e-3


@given(seeds, st.booleans())
def test_an_algorithm_of_ones_own_gets_the_data_and_start_of_linreps(seed, is_integer):
    """From a seed, where linrep names its streams, and from a generator, which spawns them."""

    def rng():
        return seed if is_integer else np.random.default_rng(seed)

    truth = lr.SharedRepresentation.random(n=4, d=6, k=2, noise=0.1, rng=seed)
    data_rng, _, start_rng = lr.streams(rng(), "data", "participation", "start")
    data, (B, W) = truth.draw(5, rng=data_rng), lr.random_start(4, 6, 2, start_rng)
    own = lr.fedrep(data, start=(B, W), rounds=1)
    theirs = lr.fedrep(truth, m=5, batches="fixed", start="random", rounds=1, rng=rng())
    np.testing.assert_array_equal(own["loss"], theirs["loss"])
    np.testing.assert_array_equal(own.state["B"], theirs.state["B"])


@given(seeds, st.sampled_from(["random", "moments", "projected_gradient"]))
def test_methods_with_one_seed_have_the_same_data_and_start(seed, start):
    truth = lr.SharedRepresentation.random(n=4, d=6, k=2, noise=0.1, rng=seed)
    data = truth.draw(5, rng=seed)
    local, same = lr.local_only(truth, m=5, rng=seed), lr.local_only(data)
    np.testing.assert_array_equal(local.state["theta"], same.state["theta"])
    run = {"m": 5, "batches": "fixed", "start": start, "rounds": 1, "rng": seed}
    one = lr.fedrep(truth, **run)
    other = lr.fedrep(data, **{name: run[name] for name in ("start", "rounds", "rng")})
    np.testing.assert_array_equal(one.state["B"], other.state["B"])
    np.testing.assert_array_equal(one["loss"], other["loss"])
    averaged = lr.fedavg(truth, step_size=0.1, **run | {"rounds": 0})
    start_of_fedrep = lr.fedrep(truth, **run | {"rounds": 0}, orthonormal=False)
    np.testing.assert_array_equal(averaged.state["B"], start_of_fedrep.state["B"])
    if start == "random":
        B, W = lr.random_start(4, 6, 2, seed)
        np.testing.assert_array_equal(start_of_fedrep.state["B"], B)
        np.testing.assert_array_equal(start_of_fedrep.state["W"], W)

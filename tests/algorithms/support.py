"""What the tests of the iterative methods share."""

import numpy as np
from hypothesis import strategies as st

import linrep
from linrep import SharedRepresentation
from linrep.kernels import designs
from tests.strategies import seeds

#: Clients, dimension and rank of small problems.
sizes = st.tuples(st.integers(1, 5), st.integers(1, 6)).flatmap(
    lambda size: st.tuples(st.just(size[0]), st.just(size[1]), st.integers(1, min(*size, 3)))
)


@st.composite
def truths(draw, *, noise=(0.0, 0.1), sizes=sizes, heads=("sphere", "unit_rows", "qr")):
    n, d, k = draw(sizes, label="n, d, k")
    return SharedRepresentation.random(
        n=n,
        d=d,
        k=k,
        heads=draw(st.sampled_from(heads)),
        noise=draw(st.sampled_from(noise)),
        rng=draw(seeds, label="seed of the truth"),
    )


def streams(seed):
    """Return the generators of a run: data, participation, start."""
    return linrep.streams(seed, "data", "participation", "start")


def schedule(seed, n, participants, rounds):
    """Return the clients that take part in each round of a run."""
    rows = np.empty((rounds, participants), dtype=np.int64)
    designs.draw_participants(streams(seed)[1], np.arange(n), rows)
    return rows


def clients_of(data):
    return [data.client(i) for i in range(data.n)]


def own(samples):
    """Return the samples of a case, or of data, as data of which no truth is known."""
    return linrep.ClientData(samples.X, samples.y, samples.offsets)


def posed(truth, batches, seed):
    """Return a truth and how batches of it are drawn, or where that is None, samples alone."""
    if batches is None:
        return own(truth.draw(3, rng=seed)), {"k": truth.k}
    return truth, {"m": 3, "batches": batches}


def check_ending(trace):
    """Assert that all that a trace records is finite, whatever became of the run."""
    for name in trace:
        assert np.isfinite(trace[name][1 if name == "loss" else 0 :]).all(), name
    for value in trace.state.values():
        assert np.isfinite(value).all()
    if "distance" in trace:
        assert (trace["distance"] <= 1.0).all()


def loss(data, models):
    """Return the mean over clients of half the mean squared errors of their models."""
    pairs = zip(clients_of(data), models, strict=True)
    return np.mean([np.mean((X @ model - y) ** 2) / 2 for (X, y), model in pairs])


def same_numbers(trace, other, rounds=None):
    """Assert that two traces hold the very same numbers, up to a number of rounds."""
    assert list(trace) == list(other)
    for name in trace:
        stop = None if rounds is None else rounds + 1
        np.testing.assert_array_equal(trace[name][:stop], other[name][:stop])
    if rounds is None:
        assert trace.state.keys() == other.state.keys()
        for name, value in trace.state.items():
            np.testing.assert_array_equal(value, other.state[name])
        assert trace.stop_reason == other.stop_reason

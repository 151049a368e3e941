import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from linrep import ClientData
from tests.strategies import seeds


@st.composite
def samples(draw):
    """Draw ragged (X_i, y_i) of one to five clients."""
    rng = np.random.default_rng(draw(seeds))
    d = draw(st.integers(1, 4))
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    return [(rng.standard_normal((m, d)), rng.standard_normal(m)) for m in sizes]


def check_clients(data, expected):
    assert data.n == len(expected)
    assert data.d == expected[0][0].shape[1]
    np.testing.assert_array_equal(data.m, [len(y) for _, y in expected])
    for i, (X, y) in enumerate(expected):
        np.testing.assert_array_equal(data.client(i)[0], X)
        np.testing.assert_array_equal(data.client(i)[1], y)
    assert data.X.flags.c_contiguous
    assert data.X.dtype == data.y.dtype == np.float64
    assert data.offsets.dtype == np.int64


@given(samples())
def test_every_layout_keeps_every_clients_samples(pairs):
    data = ClientData.from_list(pairs)
    assert (data.names, data.truth) == (tuple(range(len(pairs))), None)
    client = np.repeat(np.arange(data.n), data.m)
    for same in (
        data,
        ClientData.from_list((X.tolist(), y.tolist()) for X, y in pairs),
        ClientData.from_list([data.client(i) for i in range(data.n)]),
        ClientData.from_arrays(data.X, data.y, client),
        ClientData(data.X, data.y, data.offsets),
    ):
        check_clients(same, pairs)
        assert np.shares_memory(same.client(0)[0], same.X)


@given(samples(), seeds, st.sampled_from(["integers", "strings", "objects", "booleans"]))
def test_from_arrays_groups_shuffled_samples_by_name(pairs, seed, kind):
    """In the order of the names; within a client in the order of the samples."""
    if kind == "booleans":
        pairs = pairs[:2]
    rng = np.random.default_rng(seed)
    names = np.sort(rng.choice(1000, len(pairs), replace=False)) - 500
    if kind == "booleans":
        names = np.array([False, True])[: len(pairs)]
    elif kind != "integers":
        names = np.sort(names.astype(str)).astype(object if kind == "objects" else str)
    # Any interleaving that keeps each client's own order.
    client = rng.permutation(np.repeat(np.arange(len(pairs)), [len(y) for _, y in pairs]))
    queues = [iter(zip(X, y, strict=True)) for X, y in pairs]
    rows = [next(queues[i]) for i in client]
    X, y = np.array([x for x, _ in rows]), np.array([label for _, label in rows])
    data = ClientData.from_arrays(X, y, names[client])
    check_clients(data, pairs)
    assert data.names == tuple(names.tolist())


def test_from_arrays_takes_columns_of_a_data_frame():
    table = pd.DataFrame(
        {"who": ["ben", "ann", "ben"], "a": [1, 2, 3], "b": [0.5, 1.5, 2.5], "label": [7, 8, 9]}
    )
    data = ClientData.from_arrays(table[["a", "b"]], table["label"], table["who"])
    assert data.names == ("ann", "ben")
    np.testing.assert_array_equal(data.client(1)[0], [[1.0, 0.5], [3.0, 2.5]])
    np.testing.assert_array_equal(data.client(1)[1], [7.0, 9.0])


def test_repr_shows_the_sizes():
    pair = np.ones((2, 3)), np.ones(2)
    assert repr(ClientData.from_list([pair])) == "ClientData(n=1, d=3, m=2, truth=None)"
    ragged = ClientData.from_list([pair, (np.ones((5, 3)), np.ones(5))])
    assert "m=2…5" in repr(ragged)

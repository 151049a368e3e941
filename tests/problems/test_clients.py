import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrep import ClientData, SharedRepresentation
from tests.strategies import seeds
from tests.tools import complaint


@st.composite
def samples(draw):
    """Draw ragged (X_i, y_i) of one to five clients."""
    rng = np.random.default_rng(draw(seeds))
    d = draw(st.integers(1, 4))
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    return [(rng.standard_normal((m, d)), rng.standard_normal(m)) for m in sizes]


def test_names_are_distinct():
    with complaint(ValueError, "names", "'a'", "twice"):
        ClientData.from_list([([[1.0]], [1.0])] * 3, names=["a", "b", "a"])


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
def test_from_list_keeps_every_clients_samples(pairs):
    data = ClientData.from_list(pairs)
    check_clients(data, pairs)
    assert data.names == tuple(range(len(pairs)))
    assert data.truth is None


@given(samples())
def test_from_list_takes_generators_and_nested_lists(pairs):
    data = ClientData.from_list((X.tolist(), y.tolist()) for X, y in pairs)
    check_clients(data, pairs)


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


@given(samples())
def test_the_layout_comes_back_from_its_own_arrays(pairs):
    data = ClientData.from_list(pairs)
    client = np.repeat(np.arange(data.n), data.m)
    check_clients(ClientData.from_arrays(data.X, data.y, client), pairs)
    check_clients(ClientData(data.X, data.y, data.offsets), pairs)
    check_clients(ClientData.from_list([data.client(i) for i in range(data.n)]), pairs)


def test_from_arrays_takes_columns_of_a_data_frame():
    table = pd.DataFrame(
        {"who": ["ben", "ann", "ben"], "a": [1, 2, 3], "b": [0.5, 1.5, 2.5], "label": [7, 8, 9]}
    )
    data = ClientData.from_arrays(table[["a", "b"]], table["label"], table["who"])
    assert data.names == ("ann", "ben")
    np.testing.assert_array_equal(data.client(1)[0], [[1.0, 0.5], [3.0, 2.5]])
    np.testing.assert_array_equal(data.client(1)[1], [7.0, 9.0])


def test_names_may_be_given_with_a_list():
    data = ClientData.from_list([(np.ones((1, 2)), [1.0])] * 2, names=["x", ("y", 3)])
    assert data.names == ("x", ("y", 3))


def test_repr_shows_the_sizes():
    pair = np.ones((2, 3)), np.ones(2)
    assert repr(ClientData.from_list([pair])) == "ClientData(n=1, d=3, m=2, truth=None)"
    ragged = ClientData.from_list([pair, (np.ones((5, 3)), np.ones(5))])
    assert "m=2…5" in repr(ragged)


def test_a_client_is_a_view_and_its_place_is_checked():
    data = ClientData.from_list([(np.ones((2, 3)), np.ones(2))] * 2)
    assert np.shares_memory(data.client(1)[0], data.X)
    for bad, kind in ((2, ValueError), (-1, ValueError), (0.0, TypeError), (None, TypeError)):
        with complaint(kind, "i must be", str(bad)):
            data.client(bad)


X, Y, CLIENT = np.ones((4, 2)), np.ones(4), np.array([0, 0, 1, 1])


def spoilt(array, value):
    array = array.copy()
    array.flat[-1] = value
    return array


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ((X[0], Y, CLIENT), ValueError, ("X ", "(any, any)", "(2,)")),
        ((X[None], Y, CLIENT), ValueError, ("X ", "(any, any)", "(1, 4, 2)")),
        ((np.empty((0, 2)), [], []), ValueError, ("X ", "empty")),
        ((np.empty((4, 0)), Y, CLIENT), ValueError, ("X ", "empty")),
        ((spoilt(X, np.nan), Y, CLIENT), ValueError, ("X ", "finite")),
        ((X, spoilt(Y, np.inf), CLIENT), ValueError, ("y ", "finite")),
        ((spoilt(X.astype(object), None), Y, CLIENT), ValueError, ("X ", "finite")),
        ((np.full((4, 2), "a"), Y, CLIENT), TypeError, ("X ", "real numbers")),
        (([[1.0], [1.0, 2.0]], [1, 1], [0, 0]), TypeError, ("X ", "real numbers")),
        ((X + 0j, Y, CLIENT), TypeError, ("X ", "complex")),
        ((None, Y, CLIENT), ValueError, ("X ", "shape")),
        ((X, Y[:3], CLIENT), ValueError, ("y ", "(4)", "(3,)")),
        ((X, np.ones((4, 2)), CLIENT), ValueError, ("y ", "(4)", "(4, 2)")),
        ((X, None, CLIENT), ValueError, ("y ", "(4)", "()")),
        ((X, Y, CLIENT[:3]), ValueError, ("client ", "(4,)", "(3,)")),
        ((X, Y, None), ValueError, ("client ", "(any,)", "()")),
        ((X, Y, ["a", "b", None, "a"]), ValueError, ("the client of row 2 is missing",)),
    ],
)
def test_from_arrays_names_what_is_wrong(arguments, kind, words):
    with complaint(kind, *words):
        ClientData.from_arrays(*arguments)


GOOD = (X[:2], Y[:2])


@pytest.mark.parametrize(
    ("pairs", "kind", "words"),
    [
        ([], ValueError, ("samples", "at least one client")),
        (None, TypeError, ("samples", "list")),
        (3, TypeError, ("samples", "list")),
        ([GOOD, (X, Y, Y)], TypeError, ("samples[1]", "pair")),
        ([None], TypeError, ("samples[0]", "pair")),
        ([GOOD, (np.empty((0, 2)), [])], ValueError, ("client 1", "no sample")),
        ([GOOD, (X[:, :1], Y)], ValueError, ("X of client 1", "(any, 2)", "(4, 1)")),
        ([GOOD, (X, Y[:2])], ValueError, ("y of client 1", "(4)", "(2,)")),
        ([GOOD, (X[0], Y[0])], ValueError, ("X of client 1", "(2,)")),
        ([(spoilt(X, np.nan), Y)], ValueError, ("X of client 0", "finite")),
        ([(X, spoilt(Y, np.nan))], ValueError, ("y of client 0", "finite")),
        ([(X, ["a", "b", "c", "d"])], TypeError, ("y of client 0", "real numbers")),
        ([(None, Y)], ValueError, ("X of client 0", "shape")),
        ([(X, None)], ValueError, ("y of client 0", "shape")),
    ],
)
def test_from_list_names_what_is_wrong(pairs, kind, words):
    with complaint(kind, *words):
        ClientData.from_list(pairs)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"offsets": [0, 4, 4]}, ("client 1", "no sample")),
        ({"offsets": [0, 3, 2, 4]}, ("client 1", "no sample")),
        ({"offsets": [1, 4]}, ("offsets", "from 0 to 4")),
        ({"offsets": [0, 3]}, ("offsets", "from 0 to 4")),
        ({"offsets": [0]}, ("offsets", "integers")),
        ({"offsets": [[0, 4]]}, ("offsets", "integers")),
        ({"offsets": [0, 1.5, 4]}, ("offsets", "integers")),
        ({"offsets": None}, ("offsets", "integers")),
        ({"names": ("a",)}, ("names", "one entry per client", "1")),
        ({"rows": [0, 1]}, ("rows", "4 entries", "2")),
        ({"columns": ["x"]}, ("columns", "name per covariate", "1")),
    ],
)
def test_the_constructor_names_what_is_wrong(options, words):
    with complaint(ValueError, *words):
        ClientData(**({"X": X, "y": Y, "offsets": [0, 2, 4]} | options))


@pytest.mark.parametrize(("n", "d"), [(3, 2), (2, 3)])
def test_a_truth_of_other_sizes_is_refused(n, d):
    """A kernel handed such a truth would read outside of its arrays."""
    truth = SharedRepresentation.random(n=n, d=d, k=1, rng=0)
    with complaint(ValueError, "truth", "n = 2", "d = 2"):
        ClientData(X, Y, [0, 2, 4], truth=truth)

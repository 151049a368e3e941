"""Rows, columns and ids of a user's tables are found again in what is made from them."""

import datetime
import decimal
import uuid

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import linrep as lr
from linrep import ClientData, Observations
from linrep.estimators import ClientKFold, FederatedRegressor, MatrixCompletion
from tests.tools import complaint

DATES = [datetime.date(2020, 1, day) for day in (3, 1, 2, 4)]
IDS = {
    "texts": ["007", "7", "07", "x"],
    "integers": [10, 9, 11, 2],
    "whole floats": [10.0, 9.0, 11.0, 2.0],
    "dates": DATES,
    "times": [pd.Timestamp(day) for day in DATES],
    "tuples": [("b", 1), ("a", 2), ("a", 1), ("c", 0)],
    "mixed": [7, "8", "b", 2.5],
    "spans": [pd.Timedelta(days=days) for days in (3, 1, 2, 40)],
    "periods": [pd.Period(name) for name in ("2020-03", "2020-01", "2021-01", "2019-12")],
    "periods of other lengths": [
        pd.Period(name) for name in ("2020-03", "2020", "2021", "2019-12")
    ],
    "intervals": [pd.Interval(low, low + 1) for low in (3, 1, 2, 4)],
    "decimals": [decimal.Decimal(text) for text in ("0.1", "0.10000000000000001", "2", "-1")],
    "UUIDs": [uuid.UUID(int=number) for number in (3, 1, 2, 4)],
    "bytes": [b"b", b"a", b"\xff", b"a\x00b"],
}
NOT_A_TIME = np.datetime64("NaT"), np.timedelta64("NaT")
NO_NUMBERS = complex("nan"), decimal.Decimal("NaN"), decimal.Decimal("-Infinity")
NO_IDS = (None, np.nan, np.inf, pd.NA, pd.NaT, *NOT_A_TIME, *NO_NUMBERS, ("a", None), ["a"], {})


def frame(ids, N=40, seed=0):
    """Return a table whose clients take turns, labels that a model per id fits, and an index."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.standard_normal((N, 2)), columns=["x", "z"])
    place = np.arange(N) % len(ids)
    table.insert(1, "client", pd.Series([ids[each] for each in place], dtype=object))
    table["y"] = (1.0 + place) * (3.0 * table["x"] - 2.0 * table["z"])
    return table.set_index(pd.Index(rng.permutation(N) + 100))


def as_objects(ids):
    column = np.empty(len(ids), dtype=object)
    column[:] = ids
    return column


def from_arrays(table, column):
    return ClientData.from_arrays(table[["x", "z"]].to_numpy(), table["y"].to_numpy(), column)


CONTAINERS = {
    "lists": lambda table: from_arrays(table, table["client"].tolist()).names,
    "objects": lambda table: from_arrays(table, as_objects(table["client"].tolist())).names,
    "series": lambda table: from_arrays(table, table["client"].reset_index(drop=True)).names,
    "a frame": lambda table: ClientData.from_frame(table, y="y", client="client").names,
    "names": lambda table: (
        ClientData.from_list([([[1.0]], [1.0])] * 4, names=table["client"].tolist()[:4]).names
    ),
    "an estimator": lambda table: pd.Series(
        FederatedRegressor(client="client").fit(table.drop(columns="y"), table["y"]).clients_
    ).tolist(),
    "a completion": lambda table: pd.Series(
        MatrixCompletion(rank=1)
        .fit(table.assign(item=np.arange(len(table)) // 4)[["client", "item"]], table["y"])
        .clients_
    ).tolist(),
}
FOLDS = {"folds": lambda table: list(ClientKFold(2).split(table, groups=table["client"]))}


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("container", CONTAINERS)
def test_ids_stay_what_they_are(container, kind):
    names = CONTAINERS[container](frame(IDS[kind]))
    assert sorted(map(repr, names)) == sorted(map(repr, IDS[kind]))


@pytest.mark.parametrize("wrong", NO_IDS, ids=repr)
@pytest.mark.parametrize("container", [*CONTAINERS, *FOLDS])
def test_what_is_no_id_is_named_by_its_row(container, wrong):
    table = frame(["a", "b", "c", "d"])
    table["client"] = as_objects(["a", "b", wrong, *table["client"].iloc[3:]])
    with complaint((ValueError, TypeError), "row 2"):
        (CONTAINERS | FOLDS)[container](table)


@pytest.mark.parametrize("kind", ["int64", "Int64", "float64", "category", "object"])
def test_integers_are_the_same_ids_in_every_type_of_column(kind):
    table = frame(IDS["integers"])
    data = ClientData.from_frame(table.astype({"client": kind}), y="y", client="client")
    assert data.names == (2, 9, 10, 11)


def test_categories_are_what_they_stand_for():
    for kind in ("texts", "integers", "spans", "periods", "decimals"):
        table = frame(IDS[kind])
        categories = table.astype({"client": "category"})
        for container in ("series", "a frame", "an estimator", "a completion"):
            expected = CONTAINERS[container](table)
            assert list(CONTAINERS[container](categories)) == list(expected), kind


SAME = {
    "times": (IDS["times"], [datetime.datetime.combine(day, datetime.time()) for day in DATES]),
    "spans": (IDS["spans"], [each.to_pytimedelta() for each in IDS["spans"]]),
}


@pytest.mark.parametrize("kind", SAME)
def test_times_and_spans_are_the_same_ids_in_every_type(kind):
    pandas, standard = (as_objects(each) for each in SAME[kind])
    numpy = pd.Series(pandas.tolist()).to_numpy()
    columns = (pandas, standard, numpy, list(numpy), as_objects(list(numpy)), pd.Series(numpy))
    table = frame(IDS[kind])
    X = table[["x", "z", "client"]]
    model = FederatedRegressor(client="client", new_clients="error").fit(X, table["y"])
    expected = model.predict(X)
    for column in columns:
        data = ClientData.from_arrays(np.ones((4, 1)), np.ones(4), column)
        assert data.names == tuple(sorted(IDS[kind]))
        other = X.assign(client=pd.Series(list(column) * 10, index=X.index, dtype=object))
        np.testing.assert_array_equal(model.predict(other), expected)


# Rows


def test_predictions_are_in_the_order_of_the_rows_and_have_their_index():
    table = frame(["d", "b", "a", "c"], N=200)
    data = ClientData.from_frame(table, y="y", client="client")
    np.testing.assert_array_equal(table["y"].to_numpy()[data.rows], data.y)
    trace = lr.fedrep(data, k=1, rounds=50, rng=0)
    predicted = trace.predict(data)
    pd.testing.assert_index_equal(predicted.index, table.index)
    np.testing.assert_allclose(predicted, table["y"], atol=1e-3)
    for part in (table.iloc[::3], table[table["client"] != "a"].iloc[::-1]):
        found = trace.predict(ClientData.from_frame(part, y="y", client="client"))
        pd.testing.assert_series_equal(found, predicted[part.index], rtol=1e-12)
    arrays = from_arrays(table, table["client"].tolist())
    np.testing.assert_array_equal(trace.predict(arrays), predicted)
    listed = ClientData.from_list([data.client(i) for i in range(4)], names=data.names)
    np.testing.assert_array_equal(trace.predict(listed), predicted.to_numpy()[data.rows])


def test_entries_are_predicted_in_the_order_given():
    truth = lr.SideInformationCompletion.random(n=9, d=7, p=3, k=2, rng=0)
    seen = truth.observe(entries=40, rng=0)
    order = np.random.default_rng(0).permutation(40)
    items, clients, values = (each[order] for each in (seen.items, seen.clients, seen.values))
    mixed = Observations(items, clients, values, seen.Z, d=7)
    np.testing.assert_array_equal(values[mixed.rows], mixed.values)
    trace = lr.Trace("known", {"loss": np.zeros(1)}, {"U": truth.U, "V": truth.V})
    np.testing.assert_allclose(trace.predict(mixed), values, atol=1e-12)
    assert trace.score(mixed) > 1 - 1e-12
    for part in mixed.without_side_information().split(0.3, rng=0):
        np.testing.assert_array_equal(values[part.rows], part.values)


# Columns and indexes


def test_other_columns_are_refused_by_name():
    table = frame("abcd")
    trace = lr.local_only(ClientData.from_frame(table, y="y", client="client"))
    others = (
        (table[["z", "x", "client", "y"]], ("column 0", "'z'", "'x'")),
        (table.rename(columns={"z": "u"}), ("column 1", "'u'", "'z'")),
        (table.drop(columns="z"), ("column 1", "none", "'z'")),
        (table.assign(u=1.0), ("column 2", "'u'", "none")),
    )
    for other, words in others:
        data = ClientData.from_frame(other, y="y", client="client")
        for use in (trace.predict, trace.score):
            with complaint(ValueError, "data must have the columns", *words):
                use(data)
    shared = lr.fedrep(ClientData.from_frame(table, y="y", client="client"), k=1, rounds=1)
    with complaint(ValueError, "columns", "'z'"):
        other = ClientData.from_frame(others[0][0], y="y", client="client")
        lr.fit_new_clients(shared, other)


def test_frames_of_polars():
    polars = pytest.importorskip("polars")
    table = frame(["d", "b", "a", "c"]).reset_index(drop=True)
    table["client"] = table["client"].astype(str)
    given = ClientData.from_frame(polars.from_pandas(table), y="y", client="client")
    expected = ClientData.from_frame(table, y="y", client="client")
    assert (given.names, given.columns) == (expected.names, expected.columns)
    for name in ("X", "y", "rows", "offsets"):
        np.testing.assert_array_equal(getattr(given, name), getattr(expected, name))
    assert isinstance(lr.local_only(given).predict(given), np.ndarray)


# What else tables bring


def test_columns_of_labels_are_taken():
    table = frame([1, 2, 3, 4])
    X, y, client = (table[name].to_numpy() for name in (["x", "z"], "y", "client"))
    data = ClientData.from_arrays(X, y[:, None], client[:, None])
    expected = from_arrays(table, client)
    np.testing.assert_array_equal(data.y, expected.y)
    assert data.names == expected.names
    columns = (y, y[:, None], table[["y"]].reset_index(drop=True))
    one, *others = (ClientData.from_list([(X, each)]).y for each in columns)
    for other in others:
        np.testing.assert_array_equal(other, one)


def test_only_what_is_masked_is_refused():
    given = {"X": np.ones((4, 1)), "y": np.ones(4), "client": np.array([0, 0, 1, 1])}
    for name, values in given.items():
        masked = np.ma.masked_array(values)
        ClientData.from_arrays(**given | {name: masked})
        masked[1] = np.ma.masked
        with complaint(ValueError, name, "masked entries"):
            ClientData.from_arrays(**given | {name: masked})


TABLE = frame("abcd")
X, Y, CLIENT = TABLE[["x", "z"]], TABLE["y"], TABLE["client"]
SPARSE = csr_array(np.eye(4))


def framed(y="y", client="client", table=TABLE, **columns):
    table = table.assign(**columns) if columns else table
    return lambda: ClientData.from_frame(table, y=y, client=client)


def grouped(*given):
    return lambda: ClientData.from_arrays(*given)


def listed(*pairs):
    return lambda: ClientData.from_list(pairs)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (framed(z="a"), ("column 'z' of X", "real numbers", "str")),
        # Older versions of pandas hand them on as missing values, newer ones as NaN.
        (framed(z=pd.array([1, None] * 20, dtype="Int64")), ("column 'z' of X",)),
        (framed(z=np.nan), ("column 'z' of X", "finite")),
        (framed(table=TABLE.assign(y=np.nan)), ("y must be finite",)),
        (framed("label"), ("frame must have a column 'label'", "client")),
        (framed(table=TABLE[["y", "client"]]), ("X must have shape",)),
        (framed(3, 1, TABLE.to_numpy()), ("DataFrame", "ndarray")),
        (framed(table=pd.concat([TABLE, X[["x"]]], axis=1)), ("of X", "'x' is there twice")),
        (grouped(SPARSE, np.ones(4), [0, 0, 1, 1]), ("X must be", "toarray()")),
        (listed((SPARSE, np.ones(4))), ("X of client 0 must be", "toarray()")),
        (grouped(X, Y.sample(frac=1.0, random_state=0), CLIENT), ("X and y", "index")),
        (grouped(X.to_numpy(), Y, CLIENT.sort_values()), ("y and client", "index")),
        (grouped(X, Y.reset_index(drop=True), CLIENT), ("X and y", "index")),
        (listed((X, Y.iloc[::-1])), ("X of client 0", "index")),
        (listed((X, Y), (TABLE[["z", "x"]], Y)), ("X of client 1", "'z'")),
    ],
)
def test_what_is_wrong_with_a_table_is_named(call, words):
    grouped(X, Y.to_numpy(), CLIENT)()
    with complaint((ValueError, TypeError), *words):
        call()

"""Who is who, wherever ids enter: none in two types, none that may have been rounded."""

import datetime
import io
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn")

from linrep import ClientData
from linrep.estimators import ClientKFold, FederatedRegressor, MatrixCompletion

pytestmark = pytest.mark.compiled


def table(ids, other=None):
    ids = pd.Series(ids, dtype=getattr(ids, "dtype", object))
    x = np.arange(float(len(ids))) ** 2
    return pd.DataFrame({"id": ids, "other": ids if other is None else other, "x": x})


def of_client(ids):
    X = table(ids, other=list(range(len(ids))))
    return MatrixCompletion(rank=0, client="id", item="other").fit(X, X["x"]).clients_


def of_item(ids):
    X = table(ids, other=list(range(len(ids))))
    return MatrixCompletion(rank=0, client="other", item="id").fit(X, X["x"]).items_


def of_regressor(ids):
    X = table(ids)[["id", "x"]]
    return FederatedRegressor("local", client="id").fit(X, X["x"]).clients_


def of_arrays(ids):
    return ClientData.from_arrays(np.eye(len(ids)), np.ones(len(ids)), ids).names


#: Wherever ids enter: returns those that were told apart, or their number.
DOORS = {
    "regressor": of_regressor,
    "clients of ratings": of_client,
    "items of ratings": of_item,
    "groups of folds": lambda ids: list(ClientKFold(2).split(ids, groups=ids)),
    "column of folds": lambda ids: list(ClientKFold(2, client="id").split(table(ids))),
    "from_arrays": of_arrays,
    "from_frame": lambda ids: (
        ClientData.from_frame(table(ids)[["id", "x"]].assign(y=1.0), y="y", client="id").names
    ),
    "names": lambda ids: (
        ClientData.from_list(
            [(np.eye(2), np.ones(2))] * len(dict.fromkeys(ids)), names=[*dict.fromkeys(ids)]
        ).names
    ),
}
doors = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
DAY = pd.Timestamp("2020-01-02")
KEY = uuid.UUID(int=7)


@doors
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (5, "5"), (5, " 5"), (5, "05"), (5.0, "5"), (5, "5.0"), (0.5, "0.5"), (Decimal(5), "5"),
        (np.int8(5), "5"), (5, b"5"), ("a", b"a"), (True, "True"), ("7e16", 70000000000000000),
        (DAY, "2020-01-02"), (DAY, "2020-01-02 00:00:00"), (DAY, DAY.date()),
        (datetime.date(2020, 1, 2), "2020-01-02"), (pd.Timedelta("1D"), "1 days 00:00:00"),
        (KEY, str(KEY)), (pd.Period("2020-01", "M"), "2020-01"), ((5, "a"), ("5", "a")),
        (("a", 5), ("a", b"5")),
    ],
    ids=repr,
)  # fmt: skip
def test_one_id_in_two_types_is_refused_and_both_are_named(door, one, other):
    ids = [one, "north", other, one, other, "north"]
    with pytest.raises(ValueError, match="one id in two types") as said:
        door(ids)
    for value, row in ((one, 0), (other, 2)):
        assert f"{value!r} of row {row}" in str(said.value)


@doors
@pytest.mark.parametrize(
    "kinds",
    [("north", 7), (7, 7.0), (7, np.float32(7)), (7, True), ("7", "007"), (DAY, "north"),
     (DAY, DAY.to_pydatetime()), ((1, "a"), (1, 2)), (2**53, -(2**53)), (2.0**53 - 1, 3)],
    ids=repr,
)  # fmt: skip
def test_ids_of_two_kinds_that_never_coincide_are_allowed(door, kinds):
    assert len(door([*kinds, *kinds]))


FLOATS = {
    "a list": lambda ids: list(ids),
    "an array": lambda ids: np.array(ids),
    "NumPy's numbers": lambda ids: list(map(np.float64, ids)),
    "a series": lambda ids: pd.Series(ids),
    "a series of objects": lambda ids: pd.Series(ids, dtype=object),
    "a series with gaps": lambda ids: pd.Series(ids, dtype="Float64"),
    "a series of Arrow": lambda ids: pd.Series(ids, dtype="float64[pyarrow]"),
    "a category": lambda ids: pd.Series(ids).astype("category"),
    "an index": lambda ids: pd.Index(ids),
}
SINGLE = {
    "an array": lambda ids: np.array(ids, np.float32),
    "NumPy's numbers": lambda ids: list(map(np.float32, ids)),
    "a series": lambda ids: pd.Series(ids, dtype="float32"),
    "a series with gaps": lambda ids: pd.Series(ids, dtype="Float32"),
    "a series of Arrow": lambda ids: pd.Series(ids, dtype="float[pyarrow]"),
    "a category": lambda ids: pd.Series(ids, dtype="float32").astype("category"),
    "a sparse series": lambda ids: pd.Series(ids, dtype=pd.SparseDtype("float32", np.nan)),
}


@pytest.mark.parametrize(
    ("make", "bits"),
    [
        *((make, 53) for make in FLOATS.values()),
        *((make, 24) for make in SINGLE.values()),
        (lambda ids: np.array(ids, np.float16), 11),
    ],
)
def test_numbers_that_others_are_rounded_to_are_no_ids(make, bits):
    def names(ids):
        return of_arrays(make(ids))

    limit = 2.0**bits
    assert names([1.0, 2.0, 1.0 - limit]) == (1.0 - limit, 1.0, 2.0)
    for each in (limit, -limit, 1.5 * limit):
        with pytest.raises(ValueError, match=r"the client of row 1 .* cannot be told apart"):
            names([1.0, each, 2.0])


@doors
def test_rounded_ids_are_refused_at_every_door(door):
    with pytest.raises(ValueError, match=r"row 1 is 7\.656.*cannot be told apart"):
        door([1.0, 7.6561198000000001e16, 1.0, 7.6561198000000001e16])


def test_rounded_ids_in_what_was_read_and_in_parts_of_tuples():
    text = "user,game\n76561198000000001,a\n76561198000000002,a\n76561198000000001,b\n,a\n"
    rows = pd.read_csv(io.StringIO(text)).dropna()
    with pytest.raises(ValueError, match="cannot be told apart"):
        MatrixCompletion(rank=0).fit(rows, [1.0, 2.0, 3.0])
    rows = pd.read_csv(io.StringIO(text), dtype={"user": "Int64"}).dropna()
    assert MatrixCompletion(rank=0).fit(rows, [1.0, 2.0, 3.0]).clients_.size == 2
    pairs = pd.MultiIndex.from_arrays([np.array([1, 2**24], np.float32), ["a", "b"]])
    with pytest.raises(ValueError, match="cannot be told apart"):
        ClientData.from_arrays(np.eye(2), np.ones(2), pairs)


def test_large_integers_with_a_gap_stay_apart():
    assert ClientData.from_arrays(np.eye(2), np.ones(2), [2**53, 2**53 + 1]).n == 2
    series = pd.Series([2**53, 2**53 + 1], dtype="Int64")
    assert ClientData.from_arrays(np.eye(2), np.ones(2), series).n == 2


def test_what_was_read_in_pieces():
    pieces = pd.concat([pd.Series([5, 6, 7]), pd.Series(["5", "6", "z1"])], ignore_index=True)
    for door in DOORS.values():
        with pytest.raises(ValueError, match=r"5 of row 0 and '5' of row 3"):
            door(pieces)


@pytest.mark.parametrize("ids", [["5"], [5, "north"], [DAY], [(5,)], [b"5"]])
def test_a_row_of_a_kind_that_no_fitted_id_has_is_refused(ids):
    X = table([5, 5, 6, 6, 7, 7])
    one = FederatedRegressor("local", client="id").fit(X[["id", "x"]], X["x"])
    two = MatrixCompletion(rank=0, client="id", item="other").fit(X, X["x"])
    for model, columns in ((one, ["id", "x"]), (two, ["id", "other", "x"])):
        new = table([6, *ids], other=5)[columns]
        with pytest.raises(TypeError, match="of another type"):
            model.predict(new)
        with pytest.raises(TypeError, match="of another type"):
            model.is_known(new)
    with pytest.raises(TypeError, match="of another type"):
        one.fit_clients(table(ids)[["id", "x"]], np.ones(len(ids)))


def test_a_text_of_a_fitted_number_is_refused_where_other_ids_are_texts():
    X = table(["north", "north", 7, 7])[["id", "x"]]
    model = FederatedRegressor("local", client="id").fit(X, X["x"])
    assert model.is_known(table(["north", 7, "south", 8])[["id", "x"]]).tolist() == [
        True, True, False, False,
    ]  # fmt: skip
    with pytest.raises(TypeError, match="'7' is of another type than 7"):
        model.predict(table(["north", "7"])[["id", "x"]])


def test_the_first_client_is_known_as_every_other_is():
    X = table(["a", "a", "b", "b"])[["id", "x"]]
    model = FederatedRegressor("local", client="id", new_clients="error").fit(X, X["x"])
    assert np.isfinite(model.predict(X)).all()
    with pytest.raises(ValueError, match="client 'c' was not there"):
        model.predict(table(["a", "c"])[["id", "x"]])
    with pytest.raises(ValueError, match="client 'a' is known already"):
        model.fit_clients(table(["a", "a"])[["id", "x"]], np.ones(2))


def test_known_ids_are_marked():
    X = table(["a", "a", "b", "b"], other=["u", "v", "u", "v"])
    model = MatrixCompletion(rank=0, client="id", item="other").fit(X, X["x"])
    new = table(["a", "c", "b"], other=["w", "u", "v"])
    assert model.is_known(new).tolist() == [[True, False], [False, True], [True, True]]


def ratings():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"user": rng.integers(1, 31, 300), "film": rng.integers(1, 21, 300)})
    return X, rng.normal(size=300)


def test_features_joined_on_an_index_are_counted(recwarn):
    X, y = ratings()
    features = pd.DataFrame({"z": np.arange(20.0)}, index=range(1, 21))
    model = MatrixCompletion(rank=1, item_features=features).fit(X, y)
    more = pd.concat([features, pd.DataFrame({"z": [1.0]}, index=[99])])
    more = MatrixCompletion(rank=1, item_features=more).fit(X, y)  # a catalogue may be larger
    assert not recwarn.list
    assert model.unmatched_ == more.unmatched_ == {"item": 0}
    with pytest.warns(UserWarning, match="item_features") as said:
        model = MatrixCompletion(rank=1, item_features=features.reset_index(drop=True)).fit(X, y)
    assert str(said[0].message) == (
        "item_features: 1 of 20 items in X have no row, such as 20, and 1 of 20 rows are of no "
        "item in X; the index is 0, 1, 2, …: has set_index been forgotten?"
    )
    assert model.unmatched_ == {"item": 1}
    with pytest.warns(UserWarning, match="2 of 20 items in X have no row, such as 3, and 0 of 18"):
        MatrixCompletion(rank=1, item_features=features.drop([3, 5])).fit(X, y)
    features.index = features.index.map(str)
    with pytest.raises(TypeError, match="item_features has '1', and X the item 1"):
        MatrixCompletion(rank=1, item_features=features).fit(X, y)


def test_named_columns_of_more_than_two_are_not_guessed():
    X, y = ratings()
    X = X.assign(rating=y)[["rating", "user", "film"]]
    with pytest.raises(ValueError, match="client and item must be named, of 3 columns: 'rating'"):
        MatrixCompletion(rank=0).fit(X, y)
    with pytest.raises(ValueError, match="must be named"):
        MatrixCompletion(rank=0, client="user").fit(X, y)
    by_name = MatrixCompletion(rank=0, client="user", item="film").fit(X, y)
    by_place = MatrixCompletion(rank=0, client=1, item=2).fit(X, y)
    assert (by_name.predict(X) == by_place.predict(X)).all()
    assert MatrixCompletion(rank=0).fit(X.to_numpy()[:, [1, 2, 0]], y).clients_.size == 30


OTHER_INDEXES = {
    "disjoint": lambda y: y.set_axis(y.index + 1000),
    "shifted": lambda y: y.set_axis(y.index + 1),
    "another order": lambda y: y[::-1],
    "numbered anew": lambda y: y.reset_index(drop=True),
}


@pytest.mark.parametrize("change", OTHER_INDEXES.values(), ids=OTHER_INDEXES)
@pytest.mark.parametrize("what", ["y", "sample_weight", "groups"])
def test_another_index_than_that_of_X_is_refused(change, what):
    X = table([1, 1, 2, 2]).set_axis([3, 5, 7, 9])
    y = pd.Series(np.ones(4), index=X.index)
    calls = {
        "y": [
            lambda: FederatedRegressor("local", client="id").fit(X[["id", "x"]], change(y)),
            lambda: MatrixCompletion(0, client="id", item="other").fit(X, change(y)),
            lambda: ClientData.from_arrays(X[["x"]], change(y), X["id"]),
            lambda: ClientData.from_arrays(X[["x"]], y, change(X["id"])),
            lambda: ClientData.from_list([(X[["x"]], change(y))]),
        ],
        "sample_weight": [
            lambda: FederatedRegressor("local", client="id").fit(X[["id", "x"]], y, change(y)),
            lambda: MatrixCompletion(0, client="id", item="other").fit(X, y, change(y)),
        ],
        "groups": [lambda: next(ClientKFold(2).split(X, groups=change(X["id"])))],
    }
    for call in calls[what]:
        with pytest.raises(ValueError, match="must have the same index"):
            call()


def arrow(X):
    return pytest.importorskip("pyarrow").Table.from_pandas(X)


class Lazy:
    """A table that is not computed yet."""

    columns = property(lambda self: pytest.fail("columns of a plan are dear"))

    def collect(self):
        raise AssertionError


class Relation:
    """A table that is in a database."""

    columns = ("id", "other", "x")


CALLS = {
    "regressor": lambda X, y: FederatedRegressor("local", client="id").fit(X, y).predict(X),
    "ratings": lambda X, y: MatrixCompletion(0, client="id", item="other").fit(X, y).predict(X),
    "folds": lambda X, y: next(ClientKFold(2, client="id", random_state=0).split(X))[1],
    "groups": lambda X, y: next(ClientKFold(2, random_state=0).split(X, groups=[1, 1, 2, 2]))[1],
    "from_arrays": lambda X, y: ClientData.from_arrays(X, y, [1, 1, 2, 2]).X,
    "from_frame": lambda X, y: ClientData.from_frame(X, y="x", client="id").X,
    "from_list": lambda X, y: ClientData.from_list([(X, y)]).X,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_tables_of_arrow_are_read_and_plans_refused_in_a_line(call):
    X, y = table([1, 1, 2, 2]), np.arange(4.0)
    assert np.array_equal(call(arrow(X), y), call(X, y))
    for lazy in (Lazy(), Relation()):
        with pytest.raises(TypeError, match="must be a frame of pandas or polars, got a") as said:
            call(lazy, y)
        assert "\n" not in str(said.value)


def test_large_integers_of_arrow_with_a_gap_stay_apart():
    pa = pytest.importorskip("pyarrow")
    X = pa.table({"id": [2**53, 2**53 + 1, None], "x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match="row 2 is missing"):
        ClientData.from_frame(X, y="y", client="id")
    assert ClientData.from_frame(X.slice(0, 2), y="y", client="id").n == 2

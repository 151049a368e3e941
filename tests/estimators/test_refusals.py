"""What the estimators refuse, each in one line that names the argument or the column."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn")

from scipy.sparse import csr_array

from linrep.estimators import FederatedRegressor, MatrixCompletion

pytestmark = pytest.mark.compiled

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.standard_normal((40, 3)), columns=["x", "y", "z"])
X.insert(1, "client", [7, 9, 10, 11] * 10)
Y = pd.Series(RNG.standard_normal(40))
DAY = pd.Series(pd.Timestamp("2020", tz="UTC"), index=X.index)
MASKED = [np.ma.masked_array([0.0, 1.0 + i], mask=[False, i == 3]) for i in range(6)]
RATINGS = pd.DataFrame({"user": np.arange(40) % 8, "film": np.arange(40) // 8})
OF_FILMS = pd.DataFrame({"film": range(5), "z0": np.arange(5.0)})


def regressor(X=X, y=Y, weight=None, **settings):
    return lambda: FederatedRegressor(**{"client": "client"} | settings).fit(X, y, weight)


def predicted(other):
    return lambda: FederatedRegressor(client="client").fit(X, Y).predict(other)


def ratings(X=RATINGS, y=Y, weight=None, **settings):
    return lambda: MatrixCompletion(**settings).fit(X, y, weight)


def rated(other):
    return lambda: MatrixCompletion(rank=1).fit(RATINGS, Y).predict(other)


def films(values, index=None):
    return ratings(item_features=pd.DataFrame({"a": values}, index=index))


CALLS = [
    *((regressor(**{name: value}), name) for name, value in [
        ("method", "fedavg"), ("k", 0), ("k", 1.5), ("ridge", -1.0), ("rounds", -1),
        ("new_clients", "fit"), ("weights", "rows"),
    ]),
    *((regressor(weight=weight), "sample_weight") for weight in ([1.0], 0.0 * Y, 0.0 * Y - 1.0)),
    (regressor(client="klient"), "klient"),
    (regressor(client=4), "place"),
    (regressor(client=-5), "place"),
    (regressor(X.to_numpy()), "'client'"),
    (regressor(X.set_axis([1, 5, 2, 3], axis=1), client=1), "name and another's place"),
    (regressor(client=X["client"]), "client must be the name or the place of a column"),
    (regressor(pd.concat([X, X[["x"]]], axis=1)), "'x'"),
    (regressor(X[["client"]]), "covariate"),
    (regressor(X.set_index("client"), Y.to_numpy()), "'client'"),
    (regressor(np.ma.masked_less(X.to_numpy(), 0.0), client=1), "mask"),
    (regressor(MASKED, np.arange(6.0), client=None, method="local"), "X has masked entries"),
    (regressor(csr_array(X[["x", "y"]]), client=0), "toarray"),
    (regressor(csr_array(X[["x", "y"]]), client=None), "toarray"),
    (regressor(X.assign(z=DAY)), "column 'z' of X must be numbers, got dates"),
    (regressor(X.assign(z=DAY - DAY)), "column 'z' of X must be numbers, got dates"),
    (regressor(y=DAY), "y must be numbers, got dates"),
    (regressor(X.assign(y=X["y"].astype(str))), "must be numbers, got texts"),
    (regressor(y=Y.astype(str)), "must be numbers, got texts"),
    (regressor(X.assign(y="low")), "column 'y' of X"),
    (regressor(X.assign(y=np.inf)), "column 'y' of X"),
    (regressor(X.assign(x=1e160 * X["x"])), "X must"),
    (regressor(y=1e-200 * Y), "y must"),
    (predicted(X.assign(y=np.nan)), "column 'y' of X"),
    (predicted(X[["y", "client", "x", "z"]]), "feature names"),
    (predicted(X.drop(columns="z")), "feature names"),
    *((ratings(**{name: value}), name) for name, value in [
        ("rank", -1), ("rank", 2.5), ("ridge", 0.0), ("biases", 1), ("bias_ridge", -1.0),
        ("feature_ridge", 0), ("sweeps", -1), ("tol", -1),
    ]),
    (ratings(client_features=np.eye(3)), "client_features must be a DataFrame of pandas"),
    (films(["x"] * 5), "item_features"),
    (films([np.nan] * 5), "item_features"),
    (films([1.0, 2.0], [3, 3]), "3 is there twice"),
    (films([1.0], [77]), "must be indexed by item"),
    (ratings(item_features=OF_FILMS), "indexed by item: take .set_index('film')"),
    (ratings(client="users"), "client='users'"),
    (ratings(item=2), "place 2"),
    (ratings(item="user"), "same column"),
    (ratings(y=Y[:-1].to_numpy()), "inconsistent"),
    (ratings(y=Y.where(Y > 0.0)), "y contains NaN"),
    (ratings(y=1e160 * Y), "y must"),
    (ratings(y=DAY), "y must be numbers, got dates"),
    (ratings(y=Y.astype(str)), "must be numbers, got texts"),
    (ratings(np.ma.masked_less(RATINGS.to_numpy(), 3)), "mask"),
    (ratings(weight=-np.ones(40)), "negative"),
    (rated(RATINGS[["film", "user"]]), "feature names"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words"), CALLS, ids=[words for _, words in CALLS])
def test_what_is_wrong_is_named(call, words):
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert words in str(caught.value)

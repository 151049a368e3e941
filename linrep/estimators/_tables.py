"""A table taken apart: covariates, labels, and each row's client."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, check_X_y, validate_data

from linrep._lib import validation as check
from linrep._lib.ids import Ids, read_ids

Values = NDArray[np.float64]


def take_apart(estimator: Any, X: Any, y: Any = None, *, of: str) -> tuple[Values, Any, Ids]:
    """Return covariates (N, d), labels, and each row's client.

    Parameters
    ----------
    estimator : FederatedRegressor
        Which remembers names and number of columns in "fit", and compares them otherwise.
    X, y
        As handed to its methods; labels are not looked at in "predict".
    of : {"fit", "fit_clients", "predict"}
    """
    for name, values in (("X", X), ("y", y)):
        if np.ma.is_masked(values):
            raise ValueError(f"{name} has masked entries: what is missing must be filled in before")
    _refuse_other_order(X, y)
    X, y, ids = _checked(estimator, X, y, labelled=of != "predict", reset=of == "fit")
    check.moderate("X", X)
    if y is not None:
        check.moderate("y", y)
    return X, y, ids


def _checked(estimator, X, y, *, labelled, reset):
    """Return numbers alone, after scikit-learn's checks, and each row's client."""
    settings: dict[str, Any] = {"dtype": np.float64, "estimator": estimator}
    if estimator.client is None:
        if labelled:
            X, y = validate_data(estimator, X, y, reset=reset, dtype=np.float64, y_numeric=True)
        else:
            X = validate_data(estimator, X, reset=reset, dtype=np.float64)
        return X, y, [0] * len(X)
    if not hasattr(X, "columns"):
        X = check_array(X, dtype=None, estimator=estimator)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    X, ids = _without_client(X, estimator.client)
    if labelled:
        X, y = check_X_y(X, y, y_numeric=True, **settings)
    else:
        X = check_array(X, **settings)
    return X, y, ids


def _refuse_other_order(X, y):
    """Raise if two labelled inputs have the same rows in different orders."""
    one, other = (getattr(each, "index", None) for each in (X, y))
    if not isinstance(one, pd.Index) or not isinstance(other, pd.Index) or one.equals(other):
        return
    if len(one) == len(other) and not one.symmetric_difference(other).size:
        raise ValueError("y has the rows of X in another order, by their indexes")


def _without_client(X, client):
    """Return the table without the clients' column, and what stands in it."""
    framed = hasattr(X, "columns")
    names = list(X.columns) if framed else list(range(X.shape[1]))
    check.distinct("columns of X", names)
    if isinstance(client, int | np.integer) and not isinstance(client, bool):
        if not -len(names) <= client < len(names):
            raise ValueError(f"X must have a column in place {client}, it has {len(names)}")
        client = names[client]
    elif not framed or client not in names:
        known = ", ".join(map(repr, names[:9])) if framed else "no names"
        raise ValueError(f"X must have the column client={client!r}, it has {known}")
    others = [name for name in names if name != client]
    if not others:
        raise ValueError("X must have a covariate beside the clients, got 1 feature(s)")
    return (X[others], read_ids(X[client])) if framed else (X[:, others], read_ids(X[:, client]))


def column_of(names: Ids) -> NDArray[Any]:
    """Return clients as an array (n,), of objects where they are not all numbers or dates.

    Parameters
    ----------
    names : list
    """
    return pd.Series(names).to_numpy()

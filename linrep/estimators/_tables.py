"""A table taken apart: covariates, labels, and each row's client."""

from __future__ import annotations

from collections.abc import Hashable
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, check_X_y, validate_data

from linrep._lib import validation as check

Values = NDArray[np.float64]
Ids = list[Hashable]


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
    if len(set(names)) < len(names):
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise ValueError(f"X must have distinct columns, {twice!r} is there twice")
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


def read_ids(column: Any) -> Ids:
    """Return the clients of a column, none of them missing.

    Parameters
    ----------
    column : array_like, shape (N,)
    """
    if not isinstance(column, pd.Series):
        column = pd.Series(column if isinstance(column, list | tuple) else np.asarray(column))
    missing = column.isna().to_numpy()
    ids = column.tolist()
    for row, name in enumerate(ids):
        if missing[row] or (isinstance(name, float) and not np.isfinite(name)):
            raise ValueError(f"every row must have a client, that of row {row} is NaN, inf or none")
        try:
            hash(name)
        except TypeError:
            raise TypeError(
                f"the client of row {row} is a {type(name).__name__}, the argument must be "
                "a string, a number, a date or a tuple of them"
            ) from None
    return ids


def numbered(ids: Ids) -> tuple[Ids, NDArray[np.int64]]:
    """Return the distinct clients, in order where they have one, and the place of each row's.

    Parameters
    ----------
    ids : list
    """
    distinct: Any = dict.fromkeys(ids)
    try:
        names = sorted(distinct)
    except TypeError:  # such as numbers and texts
        names = list(distinct)
    return names, places(names, ids)


def places(names: Ids, ids: Ids) -> NDArray[np.int64]:
    """Return where in some names each row's client is, -1 where it is not.

    Parameters
    ----------
    names, ids : list
        Texts and numbers are different, and so are "007" and "7"; 7 and 7.0 are the same.
    """
    if _are_texts(names) != _are_texts(ids) and _are_numbers(names) != _are_numbers(ids):
        raise TypeError(f"clients are such as {names[0]!r}, not such as {ids[0]!r}")
    known = {name: place for place, name in enumerate(names)}
    return np.array([known.get(name, -1) for name in ids], dtype=np.int64)


def column_of(names: Ids) -> NDArray[Any]:
    """Return clients as an array (n,), of objects where they are not all numbers or dates.

    Parameters
    ----------
    names : list
    """
    return pd.Series(names).to_numpy()


def _are_texts(ids):
    return all(isinstance(name, str) for name in ids)


def _are_numbers(ids):
    return all(isinstance(name, Real) for name in ids)

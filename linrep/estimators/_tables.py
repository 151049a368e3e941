"""Tables taken apart: covariates, labels, and the ids that stand in columns."""

from __future__ import annotations

from collections.abc import Hashable
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_X_y,
    column_or_1d,
    validate_data,
)

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
    refuse_masks_and_other_orders(X, y)
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


#: Whose ids stand in the two columns of ratings.
SIDES = ("client", "item")


def take_pairs(estimator: Any, X: Any, y: Any = None, *, labelled: bool = False) -> Any:
    """Return the columns of clients and items, and ratings.

    Parameters
    ----------
    estimator : MatrixCompletion
        Which remembers names and number of columns where there are labels.
    X, y
        As handed to its methods.
    labelled : bool
        Whether ratings are looked at.
    """
    refuse_masks_and_other_orders(X, y)
    if not hasattr(X, "columns"):
        X = check_array(X, dtype=None, estimator=estimator)
    validate_data(estimator, X, reset=labelled, skip_check_array=True)
    names = columns_of(X)
    found = [find_column(names, getattr(estimator, each), each) for each in SIDES]
    if found[0] == found[1]:
        raise ValueError(f"client and item are the same column of X, {found[0]!r}")
    columns = [take(X, name) for name in found]
    columns = [each if isinstance(each, pd.Series) else np.asarray(each) for each in columns]
    if labelled:
        y = column_or_1d(y, warn=True)
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(columns[0], y)
        check.moderate("y", y)
    return columns, y


def refuse_masks_and_other_orders(X: Any, y: Any) -> None:
    """Raise if entries are masked, or labelled inputs have the same rows in different orders.

    Parameters
    ----------
    X, y : DataFrame, Series or array_like
    """
    for name, values in (("X", X), ("y", y)):
        if np.ma.is_masked(values):
            raise ValueError(f"{name} has masked entries: what is missing must be filled in before")
    one, other = (getattr(each, "index", None) for each in (X, y))
    if not isinstance(one, pd.Index) or not isinstance(other, pd.Index) or one.equals(other):
        return
    if len(one) == len(other) and not one.symmetric_difference(other).size:
        raise ValueError("y has the rows of X in another order, by their indexes")


def _without_client(X, client):
    """Return the table without the clients' column, and what stands in it."""
    names = columns_of(X)
    client = find_column(names, client, "client")
    others = [name for name in names if name != client]
    if not others:
        raise ValueError("X must have a covariate beside the clients, got 1 feature(s)")
    return (X[others] if hasattr(X, "columns") else X[:, others]), read_ids(take(X, client))


def columns_of(X: Any) -> list[Any]:
    """Return the names of a table's columns, places for an array.

    Parameters
    ----------
    X : DataFrame or ndarray
    """
    names = list(X.columns) if hasattr(X, "columns") else list(range(X.shape[1]))
    if len(set(names)) < len(names):
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise ValueError(f"X must have distinct columns, {twice!r} is there twice")
    return names


def find_column(names: list[Any], asked: Any, argument: str) -> Any:
    """Return the one of the columns' names that is asked for, by itself or by its place.

    Parameters
    ----------
    names : list
        As of `columns_of`.
    asked : int or str
    argument : str
        What it was given as.
    """
    if isinstance(asked, int | np.integer) and not isinstance(asked, bool):
        if not -len(names) <= asked < len(names):
            raise ValueError(
                f"X must have a column in place {asked}, it has {len(names)} feature(s)"
            )
        return names[asked]
    if asked not in names:
        framed = names != list(range(len(names)))
        known = ", ".join(map(repr, names[:9])) if framed else "no names"
        raise ValueError(f"X must have the column {argument}={asked!r}, it has {known}")
    return asked


def take(X: Any, name: Any) -> Any:
    """Return a column.

    Parameters
    ----------
    X : DataFrame or ndarray
    name
        As of `find_column`.
    """
    return X[name] if hasattr(X, "columns") else X[:, name]


def coded(column: Any, what: str) -> tuple[Ids, NDArray[np.int64]]:
    """Return the distinct ids of a column, and the place of each row's among them.

    Parameters
    ----------
    column : array_like, shape (N,)
    what : {"client", "item"}
    """
    if not isinstance(column, pd.Series):
        column = pd.Series(np.asarray(column))
    try:
        codes, _ = pd.factorize(column)
        distinct = read_ids(column[~column.duplicated().to_numpy()], what)
    except (TypeError, ValueError):
        read_ids(column, what)  # which names the row
        raise
    return distinct, codes


def check_weights(sample_weight: Any, count: int) -> Values:
    """Return weights (count,) of rows, if some are positive and none is negative.

    Parameters
    ----------
    sample_weight : array_like
    count : int
    """
    weights = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weights.shape != (count,):
        raise ValueError(f"sample_weight must have shape ({count},), got {weights.shape}")
    if weights.min() < 0.0 or weights.max() == 0.0:
        raise ValueError("sample_weight must not be negative, nor are all weights to be zero")
    return weights


def read_ids(column: Any, what: str = "client") -> Ids:
    """Return the ids in a column, none of them missing.

    Parameters
    ----------
    column : array_like, shape (N,)
    what : {"client", "item"}
        Whose they are.
    """
    if not isinstance(column, pd.Series):
        column = pd.Series(column if isinstance(column, list | tuple) else np.asarray(column))
    missing = column.isna().to_numpy()
    ids = column.tolist()
    for row, name in enumerate(ids):
        if missing[row] or (isinstance(name, float) and not np.isfinite(name)):
            raise ValueError(f"the {what} of row {row} is missing: it is NaN, inf or none")
        try:
            hash(name)
        except TypeError:
            raise TypeError(
                f"the {what} of row {row} is a {type(name).__name__}, the argument must be "
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


def places(names: Ids, ids: Ids, what: str = "client") -> NDArray[np.int64]:
    """Return where in some names each id is, -1 where it is not.

    Parameters
    ----------
    names, ids : list
        Texts and numbers are different, and so are "007" and "7"; 7 and 7.0 are the same.
    what : {"client", "item"}
        Whose they are.
    """
    if _are_texts(names) != _are_texts(ids) and _are_numbers(names) != _are_numbers(ids):
        raise TypeError(f"{what}s are such as {names[0]!r}, not such as {ids[0]!r}")
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

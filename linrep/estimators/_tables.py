"""Tables taken apart: covariates, labels, and the ids that stand in columns."""

from __future__ import annotations

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
from linrep._lib.frames import common_index, read_table
from linrep._lib.ids import Ids, read_ids

Values = NDArray[np.float64]


def take_apart(
    estimator: Any, X: Any, y: Any = None, sample_weight: Any = None, *, of: str
) -> tuple[Values, Any, Ids]:
    """Return covariates (N, d), labels, and each row's client.

    Parameters
    ----------
    estimator : FederatedRegressor
        Which remembers names and number of columns in "fit", and compares them otherwise.
    X, y, sample_weight
        As handed to its methods; labels are not looked at in "predict", and of weights only the
        index.
    of : {"fit", "fit_clients", "predict"}
    """
    X = read_rows(X, y=y, sample_weight=sample_weight)
    ids = None
    if not hasattr(X, "columns"):
        X = check_array(X, dtype=None, estimator=estimator)
    _compare_columns(estimator, X, reset=of == "fit")
    if estimator.client is not None:
        X, ids = _without_client(X, estimator.client)
    X, y = _numbers(estimator, X, y, labelled=of != "predict")
    check.moderate("X", X)
    if y is not None:
        check.moderate("y", y)
    return X, y, [0] * len(X) if ids is None else ids


def _numbers(estimator, X, y, *, labelled):
    """Return covariates and labels, after scikit-learn's checks."""
    for name in X.columns if hasattr(X, "columns") else ():
        refuse_what_is_no_number(f"column {name!r} of X", X[name])
    refuse_what_is_no_number("X", X)
    refuse_what_is_no_number("y", y)
    settings: dict[str, Any] = {"dtype": np.float64, "estimator": estimator}
    try:
        if not labelled:
            return check_array(X, **settings), None
        X, y = check_X_y(X, y, y_numeric=True, **settings)
    except ValueError:
        _refuse_column(X)
        raise
    return X, y.astype(np.float64)


def _refuse_column(X):
    """Raise if a column of a table is no list of finite numbers, and name it."""
    for name in X.columns if hasattr(X, "columns") and len(X) else ():
        try:
            check_array(X[[name]], dtype=np.float64)
        except ValueError as error:
            raise ValueError(f"column {name!r} of X: {str(error).splitlines()[0]}") from None


def _compare_columns(estimator, X, *, reset):
    """Remember names and number of columns, or refuse others; names need not be texts."""
    validate_data(estimator, X, reset=reset, skip_check_array=True)  # compares texts alone
    names = tuple(X.columns) if hasattr(X, "columns") else None
    if reset:
        estimator._columns = names
    check.same_columns("X", names, estimator._columns, "fit")


#: Whose ids stand in the two columns of ratings.
SIDES = ("client", "item")


def take_pairs(
    estimator: Any, X: Any, y: Any = None, sample_weight: Any = None, *, labelled: bool = False
) -> Any:
    """Return the columns of clients and items, and ratings.

    Parameters
    ----------
    estimator : MatrixCompletion
        Which remembers names and number of columns where there are labels.
    X, y, sample_weight
        As handed to its methods; of weights only the index is looked at.
    labelled : bool
        Whether ratings are looked at.
    """
    X = read_rows(X, y=y, sample_weight=sample_weight)
    if not hasattr(X, "columns"):
        X = check_array(X, dtype=None, ensure_all_finite=False, estimator=estimator)
    _compare_columns(estimator, X, reset=labelled)
    names = columns_of(X)
    asked = [getattr(estimator, each) for each in SIDES]
    if None in asked and names != list(range(len(names))) and len(names) > len(SIDES):
        raise ValueError(
            f"client and item must be named, of {len(names)} columns: "
            f"{', '.join(map(repr, names[:9]))}"
        )
    found = [
        find_column(names, place if each is None else each, side)
        for place, (each, side) in enumerate(zip(asked, SIDES, strict=True))
    ]
    if found[0] == found[1]:
        raise ValueError(f"client and item are the same column of X, {found[0]!r}")
    columns = [take(X, name) for name in found]
    columns = [each if isinstance(each, pd.Series) else np.asarray(each) for each in columns]
    if labelled:
        refuse_what_is_no_number("y", y)
        y = column_or_1d(y, warn=True)
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(columns[0], y)
        check.moderate("y", y)
    return columns, y


def read_rows(X: Any, **others: Any) -> Any:
    """Return a table, of pandas if it was one of Arrow.

    Raises
    ------
    ValueError, TypeError
        If entries are masked, what is labelled has not the index of X, or X cannot be read.
    """
    for name, values in {"X": X, **others}.items():
        if check.has_masked(values):
            raise ValueError(f"{name} has masked entries: what is missing must be filled in before")
    X = read_table("X", X)
    for name, values in others.items():
        common_index(X=X, **{name: values})
    return X


def refuse_what_is_no_number(name: str, values: Any) -> None:
    """Raise for dates or spans of time, which would become counts of a unit, and for texts."""
    kind = getattr(getattr(values, "dtype", None), "kind", None) or np.asarray(values).dtype.kind
    if kind in "mM":
        raise TypeError(f"{name} must be numbers, got dates or times")
    if kind in "US" or (kind == "O" and any(isinstance(x, str) for x in np.ravel(values))):
        raise TypeError(f"{name} must be numbers, got texts")


def _without_client(X, client):
    """Return the table without the clients' column, and what stands in it."""
    names = columns_of(X)
    client = find_column(names, client, "client")
    others = [name for name in names if name != client]
    if not others:
        raise ValueError("X must have a covariate beside the clients, got 1 feature(s)")
    return (X[others] if hasattr(X, "columns") else X[:, others]), read_ids(take(X, client))


def columns_of(X: Any) -> list[Any]:
    """Return the names of a table's columns, places for an array."""
    names = list(X.columns) if hasattr(X, "columns") else list(range(X.shape[1]))
    check.distinct("columns of X", names)
    return names


def find_column(names: list[Any], asked: Any, argument: str) -> Any:
    """Return the one of the columns' names that is asked for, by itself or by its place.

    A number that is one column's name and another's place is refused.

    Parameters
    ----------
    names : list
        As of `columns_of`.
    asked : int or str
    argument : str
        What it was given as.
    """
    try:
        hash(asked)
    except TypeError:
        raise TypeError(
            f"{argument} must be the name or the place of a column of X, got a "
            f"{type(asked).__name__}"
        ) from None
    if not isinstance(asked, int | np.integer) or isinstance(asked, bool):
        if asked in names:
            return asked
        framed = names != list(range(len(names)))
        known = ", ".join(map(repr, names[:9])) if framed else "no names"
        raise ValueError(f"X must have the column {argument}={asked!r}, it has {known}")
    found = {name for name in names if name == asked}
    if -len(names) <= asked < len(names):
        found.add(names[asked])
    if not found:
        raise ValueError(f"X must have a column in place {asked}, it has {len(names)} feature(s)")
    if len(found) > 1:
        raise ValueError(f"{argument}={asked} is one column's name and another's place")
    return found.pop()


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
    """Return the distinct ids of a column, and the place of each row's among them."""
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
    """Return weights (count,) of rows, if some are positive and none is negative."""
    refuse_what_is_no_number("sample_weight", sample_weight)
    weights = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weights.shape != (count,):
        raise ValueError(f"sample_weight must have shape ({count},), got {weights.shape}")
    if weights.min() < 0.0 or weights.max() == 0.0:
        raise ValueError("sample_weight must not be negative, nor are all weights to be zero")
    check.moderate("sample_weight", weights)
    return weights


def column_of(names: Ids) -> NDArray[Any]:
    """Return clients as an array (n,), of objects where they are not all numbers or dates."""
    return pd.Series(names).to_numpy()

"""Cross-validation within clients, whatever the number of their samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_array, check_random_state

from linrep._lib import validation as check
from linrep._lib.ids import grouped
from linrep.estimators._tables import columns_of, find_column, read_rows, take
from linrep.problems.random import stream

Rows = NDArray[np.int64]


class ClientKFold(BaseCrossValidator):
    """Cross-validation that holds out samples of every client, each once.

    A client's only sample is always learned from, where StratifiedKFold would hold it out, and a
    client has samples in as many folds as it can. For clients that are held out as a whole take
    scikit-learn's GroupKFold.

    Parameters
    ----------
    n_splits : int, default 5
        Number of folds, at least 2.
    random_state : int, RandomState or None
        For the division, which is random: an integer makes it the same in every call.
    client : int, str or None
        The clients' column of X: its place, -1 being the last one, or its name. By default the
        clients are the groups, which scikit-learn hands over where it is given them.

    Examples
    --------
    >>> from linrep.estimators import ClientKFold
    >>> client = ["ada", "ada", "bob", "bob", "bob", "cyd"]
    >>> folds = list(ClientKFold(2, random_state=0).split(client, groups=client))
    >>> sorted(int(row) for _, test in folds for row in test)
    [0, 1, 2, 3, 4]

    Scores are those of `cross_validate`. `cross_val_predict` asks for a prediction of every row,
    which there is none of for clients of one row: predict fold by fold.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.model_selection import cross_validate
    >>> from linrep.estimators import FederatedRegressor
    >>> table = pd.DataFrame({"x": np.arange(6.0) ** 2, "client": client})
    >>> y = pd.Series(2 * table["x"] + 1)
    >>> model = FederatedRegressor("pooled", client="client")
    >>> cv = ClientKFold(2, client="client", random_state=0)
    >>> cross_validate(model, table, y, cv=cv)["test_score"].round(6).tolist()
    [1.0, 1.0]
    >>> predicted = pd.Series(np.nan, index=table.index)
    >>> for train, test in cv.split(table):
    ...     fitted = model.fit(table.iloc[train], y.iloc[train])
    ...     predicted.iloc[test] = fitted.predict(table.iloc[test])
    >>> predicted.round(6).tolist()
    [1.0, 3.0, 9.0, 19.0, 33.0, nan]
    """

    # Where metadata are routed, groups are asked for, as by scikit-learn's own folds of groups.
    __metadata_request__split = {"groups": True}  # noqa: RUF012

    def __init__(self, n_splits: int = 5, *, random_state: Any = None, client: Any = None):
        self.n_splits = n_splits
        self.client = client
        self.random_state = random_state

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Rows, Rows]]:
        """Divide the rows.

        Parameters
        ----------
        X : array_like, shape (N, ...)
            The table, of which only the index and the clients' column are looked at.
        y : optional
            Not looked at.
        groups : array_like, shape (N,), optional
            Each row's client. Not looked at with `client`.

        Yields
        ------
        train, test : ndarray of int
            Rows to learn from and rows that are held out, in the order of the table.

        Raises
        ------
        ValueError
            If nothing says whose rows they are, groups have another index than X, or there are more
            folds than samples that can be held out.
        """
        folds = check.integer("n_splits", self.n_splits, minimum=2)
        if self.client is not None:
            X = read_rows(X)
            X = X if hasattr(X, "columns") else check_array(X, dtype=None)
            groups = take(X, find_column(columns_of(X), self.client, "client"))
        elif groups is None:
            raise ValueError("groups= or ClientKFold(client=) must say each row's client")
        elif isinstance(groups, str):
            raise TypeError(
                f"groups must be each row's client; a column is ClientKFold(client={groups!r})"
            )
        else:
            X = read_rows(X, groups=groups)
        _, place = grouped(groups)
        if len(place) != len(X):
            raise ValueError(f"groups must have {len(X)} entries, as X has rows, got {len(place)}")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        fold = np.empty(len(place), dtype=np.int64)
        fold[np.argsort(place, kind="stable")] = _folds(np.bincount(place), folds, seed)
        for each in range(folds):
            yield np.flatnonzero(fold != each), np.flatnonzero(fold == each)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups : optional
            Not looked at.
        """
        return self.n_splits


def _folds(m, folds, seed):
    """Return which fold each of m[i] samples is held out in, client by client; -1 for one alone.

    As many of a client's samples are in each fold, and of all samples, up to one.
    """
    shared = int(m[m > 1].sum())
    if not shared:
        raise ValueError("no client has more than one sample, which could be held out")
    if shared < folds:
        raise ValueError(
            f"n_splits must be at most {shared}, the samples of clients that have more than one, "
            f"got {folds}"
        )
    rng = stream(seed, "split")
    fold, dealt = [], 0
    for count in m.tolist():
        fold.append((dealt + rng.permutation(count)) % folds if count > 1 else np.array([-1]))
        dealt += count if count > 1 else 0
    return np.concatenate(fold)

"""Cross-validation within clients, whatever the number of their samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from linrep._lib import validation as check
from linrep._lib.ids import grouped
from linrep.estimators._tables import refuse_masks_and_other_orders
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

    Examples
    --------
    >>> from linrep.estimators import ClientKFold
    >>> client = ["ada", "ada", "bob", "bob", "bob", "cyd"]
    >>> folds = list(ClientKFold(2, random_state=0).split(client, groups=client))
    >>> sorted(int(row) for _, test in folds for row in test)
    [0, 1, 2, 3, 4]

    Scores are those of `cross_validate`, with the clients as groups. `cross_val_predict` asks for a
    prediction of every row, which there is none of for clients of one row: predict fold by fold.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.model_selection import cross_validate
    >>> from linrep.estimators import FederatedRegressor
    >>> table = pd.DataFrame({"x": np.arange(6.0) ** 2, "client": client})
    >>> y = pd.Series(2 * table["x"] + 1)
    >>> model, cv = FederatedRegressor("pooled", client="client"), ClientKFold(2, random_state=0)
    >>> cross_validate(model, table, y, groups=client, cv=cv)["test_score"].round(6).tolist()
    [1.0, 1.0]
    >>> predicted = pd.Series(np.nan, index=table.index)
    >>> for train, test in cv.split(table, groups=client):
    ...     fitted = model.fit(table.iloc[train], y.iloc[train])
    ...     predicted.iloc[test] = fitted.predict(table.iloc[test])
    >>> predicted.round(6).tolist()
    [1.0, 3.0, 9.0, 19.0, 33.0, nan]
    """

    def __init__(self, n_splits: int = 5, *, random_state: Any = None):
        self.n_splits = n_splits
        self.random_state = random_state

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Rows, Rows]]:
        """Divide the rows.

        Parameters
        ----------
        X : array_like, shape (N, ...)
            The table, of which only the index is looked at.
        y : optional
            Not looked at.
        groups : array_like, shape (N,)
            Each row's client.

        Yields
        ------
        train, test : ndarray of int
            Rows to learn from and rows that are held out, in the order of the table.

        Raises
        ------
        ValueError
            If there are no groups, they have the rows of X in another order by their indexes, or
            there are more folds than samples that can be held out.
        """
        if groups is None:
            raise ValueError("groups must be given, each row's client")
        refuse_masks_and_other_orders(X, groups=groups)
        folds = check.integer("n_splits", self.n_splits, minimum=2)
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

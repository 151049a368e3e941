"""A regressor with a linear model for every client."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from linrep._lib import validation as check
from linrep._lib.ids import numbered, places
from linrep._lib.weights import WEIGHTS
from linrep.estimators import _models
from linrep.estimators._tables import check_weights, column_of, take_apart
from linrep.problems.clients import ClientData
from linrep.trace import MOST_ROUNDS

Values = NDArray[np.float64]


class FederatedRegressor(RegressorMixin, BaseEstimator):
    r"""Linear models of clients that share a representation, their mean, or nothing.

    A column of the table says whose row it is. Covariates are centred and scaled alike, the method
    learns a representation B by a few rounds from :func:`linrep.models_start`, and every client
    has a head on it, shrunk to the mean of all heads:

    .. math:: \min_{w, c} \sum_i \|y_i - X_i B w_i\|^2 + \mu \|w_i - c\|^2

    Parameters
    ----------
    method : str, default "fedrep"
        With a representation of rank k: "fedrep", "flute", "pflmf", "als" (alternating least
        squares), "altgdmin". Without one: "ridge_to_mean" (B = I), "local" (every client by itself,
        shrunk to 0) and "pooled" (one least-squares model for all).
    client : int, str or None
        The clients' column of X: its place, -1 being the last one, or its name. Ids are strings,
        numbers, dates or tuples, and stay what they are. By default all rows are of one client.
    k : int or None, default None
        Rank, the intercept included; one above the number of clients or covariates is cut to it.
        By default that of 1, 2, 4, 8 and all, which is "ridge_to_mean", whose heads have the least
        squared error at samples left out one by one; see the notes. Where the rank is known, give
        it: one between those tried is found as a neighbour.
    ridge : float, optional
        :math:`\mu`, at least 0, on columns of standard deviation 1; 0 means least squares of every
        client. By default the one of least squared error at samples left out one by one; without a
        representation intercepts then have a ridge of their own, chosen in the same way. Not used
        by "pooled".
    rounds : int, default 5
        Of a method with a representation; 0 takes the start itself. More of them fit the samples
        better and often predict worse.
    weights : {"clients", "samples"}
        Whether in the rounds all clients count alike, as in the papers, or by their samples: where
        numbers of samples differ much, the latter is nearer to a representation that all share.
    fit_intercept : bool, default True
        Whether covariates and labels are centred and every client has an intercept, which is a
        covariate like the others.
    new_clients : {"pooled", "error"}
        What predictions for clients that were not there in `fit` are: those of the pooled model, or
        an error that names the client.

    Attributes
    ----------
    clients_ : ndarray, shape (n,)
        Ids of the clients, in order.
    coef_ : ndarray, shape (n, d)
        Coefficients of each client, of the columns as given, the clients' column left out.
    intercept_ : ndarray, shape (n,)
        Its intercept, 0 without `fit_intercept`.
    pooled_coef_ : ndarray, shape (d,)
        Of least squares on all rows.
    pooled_intercept_ : float
        Its intercept.
    k_ : int
        The rank taken by a method that has one.
    representation_ : ndarray, shape (d, k)
        Its shared part, with ``coef_ = heads_ @ representation_.T``.
    heads_ : ndarray, shape (n, k)
        The clients' own part.
    ridge_ : float
        The ridge taken, infinite for "pooled"; that of slopes, where intercepts have their own.
    n_features_in_ : int
        Columns of X, that of the clients included.
    feature_names_in_ : ndarray
        Their names, where X has names.

    See Also
    --------
    linrep.estimators.ClientKFold : cross-validation within clients.

    Notes
    -----
    Nothing is random. `sample_weight` multiplies squared errors: in the sums above, in the choice
    of the ridge, and in each client's mean loss, or all clients' total one, on which the rounds
    descend. A row of weight 2 is two rows, but where a ridge is chosen, which leaves it out as one,
    and for the start, which weighs rows within their client.

    Of N samples whose covariates have the rank r, the error that ranks are compared by is divided
    by :math:`(1 - k (r - k) / N)^2`, as in generalized cross-validation: a representation of rank k
    has k (r - k) parameters, and what is left out of the heads' fit has taken part in its own.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from linrep.estimators import FederatedRegressor
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.normal(size=(300, 3)), columns=["age", "dose", "size"])
    >>> table["ward"] = rng.choice(["north", "south", "west"], 300)
    >>> slope = table["ward"].map({"north": 1.0, "south": 2.0, "west": -1.0})
    >>> response = 5 + slope * (table["age"] - table["dose"]) + 0.1 * rng.normal(size=300)
    >>> model = FederatedRegressor(client="ward", k=1).fit(table, response)
    >>> model.clients_.tolist(), model.coef_.shape
    (['north', 'south', 'west'], (3, 3))
    >>> model.score(table, response) > 0.99
    True
    >>> one = pd.DataFrame({"age": [1.0], "dose": [-1.0], "size": [0.0], "ward": ["west"]})
    >>> round(float(model.predict(one)[0]))
    3
    """

    def __init__(
        self,
        method: str = "fedrep",
        *,
        client: Any = None,
        k: int | None = None,
        ridge: float | None = None,
        rounds: int = 5,
        weights: str = "clients",
        fit_intercept: bool = True,
        new_clients: str = "pooled",
    ):
        self.method = method
        self.client = client
        self.k = k
        self.ridge = ridge
        self.rounds = rounds
        self.weights = weights
        self.fit_intercept = fit_intercept
        self.new_clients = new_clients

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the clients' models.

        Parameters
        ----------
        X : DataFrame or array_like, shape (N, d + 1), or (N, d) without a clients' column
            Rows in any order.
        y : array_like, shape (N,)
            Labels.
        sample_weight : array_like, shape (N,), optional
            Not negative; rows of weight 0 are as if they were not there.

        Returns
        -------
        FederatedRegressor
            Itself.

        Raises
        ------
        ValueError, TypeError
            If a setting is out of range, there is no such column, or a value is missing.
        """
        method = check.choice("method", self.method, _models.METHODS)
        check.choice("new_clients", self.new_clients, ("pooled", "error"))
        by = check.choice("weights", self.weights, WEIGHTS)
        k = None if self.k is None else check.integer("k", self.k, minimum=1)
        rounds = check.integer("rounds", self.rounds, minimum=0, maximum=MOST_ROUNDS)
        ridge = None if self.ridge is None else check.real("ridge", self.ridge, minimum=0.0)
        X, y, ids = take_apart(self, X, y, sample_weight, of="fit")
        X, y, ids, weights = _weighted(X, y, ids, sample_weight)
        names, place = numbered(ids)
        self._scaler = StandardScaler(with_mean=self.fit_intercept).fit(X, sample_weight=weights)
        self._level = float(np.average(y, weights=weights)) if self.fit_intercept else 0.0
        data = self._data(X, y, place, weights)
        sums = np.bincount(place, weights)
        own = sums if by == "clients" else np.full(sums.shape, sums.mean())
        averaged = self._data(X, y, place, weights * (np.bincount(place) / own)[place])
        intercept = bool(self.fit_intercept)
        self._heads = _models.fit(method, data, averaged, k, ridge, rounds, intercept=intercept)
        self.ridge_ = float(self._heads.ridge)
        self.pooled_coef_, self.pooled_intercept_ = self._raw(_models.pooled(data))
        for name in ("k_", "representation_", "heads_"):  # of an earlier fit by another method
            if hasattr(self, name):
                delattr(self, name)
        if method in _models.LOW_RANK:
            slopes = self._heads.basis[: X.shape[1]]
            self.representation_ = slopes / self._scaler.scale_[:, None]
            self.k_ = slopes.shape[1]
        self._keep(names, self._heads.fit(data))
        return self

    def fit_clients(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return a copy that knows more clients, whose heads are fitted on what has been learned.

        Representation, mean of the heads and ridge stay what they are, and so does the pooled
        model.

        Parameters
        ----------
        X : DataFrame or array_like, shape (N, d + 1)
            Columns as in `fit`, rows of new clients only.
        y : array_like, shape (N,)
            Labels.
        sample_weight : array_like, shape (N,), optional
            As in `fit`.

        Returns
        -------
        FederatedRegressor
            The new clients stand behind the others.

        Raises
        ------
        ValueError, TypeError
            If a client is known already, there is no clients' column, or as in `fit`.
        """
        check_is_fitted(self)
        if self.client is None:
            raise ValueError("fit_clients needs client=, the clients' column")
        X, y, ids = take_apart(self, X, y, sample_weight, of="fit_clients")
        X, y, ids, weights = _weighted(X, y, ids, sample_weight)
        names, place = numbered(ids)
        known = places(self._names, names)
        if (known >= 0).any():
            raise ValueError(f"client {names[int(np.argmax(known >= 0))]!r} is known already")
        heads = self._heads.fit(self._data(X, y, place, weights))
        more = copy(self)
        more._keep([*self._names, *names], np.vstack([self._own, heads]))
        return more

    def predict(self, X: Any) -> Values:
        """Predict the labels of rows.

        Parameters
        ----------
        X : DataFrame or array_like
            Columns as in `fit`.

        Returns
        -------
        ndarray, shape (N,)
            In the order of the rows.

        Raises
        ------
        ValueError, TypeError
            If columns are not those of `fit`, an id is of a type that none had in `fit`, or a
            client is new and `new_clients` is "error".
        """
        X, place, ids = self._places(X)
        if self.new_clients == "error" and (place < 0).any():
            new = ids[int(np.argmax(place < 0))]
            raise ValueError(f"client {new!r} was not there in fit: see new_clients, fit_clients")
        coefficients = np.vstack([self.coef_, self.pooled_coef_])  # where -1 is the last
        intercepts = np.append(self.intercept_, self.pooled_intercept_)
        return np.einsum("sd,sd->s", X, coefficients[place]) + intercepts[place]

    def is_known(self, X: Any) -> NDArray[np.bool_]:
        """Tell whose clients were there in `fit`, or in `fit_clients`.

        Parameters
        ----------
        X : DataFrame or array_like
            Columns as in `fit`.

        Returns
        -------
        ndarray of bool, shape (N,)
            The others' rows are predicted by the pooled model.

        Raises
        ------
        ValueError, TypeError
            As in `predict`.
        """
        return self._places(X)[1] >= 0

    def _places(self, X):
        """Return covariates, where among the clients each row's is, -1 where new, and the ids."""
        check_is_fitted(self)
        X, _, ids = take_apart(self, X, of="predict")
        return X, places(self._names, ids), ids

    def _data(self, X, y, place, weights):
        """Return prepared samples of clients, rows multiplied by the root of their weights."""
        Z = self._scaler.transform(X)
        if self.fit_intercept:
            Z = np.column_stack([Z, np.ones(len(Z))])
        roots = np.sqrt(weights)
        return ClientData.from_arrays(Z * roots[:, None], (y - self._level) * roots, place)

    def _raw(self, theta):
        """Return coefficients and intercepts, in the columns as given, of prepared models."""
        coefficients = theta[..., : self._scaler.n_features_in_] / self._scaler.scale_
        if not self.fit_intercept:
            return coefficients, np.zeros(theta.shape[:-1])[()]
        return coefficients, theta[..., -1] + self._level - coefficients @ self._scaler.mean_

    def _keep(self, names, heads):
        """Remember clients and their heads (n, k)."""
        self._names, self._own = names, heads
        self.clients_ = column_of(names)
        self.coef_, self.intercept_ = self._raw(heads @ self._heads.basis.T)
        if hasattr(self, "representation_"):
            self.heads_ = heads


def _weighted(X, y, ids, sample_weight):
    """Return rows and their weights, those of weight 0 left out."""
    if sample_weight is None:
        return X, y, ids, np.ones(len(y))
    weights = check_weights(sample_weight, len(y))
    kept = np.flatnonzero(weights)
    return X[kept], y[kept], [ids[row] for row in kept], weights[kept]

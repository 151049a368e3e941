"""Completion of a matrix of ratings, with side information on both sides."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from linrep._lib import validation as check
from linrep._lib.ids import Ids, find, numbered, places, read_ids, two_types
from linrep._lib.warning import warn
from linrep.estimators._tables import (
    SIDES,
    check_weights,
    coded,
    column_of,
    take_pairs,
)
from linrep.estimators.turns import Completion
from linrep.trace import MOST_ROUNDS

Values = NDArray[np.float64]

_BLOCK = 2**16  # ratings predicted at once


class MatrixCompletion(RegressorMixin, BaseEstimator):
    r"""Ratings of items by clients, as biases and products of factors, with side information.

    Two columns of the table say whose rating of what a row is. A rating is predicted by

    .. math:: \mu + b_c + a_i + u_c^\top v_i

    with factors of `rank` numbers. Where a side has features z, its factors and biases are near
    linear functions of them, :math:`u_c = A z_c + e_c` (a hybrid of side information and free
    factors), and one objective is minimized in all unknowns:

    .. math::
        \sum \big(y - \mu - b_c - a_i - u_c^\top v_i\big)^2
        + \rho \Big(\sum_c \|u_c - A z_c\|^2 + \varphi \|A\|_F^2\Big)
        + \beta \Big(\sum_c (b_c - \alpha^\top z_c)^2 + \varphi \|\alpha\|^2\Big) + \ldots

    and the same of the items. Ratings are divided by their standard deviation before, so that
    ridges do not depend on their unit.

    Parameters
    ----------
    rank : int, default 10
        Numbers in a factor; 0 leaves biases, and what features say of them. One above the number
        of clients or items is cut to it, and directions that the ridge makes 0 are left out.
    client, item : int or str, optional
        Columns of X: place, -1 being the last one, or name. Ids are strings, numbers, dates or
        tuples, and stay what they are. Other columns are not looked at. By default the first two;
        of more than two that have names they must be given.
    ridge : float, default 15
        :math:`\rho`, positive, of factors.
    biases : bool, default True
        Whether clients and items have biases.
    bias_ridge : float, default 5
        :math:`\beta`, positive.
    client_features, item_features : DataFrame, optional
        Numbers, indexed by id; other ids than those of the ratings may be there, and be missing.
        Columns are centred and scaled; a missing id is taken to be an average one, and a warning
        counts them.
    feature_ridge : float, default 100
        :math:`\varphi`, positive: with as many clients, A is about half of what least squares would
        make it. Features that say nothing can cost a few percent; they cost none where
        cross-validation may choose a large ridge, such as 1e4.
    sweeps : int, default 100
        Fits of all items and all clients, by turns, at most.
    tol : float, default 1e-4
        Relative decrease of the objective in a sweep at which the fit ends.

    Attributes
    ----------
    clients_, items_ : ndarray
        Ids that were rated or have features, the former first.
    client_factors_, item_factors_ : ndarray, shape (n, k)
        With the same Gram matrices, penalties left aside; k is at most the rank.
    client_biases_, item_biases_ : ndarray, shape (n,)
    offset_ : float
    repeated_ : int
        Rows beyond the first of their client and item. Each counts as a rating: a pair's weight is
        the sum of theirs.
    unmatched_ : dict of str to int
        By "client" and "item", how many of the ratings' ids have no row of features, if there are
        features.
    objective_ : ndarray, shape (sweeps + 1,)
        Half the objective, before the first sweep and after each; it never rises.
    n_iter_ : int
        Sweeps.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray
        Their names, where X has names.

    See Also
    --------
    linrep.estimators.FederatedRegressor : Models of clients on covariates.

    Notes
    -----
    Block coordinate descent: each client's factor and bias together by one Cholesky factorization,
    A by ridge regression, and what leaves predictions as they are by the least penalty. It begins
    with about the leading singular vectors of what biases leave; nothing is random.

    What was not there in `fit` is predicted from what is known: by its features, else without
    factor and bias. `sample_weight` multiplies squared errors, and a row of weight 2 is two rows.

    The hybrid is that of Agarwal and Chen, *Regression-based latent factor models*, KDD 2009, by
    penalized least squares; turns with biases as further unknowns are those of Koren, Bell and
    Volinsky, *Matrix factorization techniques for recommender systems*, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from linrep.estimators import MatrixCompletion
    >>> rng = np.random.default_rng(0)
    >>> taste, style = rng.normal(size=60), rng.normal(size=40)
    >>> ratings = pd.DataFrame({"user": rng.integers(0, 60, 900), "film": rng.integers(0, 40, 900)})
    >>> stars = 3 + taste[ratings["user"]] * style[ratings["film"]] + 0.1 * rng.normal(size=900)
    >>> model = MatrixCompletion(rank=1, ridge=0.5).fit(ratings, stars)
    >>> model.score(ratings, stars) > 0.95
    True
    >>> model.client_factors_.shape, model.item_factors_.shape
    ((60, 1), (40, 1))
    """

    def __init__(
        self,
        rank: int = 10,
        *,
        client: Any = None,
        item: Any = None,
        ridge: float = 15.0,
        biases: bool = True,
        bias_ridge: float = 5.0,
        client_features: Any = None,
        item_features: Any = None,
        feature_ridge: float = 100.0,
        sweeps: int = 100,
        tol: float = 1e-4,
    ):
        self.rank = rank
        self.client = client
        self.item = item
        self.ridge = ridge
        self.biases = biases
        self.bias_ridge = bias_ridge
        self.client_features = client_features
        self.item_features = item_features
        self.feature_ridge = feature_ridge
        self.sweeps = sweeps
        self.tol = tol

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit factors and biases.

        Parameters
        ----------
        X : DataFrame or array_like, shape (N, 2 or more)
            Clients and items, rows in any order.
        y : array_like, shape (N,)
            Ratings.
        sample_weight : array_like, shape (N,), optional
            Not negative; rows of weight 0 are as if they were not there.

        Returns
        -------
        MatrixCompletion
            Itself.

        Raises
        ------
        ValueError, TypeError
            If a setting is out of range, there is no such column, or a value is missing.
        """
        settings = self._settings()
        columns, y = take_pairs(self, X, y, sample_weight, labelled=True)
        weights = None
        if sample_weight is not None:
            weights = check_weights(sample_weight, len(y))
            kept = weights > 0.0
            columns, y, weights = [each[kept] for each in columns], y[kept], weights[kept]
        sides = [
            _read(column, table, what)
            for column, table, what in zip(
                columns, (self.client_features, self.item_features), SIDES, strict=True
            )
        ]
        level = float(np.average(y, weights=weights))
        scale = float(np.sqrt(np.average(np.square(y - level), weights=weights))) or 1.0
        found = Completion(
            [side.places for side in sides], [len(side.names) for side in sides],
            (y - level) / scale, weights, features=[side.features for side in sides], **settings,
        )  # fmt: skip
        sweeps = check.integer("sweeps", self.sweeps, minimum=0, maximum=MOST_ROUNDS)
        self.objective_ = found.run(sweeps, check.real("tol", self.tol, minimum=0.0))
        self.n_iter_ = len(self.objective_) - 1
        if self.n_iter_ == sweeps:
            message = f"{sweeps} sweeps did not end it: raise sweeps or tol, or see objective_"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        self.repeated_ = found.repeated
        self.unmatched_ = {
            what: side.unmatched
            for what, side in zip(SIDES, sides, strict=True)
            if side.features is not None
        }
        self.offset_ = level + scale * found.offset
        self._names, self._factors, self._biases = [], [], []
        for side, fitted in zip(sides, (found.clients, found.items), strict=True):
            rows = fitted.rows
            if side.more:
                rows = np.vstack([rows, side.more_features @ fitted.coefficients])
            self._names.append([*side.names, *side.more])
            self._factors.append(np.sqrt(scale) * rows[:, :-1])
            self._biases.append(scale * found.unit * rows[:, -1])
        self.clients_, self.items_ = map(column_of, self._names)
        self.client_factors_, self.item_factors_ = self._factors
        self.client_biases_, self.item_biases_ = self._biases
        return self

    def predict(self, X: Any) -> Values:
        """Predict ratings.

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
            If columns are not those of `fit`, or ids are of another kind.
        """
        where = self._places(X)
        found = np.full(len(where[0]), self.offset_)
        factors = []
        for side, which in enumerate(where):
            found += np.append(self._biases[side], 0.0)[which]  # where -1 is the last
            factors.append(np.pad(self._factors[side], ((0, 1), (0, 0))))
        for first in range(0, len(found), _BLOCK):
            rows = slice(first, first + _BLOCK)
            u, v = (F[which[rows]] for F, which in zip(factors, where, strict=True))
            found[rows] += np.einsum("ek,ek->e", u, v)
        return found

    def is_known(self, X: Any) -> NDArray[np.bool_]:
        """Tell whose ids were there in `fit`, rated or with features.

        Parameters
        ----------
        X : DataFrame or array_like
            Columns as in `fit`.

        Returns
        -------
        ndarray of bool, shape (N, 2)
            Of each row's client and item. What is not known is predicted without factor and bias.

        Raises
        ------
        ValueError, TypeError
            As in `predict`.
        """
        return np.column_stack(self._places(X)) >= 0

    def _places(self, X):
        """Return where among the ids of each side that of each row is, -1 where it is new."""
        check_is_fitted(self)
        columns, _ = take_pairs(self, X)
        found = []
        for names, column, what in zip(self._names, columns, SIDES, strict=True):
            ids, codes = coded(column, what)
            found.append(places(names, ids, what)[codes])
        return found

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def _settings(self):
        """Return what is fitted, after a look at the parameters."""
        biases = check.instance("biases", self.biases, bool, np.bool_)
        bias_ridge = check.real("bias_ridge", self.bias_ridge, above=0.0)
        return {
            "rank": check.integer("rank", self.rank, minimum=0),
            "ridge": check.real("ridge", self.ridge, above=0.0),
            "bias_ridge": bias_ridge if biases else None,
            "feature_ridge": check.real("feature_ridge", self.feature_ridge, above=0.0),
        }


class _Ids(NamedTuple):
    """Who was rated, or rates, on one side."""

    names: Ids
    places: NDArray[Any]  # of each rating
    features: Values | None  # of the names, centred and scaled
    more: Ids  # who has features alone
    more_features: Values
    unmatched: int  # of the names without features, where others have them


def _read(column, table, what):
    """Return a side's ids, those of its column first, with features from a table."""
    ids, codes = coded(column, what)
    names, order = numbered(ids)
    few = max(len(codes), len(ids)) < 2**31
    which = order.astype(np.int32 if few else np.int64)[codes]
    if table is None:
        return _Ids(names, which, None, [], np.zeros((0, 0)), 0)
    argument = f"{what}_features"
    if not isinstance(table, pd.DataFrame):
        raise TypeError(
            f"{argument} must be a DataFrame of pandas, indexed by {what}, got a "
            f"{type(table).__module__.partition('.')[0]} {type(table).__name__}"
        )
    name = getattr(column, "name", None)
    if isinstance(name, str) and name in table.columns:
        raise ValueError(f"{argument} must be indexed by {what}: take .set_index({name!r})")
    values = check.data(argument, table, (None, None))
    indexed = read_ids(table.index, what)
    if len(set(indexed)) < len(indexed):
        twice = next(name for name, count in Counter(indexed).items() if count > 1)
        raise ValueError(f"{argument} must have each {what} once, {twice!r} is there twice")
    if found := two_types([*names, *indexed]):
        first, second = found
        raise TypeError(f"{argument} has {second!r}, and X the {what} {first!r}; give one type")
    place = find(indexed, names)
    seen = place >= 0
    if not seen.any():
        raise ValueError(f"{argument} must be indexed by {what}: of those in X none is there")
    if not seen.all():
        message = (
            f"{argument}: {np.sum(~seen)} of {len(seen)} {what}s in X have no row, such as "
            f"{names[int(np.argmin(seen))]!r}, and {len(indexed) - seen.sum()} of {len(indexed)} "
            f"rows are of no {what} in X"
        )
        if table.index.equals(pd.RangeIndex(len(table))):
            message += "; the index is 0, 1, 2, …: has set_index been forgotten?"
        warn(message)
    values = StandardScaler().fit(values[place[seen]]).transform(values)
    rest = np.setdiff1d(np.arange(len(indexed)), place)
    features = np.where(seen[:, None], values[place], 0.0)
    return _Ids(names, which, features, [indexed[at] for at in rest], values[rest],
                int(np.sum(~seen)))  # fmt: skip

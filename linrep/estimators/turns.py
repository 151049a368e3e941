"""Factors and biases of clients and items, fitted to ratings by turns, with what features explain.

Ratings are offset + (client's bias) + (item's bias) + (client's factor)'(item's factor). Of a side
with features z, factors and biases are penalized by their distance to A z, and A by its own ridge:
half the squared error, plus half of

    ridge (sum |u - A z|^2 + feature_ridge |A|^2)

with the same of the biases, in a unit in which their ridge is 1, and of the other side. Every step
minimizes that in some of the unknowns, so that it never rises.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array

from linrep.kernels import ratings as kernels

Values = NDArray[np.float64]
_ROUGH = 1e-3  # relative decrease at which biases alone are near enough to begin with
_SWEEPS = 20  # for them at most
_EXTRA = 10  # steps of Lanczos' method beyond three for each vector that is sought
_SHRUNK = 0.1  # share of a singular value that a start has at least: nothing leaves 0
_DEAD = 1e-8  # singular values of the product of factors, relative to the largest, that are nothing


class Side:
    """One side's ratings, sorted by its rows, and what is fitted to them.

    Parameters
    ----------
    entries : tuple of ndarray
        Offsets of the rows, and by row the columns, values and roots of weights.
    features : ndarray, shape (rows, p), optional
        Centred.
    feature_ridge : float
    """

    def __init__(self, entries: Any, features: Values | None, feature_ridge: float):
        self.entries, self.features = entries, features
        count = len(entries[0]) - 1
        self.rows = np.zeros((count, 1))  # the last column is the biases
        self.priors, self.coefficients = kernels.NO_PRIORS, np.zeros((0, 1))
        self._root = np.sqrt(feature_ridge)
        if features is not None:
            normal = features.T @ features + feature_ridge * np.eye(features.shape[1])
            self._normal = cho_factor(normal)
            self.explain()

    def fit(self, other: Side, offset: float, unit: float, ridge: float) -> None:
        """Fit the rows, those of the other side being given, and then what features explain."""
        work = kernels.workspace(self.rows.shape[1] - 1)
        kernels.fit_rows(
            *self.entries, other.rows, offset, (unit, unit), ridge, self.priors, self.rows, *work
        )
        self.explain()

    def explain(self) -> None:
        """Fit the features' coefficients (p, k + 1) to the rows, with a ridge."""
        if self.features is not None:
            self.coefficients = cho_solve(self._normal, self.features.T @ self.rows)
            self.priors = self.features @ self.coefficients

    def penalized(self) -> Values:
        """Return rows whose squared norm is the penalty: what features leave, and coefficients."""
        if self.features is None:
            return self.rows
        return np.vstack([self.rows - self.priors, self._root * self.coefficients])

    def take(self, factors: Values) -> None:
        """Go on from other factors (rows, k), with the biases as they are."""
        self.rows = np.hstack([factors, self.rows[:, -1:]])
        self.explain()

    def mix(self, mixing: Values) -> None:
        """Multiply factors, and what explains them, by a matrix (k, new k) from the right."""
        self.rows, self.priors, self.coefficients = (
            np.hstack([F[:, :-1] @ mixing, F[:, -1:]]) if len(F) else F
            for F in (self.rows, self.priors, self.coefficients)
        )


class Completion:
    """A fit of clients and items by turns.

    Parameters
    ----------
    places : tuple of ndarray
        Every rating's client and item.
    counts : tuple of int
        Clients and items.
    values : ndarray
        Ratings.
    weights : ndarray, optional
    rank : int
    ridge : float
    bias_ridge : float or None
        None for no biases.
    features : tuple
        Of clients and of items, as of `Side`, None where there are none.
    feature_ridge : float
    """

    def __init__(
        self, places: Any, counts: Any, values: Values, weights: Values | None, *, rank: int,
        ridge: float, bias_ridge: float | None, features: Any, feature_ridge: float,
    ):  # fmt: skip
        self.rank, self.ridge = min(rank, *counts), ridge
        self.unit = 0.0 if bias_ridge is None else bias_ridge**-0.5
        clients, items = places
        # By item first: then those of a client are by item, and repeated ones stand together.
        by_item = _sorted_by(items, counts[1], clients, values, weights)
        of_item = np.repeat(np.arange(counts[1], dtype=items.dtype), np.diff(by_item[0]))
        roots = None if weights is None else by_item[3]
        by_client = _sorted_by(by_item[1], counts[0], of_item, by_item[2], roots)
        if weights is not None:
            by_item, by_client = ((*each[:3], np.sqrt(each[3])) for each in (by_item, by_client))
        self.clients = Side(by_client, features[0], feature_ridge)
        self.items = Side(by_item, features[1], feature_ridge)
        self.offset = float(np.average(values, weights=weights))
        self._weight = len(values) if weights is None else float(np.sum(weights))
        self.residuals = np.empty(len(values))
        self._find_residuals()

    @property
    def repeated(self) -> int:
        """Ratings beyond the first of their client and item."""
        offsets, items = self.clients.entries[:2]
        same = np.count_nonzero(items[1:] == items[:-1])
        starts = offsets[1:-1]  # of another client
        return int(same - np.count_nonzero(items[starts] == items[starts - 1]))

    def run(self, sweeps: int, tolerance: float) -> Values:
        """Return the objective after each of at most so many sweeps, until one lowers it little.

        Parameters
        ----------
        sweeps : int
        tolerance : float
            Relative decrease of the last sweep.
        """
        if self.unit:
            self._sweeps(_SWEEPS, _ROUGH)
        if self.rank:
            self._start()
        return self._sweeps(sweeps, tolerance)

    def _sweeps(self, sweeps, tolerance):
        objective = [self.objective()]
        while len(objective) <= sweeps:
            self.sweep()
            objective.append(self.objective())
            if objective[-2] - objective[-1] <= tolerance * objective[-2]:
                break
        return np.array(objective)

    def sweep(self) -> None:
        """Fit items, clients and the offset."""
        for one, other in ((self.items, self.clients), (self.clients, self.items)):
            one.fit(other, self.offset, self.unit, self.ridge)
        if self.unit:
            for side in (self.clients, self.items):  # features are centred: they explain no mean
                mean = side.rows[:, -1].mean()
                side.rows[:, -1] -= mean
                self.offset += self.unit * mean
        if self.clients.rows.shape[1] > 1:
            self._balance()
        total = self._find_residuals()
        mean = total / self._weight
        self.offset += mean
        self._square -= mean * total

    def objective(self) -> float:
        """Return half the weighted squared error, and the penalties."""
        total = self._square
        for side in (self.clients, self.items):
            F = side.penalized()
            total += self.ridge * np.vdot(F[:, :-1], F[:, :-1]) + np.vdot(F[:, -1], F[:, -1])
        return 0.5 * float(total)

    def _start(self):
        """Begin with about the leading singular vectors of what biases leave.

        By Lanczos' method from the items' numbers of ratings, which no order or name of clients and
        items changes, and in as many steps as find them well.
        """
        self._find_residuals()
        offsets, items, _, _ = self.clients.entries
        S = csr_array(
            (self.residuals, items, offsets), (len(self.clients.rows), len(self.items.rows))
        )
        Q = np.zeros((S.shape[1], min(3 * self.rank + _EXTRA, *S.shape)))
        vector = np.diff(self.items.entries[0]).astype(np.float64)
        for step in range(Q.shape[1]):
            size = np.linalg.norm(vector)
            for _ in range(2):
                vector -= Q[:, :step] @ (Q[:, :step].T @ vector)
            left_over = np.linalg.norm(vector)
            if left_over <= _DEAD * size:
                break
            Q[:, step] = vector / left_over
            vector = S.T @ (S @ Q[:, step])
        left, values, mixing = np.linalg.svd(S @ Q, full_matrices=False)
        root = np.sqrt(np.maximum(values - self.ridge, _SHRUNK * values))[: self.rank]
        self.clients.take(left[:, : self.rank] * root)
        self.items.take((Q @ mixing.T)[:, : self.rank] * root)
        self._find_residuals()

    def _balance(self):
        """Take, of all factors with the same product, those with the least penalty."""
        R, T = (
            np.asarray(np.linalg.qr(side.penalized()[:, :-1], mode="r"))
            for side in (self.clients, self.items)
        )
        left, size, right = np.linalg.svd(R @ T.T, full_matrices=False)
        kept = size > _DEAD * max(size[0], np.finfo(np.float64).tiny)
        scale = 1.0 / np.sqrt(size[kept])
        self.clients.mix(T.T @ right[kept].T * scale)
        self.items.mix(R.T @ left[:, kept] * scale)

    def _find_residuals(self):
        """Find them, and their weighted square; return their weighted sum."""
        total, self._square = kernels.find_residuals(
            *self.clients.entries, self.clients.rows, self.items.rows, self.offset,
            (self.unit, self.unit), self.residuals,
        )  # fmt: skip
        return total


def _sorted_by(places, count, others, values, weights):
    """Return offsets, others, values and weights of entries, sorted stably by their places."""
    offsets = np.zeros(count + 1, dtype=places.dtype)
    np.cumsum(np.bincount(places, minlength=count), out=offsets[1:])
    sorted_others, found = np.empty_like(others), []
    for each in (values, weights):
        if each is None:
            found.append(kernels.UNWEIGHTED)
            continue
        found.append(np.empty(len(each)))
        kernels.sort_by(places, offsets[:-1].copy(), others, each, sorted_others, found[-1])
    return offsets, sorted_others, *found

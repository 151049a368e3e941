"""Entries without side information: an offset, biases and factors fitted together with a ridge.

The objective is half the squared error, half the ridge times the squared norms of both factors, and
half the squared biases in units of their standard deviation over the noise's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from scipy.sparse import csr_array

from linrep._lib.lanczos import largest_singular_value
from linrep._lib.progress import progress_bar
from linrep.algorithms._imc_biases import Biases, estimate_variances, least_noise
from linrep.kernels import ratings as kernels
from linrep.problems.completion import Observations

Values = NDArray[np.float64]
ROUGH = 1e-3  # relative decrease at which a fit ends that only chooses
GROWING = 1e-2  # the same while columns are still to come
MARGIN = 1e-3  # relative, by which the singular value of a column that is added exceeds the ridge
ADDED = 5  # columns at a time, where the rank is free
DEAD = 1e-8  # singular values, relative to the largest, that count as nothing
_SEED = 0  # of the vectors that singular vectors are sought from
_POWERS = 2  # products with the residuals' square for them
_SMALL = 2000  # rows of a matrix whose largest singular value is found exactly
_NORM_TOLERANCE = 1e-6  # of the residuals' largest singular value, relative


class Joint:
    """A fit by least squares in the items' factors and biases, and in the clients', by turns.

    After both, what leaves every entry's fit unchanged is chosen to have the least penalty: the
    factors' scales, and what the factors' means share with the biases, and these with the offset.
    Left to turns alone, they would take the longest.

    Parameters
    ----------
    rank : int or None
        Columns at most.
    observations : Observations
    biased : bool
        Whether there are an offset and biases.
    bar : optional
        Progress bar, moved on at every sweep.
    """

    def __init__(self, rank: int | None, observations: Observations, biased: bool, bar: Any = None):
        self.observations = seen = observations
        self.most = min(seen.d, seen.n) if rank is None else rank
        self._at_once = ADDED if rank is None else rank
        self.biased = biased
        self.bar = progress_bar(False) if bar is None else bar
        few = max(seen.d, seen.n, len(seen)) < 2**31
        places = np.int32 if few else np.int64  # half the memory
        items, clients = seen.items.astype(places), seen.clients.astype(places)
        self._by_client = seen.offsets.astype(places), items, seen.values
        starts = np.concatenate([[0], np.cumsum(seen.per_item)])
        self._by_item = starts, np.empty_like(clients), np.empty_like(seen.values)
        kernels.sort_by(items, starts[:-1].copy(), clients, seen.values, *self._by_item[1:])
        self._seen_items = seen.per_item > 0
        self._seen_clients = seen.per_client > 0
        self.offset = float(np.mean(seen.values)) if biased else 0.0
        self.units = (0.0, 0.0)
        self.variances = (0.0, 0.0, 0.0)
        # The last column is the biases.
        self._U, self._V = np.zeros((seen.d, 1)), np.zeros((seen.n, 1))
        self.residuals = seen.values - self.offset
        if biased:
            self.estimate_units()
            self._turns(0.0, ROUGH)

    @property
    def U(self) -> Values:
        """The items' factors, (d, k)."""
        return self._U[:, :-1]

    @property
    def V(self) -> Values:
        """The clients' factors, (n, k)."""
        return self._V[:, :-1]

    @property
    def biases(self) -> Biases | None:
        """Offset and biases, if there are any."""
        if not self.biased:
            return None
        item, client = self.units[0] * self._U[:, -1], self.units[1] * self._V[:, -1]
        return Biases(self.offset, item, client, self.variances)

    def predict(self, observations: Observations) -> Values:
        """Return what the fit makes of entries."""
        rows = self.U[observations.items], self.V[observations.clients]
        found = np.einsum("ek,ek->e", *rows)
        return found if self.biases is None else found + self.biases.predict(observations)

    def take(self, U: Values, V: Values) -> None:
        """Go on from other factors."""
        self._U, self._V = np.hstack([U, self._U[:, -1:]]), np.hstack([V, self._V[:, -1:]])
        self._find_residuals()

    def estimate_units(self) -> None:
        """Estimate the biases' variances, and the noise's, from what the factors leave."""
        found = self.biases
        if found is None:
            return
        seen = self.observations
        values = self.residuals + found.predict(seen)
        self.variances = estimate_variances(seen, values)
        noise = least_noise(self.variances, seen.values)
        item, client = (float(np.sqrt(each / noise)) for each in self.variances[:2])
        self.units = item, client
        for F, unit, bias in zip(
            (self._U, self._V), self.units, (found.item, found.client), strict=True
        ):
            F[:, -1] = bias / unit if unit > 0.0 else 0.0
        self._find_residuals()

    def largest(self) -> float:
        """Return the largest singular value of the residuals: the least ridge without factors.

        To a millionth.
        """
        S = self._sparse()
        if min(S.shape) == 1:
            return float(np.linalg.norm(self.residuals))
        start = np.random.default_rng(_SEED).standard_normal(min(S.shape))
        return largest_singular_value(S, start, tol=_NORM_TOLERANCE)

    def negligible(self) -> bool:
        """Tell whether nothing but rounding is left to fit."""
        size = np.linalg.norm(self.observations.values)
        return bool(np.linalg.norm(self.residuals) <= 1e-12 * size)

    def refit(self, ridge: float) -> None:
        """Fit roughly, with the biases' variances as they are estimated now."""
        self.estimate_units()
        for _ in self.fit(ridge, ROUGH):
            pass

    def fit(self, ridge: float, tolerance: float) -> Iterator[float]:
        """Yield the objective after every sweep, until it decreases by a share of at most this.

        With as many columns as pay: the minimizer of half the squared error plus the ridge times
        the nuclear norm has no singular value of the residuals above the ridge (Mazumder, Hastie
        and Tibshirani, 2010); where there is one, its vectors are new columns.
        """
        stationary = False
        if self.U.shape[1]:  # a new ridge: what is there is not yet adapted to it
            yield from self._sweeps(ridge, GROWING if self.U.shape[1] < self.most else tolerance)
            stationary = self.U.shape[1] == self.most
        while True:
            added = self._grow(ridge, apart=not stationary or tolerance >= ROUGH)
            if (stationary and not added) or not (self.U.shape[1] or self.biased):
                return
            # While columns are still to come, those that are there need not be perfect.
            growing = added and self.U.shape[1] < self.most
            yield from self._sweeps(ridge, GROWING if growing else tolerance)
            stationary = not growing

    def _turns(self, ridge, tolerance):
        for _ in self._sweeps(ridge, tolerance):
            pass

    def _sweeps(self, ridge, tolerance):
        before = self.objective(ridge)
        while True:
            after = self._sweep(ridge)
            self.bar.set_postfix_str(f"ridge {ridge:.3g}, rank {self.U.shape[1]}")
            self.bar.update()
            yield after
            if before - after <= tolerance * before:
                return
            before = after

    def _sweep(self, ridge):
        """Fit both sides once, and return the objective."""
        k, (of_item, of_client) = self.U.shape[1], self.units
        work = kernels.workspace(k)
        plain, none = kernels.UNWEIGHTED, kernels.NO_PRIORS
        kernels.fit_rows(
            *self._by_item, plain, self._V, self.offset, (of_item, of_client), ridge, none,
            self._U, *work,
        )  # fmt: skip
        kernels.fit_rows(
            *self._by_client, plain, self._U, self.offset, (of_client, of_item), ridge, none,
            self._V, *work,
        )  # fmt: skip
        if self.biased:
            self._share_levels(self._U, self._V, self._seen_clients, of_item, ridge)
            self._share_levels(self._V, self._U, self._seen_items, of_client, ridge)
            for F, seen, unit in (
                (self._U, self._seen_items, of_item), (self._V, self._seen_clients, of_client)
            ):  # fmt: skip
                mean = F[seen, -1].mean()
                F[seen, -1] -= mean
                self.offset += unit * mean
        balanced = balance(self.U, self.V)
        self._U = np.hstack([balanced[0], self._U[:, -1:]])
        self._V = np.hstack([balanced[1], self._V[:, -1:]])
        total = self._find_residuals()
        if self.biased:
            mean = total / len(self.residuals)
            self.offset += mean
            self.residuals -= mean
            self._square -= mean * total
        return self.objective(ridge)

    @staticmethod
    def _share_levels(F, other, seen, unit, ridge):
        """Move t from the rows of the other factor, so far as seen, to F's biases, as F t."""
        k = F.shape[1] - 1
        if unit == 0.0 or k == 0:
            return
        normal = F[:, :k].T @ F[:, :k] / unit**2 + ridge * np.count_nonzero(seen) * np.eye(k)
        right = ridge * other[seen, :k].sum(axis=0) - F[:, :k].T @ F[:, k] / unit
        t = np.linalg.solve(normal, right)
        other[seen, :k] -= t
        F[:, k] += F[:, :k] @ t / unit

    def objective(self, ridge: float) -> float:
        """Return half the squared error and the penalties."""
        factors = np.vdot(self.U, self.U) + np.vdot(self.V, self.V)
        biases = np.vdot(self._U[:, -1], self._U[:, -1]) + np.vdot(self._V[:, -1], self._V[:, -1])
        return 0.5 * float(self._square + ridge * factors + biases)

    def gap(self, ridge: float) -> float:
        """Return a bound on what the objective exceeds the least one by, relative to it.

        The least one with factors of any rank, which is that with the nuclear norm: the difference
        to the dual problem's value at a multiple of the residuals.
        """
        seen = self.observations
        largest, sides = self._norm(), 0.0
        for places, unit in ((seen.items, self.units[0]), (seen.clients, self.units[1])):
            sides += float(np.sum(np.square(unit * np.bincount(places, self.residuals))))
        return relative_gap(
            self.objective(ridge), seen.values - self.offset, self.residuals, largest, ridge, sides
        )

    def _norm(self):
        """Return a bound on the residuals' largest singular value, of which many may be close."""
        S = self._sparse()
        S = S if S.shape[0] <= S.shape[1] else S.T
        if S.shape[0] <= _SMALL:
            square = eigvalsh((S @ S.T).toarray(), subset_by_index=(S.shape[0] - 1,) * 2)[0]
            return float(np.sqrt(max(square, 0.0)))
        start = np.random.default_rng(_SEED).standard_normal(S.shape[0])
        return largest_singular_value(S, start, tol=MARGIN) * (1.0 + MARGIN)

    def _grow(self, ridge, apart):
        """Add columns where the residuals have singular values above the ridge; tell if any.

        At the length that lowers the objective most.
        """
        room = self.most - self.U.shape[1]
        if room == 0:
            return False
        some = min(room, max(self._at_once, self.U.shape[1] // 2))
        left, size, right = self._leading(some, apart)
        pays = size > ridge * (1.0 + MARGIN)
        if not pays.any():
            return False
        excess, U, V, before = size[pays] - ridge, self.U, self.V, self.residuals.copy()
        for square in (excess, None):
            if square is None:
                square = excess * (excess @ excess / np.sum(np.square(before - self.residuals)))
            root = np.sqrt(square)
            self.take(np.hstack([U, right[:, pays] * root]), np.hstack([V, left[:, pays] * root]))
        return True

    def _leading(self, count, apart):
        """Return about the largest singular values of the residuals, by powers of a few vectors.

        If apart, on what is orthogonal to the items' factors, whose own are the ridge in the end.
        Halko, Martinsson and Tropp, *Finding structure with randomness*, 2011.
        """
        S = self._sparse()
        if self.negligible():
            return np.zeros((S.shape[0], 0)), np.zeros(0), np.zeros((S.shape[1], 0))
        width = min(count + ADDED, *S.shape)
        Q = np.random.default_rng(_SEED).standard_normal((S.shape[1], width))
        lengths = np.linalg.norm(self.U, axis=0)
        known = self.U / np.where(lengths > 0.0, lengths, 1.0)  # orthogonal after a sweep
        if not apart:
            Q = np.hstack([known, Q[:, : min(S.shape) - known.shape[1]]])
        for _ in range(_POWERS):
            Q = S.T @ (S @ Q)
            Q = np.linalg.qr(Q - known @ (known.T @ Q) if apart else Q)[0]
        left, size, mixing = np.linalg.svd(S @ Q, full_matrices=False)
        return left[:, :count], size[:count], (Q @ mixing.T)[:, :count]

    def _sparse(self):
        """Return the residuals as a matrix (n, d)."""
        offsets, items, _ = self._by_client
        return csr_array(
            (self.residuals, items, offsets), (self.observations.n, self.observations.d)
        )

    def _find_residuals(self):
        """Find them, and their square; return their sum."""
        total, self._square = kernels.find_residuals(
            *self._by_client, kernels.UNWEIGHTED, self._V, self._U, self.offset,
            self.units[::-1], self.residuals,
        )  # fmt: skip
        return total


def balance(U: Values, V: Values) -> tuple[Values, Values]:
    """Return factors of U V' of least norm, without columns that are 0 to rounding.

    Their columns are orthogonal, with the same lengths on both sides.
    """
    if U.shape[1] == 0:
        return U, V
    R, T = (np.asarray(np.linalg.qr(F, mode="r")) for F in (U, V))
    left, size, right = np.linalg.svd(R @ T.T, full_matrices=False)
    kept = size > DEAD * max(size[0], np.finfo(np.float64).tiny)
    scale = 1.0 / np.sqrt(size[kept])
    return U @ (T.T @ right[kept].T * scale), V @ (R.T @ left[:, kept] * scale)


def relative_gap(
    objective: float, values: Values, residuals: Values, largest: float, ridge: float,
    sides: float = 0.0,
) -> float:  # fmt: skip
    """Return the gap between the nuclear norm's problem and its dual, relative to the objective.

    The dual point is the residuals (values less fit), shrunk so that their largest singular value
    is at most the ridge; sides is the squared norm of the biases' gradients.
    """
    if objective == 0.0:
        return 0.0
    scale = min(1.0, ridge / largest) if largest > 0.0 else 1.0
    square = float(residuals @ residuals) + sides
    dual = scale * float(values @ residuals) - 0.5 * scale**2 * square
    return (objective - dual) / objective

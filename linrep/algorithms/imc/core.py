"""Entries between orthonormal bases of both sides, and the linear algebra of fitting them."""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.sparse.linalg import ArpackError, LinearOperator

from linrep._lib import validation as check
from linrep._lib.clock import Stopwatch
from linrep._lib.lanczos import largest_singular_value, singular_triples
from linrep.algorithms.imc.sides import Side
from linrep.kernels.completion import weigh_by_residual
from linrep.problems.completion import Observations

Values = NDArray[np.float64]
_FEW = 1 << 20  # numbers in the entries' rows of both bases, which are kept


class _Point(NamedTuple):
    """Factors, and what was found at them."""

    U: Values
    V: Values
    residuals: Values  # (N,)
    square: float  # of their norm
    weighted: tuple[Values, Values] | None  # every entry's rows of both times its residual (N, k)


class Core:
    """Entries between orthonormal bases of both sides, and the linear algebra of fitting them."""

    def __init__(self, observations: Observations, k: int | None):
        self.watch = Stopwatch()  # of the run
        self.observations = seen = observations
        self.left = Side("A", seen.A, seen.items, seen.d)
        self.right = Side("Z", seen.Z, seen.clients, seen.n)
        self.shape = self.left.size, self.right.size
        self.k = None if k is None else check.integer("k", k, minimum=1, maximum=min(self.shape))
        self.values = seen.values
        self.share = len(seen) / (seen.d * seen.n)
        self.size = float(np.linalg.norm(seen.values))
        self._last: _Point | None = None
        width = sum(side.size for side in (self.left, self.right))
        # Whether products with every entry's rows of the bases cost less than those with the bases.
        self._by_rows = (
            self.left.basis is not None
            and self.right.basis is not None
            and len(seen) <= seen.d + seen.n
            and len(seen) * width <= _FEW
        )
        if self.size == 0.0:
            raise ValueError("observations must not be 0 everywhere")

    def predict(self, U: Values, V: Values) -> Values:
        """Return the entries of U V', factors (a, k), (p, k) of a core between the bases."""
        return np.einsum("ec,ec->e", self.left.seen(U), self.right.seen(V))

    def _at(self, U, V) -> _Point:
        if self._last is None or self._last.U is not U or self._last.V is not V:
            if self._by_rows:
                weighted = self.left.rows @ U, self.right.rows @ V
                residuals = np.empty(len(self.values))
                square = weigh_by_residual(*weighted, self.values, residuals)
                self._last = _Point(U, V, residuals, square, weighted)
            else:
                residuals = self.predict(U, V) - self.values
                self._last = _Point(U, V, residuals, float(residuals @ residuals), None)
        return self._last

    def objective(self, U: Values, V: Values) -> float:
        """Return half the squared residual; what belongs to the last factors is kept.

        They must not be changed in place afterwards.
        """
        return 0.5 * self._at(U, V).square

    def predict_core(self, M: Values) -> Values:
        """Return the entries of a whole core (a, p)."""
        return self.right.along(self.left.seen(M))

    @cached_property
    def _patterns(self):
        """Return matrices with the entries' places, (d, n) and (n, d), and the first one's order.

        Entries are in the order of the second. Only the numbers in them change from then on.
        """
        seen = self.observations
        order, offsets = self.left.groups
        by_item = csr_array(
            (np.ones(len(seen)), seen.clients[order], offsets), shape=(seen.d, seen.n)
        )
        by_client = csr_array((np.ones(len(seen)), seen.items, seen.offsets), (seen.n, seen.d))
        return by_item, by_client, order

    def sparse(self, values: Values) -> csr_array:
        """Return the matrix (d, n) with values at the entries; the next call overwrites it."""
        by_item, _, order = self._patterns
        np.take(values, order, out=by_item.data)
        return by_item

    def adjoint(self, values: Values) -> Values | csr_array:
        """Return the core (a, p) whose inner product with any M is that of values with M's entries.

        It is sparse where nothing is known of either side, and then overwritten by the next call.
        """
        S = self.sparse(values)
        return self.left.fold(S if self.right.basis is None else S @ self.right.basis)

    def curvature(self) -> float:
        """Return the largest squared norm of a core's entries, for cores of norm 1."""
        if self.left.basis is None and self.right.basis is None:
            return 1.0  # entries of the core itself, none of them twice
        entries = LinearOperator(
            (len(self.values), self.shape[0] * self.shape[1]),
            matvec=lambda M: self.predict_core(M.reshape(self.shape)),
            rmatvec=lambda values: dense(self.adjoint(values.ravel())).ravel(),
            dtype=np.float64,
        )
        if min(entries.shape) == 1:
            return float(np.linalg.norm(entries @ np.ones(entries.shape[1])) ** 2)
        start = np.ones(min(entries.shape))
        largest = largest_singular_value(entries, start)
        return 1.001 * largest**2  # found to less than that

    def pull(self, values: Values, U: Values, V: Values) -> tuple[Values, Values]:
        """Return the adjoint of the entries' linear dependence on U and on V, applied to values."""
        by_item, by_client, _ = self._patterns
        self.sparse(values)
        by_client.data[:] = values
        return (
            self.left.fold(by_item @ self.right.whole(V)),
            self.right.fold(by_client @ self.left.whole(U)),
        )

    def gradients(self, U: Values, V: Values) -> tuple[Values, Values]:
        """Return those of half the squared residual over the share of entries seen, in U and V."""
        point = self._at(U, V)
        if point.weighted is None:
            return self.pull(point.residuals / self.share, U, V)
        on_items, on_clients = point.weighted
        return self._left_rows @ on_clients, self._right_rows @ on_items

    @cached_property
    def _left_rows(self):
        return np.ascontiguousarray(self.left.rows.T / self.share)

    @cached_property
    def _right_rows(self):
        return np.ascontiguousarray(self.right.rows.T / self.share)

    def leading(self, values: Values, count: int) -> tuple[Values, Values, Values]:
        """Return the largest singular values of the adjoint of values, and their vectors.

        At most so many, as U (a, count), size (count,) and V (p, count).
        """
        M = self.adjoint(values)
        if issparse(M) and count < min(self.shape):
            try:
                return singular_triples(M, count, np.ones(min(self.shape)))
            except ArpackError:
                pass  # singular values too close to each other, as after soft thresholding
        U, size, VT = np.linalg.svd(dense(M), full_matrices=False)
        return U[:, :count], size[:count], VT[:count].T

    def spectral(self) -> tuple[Values, Values]:
        """Return factors of the leading part of the zero-filled entries over their share."""
        assert self.k is not None
        U, size, V = self.leading(self.values / self.share, self.k)
        root = np.sqrt(size)
        return U * root, V * root

    def least_squares(self) -> Values:
        """Return the core (a, p) that fits the entries best, of least norm where several do."""
        if self.left.basis is None and self.right.basis is None:
            return dense(self.adjoint(self.values))
        if self.left.basis is None:
            return self.left.fit(self.right.rows, self.values)
        if self.right.basis is None:
            return self.right.fit(self.left.rows, self.values).T
        J = self.right.products(self.left.rows)
        core = np.linalg.lstsq(J, self.values, rcond=None)[0]
        return core.reshape(self.shape[::-1]).T

    def measure(self, U: Values, V: Values) -> dict[str, float]:
        """Return a row of metrics: ``residual``, and ``error`` where the truth is known."""
        row = {"residual": math.sqrt(self._at(U, V).square) / self.size}
        truth = self.observations.truth
        if truth is not None:
            row["error"] = truth._deviation(self.left.whole(U), self.right.whole(V)) / truth.norm
        return row


def dense(M: Values | csr_array) -> Values:
    """Return a core as an ndarray."""
    return np.asarray(M.toarray()) if isinstance(M, csr_array) else M


def factors_of(M: Values) -> tuple[Values, Values]:
    """Return balanced factors of a core, their rank that of M, at least 1."""
    U, size, VT = np.linalg.svd(M, full_matrices=False)
    rank = max(1, int(np.sum(size > 1e-15 * max(size[0], 1e-300))))
    root = np.sqrt(size[:rank])
    return U[:, :rank] * root, VT[:rank].T * root

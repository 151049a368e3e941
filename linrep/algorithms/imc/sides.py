"""Items and clients as entries see them, and least squares of entries in one factor or in both."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dposv

from linrep.kernels import fedrep as heads
from linrep.kernels.completion import eliminate
from linrep.kernels.rounds import workspace

Values = NDArray[np.float64]
_CHUNK = 1 << 22  # numbers of a Jacobian formed at once
_RIDGE = 1e-14  # of the largest diagonal entry: entries may leave directions free


class Side:
    """Items or clients, in an orthonormal basis of the columns of their side information.

    The table (count, size) is None for the identity, of size count; its name is for error messages.
    Places are the item or client of every entry.
    """

    def __init__(self, name, table, places, count):
        self.places, self.count = places, count
        self.basis = self.mixing = None
        self.size = count
        if table is not None:
            self.size = table.shape[1]
            self.basis, self.mixing = np.linalg.qr(table)
            scale = np.abs(np.diagonal(self.mixing))
            if count < self.size or scale.min() <= 1e-12 * scale.max():
                raise ValueError(f"{name} must have independent columns")

    def whole(self, F: Values) -> Values:
        """Return the rows of a factor (size, k) for all items or clients."""
        return F if self.basis is None else self.basis @ F

    def seen(self, F: Values) -> Values:
        """Return the rows of a factor as the entries see them, shape (N, k)."""
        return self.whole(F)[self.places]

    def fold(self, S):
        """Return the adjoint of `whole`, S having a row per item or client."""
        return S if self.basis is None else self.basis.T @ S

    def given(self, F: Values) -> Values:
        """Return a factor in the coordinates of the table itself."""
        return F if self.mixing is None else solve_triangular(self.mixing, F)

    def inner(self, F: Values) -> Values:
        """Return a factor that is given in the table's coordinates in those of the basis."""
        return F if self.mixing is None else self.mixing @ F

    @cached_property
    def rows(self) -> Values:
        """Every entry's row of the basis, shape (N, size)."""
        return self._gather(self.places)

    def rows_of(self, part) -> Values:
        """Return the same of some entries; all are kept where they are few."""
        small = len(self.places) * self.size <= _CHUNK
        return self.rows[part] if small else self._gather(self.places[part])

    def _gather(self, places):
        if self.basis is not None:
            return self.basis[places]
        rows = np.zeros((len(places), self.size))
        rows[np.arange(len(places)), places] = 1.0
        return rows

    def along(self, table: Values) -> Values:
        """Return the inner product of each entry's row of an array (N, size) and of the basis."""
        if self.basis is None:
            return table[np.arange(len(table)), self.places]
        return np.einsum("es,es->e", table, self.rows)

    def products(self, vectors: Values, part=slice(None), out=None) -> Values:
        """Return the Jacobian of entries' inner products of a factor's rows with vectors (N, k)."""
        rows, vectors = self.rows_of(part), vectors[part]
        if out is None:
            out = np.empty((len(rows), self.size * vectors.shape[1]))
        np.multiply(
            rows[:, :, None], vectors[:, None, :], out=out.reshape(len(rows), self.size, -1)
        )
        return out

    @cached_property
    def groups(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The entries in the order of their items or clients, and where each one's begin."""
        sizes = np.bincount(self.places, minlength=self.count)
        return np.argsort(self.places, kind="stable"), np.concatenate([[0], np.cumsum(sizes)])

    def fit(self, vectors: Values, values: Values) -> Values:
        """Return the factor (size, k) whose rows' products with vectors fit values best."""
        k = vectors.shape[1]
        if self.basis is not None:
            parts = (
                (self.products(vectors, part), values[part])
                for part in _parts(len(values), self.size * k)
            )
            return _solve(parts).reshape(-1, k)
        order, offsets = self.groups
        return _fit_groups(offsets, vectors[order], values[order])


def fit_both(items: Side, clients: Side, U: Values, frame: Values, values: Values):
    """Return S (a, k) and dV (p, k) for which S frame' + U dV' fits the entries best.

    U and frame have orthonormal columns. The sum is unchanged along (U K, -frame K') for all K (k,
    k); the result is orthogonal to these directions, and thereby of least norm where they are all
    that the entries leave free.

    A side without side information is eliminated: each item's (or client's) rows of the other
    side's Jacobian are those of its side information, reduced to what its vectors do not explain,
    times a row of its factor.
    """
    if items.basis is None and (clients.basis is not None or items.size >= clients.size):
        S, dV = _eliminated(items, clients, U, frame, values)
    elif clients.basis is None:
        dV, S = _eliminated(clients, items, frame, U, values)
    else:
        S, dV = _together(items, clients, U, frame, values)
    K = 0.5 * (U.T @ S - dV.T @ frame)
    return S - U @ K, dV + frame @ K.T


def _together(items, clients, U, frame, values):
    """Fit both factors' changes by normal equations; for fit_both."""
    k = U.shape[1]
    on_items, on_clients = clients.seen(frame), items.seen(U)
    cut, width = items.size * k, (items.size + clients.size) * k

    def parts():
        for part in _parts(len(values), width):
            J = np.empty((len(on_items[part]), width))
            items.products(on_items, part, J[:, :cut])
            clients.products(on_clients, part, J[:, cut:])
            yield J, values[part]

    changes = _solve(parts(), cut, _typical(items, clients) * frame)
    return changes[:cut].reshape(-1, k), changes[cut:].reshape(-1, k)


def _eliminated(gone, staying, factor, other, values):
    """Fit both after eliminating one; for fit_both.

    factor is that of the side that goes, other that of the side that stays.
    """
    k = factor.shape[1]
    order, offsets = gone.groups
    vectors, values = staying.seen(other)[order], values[order]
    frames, left_over = vectors.copy(), values.copy()
    multipliers = gone.seen(factor)[order]

    def parts():
        for first, last in _group_parts(offsets, max(staying.size * k, 1)):
            start, stop = offsets[first], offsets[last]
            rows = staying.rows_of(order[start:stop])
            eliminate(
                offsets[first : last + 1] - start,
                frames[start:stop],
                rows,
                left_over[start:stop],
                np.empty(rows.shape[1]),
            )
            J = rows[:, :, None] * multipliers[start:stop, None, :]
            yield J.reshape(len(J), -1), left_over[start:stop]

    dK = _solve(parts(), 0, _typical(gone, staying) * other).reshape(-1, k)
    remainder = values - np.einsum("ek,ek->e", staying.seen(dK)[order], multipliers)
    return _fit_groups(offsets, vectors, remainder), dK


def _typical(one, other):
    """Return the singular value that a Jacobian has for orthonormal factors and uniform entries."""
    return np.sqrt(len(one.places) / (one.count * other.count))


def _fit_groups(offsets, vectors, values):
    """Return for each group the coefficients of vectors that fit values best, of least norm."""
    k = vectors.shape[1]
    coefficients = np.empty((len(offsets) - 1, k))
    longest = max(1, int(np.diff(offsets).max()))
    heads.fit_heads(vectors, values, offsets, np.eye(k), coefficients, workspace(k, k, longest, 1))
    return coefficients


def _solve(parts, first=0, held=None):
    """Return the solution of the normal equations of pairs (Jacobian, values).

    Of all solutions, with ``held`` the one whose rows from ``first`` on, in its k columns, are
    orthogonal to held (size, k).
    """
    normal: Any = None
    right: Any = None
    for J, values in parts:
        square, product = J.T @ J, values @ J
        normal, right = (square, product) if normal is None else (normal + square, right + product)
    if held is not None:
        square, k = held @ held.T, held.shape[1]
        for column in range(first, first + k):
            normal[column::k, column::k] += square
    diagonal = normal.reshape(-1)[:: len(normal) + 1]
    diagonal += _RIDGE * max(float(diagonal.max()), np.finfo(float).tiny)
    # Transposed, it need not be copied into LAPACK's order.
    _, solution, wrong = dposv(normal.T, right, overwrite_a=1, overwrite_b=1)
    if wrong:
        raise np.linalg.LinAlgError("the normal equations are singular")
    return solution


def _parts(size, width):
    """Yield slices of so many entries that few numbers are formed at once."""
    step = max(1, _CHUNK // width)
    for first in range(0, size, step):
        yield slice(first, first + step)


def _group_parts(offsets, width):
    """Yield ranges of whole groups with few numbers each, one group at least."""
    step, first = max(1, _CHUNK // width), 0
    while first < len(offsets) - 1:
        last = int(np.searchsorted(offsets, offsets[first] + step, side="right")) - 1
        last = min(max(last, first + 1), len(offsets) - 1)
        yield first, last
        first = last

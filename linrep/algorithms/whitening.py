"""Coordinates in which the pooled covariates have second moment I, whatever their units."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from linrep._lib import memory
from linrep.kernels.linalg import RANK_TOLERANCE, orthonormalize

Values = NDArray[np.float64]


class Whitening(NamedTuple):
    r"""A linear map z = L' x with :math:`\frac1n \sum_i \frac1{m_i} Z_i^\top Z_i = I`.

    Nothing is centred: models of z are models of x.

    Attributes
    ----------
    forward : ndarray, shape (d, r)
        L, r the rank of the pooled covariates.
    back : ndarray, shape (r, d)
        Takes a model of x to the one of z with the same predictions.
    spectrum : ndarray, shape (r,)
        Singular values of the pooled covariates, of columns scaled alike, the largest first.
    sizes : ndarray, shape (d,)
        What the columns are scaled by: their root mean squares, or 1 for columns that are 0 or, by
        their size beside the largest one, rounding.
    """

    forward: Values
    back: Values
    spectrum: Values
    sizes: Values

    @property
    def rank(self) -> int:
        """Directions along which samples vary."""
        return self.spectrum.size

    def widened(self, k: int) -> Whitening:
        """Return the map to at least k coordinates, of which those without samples come last."""
        missing = k - self.rank
        if missing <= 0:
            return self
        # Directions of the scaled columns along which no sample varies.
        varying = (self.back / self.sizes).T
        more = np.linalg.qr(varying, mode="complete")[0].T[self.rank :][:missing]
        return self._replace(
            forward=np.hstack([self.forward, more.T / self.sizes[:, None]]),
            back=np.vstack([self.back, more * self.sizes]),
        )

    def frame(self, rows: Values) -> Values:
        """Return an orthonormal basis (d, k) of the models that have these rows (k, r) here."""
        basis = rows @ self.forward.T
        basis /= np.linalg.norm(basis, axis=1)[:, None]
        orthonormalize(basis)
        return basis.T

    def covariates(self, X: Values) -> Values:
        """Return samples (N, d) in these coordinates, exactly 0 where none varies."""
        Z = X @ self.forward
        Z[:, self.rank :] = 0.0
        return Z


_KNOWN: WeakKeyDictionary[Any, Whitening] = WeakKeyDictionary()


def is_feasible(data: Any) -> bool:
    """Tell whether a matrix d x d is small enough to be formed."""
    return data.X.shape[1] ** 2 <= memory.DENSE


def whitening(data: Any) -> Whitening:
    """Return the map of some data of which :func:`is_feasible` holds, which is found once."""
    if data not in _KNOWN:
        _KNOWN[data] = _whiten(data.X, data.offsets)
    return _KNOWN[data]


def _whiten(X, offsets):
    """Return the map for samples of several clients."""
    m = np.diff(offsets)
    largest = np.abs(X).max(axis=0)
    largest[largest == 0.0] = 1.0
    Z = X / largest  # the squares of which neither overflow nor vanish
    Z *= (1.0 / np.sqrt(np.repeat(m * m.size, m)))[:, None]
    sizes = np.sqrt(np.sum(Z**2, axis=0))
    lengths = sizes * largest
    rounding = lengths <= RANK_TOLERANCE * lengths.max()
    Z[:, rounding] = 0.0
    sizes = np.where(rounding, 1.0, sizes)
    Z /= sizes
    sizes = np.where(rounding, 1.0, sizes * largest)
    factor = np.linalg.qr(Z, mode="r") if len(Z) > Z.shape[1] else Z
    _, values, directions = np.linalg.svd(factor, full_matrices=False)
    rank = int(np.count_nonzero(values > RANK_TOLERANCE * values[0])) if values[0] > 0.0 else 0
    varying, values = directions[:rank].copy(), values[:rank]
    varying[:, rounding] = 0.0
    return Whitening(
        forward=varying.T / values / sizes[:, None],
        back=values[:, None] * varying * sizes,
        spectrum=values,
        sizes=sizes,
    )

"""Coordinates in which the pooled covariates have second moment I, whatever their units."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from linrep import _memory as memory
from linrep.kernels.linalg import RANK_TOLERANCE

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
        What the columns are scaled by, their root mean squares, 1 where that is 0.
    absent : ndarray, shape (d - r, d)
        Orthonormal directions of the scaled columns along which no sample varies.
    """

    forward: Values
    back: Values
    spectrum: Values
    sizes: Values
    absent: Values

    @property
    def rank(self) -> int:
        """Directions along which samples vary."""
        return self.spectrum.size

    def widened(self, k: int) -> Whitening:
        """Return the map to at least k coordinates, of which those without samples come last.

        Parameters
        ----------
        k : int
            At most d.
        """
        more = self.absent[: max(k - self.rank, 0)]
        return self._replace(
            forward=np.hstack([self.forward, more.T / self.sizes[:, None]]),
            back=np.vstack([self.back, more * self.sizes]),
        )

    def covariates(self, X: Values) -> Values:
        """Return samples in these coordinates, exactly 0 where none varies.

        Parameters
        ----------
        X : ndarray, shape (N, d)
        """
        Z = X @ self.forward
        Z[:, self.rank :] = 0.0
        return Z


_KNOWN: WeakKeyDictionary[Any, Whitening] = WeakKeyDictionary()


def is_feasible(data: Any) -> bool:
    """Tell whether a matrix d x d is small enough to be formed.

    Parameters
    ----------
    data : ClientData
    """
    return data.X.shape[1] ** 2 <= memory.DENSE


def whitening(data: Any) -> Whitening:
    """Return the map of some data, which is found once.

    Parameters
    ----------
    data : ClientData
        Of which :func:`is_feasible` holds.
    """
    if data not in _KNOWN:
        _KNOWN[data] = _found(data.X, data.offsets)
    return _KNOWN[data]


def _found(X, offsets):
    m = np.diff(offsets)
    largest = np.abs(X).max(axis=0)
    largest[largest == 0.0] = 1.0
    Z = X / largest  # the squares of which neither overflow nor vanish
    Z *= (1.0 / np.sqrt(np.repeat(m * m.size, m)))[:, None]
    sizes = np.sqrt(np.sum(Z**2, axis=0))
    sizes[sizes == 0.0] = 1.0
    Z /= sizes
    sizes *= largest
    factor = np.linalg.qr(Z, mode="r") if len(Z) > Z.shape[1] else Z
    _, values, directions = np.linalg.svd(factor, full_matrices=True)
    rank = int(np.count_nonzero(values > RANK_TOLERANCE * values[0])) if values[0] > 0.0 else 0
    kept, values = directions[:rank], values[:rank]
    return Whitening(
        forward=kept.T / values / sizes[:, None],
        back=values[:, None] * kept * sizes,
        spectrum=values,
        sizes=sizes,
        absent=directions[rank:],
    )

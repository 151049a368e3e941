"""Subspaces of R^d given by bases: principal angles, the principal-angle distance, frames.

A basis is a d x k matrix of full column rank; a *frame* is one with orthonormal columns.
Distances are sines of angles, unsquared, and are computed from what lies outside a subspace,
never as sqrt(1 - cos^2), so that a distance of 1e-14 still means something.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import memory
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.kernels import linalg
from linrep.problems.random import RNGLike, stream

__all__ = [
    "distance",
    "distance_or_nan",
    "frame_at_distance",
    "orthonormalize",
    "principal_angles",
    "random_frame",
]


def __dir__():
    return sorted(__all__)


def orthonormalize(B: ArrayLike) -> NDArray[np.float64]:
    """Return the frame Q of the factorization B = QR in which R has a positive diagonal.

    Parameters
    ----------
    B : array_like, shape (d, k)
        Basis, of full column rank.

    Returns
    -------
    ndarray, shape (d, k)
        Orthonormal columns spanning the columns of `B`.

    Raises
    ------
    ValueError
        If `B` is not a finite matrix of full column rank.
    """
    QT = _transposed("B", B)
    _require_rank("B", linalg.orthonormalize(QT), QT)
    return QT.T


def distance(B1: ArrayLike, B2: ArrayLike) -> float:
    r"""Return the principal-angle distance between the column spaces of two bases.

    .. math:: \mathrm{dist}(B_1, B_2) = \|\hat B_{1,\perp}^\top \hat B_2\|_2
              = \|(I - \hat B_1 \hat B_1^\top) \hat B_2\|_2

    This is the sine of the largest principal angle, between 0 and 1, not squared. Of subspaces of
    different dimension :math:`\hat B_2` is the smaller one: the distance is 0 where the larger one
    contains it, as the largest of ``scipy.linalg.subspace_angles`` is then.

    Parameters
    ----------
    B1, B2 : array_like, shapes (d, k) and (d, l)
        Bases of full column rank; they need not be orthonormal.

    Returns
    -------
    float
        The distance. Its error is that of representing the bases in double precision: for a
        random frame in d = 1000, about 1e-6 relative at a distance of 1e-12.

    Raises
    ------
    ValueError
        If a basis is not a finite matrix of full column rank, or their numbers of rows differ.

    Notes
    -----
    FedRep, Definition 1, equation (10). Cost O(d k^2).
    """
    BT1, BT2 = _pair(B1, B2)
    k = BT1.shape[0]
    if k != BT2.shape[0]:
        return float(np.sin(principal_angles(B1, B2)[0]))
    sine, first, second = linalg.distance_between(BT1, BT2, np.empty((k, k)))
    _require_rank("B1", first, BT1)
    _require_rank("B2", second, BT2)
    return sine


def distance_or_nan(B1: ArrayLike, B2: ArrayLike) -> float:
    """Return the principal-angle distance, NaN where a basis has none.

    Parameters
    ----------
    B1, B2 : array_like, shape (d, k)
        Bases; see :func:`distance`.

    Returns
    -------
    float
        NaN where a basis is not finite or not of full column rank, or shapes differ: the entry of a
        table for a run that ended in such a state, or learned another number of columns.
    """
    if np.shape(B1) != np.shape(B2):
        return float("nan")
    try:
        return distance(B1, B2)
    except ValueError:
        return float("nan")


def principal_angles(B1: ArrayLike, B2: ArrayLike) -> NDArray[np.float64]:
    """Return the principal angles between the column spaces of two bases, largest first.

    Parameters
    ----------
    B1, B2 : array_like, shapes (d, k) and (d, l)
        Bases of full column rank.

    Returns
    -------
    ndarray, shape (min(k, l),)
        As many as the smaller subspace has dimensions, as of ``scipy.linalg.subspace_angles``.
        Angles in radians, in [0, pi/2], accurate near both ends: each is the arc tangent of a
        sine and a cosine that were computed separately.

    Raises
    ------
    ValueError
        If a basis is not a finite matrix of full column rank, or their numbers of rows differ.
    """
    QT1, QT2 = _pair(B1, B2)
    _require_rank("B1", linalg.orthonormalize(QT1), QT1)
    _require_rank("B2", linalg.orthonormalize(QT2), QT2)
    if len(QT1) < len(QT2):
        QT1, QT2 = QT2, QT1
    cosines = np.linalg.svd(QT1 @ QT2.T, compute_uv=False)
    for _ in range(2):
        linalg.remove_span(QT1, QT2)
    sines = np.linalg.svd(QT2, compute_uv=False)
    return np.arctan2(sines, cosines[::-1])


def random_frame(d: int, k: int, rng: RNGLike = None) -> NDArray[np.float64]:
    """Draw a frame whose span is uniform over all k-dimensional subspaces of R^d (Haar measure).

    Parameters
    ----------
    d, k : int
        Ambient and subspace dimension, 1 <= k <= d.
    rng : optional
        Anything `numpy.random.default_rng` takes.

    Returns
    -------
    ndarray, shape (d, k)
        The orthonormal factor of a standard normal matrix, with the signs that make it Haar.
    """
    d = check.integer("d", d, minimum=1)
    k = check.integer("k", k, minimum=1, maximum=d)
    memory.require("a frame", 3 * d * k, d=d, k=k)
    return orthonormalize(stream(rng, "frame").standard_normal((d, k)))


def frame_at_distance(
    B: ArrayLike, distance: float, *, angles: str = "equal", rng: RNGLike = None
) -> NDArray[np.float64]:
    """Draw a frame at a prescribed principal-angle distance from the span of a basis.

    Parameters
    ----------
    B : array_like, shape (d, k)
        Basis, of full column rank.
    distance : float
        The principal-angle distance wanted, in [0, 1].
    angles : {"equal", "single"}
        All k principal angles equal (needs d >= 2k), or one angle and k - 1 zeros (d >= k + 1).
    rng : optional
        Anything `numpy.random.default_rng` takes.

    Returns
    -------
    ndarray, shape (d, k)
        ``(Q cos + N sin) O`` with Q a frame of `B`, N a random frame orthogonal to it and O a
        random rotation.

    Raises
    ------
    ValueError
        If there is no room for the angles, or an argument is out of range.
    """
    check.choice("angles", angles, ("equal", "single"))
    sine = check.real("distance", distance, minimum=0.0, maximum=1.0)
    Q = orthonormalize(B)
    d, k = Q.shape
    tilted = k if angles == "equal" else 1
    if d < k + tilted:
        raise ValueError(f"angles={angles!r} needs d >= {k + tilted} for k = {k}, got d = {d}")
    rng = stream(rng, "tilt")
    NT = np.ascontiguousarray(rng.standard_normal((d, tilted)).T)
    for _ in range(2):
        linalg.remove_span(np.ascontiguousarray(Q.T), NT)
    N = orthonormalize(NT.T)
    rotation = random_frame(k, k, rng)
    sines = np.zeros(k)
    sines[:tilted] = sine
    frame = Q @ rotation * np.sqrt((1.0 - sines) * (1.0 + sines))
    frame[:, :tilted] += sine * N
    return frame @ random_frame(k, k, rng)


def _transposed(name, B):
    """Return a fresh contiguous transpose of a d x k matrix, k <= d."""
    if not (isinstance(B, np.ndarray) and B.dtype == np.float64 and B.ndim == 2 and B.size):
        B = check.array(name, B, (None, None))
    d, k = B.shape
    if k > d:
        raise ValueError(f"{name} must have at most as many columns as rows, got shape {B.shape}")
    return B.T.copy(order="C")


def _pair(B1, B2):
    BT1, BT2 = _transposed("B1", B1), _transposed("B2", B2)
    if BT1.shape[1] != BT2.shape[1]:
        raise ValueError(
            f"B1 and B2 must have as many rows, got shapes {BT1.shape[::-1]} and {BT2.shape[::-1]}"
        )
    return BT1, BT2


def _require_rank(name, independence, BT):
    if independence > BT.shape[1] * np.finfo(np.float64).eps:
        return
    if not np.isfinite(BT).all():
        raise ValueError(f"{name} must be finite, it holds NaN or infinity")
    raise ValueError(f"{name} must have full column rank, its columns are linearly dependent")


checked(globals())

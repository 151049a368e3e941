r"""Spectral starts in high dimension: where their eigenvectors point, and from how many samples on.

Both matrices are sums of N outer products. Of each sum's vector the coordinates along B* are a in
R^k; the others are, given the labels, independent normals of variance t. With c = (d - k)/N and

.. math:: \lambda(s) = \frac cs + E\frac{t}{1 - ts}, \qquad A(s) = E\frac{a a^\top}{1 - ts},
          \qquad 0 < s < \frac1{\max t},

the bulk ends at the least value of lambda, at s_c. The j-th eigenvalue of A crosses lambda at an
s_j < s_c if there is an outlier, and its eigenvector has the coordinates u_j cos_j along B*, with
u_j the eigenvector of A(s_j) and cos_j^2 = 1/(1 + u_j'A'(s_j)u_j/abs(lambda'(s_j))). The derivation
is in docs/learning-curves.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from linrep._lib import memory
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.weights import reciprocal_shares
from linrep.problems.random import RNGLike, generator
from linrep.problems.regression import SharedRepresentation
from linrep.theory._clients import read_sizes, require_gaussian, require_spanning

Values = NDArray[np.float64]
STARTS = ("moments", "truncated")
KINDS = (*STARTS, "cross")
_LEAST = {"cross": 2}  # samples of a client that counts
_TRUNCATION = 36.0  # as linrep.truncated_start by default
_CLOSE = 1e-9  # relative distance from the ends of the interval of s


class SpectralLimit(NamedTuple):
    """Where the eigenvectors of a spectral start point.

    Attributes
    ----------
    C, E : ndarray, shape (k, k)
        B' B* up to a rotation of B*, and I - C C'. A row of C is zero where its eigenvalue is in
        the bulk.
    eigenvalues : ndarray, shape (k,)
        Of the outliers; NaN for those in the bulk.
    edge : float
        Where the bulk ends.
    """

    C: Values
    E: Values
    eigenvalues: Values
    edge: float


def spectral_start(
    truth: SharedRepresentation,
    *,
    m: int,
    kind: str = "moments",
    repetitions: int = 1,
    rng: RNGLike = None,
) -> SpectralLimit:
    """Return the limit of a spectral start as d and the number of clients grow together.

    Parameters
    ----------
    truth : SharedRepresentation
        Of Gaussian covariates.
    m : int
        Samples of each of its n clients.
    kind : {"moments", "truncated"}
        :func:`linrep.moments_start` or :func:`linrep.truncated_start`.
    repetitions : int, default 1
        How often each client's labels are drawn for their law. With one, the largest weights are
        those that n clients have, and what is returned is the prediction for this n, random like
        the run's own labels; with many it is the limit of many clients with such heads.
    rng : optional
        Anything `numpy.random.default_rng` takes.

    Returns
    -------
    SpectralLimit

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range.

    Notes
    -----
    The moments start weighs a sample by its squared label, which has no bound: with d/(nm) fixed
    and n growing, the largest labels take over, and the distance goes to 1. Hence n m has to grow
    like d log(nm): the logarithm of FedRep's Theorem 2 cannot be left out for this start, which the
    claim `fedrep.theorem2.logarithm` proves. The
    truncated start's weights are bounded, and it has a limit; but labels of six root mean squares
    are so rare that a few hundred clients do not see it.
    """
    require_gaussian(truth, "the limit")
    m = check.integer("m", m, minimum=1)
    repetitions = check.integer("repetitions", repetitions, minimum=1)
    rng = generator(rng)
    check.choice("kind", kind, STARTS)
    n, k = truth.n, truth.k
    memory.require("the labels", 3 * n * repetitions * m * (k + 2), m=m, repetitions=repetitions)
    Z, y = _draw(truth, repetitions, m, rng)
    if kind == "moments":
        weights, factors = y.ravel() ** 2, (y[:, :, None] * Z).reshape(-1, k)
        ratio = (truth.d - k) / (n * m)
    else:
        mean_square = np.mean(np.sum(truth.W**2, axis=1)) + truth.noise**2
        y = np.where(y**2 <= _TRUNCATION * mean_square, y, 0.0)
        weights = np.einsum("im,im->i", y, y) / m**2
        factors = np.einsum("im,imk->ik", y, Z) / m
        ratio = (truth.d - k) / n
    if not weights.any():
        raise ValueError("truth must have labels other than zero")
    return _outliers(weights, factors, ratio)


def many_samples(
    truth: SharedRepresentation,
    *,
    m: ArrayLike,
    kind: str = "moments",
    weights: str | ArrayLike = "clients",
) -> Values:
    r"""Return the squared sines of a spectral estimator's angles on many samples per dimension.

    They are the eigenvalues of

    .. math:: (d - k)\, G^{-1} \sum_i \omega_i^2 (a_i I + b_i w_i w_i^\top)\, G^{-1}, \qquad
              G = \sum_i \omega_i g_i w_i w_i^\top, \qquad v_i = |w_i|^2 + \sigma^2,

    with the shares omega of the clients in the mean, and for each of m_i samples

    ============ ========= ================================= ======================
    kind         g         a                                 b
    ============ ========= ================================= ======================
    moments      2         3 v^2/m                           12 v/m
    truncated    1 + 1/m   (m + 2) v^2/m^3                   (m + 2)(m + 3) v/m^3
    cross        1         v^2/(m (m - 1))                   v/(m - 1)
    ============ ========= ================================= ======================

    Parameters
    ----------
    truth : SharedRepresentation
        Of Gaussian covariates, with heads that span R^k.
    m : int or array_like of int, shape (n,)
        Samples of its clients.
    kind : {"moments", "truncated", "cross"}
        :func:`linrep.moments_start` and :func:`linrep.method_of_moments`;
        :func:`linrep.truncated_start`, of which it is taken that all labels count; or
        :func:`linrep.cross_moments`.
    weights : {"clients", "samples"} or array_like, shape (n,)
        As of these.

    Returns
    -------
    ndarray, shape (k,)
        The largest first; their sum is the mean squared chordal distance.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or there are so few samples that a sine would exceed 1.

    Notes
    -----
    First order in d - k over the number of samples, derived in docs/learning-curves.md; the k sines
    of a run spread around it by sqrt(k/(d - k)) of themselves. With S = I, heads of norm sqrt(k)
    and equal m the squared distance of the moments start is (3/4) k (k + 4) (d - k)/(nm). FedRep's
    (86) has the first power of d/(nm) for the distance, which is that of its square.
    """
    require_gaussian(truth, "the limit")
    require_spanning(truth)
    check.choice("kind", kind, KINDS)
    sizes = read_sizes(truth, m)
    shares = 1.0 / reciprocal_shares(weights, sizes, _LEAST.get(kind, 1))
    W, k = truth.W, truth.k
    v = np.sum(W**2, axis=1) + truth.noise**2
    gap, own, along = _spread(kind, sizes, v)
    inverse = np.linalg.inv((W.T * shares * gap) @ W)
    spread = np.sum(shares**2 * own) * np.eye(k) + (W.T * shares**2 * along) @ W
    squares = np.linalg.eigvalsh((truth.d - k) * inverse @ spread @ inverse)[::-1]
    if squares[0] > 1.0:
        raise ValueError(f"m must be larger: to first order a squared sine is {squares[0]:.3g}")
    return squares


def best_weights(truth: SharedRepresentation, *, m: ArrayLike, kind: str = "cross") -> Values:
    r"""Return the weights of clients with which a spectral estimator errs least.

    For clients whose heads have one law, of second moment :math:`\lambda I`, and
    :math:`v = k\lambda + \sigma^2`, they are proportional to

    =========== ===================================================
    moments     m
    truncated   m^2 (m + 1)/((m + 2)(v + (m + 3) lambda))
    cross       m (m - 1)/(v + m lambda)
    =========== ===================================================

    Parameters
    ----------
    truth : SharedRepresentation
        Whose mean squared length of heads is k lambda.
    m, kind
        As for :func:`many_samples`.

    Returns
    -------
    ndarray, shape (n,)
        Shares, of sum 1.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range.

    Notes
    -----
    The error is a sum of :math:`\omega_i^2 (k a_i + b_i |w_i|^2)` over the square of that of
    :math:`\omega_i g_i`. For many samples the weights are the numbers of samples, for few and weak
    signals their squares.
    """
    require_gaussian(truth, "the limit")
    check.choice("kind", kind, KINDS)
    sizes = read_sizes(truth, m)
    lengths = float(np.mean(np.sum(truth.W**2, axis=1)))
    if lengths == 0.0:
        raise ValueError("truth must have heads other than zero")
    gap, own, along = _spread(kind, sizes, lengths + truth.noise**2)
    found = gap / (truth.k * own + along * lengths)
    found = np.where(sizes >= _LEAST.get(kind, 1), found, 0.0)
    if not found.any():
        raise ValueError("m must be at least 2 for some client, of whose samples pairs are taken")
    return found / found.sum()


def _spread(kind, m, v):
    """Return g, a and b of clients."""
    if kind == "moments":
        return np.full(m.shape, 2.0), 3.0 * v**2 / m, 12.0 * v / m
    if kind == "truncated":
        each = (m + 2.0) / m**3
        return 1.0 + 1.0 / m, each * v**2, each * (m + 3.0) * v
    pairs = np.maximum(m - 1.0, 0.5)  # clients of one sample have no share
    return np.ones(m.shape), v**2 / (m * pairs), v / pairs


def _draw(truth, repetitions, m, rng):
    """Draw the covariates' coordinates along B*, and labels, of all clients several times over."""
    W = np.tile(truth.W, (repetitions, 1))
    Z = rng.standard_normal((len(W), m, truth.k))
    noise = truth.noise * rng.standard_normal((len(W), m))
    return Z, np.einsum("imk,ik->im", Z, W) + noise


def _outliers(t, a, ratio):
    k = a.shape[1]
    low, high = np.array([_CLOSE, 1.0 - _CLOSE]) / t.max()

    def eigenvalue(s):
        return ratio / s + np.mean(t / (1.0 - t * s))

    def slope(s):
        return np.mean((t / (1.0 - t * s)) ** 2) - ratio / s**2

    def inner(s):
        return np.linalg.eigh((a / (1.0 - t * s)[:, None]).T @ a / len(t))

    edge = brentq(slope, low, high) if slope(low) < 0.0 < slope(high) else high
    C, values = np.zeros((k, k)), np.full(k, np.nan)
    for j in range(k):

        def excess(s, j=j):
            return inner(s)[0][k - 1 - j] - eigenvalue(s)

        if excess(edge) <= 0.0:
            continue
        s = brentq(excess, low, edge) if excess(low) < 0.0 else low
        u = inner(s)[1][:, k - 1 - j]
        growth = np.mean((a @ u) ** 2 * t / (1.0 - t * s) ** 2)
        C[j] = u / np.sqrt(1.0 - growth / slope(s))
        values[j] = eigenvalue(s)
    return SpectralLimit(C, np.eye(k) - C @ C.T, values, float(eigenvalue(edge)))


checked(globals(), nan=False, large=False)

r"""Least errors of estimating models that share a representation, averaged over the covariates.

Clients have :math:`y = \langle B^* w_i^*, x\rangle + \sigma\varepsilon` with m_i samples each,
standard normal :math:`\varepsilon` and covariates of mean 0 and covariance I. Three problems, from
the easiest on: B* known, the heads known, neither. Of each the expected squared errors

.. math:: \mathrm E\|\hat\theta_i - \theta_i^*\|^2 \quad (\theta_i = B w_i), \qquad
          \mathrm E\|(I - \hat B\hat B^\top) B^*\|_F^2,

the clients' excess risks (twice what traces call ``population_risk``) and the squared chordal
distance, the sum of the squared sines of the principal angles. The squared distance of traces,
the largest of these squares, is between a k-th of the chordal one and all of it. Bounds for
covariates at hand are in :mod:`linrep.theory.design_bounds`, bounds that hold for all estimators,
biased ones too, in :mod:`linrep.theory.minimax`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import display as show
from linrep._lib.arguments import checked
from linrep.problems.regression import SharedRepresentation
from linrep.theory._clients import read_sizes, require_gaussian, require_spanning, spans
from linrep.theory.expectations import least_squares_error

Values = NDArray[np.float64]


class ErrorBound(NamedTuple):
    """Expected squared errors, or bounds on them.

    Attributes
    ----------
    errors : ndarray, shape (n,)
        Expected squared error of each client's model.
    squared_chordal : float
        Of the representation: the sum of the squared sines of the principal angles to B*.
    """

    errors: Values
    squared_chordal: float

    def __repr__(self):
        return show.line(self)

    @property
    def total(self) -> float:
        """Sum of the errors over the clients."""
        return float(np.sum(self.errors))

    @property
    def mean(self) -> float:
        """Mean of the errors over the clients."""
        return float(np.mean(self.errors))


def known_representation(truth: SharedRepresentation, m: ArrayLike) -> ErrorBound:
    r"""Return the errors of least-squares heads where B* is known.

    .. math:: \mathrm E\|\hat\theta_i - \theta_i\|^2 = \frac{\sigma^2 k}{m_i - k - 1}

    Parameters
    ----------
    truth : SharedRepresentation
        Of Gaussian covariates.
    m : int or array_like of int, shape (n,)
        Samples of every client, or of each.

    Returns
    -------
    ErrorBound
        Infinite for m_i = k, k + 1, if there is noise; the distance is 0.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or the covariates are not Gaussian.

    Notes
    -----
    Exact, for heads of least norm where m_i < k:
    :func:`linrep.theory.expectations.least_squares_error` in dimension k. For m_i >= k no estimator
    has a smaller worst case over all heads, as least squares is minimax (Lehmann and Casella,
    *Theory of point estimation*, 1998, Chapter 5).
    """
    require_gaussian(truth, "the errors of heads")
    sizes = read_sizes(truth, m)
    lengths = np.linalg.norm(truth.W, axis=1)
    errors = least_squares_error(truth.k, sizes, signal=lengths, noise=truth.noise)
    return ErrorBound(np.broadcast_to(errors, (truth.n,)).copy(), 0.0)


def known_heads(truth: SharedRepresentation, m: ArrayLike) -> ErrorBound:
    r"""Return a bound on the errors where the heads are known, and the d k entries of B* are not.

    .. math:: \mathrm E\|\hat\theta_i - \theta_i\|^2 \ge \sigma^2 d\, w_i^\top G^{-1} w_i,
              \qquad \mathrm E\|(I - \hat B\hat B^\top) B^*\|_F^2
              \gtrsim \sigma^2 (d - k)\, \mathrm{tr}\, G^{-1},
              \qquad G = \sum_j m_j w_j w_j^\top

    Parameters
    ----------
    truth : SharedRepresentation
        Of heads that span R^k.
    m : int or array_like of int, shape (n,)
        Samples of every client, or of each.

    Returns
    -------
    ErrorBound
        With m samples each the errors' sum is sigma^2 d k/m.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or the heads do not span R^k.

    Notes
    -----
    Generalized least squares for B, of any d x k matrix, has the covariance
    :math:`\sigma^2(\sum_i X_i^\top X_i \otimes w_i w_i^\top)^{-1}` given the covariates; its mean
    is at least the inverse of the mean (Jensen), and close to it where n m is large against d. No
    unbiased estimator does better (Gauss and Markov), and no other in the worst case over B. The
    distance is to first order in the noise. For covariates at hand
    :func:`linrep.theory.design_bounds.known_heads` is exact.
    """
    d, sigma2 = truth.d, truth.noise**2
    inverse = _inverse_information(truth, read_sizes(truth, m))
    shares = _quadratic_form(truth.W, inverse)
    return ErrorBound(sigma2 * d * shares, float(sigma2 * (d - truth.k) * np.trace(inverse)))


def cramer_rao(
    truth: SharedRepresentation, m: ArrayLike, *, given_design: bool = False
) -> ErrorBound:
    r"""Return the Cramér-Rao bound where neither the representation nor the heads are known.

    .. math:: \mathrm E\|\hat\theta_i - \theta_i\|^2 \ge
              \sigma^2 \Big(\frac k{m_i} + (d - k)\, w_i^\top G^{-1} w_i\Big), \qquad
              \mathrm E\|(I - \hat B\hat B^\top) B^*\|_F^2 \ge \sigma^2 (d - k)\,\mathrm{tr}\,G^{-1}

    with :math:`G = \sum_j m_j w_j w_j^\top`. With m samples each the errors' sum is
    :math:`\sigma^2 k (n + d - k)/m`: the number of parameters of a matrix n x d of rank k, over m.

    Parameters
    ----------
    truth : SharedRepresentation
        Of heads that span R^k.
    m : int or array_like of int, shape (n,)
        Samples of every client, or of each.
    given_design : bool, default False
        Bound estimators that are unbiased given the covariates, as the empirical risk minimizer is
        to first order in the noise. For Gaussian covariates the mean over them of the bound given
        the covariates is at least

        .. math:: \sigma^2 \Big(\frac k{m_i - k - 1} + \frac{m_i - 1}{m_i - k - 1} (d - k)\,
                  w_i^\top H^{-1} w_i\Big), \quad \sigma^2 (d - k)\,\mathrm{tr}\,H^{-1}, \qquad
                  H = \sum_j (m_j - k)_+ w_j w_j^\top

        which is larger, and close to that mean where the samples of all clients are many against d,
        however few a client has.

    Returns
    -------
    ErrorBound
        Infinite where a client's head, or the representation, is not determined; with
        `given_design` also where an error has no mean, for m_i = k, k + 1.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, the heads do not span R^k, or `given_design` is asked of
        covariates that are not Gaussian.

    Notes
    -----
    The bound for constrained parameters (Gorman and Hero, *Lower bounds for parametric estimation
    with constraints*, 1990; Stoica and Ng, *On the Cramér-Rao bound under parametric constraints*,
    1998) on matrices of rank k (Tang and Nehorai, *Lower bounds on the mean-squared error of
    low-rank matrix reconstruction*, 2011): the Fisher information, here the mean
    :math:`\mathrm{diag}(m_i) \otimes I/\sigma^2`, on the tangent space
    :math:`\{\dot W B^\top + W \dot B^\top\}`, in which the choice of a basis of span(B) plays no
    part. It binds estimators that are unbiased close to the truth; those with a bias, such as
    penalized ones, may be better there.

    Given the covariates, heads are eliminated first: with :math:`P_i` the projection on the columns
    of :math:`X_i B` and N an orthonormal basis of the complement of span(B),

    .. math:: A = \sum_i N^\top X_i^\top (I - P_i) X_i N \otimes w_i w_i^\top

    is the information on :math:`N^\top B`. Its mean is :math:`I \otimes H`, and the mean of the
    inverse at least the inverse of the mean. What the head adds depends on
    :math:`(X_i B)^+ X_i N`, which is independent of A and has mean square k/(m_i - k - 1).
    """
    sizes, k, codimension = read_sizes(truth, m), truth.k, truth.d - truth.k
    sigma2 = truth.noise**2
    if not given_design:
        inverse = _inverse_information(truth, sizes) if codimension else np.zeros((k, k))
        errors = sigma2 * (k / sizes + codimension * _quadratic_form(truth.W, inverse))
        return ErrorBound(errors, float(sigma2 * codimension * np.trace(inverse)))
    require_gaussian(truth, "given_design")
    spare = np.maximum(sizes - k, 0.0)
    inverse = np.zeros((k, k))
    if codimension:
        require_spanning(truth)
        if not spans(np.sqrt(spare)[:, None] * truth.W):
            return ErrorBound(np.full(truth.n, np.inf), np.inf)
        inverse = _inverse_information(truth, spare)
    if sigma2 == 0.0:
        return ErrorBound(np.where(sizes >= k, 0.0, np.inf), 0.0)
    outside = codimension * _quadratic_form(truth.W, inverse)
    room = sizes - k - 1.0
    some = room > 0.0
    heads = k / np.where(some, room, 1.0)
    errors = np.where(some, sigma2 * (heads + (1.0 + heads) * outside), np.inf)
    return ErrorBound(errors, float(sigma2 * codimension * np.trace(inverse)))


def _inverse_information(truth, weights):
    """Return the inverse of sum_j weights_j w_j w_j'."""
    require_spanning(truth)
    # Of the factor R instead of R'R, which would square the condition number.
    R = np.linalg.qr(np.sqrt(weights)[:, None] * truth.W)[1]
    half = np.linalg.inv(R)
    return half @ half.T


def _quadratic_form(W, M):
    """Return w' M w of all rows w."""
    return np.einsum("ia,ab,ib->i", W, M, W)


checked(globals(), nan=False, large=False)

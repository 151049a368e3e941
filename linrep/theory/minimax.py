r"""Lower bounds on the worst-case errors of all estimators, biased ones included, on a class.

All constants are explicit. Clients have :math:`y = \langle B^* w_i^*, x\rangle + \sigma\varepsilon`
with standard normal :math:`\varepsilon` and covariates of mean 0 and covariance I. The notes of
each function derive its bound from a standard inequality.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems.regression import SharedRepresentation
from linrep.theory._clients import read_sizes, require_spanning

Values = NDArray[np.float64]


def prediction_error(
    d: ArrayLike, k: ArrayLike, n: ArrayLike, m: ArrayLike, *, noise: ArrayLike
) -> Values:
    r"""Return a lower bound on the sum of the clients' errors of any estimator in its worst case.

    .. math:: \inf_{\hat\theta} \sup_{B, W} \mathrm E \sum_i \|\hat\theta_i - B w_i\|^2 \ge
              \sigma^2 \max\Big(\frac{nk}{m - k - 1}, \frac{dk}m\Big)

    Parameters
    ----------
    d, k, n, m : array_like
        Dimension, rank, clients, samples of each; whole numbers, at least 1, k at most d and n.
    noise : array_like
        Standard deviation of the labels' noise.

    Returns
    -------
    float or ndarray
        In units of squared labels. Infinite for m < k, and with noise for m = k, k + 1.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range.

    Notes
    -----
    Gaussian covariates. With known B there are n regressions in dimension k, with known W one in
    dimension d k, and in both least squares is minimax over all coefficients (Lehmann and Casella,
    *Theory of point estimation*, 1998, Chapter 5): of its error the first term is the mean of
    inverse Wishart matrices, the second a bound by Jensen. The first holds for any B, the second
    for any W of rank k, however well its rows are spread. The larger one is at least half of what
    counting parameters gives, sigma^2 k (n + d - k)/m.
    """
    d = check.numbers("d", d, minimum=1.0, whole=True)
    k = check.numbers("k", k, minimum=1.0, whole=True)
    n = check.numbers("n", n, minimum=1.0, whole=True)
    m = check.numbers("m", m, minimum=1.0, whole=True)
    noise = check.numbers("noise", noise, minimum=0.0)
    if np.any(k > np.minimum(d, n)):
        raise ValueError("k must be at most d and n")
    room = np.maximum(m - k - 1.0, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        heads = np.where(noise > 0.0, noise**2 * n * k / room, 0.0)
    heads = np.where(m < k, np.inf, heads)
    return np.maximum(heads, noise**2 * d * k / m)[()]


def squared_chordal(
    truth: SharedRepresentation, m: ArrayLike, *, radius: float | None = None
) -> float:
    r"""Return a lower bound on any estimator's distance from the representation in its worst case.

    .. math:: \inf_{\hat B} \sup \mathrm E \|(I - \hat B\hat B^\top) B\|_F^2 \ge
              \frac{1 - 4\rho^2}{1 + \rho^2} (d - k) \sum_{a=1}^k
              \Big(\frac{g_a}{\sigma^2} + \frac{\pi^2 (d - k) k}{\rho^2}\Big)^{-1}

    with g_a the eigenvalues of :math:`\sum_i m_i w_i w_i^\top`. The supremum is over the
    representations at a chordal distance of at most rho from the truth's and over heads that are at
    most :math:`\sqrt{1 + \rho^2}` times as long as the truth's.

    Parameters
    ----------
    truth : SharedRepresentation
        Of heads that span R^k. Its B is not used.
    m : int or array_like of int, shape (n,)
        Samples of every client, or of each.
    radius : float, optional
        rho, in (0, 1/2); by default the one of the largest bound.

    Returns
    -------
    float
        Sum of the squared sines of the principal angles; zero without noise, and for d = k.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or the heads do not span R^k.

    Notes
    -----
    For any covariates of covariance I. With many samples the bound is that of
    :func:`linrep.theory.bounds.cramer_rao`. Of the order of :math:`\sigma^2 dk/(nm\nu)`, nu being
    the harmonic mean of the squared singular values of :math:`W/\sqrt n`.

    In a basis in which the truth's representation is :math:`(I, 0)`, let models be
    :math:`(w_i, Z w_i)` with known w_i and Z in :math:`\mathbb R^{(d - k) \times k}`, whose entries
    are independent of density proportional to :math:`\cos^2(\pi z/2a)` on [-a, a],
    :math:`a^2 = \rho^2/((d - k)k)`, so that :math:`\|Z\|_F \le \rho`. The density's Fisher
    information is :math:`\pi^2/a^2`, the labels' is :math:`\sum_i m_i w_i w_i^\top \otimes
    I/\sigma^2`: by the van Trees inequality (Gill and Levit, *Applications of the van Trees
    inequality*, 1995) every estimator of Z has a mean squared error of at least
    :math:`(d - k)\sum_a (g_a/\sigma^2 + \pi^2/a^2)^{-1}`. The distance of the spans of (I, Z) and
    (I, Z'), :math:`\|(I + Z'Z'^\top)^{-1/2} (Z' - Z) (I + Z^\top Z)^{-1/2}\|_F`, is at least
    :math:`\|Z' - Z\|_F \sqrt{(1 - 4\rho^2)/(1 + \rho^2)}` if the sine of the largest angle between
    (I, Z') and (I, 0) is at most 2 rho. If it is larger, or there is no such Z', the distance is at
    least rho, and 0 instead of Z' is not farther from Z than that.
    """
    require_spanning(truth)
    sizes, codimension = read_sizes(truth, m), truth.d - truth.k
    if truth.noise == 0.0 or codimension == 0:
        return 0.0
    g = np.linalg.svd(np.sqrt(sizes)[:, None] * truth.W, compute_uv=False) ** 2
    if radius is None:
        rho = np.geomspace(1e-6, 0.4999, 2000)
    else:
        rho = np.array([check.real("radius", radius, above=0.0, below=0.5)])
    prior = np.pi**2 * codimension * truth.k / rho**2
    sums = np.sum(1.0 / (g / truth.noise**2 + prior[:, None]), axis=1)
    return float(np.max((1.0 - 4.0 * rho**2) / (1.0 + rho**2) * codimension * sums))


checked(globals(), nan=False, large=False)

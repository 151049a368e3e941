"""Means over data that are known exactly: errors of least squares, second moments of labels.

Clients have y = <theta, x> + sigma epsilon, with covariates of mean 0 and covariance I. Errors are
functions of numbers, or of arrays that are broadcast against each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems.regression import DESIGNS, SharedRepresentation
from linrep.problems.subspace import distance

Values = NDArray[np.float64]


# Least squares on Gaussian covariates.


def least_squares_error(
    dimension: ArrayLike, m: ArrayLike, *, signal: ArrayLike = 0.0, noise: ArrayLike = 0.0
) -> Values:
    r"""Return :math:`\mathrm E\|\hat\theta - \theta\|^2` of least squares, of least norm if m < d.

    .. math:: \frac{\sigma^2 d}{m - d - 1} \quad (m > d + 1), \qquad
              \|\theta\|^2\Big(1 - \frac md\Big) + \frac{\sigma^2 m}{d - m - 1} \quad (m < d - 1)

    Parameters
    ----------
    dimension, m : array_like
        Number d of coefficients, and of samples; whole numbers, at least 1.
    signal : array_like, default 0
        Norm of theta.
    noise : array_like, default 0
        Standard deviation sigma of the labels' noise.

    Returns
    -------
    float or ndarray
        Excess risk, the mean squared error on noise-free test data: twice what traces call
        ``population_risk``. Infinite for m = d - 1, d, d + 1, if there is noise.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range.

    Notes
    -----
    Mean of an inverse Wishart matrix; for m < d the interpolating solution keeps the projection of
    theta on a uniform m-dimensional subspace. FedRep, Section 1 (local training needs m of order
    d) and Figure 1.
    """
    d = check.numbers("dimension", dimension, minimum=1.0, whole=True)
    m = check.numbers("m", m, minimum=1.0, whole=True)
    signal = check.numbers("signal", signal, minimum=0.0)
    noise = check.numbers("noise", noise, minimum=0.0)
    room = np.abs(m - d) - 1.0
    with np.errstate(divide="ignore"):
        spread = np.where(room > 0.0, np.minimum(m, d) / np.maximum(room, 0.0), np.inf)
    missing = signal**2 * np.maximum(1.0 - m / d, 0.0)
    return missing + noise**2 * np.where(noise > 0.0, spread, 0.0)


def head_error(
    k: ArrayLike,
    m: ArrayLike,
    *,
    outside: ArrayLike,
    inside: ArrayLike = 0.0,
    noise: ArrayLike = 0.0,
) -> Values:
    """Return E|f_i|^2, how far an exact head is from B' B* w* on average.

    k s^2/(m - k - 1) with s^2 = outside^2 + noise^2 for m > k + 1; infinite for m = k, k + 1.

    Parameters
    ----------
    k, m : array_like
        Rank of the frame and samples, whole numbers, at least 1.
    outside : array_like
        Norm of (I - BB') B* w*, which the frame does not reach: noise to the head.
    inside : array_like, default 0
        Norm of B' B* w*; it matters where m < k.
    noise : array_like, default 0
        Standard deviation of the labels' noise.

    Returns
    -------
    float or ndarray

    Notes
    -----
    Rows of F in FedRep's Lemmas 1 and 4: the exact value of what Lemma 4 bounds.
    """
    k = check.numbers("k", k, minimum=1.0, whole=True)
    outside, inside, noise = (
        check.numbers(name, value, minimum=0.0)
        for name, value in (("outside", outside), ("inside", inside), ("noise", noise))
    )
    return least_squares_error(k, m, signal=inside, noise=np.hypot(outside, noise))


def new_client_error(
    k: ArrayLike,
    m: ArrayLike,
    *,
    outside: ArrayLike,
    inside: ArrayLike = 0.0,
    noise: ArrayLike = 0.0,
) -> Values:
    """Return the expected excess risk of a client that fits an exact head on a given frame.

    outside^2 plus the head's error. With all principal angles equal and distance s, outside is
    s|w*|.

    Parameters
    ----------
    k, m, outside, inside, noise
        As in :func:`head_error`.

    Returns
    -------
    float or ndarray
        Infinite for m = k - 1, k, k + 1, unless outside and noise are both 0.

    Notes
    -----
    FedRep, Section 4.2 (new clients) and Figure 4.
    """
    error = head_error(k, m, outside=outside, inside=inside, noise=noise)
    return error + check.numbers("outside", outside, minimum=0.0) ** 2


# The moments start.


def fourth_moment(design: str, degrees_of_freedom: float = 5.0) -> float:
    """Return E x_j^4 of a design's coordinates; those of "sphere" it has in high dimension.

    Infinite for Student-t coordinates with at most 4 degrees of freedom.

    Parameters
    ----------
    design : str
        As in :class:`linrep.problems.SharedRepresentation`.
    degrees_of_freedom : float, default 5
        Of Student's t, above 2; other designs do not read it.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range.
    """
    check.choice("design", design, DESIGNS)
    if design == "student_t":
        nu = check.real("degrees_of_freedom", degrees_of_freedom, above=2.0)
        return 3.0 * (nu - 2.0) / (nu - 4.0) if nu > 4.0 else np.inf
    return {"gaussian": 3.0, "rademacher": 1.0, "uniform": 1.8, "sphere": 3.0}[design]


def moments_matrix(
    theta: ArrayLike,
    *,
    design: str = "gaussian",
    degrees_of_freedom: float = 5.0,
    noise: float = 0.0,
) -> NDArray[np.float64]:
    r"""Return the mean of y^2 x x' over data and clients, from which the moments start is computed.

    For independent coordinates of fourth moment mu, the mean over clients of

    .. math:: (\|\theta\|^2 + \sigma^2) I + 2\theta\theta^\top
              + (\mu - 3)\,\mathrm{diag}(\theta_1^2, \dots, \theta_d^2);

    on the sphere of radius sqrt(d),
    :math:`\frac{d}{d + 2}(\|\theta\|^2 I + 2\theta\theta^\top) + \sigma^2 I`.

    Parameters
    ----------
    theta : array_like, shape (n, d)
        The clients' regression vectors as rows, ``truth.theta``.
    design, degrees_of_freedom, noise
        As in :class:`linrep.problems.SharedRepresentation`.

    Returns
    -------
    ndarray, shape (d, d)

    Raises
    ------
    ValueError
        If the covariates have no fourth moment, or an argument is out of range.

    Notes
    -----
    FedRep, Theorem 2 (Gaussian) and Section 4.2 (any design). For the Gaussian and the sphere the
    top eigenvectors are those of the mean of theta theta', and span(B*); the last term turns them
    unless mu = 3.
    """
    theta = check.array("theta", theta, (None, None))
    noise = check.real("noise", noise, minimum=0.0)
    mu = fourth_moment(design, degrees_of_freedom)
    if not np.isfinite(mu):
        raise ValueError("degrees_of_freedom must be greater than 4 for a finite fourth moment")
    n, d = theta.shape
    squares = np.mean(theta**2, axis=0)
    scale = d / (d + 2.0) if design == "sphere" else 1.0
    diagonal = scale * (squares.sum() + (mu - 3.0) * squares) + noise**2
    return 2.0 * scale * (theta.T @ theta) / n + np.diag(diagonal)


def moments_distance(truth: SharedRepresentation) -> float:
    """Return the distance to B* of the moments start on infinitely many samples of the truth.

    Zero up to rounding for Gaussian covariates and on the sphere, if the heads span R^k.

    Parameters
    ----------
    truth : SharedRepresentation
        Its design must have a fourth moment.

    Raises
    ------
    ValueError
        If the covariates have no fourth moment.
    """
    matrix = moments_matrix(
        truth.theta,
        design=truth.design,
        degrees_of_freedom=truth.degrees_of_freedom,
        noise=truth.noise,
    )
    _, vectors = eigh(matrix, subset_by_index=[truth.d - truth.k, truth.d - 1])
    return distance(vectors, truth.B)


checked(globals(), nan=False, large=False)

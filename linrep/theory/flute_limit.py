r"""Where FLUTE ends on samples that are kept: how near the best models, from almost every start.

Whatever it ends at is the truncated decomposition of a perturbed :math:`\Phi`, so that what samples
change at the best models bounds the error: ``flute.theorem5.1.limit``, derived in the proofs. The
floor to first order is in :mod:`linrep.theory.asymptotics.flute`.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems.low_rank import LowRankRegression

_AGAIN = 8  # times that a bound on the distance is put into what it was made of


class Perturbation(NamedTuple):
    r"""What samples change, or bounds on it.

    Attributes
    ----------
    moments : float
        :math:`\rho`, the largest :math:`\|S_i - I\|`, with :math:`S_i = X_i^\top X_i/m`.
    noise : float
        :math:`z = \|\zeta\|` with :math:`\zeta_i = (S_i - I) r_i + X_i^\top\xi_i/m` for the models
        less their best approximations, :math:`r_i`.
    along : float
        T, the Frobenius norm of :math:`\zeta` without its block beyond both singular subspaces.
    """

    moments: float
    noise: float
    along: float


class Limit(NamedTuple):
    r"""What is true of the limit, for almost every start.

    Attributes
    ----------
    distance : float
        At least :math:`\|BW^\top - \Phi_k\|_F`; infinite where nothing is proved.
    curvature : float
        Late, rounds shrink what is left by :math:`1 - \eta` times it; 0 where nothing is proved.
    """

    distance: float
    curvature: float


def limit(truth: LowRankRegression, k: int, perturbation: Perturbation) -> Limit:
    r"""Return what a perturbation leaves of the best models.

    With :math:`c = \lambda_{k+1}/\lambda_k` it is

    .. math:: \frac T\mu \text{ and } \lambda_k(1 - e)(1 - \rho - \theta),\quad
              \mu = 1 - \rho - \frac{c + \theta}2 - \frac z{(1 - e)\lambda_k},\quad
              \theta = \frac{c + e}{1 - e},\quad e = \frac{z + \rho y}{\lambda_k},

    y being :math:`2\sqrt{T^2 + kz^2}/(1 - c - 3\rho)` or such a T/mu. Proved for :math:`3\rho <
    1 - c, \theta < 1 - \rho, \mu > 0, z + \frac94\sqrt{2k}\,\rho\lambda_1 \le \frac15\lambda_1`,
    steps up to :math:`1/(3\lambda_1)`, and starts of norm :math:`\|[B; W]\|^2 \le
    \frac52\lambda_1`.

    Parameters
    ----------
    truth : LowRankRegression
    k : int
        Rank of the representation; singular values k and k + 1 must differ.
    perturbation : Perturbation

    Returns
    -------
    Limit
    """
    check.instance("perturbation", perturbation, Perturbation)
    rho, noise, along = (
        check.real(name, value, minimum=0.0) for name, value in perturbation._asdict().items()
    )
    first, last, following = _values(truth, k)
    c, found = following / last, Limit(np.inf, 0.0)
    if 3.0 * rho >= 1.0 - c or noise + 2.25 * np.sqrt(2.0 * k) * rho * first > 0.2 * first:
        return found
    distance = 2.0 * np.hypot(along, np.sqrt(k) * noise) / (1.0 - c - 3.0 * rho)
    for _ in range(_AGAIN):
        kept = 1.0 - (noise + rho * distance) / last  # 1 - e
        if kept <= 0.0:
            break
        theta = (c + 1.0 - kept) / kept
        mu = 1.0 - rho - 0.5 * (c + theta) - noise / (last * kept)
        if theta >= 1.0 - rho or mu <= 0.0 or along / mu >= found.distance:
            break
        found = Limit(float(along / mu), float(last * kept * (1.0 - rho - theta)))
        distance = min(distance, found.distance)
    return found


def perturbation(
    truth: LowRankRegression, k: int, m: int, *, failure: float = 0.05
) -> Perturbation:
    """Return bounds on what m samples per client change, all valid but with a small probability.

    Parameters
    ----------
    truth : LowRankRegression
        With normal covariates.
    k : int
        Rank of the representation.
    m : int
        Samples per client.
    failure : float, default 0.05
        That probability.

    Returns
    -------
    Perturbation
    """
    following = _values(truth, k)[-1]
    if truth.design != "gaussian":
        raise ValueError(f"truth must have normal covariates, got design = {truth.design!r}")
    m = check.integer("m", m, minimum=1)
    failure = check.real("failure", failure, above=0.0, maximum=1.0)
    (U, _, V), d = truth.svd, truth.d
    residuals = np.sum((U[:, k:].T @ truth.Phi) ** 2, axis=0)
    sizes, leverage = residuals + truth.noise**2, np.sum(V[:, :k] ** 2, axis=1)
    u, quantile = np.log(8.0 * truth.n / failure), NormalDist().inv_cdf(1.0 - 0.25 * failure)
    largest, t = np.sqrt(sizes.max()), (np.sqrt(d + 1.0) + np.sqrt(2.0 * u)) / np.sqrt(m)
    lengths = 2.0 * np.sqrt(u / m) + 2.0 * u / m
    noise = np.sqrt(sizes.sum()) + (np.sqrt(d) + quantile) * largest
    square = np.sum(sizes * (k + (d - k) * leverage) + residuals * leverage)
    along = np.sqrt(square / (0.5 - 0.125 * failure)) + 2.0 * (1.0 + t) * largest * quantile
    return Perturbation(
        float(2.0 * t + t**2),
        float(lengths * following + np.sqrt((1.0 + lengths) / m) * noise),
        float(along / np.sqrt(m)),
    )


def sufficient_samples(
    truth: LowRankRegression, k: int, tolerance: float, *, failure: float = 0.05
) -> float:
    """Return the least samples per client for a mean error per client; infinite beyond 2^60.

    Parameters
    ----------
    truth, k, failure
        As in :func:`perturbation`.
    tolerance : float
        That error, positive.
    """
    tolerance = check.real("tolerance", tolerance, above=0.0)

    def enough(m):
        left = limit(truth, k, perturbation(truth, k, m, failure=failure)).distance
        return left <= np.sqrt(truth.n) * tolerance

    low, high = 0, 1
    while not enough(high):
        if high >= 2**60:
            return np.inf
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(high)


def _values(truth, k):
    """Return the singular values 1, k and k + 1."""
    check.instance("truth", truth, LowRankRegression)
    k = check.integer("k", k, minimum=1, maximum=min(truth.n, truth.d))
    values = np.append(truth.singular_values, 0.0)
    if values[k - 1] - values[k] <= 1e-8 * values[0]:
        raise ValueError(
            f"truth must have singular value k above the next one, got {values[k - 1]:g} and "
            f"{values[k]:g} for k = {k}"
        )
    return values[[0, k - 1, k]]


checked(globals(), nan=False, large=False)

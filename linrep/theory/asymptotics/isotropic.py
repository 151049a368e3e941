r"""FedRep's limits in closed form where the heads are isotropic.

The heads' second moment is :math:`S = s^2 I`, and :math:`E|w|^2 w w^\top = \omega s^4 I`:
:math:`\omega = k` for heads of equal norm, k + 2 for normal ones. Steps are in units of the
curvature, :math:`a = \eta s^2`, noise is relative to the heads, :math:`\sigma^2/s^2`, and gamma is
(d - k)/(rn). Batches are fresh, heads exact on the gradient's batch of m samples. All principal
angles stay equal if they are equal at the start; near B* they become equal. docs/learning-curves.md
has the derivations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep._lib import validation as check
from linrep._lib.arguments import checked

Values = NDArray[np.float64]
_MANY = 10**9  # samples per client: as good as infinitely many


class BestStep(NamedTuple):
    """The step with the smallest contraction factor.

    Attributes
    ----------
    step : float
        In units of the curvature.
    contraction : float
        Factor of the distance per round.
    """

    step: float
    contraction: float


def contraction(
    k: int, m: int, gamma: float, step: float, *, kurtosis: float | None = None
) -> float:
    r"""Return the factor per round of the distance near B*, without noise.

    .. math:: \rho^2 = \Big(1 - a\frac{m-k}m\Big)^2 + a^2\gamma\omega\,\frac{m-k}{m^2}

    Parameters
    ----------
    k, m : int
        Rank, and samples in a batch, at least k + 2.
    gamma : float
        (d - k)/(rn), at least 0.
    step : float
        a = eta s^2, positive.
    kurtosis : float, optional
        Kappa; by default k, of heads of equal norm.

    Returns
    -------
    float
    """
    k, m, gamma, omega = _read(k, m, gamma, kurtosis)
    a = check.real("step", step, above=0.0)
    return float(np.hypot(1.0 - a * (m - k) / m, a / m * np.sqrt(gamma * omega * (m - k))))


def step_limit(k: int, m: int, gamma: float, *, kurtosis: float | None = None) -> float:
    r"""Return the step from which on rounds no longer contract, 2m/(m - k + gamma omega).

    Parameters
    ----------
    k, m, gamma, kurtosis
        As for :func:`contraction`.

    Returns
    -------
    float
    """
    k, m, gamma, omega = _read(k, m, gamma, kurtosis)
    return 2.0 * m / (m - k + gamma * omega)


def best_step(k: int, m: int, gamma: float, *, kurtosis: float | None = None) -> BestStep:
    r"""Return the step of the smallest contraction factor, half the limit, and that factor.

    .. math:: a^* = \frac m{m - k + \gamma\omega}, \qquad
              \rho^{*2} = \frac{\gamma\omega}{m - k + \gamma\omega}

    Parameters
    ----------
    k, m, gamma, kurtosis
        As for :func:`contraction`.

    Returns
    -------
    BestStep
    """
    k, m, gamma, omega = _read(k, m, gamma, kurtosis)
    whole = m - k + gamma * omega
    return BestStep(m / whole, float(np.sqrt(gamma * omega / whole)))


def least_samples(k: int, gamma: float, step: float, *, kurtosis: float | None = None) -> float:
    r"""Return the samples per client and round from which on rounds contract at a given step.

    .. math:: m > \frac{\gamma\omega - k}{2/a - 1}, \qquad m \ge k + 2

    Parameters
    ----------
    k, gamma, step, kurtosis
        As for :func:`contraction`.

    Returns
    -------
    float
        Infinite for longer steps than 2, the limit for known heads, and for 2 unless k exceeds
        gamma omega.
    """
    k, _, gamma, omega = _read(k, k + 2, gamma, kurtosis)
    a = check.real("step", step, above=0.0)
    missing = gamma * omega - k
    if a < 2.0:
        return max(missing / (2.0 / a - 1.0), k + 2.0)
    return k + 2.0 if a == 2.0 and missing < 0.0 else np.inf


def floor(
    k: int,
    m: int,
    gamma: float,
    step: float,
    *,
    noise: float,
    kurtosis: float | None = None,
) -> float:
    r"""Return the squared sine at which runs settle on noisy labels, for small noise.

    .. math:: \frac{(\sigma^2/s^2)\, a\gamma/m}{2 - a(m - k + \gamma\omega)/m}

    Parameters
    ----------
    k, m, gamma, step, kurtosis
        As for :func:`contraction`.
    noise : float
        Sigma/s, the labels' noise over the heads' size in each direction.

    Returns
    -------
    float
        Infinite for steps beyond :func:`step_limit`. Up to a factor 1 + O(noise^2): where it is not
        small, the last of :func:`distances` is the floor.
    """
    k, m, gamma, omega = _read(k, m, gamma, kurtosis)
    a = check.real("step", step, above=0.0)
    snr = check.real("noise", noise, minimum=0.0) ** 2
    left = 2.0 - a * (m - k + gamma * omega) / m
    return snr * a * gamma / m / left if left > 0.0 else np.inf


def distances(
    k: int,
    m: int,
    gamma: float,
    step: float,
    *,
    start: float,
    rounds: int,
    noise: float = 0.0,
    kurtosis: float | None = None,
) -> Values:
    r"""Return the learning curve from equal principal angles: one number a round.

    .. math:: s_+^2 = \frac e{e + c^2(1 + a\mu s^2)^2}, \quad
              e = s^2(1 - a\mu c^2)^2 + \frac{a^2\gamma(m-k)}{m^2}\Big[c^2(\omega s^2 + \nu)
              + \frac{\overline{(s^2u + \nu)^2}}{m-k-1}\Big]

    with c^2 = 1 - s^2, mu = 1 - k/m, nu the squared noise and u the squared norm of a head over
    S's eigenvalue, whose mean is k and mean square k omega.

    Parameters
    ----------
    k, m, gamma, step, noise, kurtosis
        As for :func:`floor`.
    start : float
        Sine of all principal angles at the start, in [0, 1].
    rounds : int

    Returns
    -------
    ndarray, shape (rounds + 1,)
    """
    k, m, gamma, omega = _read(k, m, gamma, kurtosis)
    a = check.real("step", step, above=0.0)
    snr = check.real("noise", noise, minimum=0.0) ** 2
    rounds = check.integer("rounds", rounds, minimum=0)
    squares = np.empty(rounds + 1)
    squares[0] = check.real("start", start, minimum=0.0, maximum=1.0) ** 2
    mu, scale = 1.0 - k / m, a**2 * gamma * (m - k) / m**2
    for t in range(rounds):
        s = squares[t]
        c = 1.0 - s
        head_error = (s**2 * k * omega + 2.0 * s * k * snr + snr**2) / (m - k - 1.0)
        e = s * (1.0 - a * mu * c) ** 2 + scale * (c * (omega * s + snr) + head_error)
        squares[t + 1] = e / (e + c * (1.0 + a * mu * s) ** 2)
    return np.sqrt(squares)


def sufficient_samples(
    k: int,
    gamma: float,
    step: float,
    *,
    start: float,
    goal: float,
    rounds: int,
    noise: float = 0.0,
    kurtosis: float | None = None,
) -> float:
    """Return the samples per client and round with which the limit reaches a distance in time.

    Parameters
    ----------
    k, gamma, step, noise, kurtosis
        As for :func:`distances`.
    start, goal : float
        Distances, goal below start.
    rounds : int

    Returns
    -------
    float
        Where the last distance as a function of m, interpolated between whole numbers on
        logarithmic axes, crosses the goal; at least k + 2. Infinite where no m is enough.
    """
    start = check.real("start", start, above=0.0, maximum=1.0)
    goal = check.real("goal", goal, above=0.0, below=start)
    few = check.integer("k", k, minimum=1) + 2

    def excess(m):
        curve = distances(
            k, m, gamma, step, start=start, rounds=rounds, noise=noise, kurtosis=kurtosis
        )
        return float(np.log(curve[-1] / goal))

    if excess(few) <= 0.0:
        return float(few)
    many = _MANY
    if excess(many) > 0.0:
        return np.inf
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if excess(middle) <= 0.0 else (middle, many)
    above, below = excess(few), excess(many)
    return float(few * (many / few) ** (above / (above - below)))


def fluctuation(n: int, d: int, k: int, m: int, step: float, *, rounds: int = 1) -> float:
    r"""Return the standard deviation of the logarithm of a single run's chordal distance.

    .. math:: \frac{\sqrt{T v}}{2(\alpha^2 + \beta)}, \qquad
              v = \Big(\frac\beta{m-k} - \frac{2a\alpha}m\Big)^2 \frac{2(m-k)}n
              + \frac{2\beta^2}{(d-k)k}

    with alpha = 1 - a(m - k)/m and beta = a^2 k (d - k)(m - k)/(n m^2): over T rounds near B*, all
    clients taking part, of heads of equal norm, without noise.

    Parameters
    ----------
    n, d, k, m : int
    step : float
        a = eta s^2, positive.
    rounds : int, default 1
        T.

    Returns
    -------
    float
        To first order in 1/sqrt(n).
    """
    n = check.integer("n", n, minimum=1)
    d = check.integer("d", d, minimum=k + 1)
    k, m, _, _ = _read(k, m, 0.0, None)
    a = check.real("step", step, above=0.0)
    rounds = check.integer("rounds", rounds, minimum=0)
    alpha = 1.0 - a * (m - k) / m
    beta = a**2 * k * (d - k) * (m - k) / (n * m**2)
    variance = (beta / (m - k) - 2.0 * a * alpha / m) ** 2 * 2.0 * (m - k) / n
    variance += 2.0 * beta**2 / ((d - k) * k)
    return float(np.sqrt(rounds * variance) / (2.0 * (alpha**2 + beta)))


def _read(k, m, gamma, kurtosis):
    k = check.integer("k", k, minimum=1)
    m = check.integer("m", m, minimum=k + 2)
    gamma = check.real("gamma", gamma, minimum=0.0)
    omega = float(k) if kurtosis is None else check.real("kurtosis", kurtosis, minimum=float(k))
    return k, m, gamma, omega


checked(globals(), nan=False, large=False)

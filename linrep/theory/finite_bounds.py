r"""What is proved of FedRep at finite size for all rounds at once: factors, floors, probabilities.

Exact heads, fresh Gaussian batches, the gradient on the head's own batch, and s, the q-th root of
the sum of the q-th powers of the sines of all principal angles: from the distance to k^(1/q) times
as much. The statements are `fedrep.theorem1.finite`, `.noise` (horizons) and `.moments` (q > 2),
which no paper has; the page of proofs derives them from :func:`linrep.theory.finite.round_moments`.
"""

from __future__ import annotations

from math import comb, exp, inf, log

import numpy as np
from scipy.special import gammaln

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems.regression import SharedRepresentation
from linrep.theory._clients import require_gaussian

#: Moments tried for the least number of samples, and samples.
MOMENTS = (2, 4, 6, 8, 10, 12, 16, 24, 32, 48, 64)
MOST = 2**20


def contraction(
    truth: SharedRepresentation,
    *,
    m: int,
    step_size: float,
    within: float,
    participation: float = 1.0,
    moment: int = 2,
) -> float:
    r"""Return the factor rho by which each round contracts s, in the sense of the statement.

    Where it is at most 1, there is no noise and s_0 < d_1, with probability at least
    1 - (s_0/d_1)^q all rounds have :math:`s_t < \rho^t d_1`. Without noise, for q = 2,

    .. math:: \rho^2 = \max_\mu (1 - 2h\mu + \tfrac{\beta n}N h^2\mu^2)
              + \frac{\eta^2\nu g\Lambda}{N m^2}
              \Big(1 + d_1^2\Big(\frac{k(p + \nu + 1)}{(\nu - 1) g} - 1\Big)_+\Big)

    over the ends :math:`\mu` of :math:`[(1 - d_1^2)\lambda_{\min}, \lambda_{\max}]`, in the
    notation of :mod:`linrep.theory.finite`, p = d - k and Lambda the largest eigenvalue of the mean
    of :math:`\|w\|^2 ww^\top`. Larger q, of which the page of proofs has the factor, make failures
    rare and cover starts whose squared sines add up to 1 or more.

    Parameters
    ----------
    truth : SharedRepresentation
        Of Gaussian covariates.
    m : int
        Samples in a batch, at least k + q.
    step_size : float
        Eta, positive.
    within : float
        d_1, in (0, 1): the distance up to which rounds are looked at.
    participation : float, default 1
        Fraction of clients in a round.
    moment : int, default 2
        q, even. With noise only 2.

    Returns
    -------
    float
        With noise that of the mean while the distance is at most d_1, to which :func:`floor` is
        added.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range.
    """
    require_gaussian(truth, "the statement")
    n, d, k = truth.n, truth.d, truth.k
    q = check.integer("moment", moment, minimum=2)
    if q % 2:
        raise ValueError(f"moment must be even, got {q}")
    m = check.integer("m", m, minimum=k + q)
    eta = check.real("step_size", step_size, above=0.0)
    d1 = check.real("within", within, above=0.0, below=1.0)
    N = check.count_participants(n, participation)
    p, nu, both = d - k, m - k, (N - 1.0) / (n - 1.0) if n > 1 else 1.0
    h, scale = eta * nu / m, eta**2 / (N * m**2)
    values = np.linalg.eigvalsh(truth.W.T @ truth.W / n)
    low, high = max(0.0, float(values[0])), float(values[-1])
    size = _weighted(truth.W, q)
    ends = np.array([(1.0 - d1**2) * low, high])
    if q == 2:
        g = p + 1.0 + nu * (1.0 - both)
        far = max(k * (p + nu + 1.0) / ((nu - 1.0) * g) - 1.0, 0.0)
        square = np.max(1.0 - 2.0 * h * ends + both * n / N * (h * ends) ** 2)
        square += scale * nu * g * size * (1.0 + d1**2 * far)
        slope = k * (nu + 1.0) / (nu - 1.0) + p * max(2.0 * k / (nu - 1.0) - 1.0, 0.0)
        return float(np.sqrt(square + scale * nu * truth.noise**2 * high * slope))
    if truth.noise:
        raise ValueError(f"moment must be 2 with noise, got {q}")
    head = _chi(q, k) / _chi(-q, nu + 1)
    spread = np.hypot(_spread(q, nu), _chi(q, nu) * _chi(q, p - 1)) if p else 0.0
    each = spread * np.sqrt(1.0 + d1**2 * max((q - 1.0) * head**2 - 1.0, 0.0)) + nu * head * d1
    drawn = nu**2 * 4.0 ** (1.0 - 2.0 / q) if n > N else 0.0
    drift = max(1.0 - h * ends[0], h * high - 1.0)
    return float(np.sqrt(drift**2 + (q - 1.0) * scale * size * (each**2 + drawn)))


def floor(
    truth: SharedRepresentation, *, m: int, step_size: float, participation: float = 1.0
) -> float:
    r"""Return b, by which noise raises the mean of s^2 in a round.

    .. math:: b = \frac{\eta^2\nu p\sigma^2}{N m^2}\Big(\mathrm{tr} S + \frac{k\sigma^2}{\nu - 1}
              \Big)

    A run from s_0 leaves the distance d_1 within T rounds with a probability of at most
    (s_0^2 + T b)/d_1^2, if :func:`contraction` is at most 1.

    Parameters
    ----------
    truth, m, step_size, participation
        As for :func:`contraction`.
    """
    require_gaussian(truth, "the statement")
    m = check.integer("m", m, minimum=truth.k + 2)
    eta = check.real("step_size", step_size, above=0.0)
    N, nu, noise = check.count_participants(truth.n, participation), m - truth.k, truth.noise**2
    each = np.sum(truth.W**2) / truth.n + truth.k * noise / (nu - 1.0)
    return float(eta**2 * nu * (truth.d - truth.k) * noise * each / (N * m**2))


def least_samples(
    truth: SharedRepresentation,
    *,
    step_size: float,
    initial_distance: float,
    failure: float = 0.05,
    participation: float = 1.0,
) -> float:
    """Return the least m for which runs are proved to contract in all rounds but for a probability.

    Parameters
    ----------
    truth : SharedRepresentation
        Without noise.
    step_size : float
        Positive.
    initial_distance : float
        Of the start, in [0, 1); s_0 is at most k^(1/q) times as much.
    failure : float, default 0.05
        In (0, 1].
    participation : float, default 1
        Fraction of clients in a round.

    Returns
    -------
    float
        Whole; infinite where the start is too far for every moment in `MOMENTS`, or more than
        `MOST` would be needed.
    """
    if truth.noise:
        raise ValueError(f"truth must be without noise, got {truth.noise:g}")
    start = check.real("initial_distance", initial_distance, minimum=0.0, below=1.0)
    failure = check.real("failure", failure, above=0.0, maximum=1.0)
    found = inf
    for q in MOMENTS:
        within = max(start * (truth.k / failure) ** (1.0 / q), 1e-3)
        if within >= 1.0:
            continue

        def contracts(m, q=q, within=within):
            return contraction(
                truth, m=m, step_size=step_size, within=within, participation=participation,
                moment=q,
            ) < 1.0  # fmt: skip

        low, high = truth.k + q - 1, truth.k + q
        while high < min(found, MOST) and not contracts(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if contracts(middle) else (middle, high)
        if high < found and contracts(high):
            found = float(high)
    return found


def _weighted(W, q):
    """Return L, of all heads: the 2/q-th power of the largest eigenvalue of mean |w|^(2q-2) ww'."""
    lengths = np.sum(W**2, axis=1)
    most = float(lengths.max()) or 1.0
    weights = (lengths / most) ** (q - 1.0)
    largest = np.linalg.eigvalsh((W.T * weights) @ W / len(W))[-1]
    return float(max(largest, 0.0) ** (2.0 / q) * most ** (2.0 - 2.0 / q))


def _chi(q, nu):
    """Return the q-th root of E chi^q, nu degrees of freedom; 0 of none."""
    if nu == 0:
        return 0.0
    return np.sqrt(2.0) * np.exp((gammaln((nu + q) / 2.0) - gammaln(nu / 2.0)) / q)


def _spread(q, nu):
    """Return the q-th root of E |chi^2 - nu|^q, q even, of integers."""
    raw, total = 1, 0
    for j in range(q + 1):
        total += comb(q, j) * raw * (-nu) ** (q - j)
        raw *= nu + 2 * j
    return exp(log(total) / q)


checked(globals(), nan=False, large=False)

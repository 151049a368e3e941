"""Of the lemmas behind FedRep's Theorem 1, the bounds on which its proof turns.

Names and conventions are those of :mod:`linrep.theory.fedrep`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.theory._numbers import ratio, squared_cosine

Values = NDArray[np.float64]


def delta(k: ArrayLike, participants: ArrayLike, m: ArrayLike, constant: float = 1.0) -> Values:
    """Return delta_k, the size of the heads' errors: c sqrt(k^3 log(rn)/m).

    Parameters
    ----------
    k, participants, m : array_like
        Rank, clients per round, samples per client and round, at least 1.
    constant : float, default 1
        c, positive.

    Notes
    -----
    FedRep, Lemma 2.
    """
    k = check.numbers("k", k, minimum=1.0)
    rn = check.numbers("participants", participants, minimum=1.0)
    m = check.numbers("m", m, minimum=1.0)
    return check.real("constant", constant, above=0.0) * np.sqrt(k**3 * np.log(rn) / m)


def delta_prime(
    k: ArrayLike, d: ArrayLike, participants: ArrayLike, m: ArrayLike, constant: float = 1.0
) -> Values:
    """Return delta'_k, the size of the gradient's error: c k sqrt(d/(rn m)).

    Parameters
    ----------
    k, d, participants, m : array_like
        Rank, dimension, clients per round, samples per client and round, at least 1.
    constant : float, default 1
        c, positive.

    Notes
    -----
    FedRep, Lemma 5.
    """
    k = check.numbers("k", k, minimum=1.0)
    d = check.numbers("d", d, minimum=1.0)
    rn = check.numbers("participants", participants, minimum=1.0)
    m = check.numbers("m", m, minimum=1.0)
    return check.real("constant", constant, above=0.0) * k * np.sqrt(d / (rn * m))


def delta_limit(condition: ArrayLike = 1.0, initial_distance: ArrayLike = 0.0) -> Values:
    """Return Lemma 6's limit on delta_k + delta'_k: 16 E0/(125 kappa^2).

    Parameters
    ----------
    condition : array_like, default 1
        At least 1.
    initial_distance : array_like, default 0
        Of the start, in [0, 1].

    Notes
    -----
    FedRep, the text before equation (85).
    """
    kappa = check.numbers("condition", condition, minimum=1.0)
    return 16.0 / 125.0 * squared_cosine("initial_distance", initial_distance) / kappa**2


def cross_bound(delta: ArrayLike, heads_norm: ArrayLike, distance: ArrayLike) -> Values:
    """Return the bound on the norm of (G D - C) w*: delta_k times ||W*||_2 times the distance.

    Parameters
    ----------
    delta : array_like
        delta_k, at least 0.
    heads_norm : array_like
        Spectral norm of W* of the participants, not divided by sqrt(rn); at least 0.
    distance : array_like
        In [0, 1].

    Notes
    -----
    FedRep, Lemma 3.
    """
    delta = check.numbers("delta", delta, minimum=0.0)
    norm = check.numbers("heads_norm", heads_norm, minimum=0.0)
    return delta * norm * check.numbers("distance", distance, minimum=0.0, maximum=1.0)


# The steps of Lemma 6's proof.


def shrinking_bound(
    delta: ArrayLike,
    *,
    step_size: ArrayLike,
    sigma_min: ArrayLike,
    sigma_max: ArrayLike,
    distance: ArrayLike,
) -> Values:
    r"""Return the bound on the norm of I - (eta/rn) W'W, what the step leaves of the distance.

    .. math:: 1 - \eta\sigma_{\min}^2 (1 - \mathrm{dist}^2)
              + 2\eta\frac{\delta_k}{1 - \delta_k}\sigma_{\max}^2

    FedRep, equation (67), with the smallest squared cosine written as 1 - dist^2: (68) is an
    equality. It needs delta_k <= 1/2 and a step size within the limit.

    Parameters
    ----------
    delta : array_like
        delta_k, at least 0; the bound is infinite from 1 on.
    step_size, sigma_max : array_like
        Positive.
    sigma_min : array_like
        At least 0.
    distance : array_like
        In [0, 1].
    """
    gain = _gain(step_size, sigma_min, "distance", distance)
    delta = check.numbers("delta", delta, minimum=0.0)
    largest = check.numbers("sigma_max", sigma_max, above=0.0)
    return 1.0 - gain + 2.0 * np.asarray(step_size) * largest**2 * ratio(delta, 1.0 - delta)


def triangle_bound(delta: ArrayLike, *, step_size: ArrayLike, sigma_max: ArrayLike) -> Values:
    r"""Return the bound on the norm of R^-1, R being the triangle of the QR factorization.

    .. math:: \Big(1 - 4\eta\frac{\bar\delta}{(1 - \bar\delta)^2}\sigma_{\max}^2\Big)^{-1/2}

    Parameters
    ----------
    delta : array_like
        delta_k + delta'_k, at least 0.
    step_size, sigma_max : array_like
        Positive.

    Returns
    -------
    float or ndarray
        Infinite where what is under the root is not positive.

    Notes
    -----
    FedRep, equation (84).
    """
    loss = 4.0 * _spread(delta, step_size, sigma_max)
    return ratio(1.0, np.sqrt(np.maximum(1.0 - loss, 0.0)))


def _gain(step_size, sigma_min, name, distance):
    """Return eta sigma_min^2 (1 - dist^2)."""
    step_size = check.numbers("step_size", step_size, above=0.0)
    smallest = check.numbers("sigma_min", sigma_min, minimum=0.0)
    return step_size * smallest**2 * squared_cosine(name, distance)


def _spread(delta, step_size, sigma_max):
    """Return eta sigma_max^2 delta/(1 - delta)^2, infinite from delta = 1 on."""
    delta = check.numbers("delta", delta, minimum=0.0)
    step_size = check.numbers("step_size", step_size, above=0.0)
    largest = check.numbers("sigma_max", sigma_max, above=0.0)
    return step_size * largest**2 * ratio(delta, np.maximum(1.0 - delta, 0.0) ** 2)


checked(globals(), nan=False, large=False)

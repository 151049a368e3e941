"""What the lemmas behind FedRep's Theorem 1 state, and the bounds on which its proof turns.

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


def inverse_bound(delta: ArrayLike) -> Values:
    """Return the bound on the norm of G^-1, all clients' head problems: 1/(1 - delta_k).

    Parameters
    ----------
    delta : array_like
        delta_k, at least 0; the bound is infinite from 1 on.

    Notes
    -----
    FedRep, Lemma 2; it needs delta_k < 1 and m >= k.
    """
    return ratio(1.0, 1.0 - check.numbers("delta", delta, minimum=0.0))


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


def head_error_bound(delta: ArrayLike, heads_norm: ArrayLike, distance: ArrayLike) -> Values:
    """Return the bound on ||F||_F, the exact heads' error: that of Lemma 3 over 1 - delta_k.

    Parameters
    ----------
    delta, heads_norm, distance
        As in :func:`cross_bound`; the bound is infinite from delta = 1 on.

    Notes
    -----
    FedRep, Lemma 4, equation (40), and (61).
    """
    bound = cross_bound(delta, heads_norm, distance)
    return ratio(bound, 1.0 - np.asarray(delta))


def concentration_bound(delta_prime: ArrayLike, distance: ArrayLike) -> Values:
    """Return the bound on how far the gradient is from its mean at fixed heads: delta' * distance.

    That is ||(A*A(Q)/m - Q)'W||_2/(rn), if delta' is at most k.

    Parameters
    ----------
    delta_prime : array_like
        delta'_k, at least 0.
    distance : array_like
        In [0, 1].

    Notes
    -----
    FedRep, Lemma 5, equation (41).
    """
    prime = check.numbers("delta_prime", delta_prime, minimum=0.0)
    return prime * check.numbers("distance", distance, minimum=0.0, maximum=1.0)


def lemma_failure(
    lemma: int,
    *,
    d: ArrayLike,
    k: ArrayLike,
    participants: ArrayLike,
    n: ArrayLike | None = None,
    proof: bool = False,
) -> Values:
    """Return the bound on the probability that a lemma's conclusion fails.

    Parameters
    ----------
    lemma : {2, 3, 4, 5, 6}
        Its number.
    d, k, participants : array_like
        Dimension, rank, clients per round, at least 1.
    n : array_like, optional
        Clients, `participants` by default: Lemma 4 prints n where its proof has rn.
    proof : bool, default False
        The bound at which the lemma's proof arrives instead of the one in its statement.

    Returns
    -------
    float or ndarray
        At most 1.

    Notes
    -----
    FedRep, Lemmas 2 to 6. Exponents are in multiples of k^3 log(rn), k^2 log(rn) and d: Lemma 2 has
    111, and 110 in its proof, equation (32), where (31) has lost a minus sign; Lemma 3 the same;
    Lemma 4 has 110 and no proof but a union of the two before; Lemma 5 has 110 d, and 110 (d + k)
    in its proof.
    """
    lemma = check.integer("lemma", lemma, minimum=2, maximum=6)
    printed_n = lemma == 4 and n is not None and not proof
    given = {"participants": participants} | ({} if n is None else {"n": n})
    clients = {name: check.numbers(name, value, minimum=1.0) for name, value in given.items()}
    d = check.numbers("d", d, minimum=1.0)
    k = check.numbers("k", k, minimum=1.0)
    logarithm = np.log(clients["n" if printed_n else "participants"])
    square, cube = k**2 * logarithm, k**3 * logarithm
    exponents = {
        (2, False): [111.0 * cube],
        (2, True): [110.0 * cube],
        (3, False): [111.0 * square],
        (3, True): [110.0 * square],
        (4, False): [110.0 * square],
        (4, True): [110.0 * cube, 110.0 * square],
        (5, False): [110.0 * d, 110.0 * square],
        (5, True): [110.0 * (d + k), 110.0 * square],
        (6, False): [100.0 * np.minimum(square, d)],  # failure_probability of one round
        (6, True): [110.0 * d, 110.0 * square],
    }[lemma, bool(proof)]
    return np.minimum(1.0, sum(np.exp(-exponent) for exponent in exponents))


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


def cross_term_bound(delta_prime: ArrayLike, *, step_size: ArrayLike) -> Values:
    """Return the bound on the first term of (72), 2 eta delta'.

    Parameters
    ----------
    delta_prime : array_like
        delta'_k, at least 0.
    step_size : array_like
        Positive.

    Notes
    -----
    FedRep, equation (73). Lemma 5, which it comes from, would give the distance as one more factor.
    """
    step_size = check.numbers("step_size", step_size, above=0.0)
    return 2.0 * step_size * check.numbers("delta_prime", delta_prime, minimum=0.0)


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


def descent_bound(
    delta: ArrayLike,
    *,
    step_size: ArrayLike,
    sigma_min: ArrayLike,
    sigma_max: ArrayLike,
    initial_distance: ArrayLike = 0.0,
) -> Values:
    r"""Return the bound on the factor of one round from which Lemma 6 concludes.

    .. math:: \frac{1 - a + 2y}{\sqrt{1 - 4y}}, \qquad a = \eta E_0\sigma_{\min}^2, \quad
              y = \eta\frac{\bar\delta}{(1 - \bar\delta)^2}\sigma_{\max}^2

    Parameters
    ----------
    delta : array_like
        delta_k + delta'_k, at least 0.
    step_size, sigma_max : array_like
        Positive.
    sigma_min : array_like
        At least 0.
    initial_distance : array_like, default 0
        Of the start, in [0, 1].

    Notes
    -----
    FedRep, the display after equation (84).
    """
    y = _spread(delta, step_size, sigma_max)
    a = _gain(step_size, sigma_min, "initial_distance", initial_distance)
    return (1.0 - a + 2.0 * y) * triangle_bound(delta, step_size=step_size, sigma_max=sigma_max)


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

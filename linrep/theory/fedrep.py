r"""What FedRep's theorems state for linear models, as functions of the parameters.

Names shared by all functions here and in :mod:`linrep.theory.fedrep_lemmas`:

- ``d``, ``k``, ``m``: dimension, rank, and samples per client and round; ``participants``: the
  number rn of clients in a round;
- ``sigma_min``, ``sigma_max``: extreme singular values of W_I*/sqrt(rn) over all subsets I of rn
  clients; ``condition``: their ratio kappa, sigma_max over sigma_min;
- ``distance``, ``initial_distance``: principal-angle distances to B*, unsquared; E0 is
  1 - initial_distance^2;
- ``constant``: the absolute constant c, which the paper leaves open.

Arguments are numbers, or arrays that are broadcast against each other. A number out of its range is
a ValueError, what is no number a TypeError. Bounds are printed where their hypotheses fail, too;
where nothing is left of a bound it is infinite, and a bound on a probability is 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems.regression import SharedRepresentation
from linrep.theory._numbers import squared_cosine

Values = NDArray[np.float64]


# Theorem 1.


def condition(truth: SharedRepresentation, participants: int | None = None) -> float:
    """Return kappa = sigma_max/sigma_min over subsets of clients, infinite if sigma_min is 0.

    Exact where `sigma_max` and `sigma_min` of the truth are.

    Parameters
    ----------
    truth : SharedRepresentation
    participants : int, optional
        Size rn of the subsets; all clients by default.

    Notes
    -----
    FedRep, Theorem 1.
    """
    smallest = truth.sigma_min(participants)
    return truth.sigma_max(participants) / smallest if smallest > 0.0 else np.inf


def step_size_limit(sigma_max: ArrayLike) -> Values:
    """Return the largest step size that Theorem 1 allows, 1/(4 sigma_max^2).

    Parameters
    ----------
    sigma_max : array_like
        Positive.

    Notes
    -----
    FedRep, Theorem 1.
    """
    with np.errstate(divide="ignore"):  # of squares that underflow
        return 0.25 / check.numbers("sigma_max", sigma_max, above=0.0) ** 2


def contraction(
    sigma_min: SharedRepresentation | ArrayLike,
    *,
    step_size: ArrayLike,
    initial_distance: ArrayLike = 0.0,
) -> Values:
    r"""Return Theorem 1's bound on the factor by which each round contracts the distance.

    .. math:: \sqrt{1 - \tfrac12 \eta E_0 \sigma_{\min}^2}

    Parameters
    ----------
    sigma_min : float, array_like or SharedRepresentation
        The number itself, or the truth whose ``sigma_min()`` is meant, that of all clients
        together.
    step_size : array_like
        At most ``step_size_limit(sigma_max)`` in the theorem; here at most 2/sigma_min^2.
    initial_distance : array_like, default 0
        Of the start, in [0, 1]. The default gives the factor of starts close to B*, the smallest.

    Returns
    -------
    float or ndarray
        In [0, 1].

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range.

    Notes
    -----
    FedRep, Theorem 1, equation (11); Lemma 6.
    """
    if isinstance(sigma_min, SharedRepresentation):
        sigma_min = sigma_min.sigma_min()
    smallest = check.numbers("sigma_min", sigma_min, minimum=0.0)
    step_size = check.numbers("step_size", step_size, above=0.0)
    gain = 0.5 * step_size * squared_cosine("initial_distance", initial_distance) * smallest**2
    if np.any(gain > 1.0):
        raise ValueError(
            "step_size must be at most 2/(E0 sigma_min^2), far above Theorem 1's limit"
        )
    return np.sqrt(1.0 - gain)


def rounds(
    tolerance: ArrayLike, contraction: ArrayLike, initial_distance: ArrayLike = 1.0
) -> Values:
    """Return the least number of rounds after which a contracting distance is within a tolerance.

    Parameters
    ----------
    tolerance : array_like
        The distance wanted, positive.
    contraction : array_like
        Factor per round, in [0, 1], as :func:`contraction` returns it.
    initial_distance : array_like, default 1
        Distance of the start, in [0, 1].

    Returns
    -------
    float or ndarray
        Whole numbers; infinite where the factor is 1 and the start too far.

    Notes
    -----
    FedRep, Theorem 1, equation (11).
    """
    tolerance = check.numbers("tolerance", tolerance, above=0.0)
    factor = check.numbers("contraction", contraction, minimum=0.0, maximum=1.0)
    start = check.numbers("initial_distance", initial_distance, minimum=0.0, maximum=1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        missing, gain = np.log(start) - np.log(tolerance), np.abs(np.log(factor))
        needed = np.maximum(np.ceil(missing / gain), 1.0)
        # The quotient is rounded, and so are powers, whose last digits differ between libraries.
        reach = tolerance * (1.0 + 8.0 * np.finfo(np.float64).eps)
        needed = needed - (start * factor ** (needed - 1.0) <= reach)
    return np.where(start <= tolerance, 0.0, needed)[()]


def sample_size(
    d: ArrayLike,
    k: ArrayLike,
    participants: ArrayLike,
    *,
    condition: ArrayLike = 1.0,
    initial_distance: ArrayLike = 0.0,
    constant: float = 1.0,
) -> Values:
    r"""Return the samples per client and round that Theorem 1 requires.

    .. math:: c\,\frac{\kappa^4}{E_0^2} \Big(\frac{k^2 d}{rn} + k^3 \log(rn)\Big)

    Parameters
    ----------
    d, k, participants : array_like
        Dimension, rank, clients per round, at least 1.
    condition : array_like, default 1
        At least 1.
    initial_distance : array_like, default 0
        In [0, 1]; at 1, no number is enough.
    constant : float, default 1
        Positive.

    Returns
    -------
    float or ndarray
        Not rounded.

    Notes
    -----
    FedRep, Theorem 1 and Lemma 6. With a single participant the second term is zero.
    """
    start = squared_cosine("initial_distance", initial_distance)
    with np.errstate(divide="ignore"):
        return _samples(d, k, participants, condition, constant) / start**2


def gaussian_sample_size(
    d: ArrayLike,
    k: ArrayLike,
    participants: ArrayLike,
    *,
    sigma_min: ArrayLike | None = None,
    condition: ArrayLike = 1.0,
    initial_distance: ArrayLike = 0.0,
    failure: ArrayLike = 0.05,
    rounds: ArrayLike = 1.0,
) -> Values:
    r"""Return samples per client and round that are proved to be enough for normal covariates.

    .. math:: \max\Big(64\,(k + 2\log(rn) + 2t),\ \frac{900\,k\,(d + 2t)\,\kappa^2}
        {rn\,E_0^2\,\sigma_{\min}^2}\Big), \qquad t = \log\frac{7T}{\delta}

    With so many, no label noise and a step of at most 1/sigma_max^2, all of T rounds shrink the
    distance by 1 - step_size E0 sigma_min^2/2, the square of :func:`contraction`, except with
    probability delta.

    Parameters
    ----------
    d, k, participants : array_like
        Dimension, rank, clients per round, at least 1.
    sigma_min : array_like, optional
        Positive; by default 1/condition, the least that it can be with heads of norm sqrt(k).
    condition : array_like, default 1
        At least 1.
    initial_distance : array_like, default 0
        In [0, 1]; at 1, no number is enough.
    failure : array_like, default 0.05
        delta, in (0, 1].
    rounds : array_like, default 1
        T, at least 1.

    Returns
    -------
    float or ndarray
        Not rounded.

    Notes
    -----
    The statement `fedrep.theorem1.gaussian`, which no paper has: the derivation is linrep's. It has
    k d where FedRep's Theorem 1 has k^2 d, and constants.
    """
    d = check.numbers("d", d, minimum=1.0)
    k = check.numbers("k", k, minimum=1.0)
    rn = check.numbers("participants", participants, minimum=1.0)
    kappa = check.numbers("condition", condition, minimum=1.0)
    smallest = (
        1.0 / kappa if sigma_min is None else check.numbers("sigma_min", sigma_min, above=0.0)
    )
    failure = check.numbers("failure", failure, above=0.0, maximum=1.0)
    start = squared_cosine("initial_distance", initial_distance)
    t = np.log(7.0 * check.numbers("rounds", rounds, minimum=1.0)) - np.log(failure)
    with np.errstate(divide="ignore", over="ignore"):
        together = 900.0 * k * (d + 2.0 * t) * (kappa / (smallest * start)) ** 2 / rn
    return np.maximum(64.0 * (k + 2.0 * np.log(rn) + 2.0 * t), together)


def total_samples(
    tolerance: ArrayLike,
    d: ArrayLike,
    k: ArrayLike,
    participants: ArrayLike,
    *,
    condition: ArrayLike = 1.0,
    constant: float = 1.0,
) -> Values:
    r"""Return the samples per client, in all rounds together, that equation (12) states.

    .. math:: c\,\kappa^4 k^2 \Big(\frac{d}{rn} + k \log(rn)\Big) \log\frac1\varepsilon

    Parameters
    ----------
    tolerance : array_like
        The distance wanted, in (0, 1].
    d, k, participants, condition, constant
        As in :func:`sample_size`.

    Returns
    -------
    float or ndarray

    Notes
    -----
    FedRep, equation (12), which takes the factor per round and E0 for constants. By (11) at the
    step-size limit a round gains only E0/(16 kappa^2) in the logarithm, so that what Theorem 1 asks
    for, :func:`total_samples_of_theorem1`, has exponents 6 in kappa and -3 in E0.
    """
    tolerance = check.numbers("tolerance", tolerance, above=0.0, maximum=1.0)
    return _samples(d, k, participants, condition, constant) * -np.log(tolerance)


def total_samples_of_theorem1(
    tolerance: ArrayLike,
    d: ArrayLike,
    k: ArrayLike,
    participants: ArrayLike,
    *,
    condition: ArrayLike = 1.0,
    initial_distance: ArrayLike = 0.0,
    participation: ArrayLike = 1.0,
    constant: float = 1.0,
) -> Values:
    """Return the samples per client that Theorem 1 leads to: those of a round, times the rounds.

    Parameters
    ----------
    tolerance : array_like
        The distance wanted, as a share of the start's, in (0, 1].
    d, k, participants, condition, initial_distance, constant
        As in :func:`sample_size`.
    participation : array_like, default 1
        Fraction r of clients in a round, in (0, 1]: of T rounds a client takes part in rT.

    Returns
    -------
    float or ndarray
        Not rounded.

    Notes
    -----
    FedRep, Theorem 1 and equation (11) at the largest step size, where the factor per round is
    sqrt(1 - E0/(8 kappa^2)).
    """
    tolerance = check.numbers("tolerance", tolerance, above=0.0, maximum=1.0)
    share = check.numbers("participation", participation, above=0.0, maximum=1.0)
    kappa = check.numbers("condition", condition, minimum=1.0)
    gain = -0.5 * np.log1p(-squared_cosine("initial_distance", initial_distance) / (8.0 * kappa**2))
    samples = sample_size(
        d, k, participants, condition=kappa, initial_distance=initial_distance, constant=constant
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return samples * share * -np.log(tolerance) / gain


def failure_probability(
    rounds: ArrayLike, d: ArrayLike, k: ArrayLike, participants: ArrayLike
) -> Values:
    """Return the bound on the probability that Theorem 1's conclusion fails within some rounds.

    T exp(-100 min(k^2 log(rn), d)), at most 1: with a single participant the theorem says nothing.

    Parameters
    ----------
    rounds : array_like
        T, at least 0.
    d, k, participants : array_like
        Dimension, rank, clients per round, at least 1.

    Notes
    -----
    FedRep, Theorem 1; for one round also Lemma 6.
    """
    T = check.numbers("rounds", rounds, minimum=0.0)
    d = check.numbers("d", d, minimum=1.0)
    k = check.numbers("k", k, minimum=1.0)
    rn = check.numbers("participants", participants, minimum=1.0)
    return np.minimum(1.0, T * np.exp(-100.0 * np.minimum(k**2 * np.log(rn), d)))


# The start: Theorem 2.


def initial_sample_size(
    d: ArrayLike,
    k: ArrayLike,
    n: ArrayLike,
    *,
    sigma_min: ArrayLike,
    condition: ArrayLike = 1.0,
    constant: float = 1.0,
) -> Values:
    r"""Return the samples per client that Theorem 2 requires.

    .. math:: c\,\frac{\tilde\kappa^2 k d}{\sigma_{\min,*}^2 n}

    Parameters
    ----------
    d, k, n : array_like
        Dimension, rank, clients, at least 1.
    sigma_min : array_like
        Smallest singular value of W*/sqrt(kn), all clients together: smaller by sqrt(k) than that
        of Theorem 1.
    condition : array_like, default 1
        Of W*, at least 1.
    constant : float, default 1
        c with the logarithmic factors.

    Returns
    -------
    float or ndarray
        Not rounded.

    Notes
    -----
    FedRep, Theorem 2. Gaussian covariates.
    """
    d = check.numbers("d", d, minimum=1.0)
    k = check.numbers("k", k, minimum=1.0)
    n = check.numbers("n", n, minimum=1.0)
    smallest = check.numbers("sigma_min", sigma_min, above=0.0)
    kappa = check.numbers("condition", condition, minimum=1.0)
    constant = check.real("constant", constant, above=0.0)
    with np.errstate(divide="ignore"):  # of squares that underflow
        return constant * kappa**2 * k * d / (smallest**2 * n)


def initial_distance_bound(
    d: ArrayLike,
    k: ArrayLike,
    n: ArrayLike,
    m: ArrayLike,
    *,
    sigma_min: ArrayLike,
    condition: ArrayLike = 1.0,
    constant: float = 1.0,
) -> Values:
    """Return the bound on the distance of the moments start: :func:`initial_sample_size` over m.

    Parameters
    ----------
    d, k, n, sigma_min, condition, constant
        As in :func:`initial_sample_size`.
    m : array_like
        Samples per client, at least 1.

    Notes
    -----
    FedRep, Theorem 2, equation (86), as printed: of order 1/(mn), while Section 1.1 has m of order
    1/(n epsilon^2), hence a distance of order 1/sqrt(mn).
    """
    samples = initial_sample_size(
        d, k, n, sigma_min=sigma_min, condition=condition, constant=constant
    )
    return samples / check.numbers("m", m, minimum=1.0)


# The best global model, and the restricted isometry property.


def best_single_model(theta: ArrayLike) -> tuple[NDArray[np.float64], float]:
    r"""Return the global model that serves all clients best, and its error.

    Parameters
    ----------
    theta : array_like, shape (n, d)
        The clients' regression vectors as rows, ``truth.theta``.

    Returns
    -------
    model : ndarray, shape (d,)
        Their mean: (B, w) minimizes (5) if and only if B w is this vector.
    error : float
        The minimum of (5), half the mean squared distance from the mean.

    Notes
    -----
    FedRep, Section 2.1, equation (5).
    """
    theta = check.array("theta", theta, (None, None))
    model = theta.mean(axis=0)
    return model, float(0.5 * np.mean(np.sum((theta - model) ** 2, axis=1)))


def one_row_ratios(X: ArrayLike) -> tuple[float, float]:
    r"""Return the extremes of :math:`\|A(M)\|^2/(m\|M\|_F^2)` over all M of rank 1.

    Parameters
    ----------
    X : array_like, shape (n, m, d) or (m, d)
        Covariates of each client, or of one.

    Returns
    -------
    smallest, largest : float
        1-RIP holds with a parameter if and only if both are within it of 1.

    Notes
    -----
    FedRep, Definition 4 and Claim 1. For M = u v' the ratio is a mean of :math:`\|X_iv\|^2/m`,
    weighted by the squares of u: extremes have one row, and are extreme eigenvalues of X_i'X_i/m.
    With m < d the smallest is 0, whatever the data.
    """
    X = check.array("X", X, (None, None, None) if np.ndim(X) == 3 else (None, None))
    m, d = X.shape[-2:]
    values = np.linalg.svd(X, compute_uv=False) ** 2 / m
    return float(values.min()) if m >= d else 0.0, float(values.max())


def witness_ratio(X: ArrayLike) -> Values:
    r"""Return :math:`\|A(M)\|^2/(m\|M\|_F^2)` for the proof's M, the first sample in its row.

    Parameters
    ----------
    X : array_like, shape (..., m, d)
        Covariates of a client, or of many.

    Returns
    -------
    float or ndarray, shape (...)
        At least ||x_1||^2/m; 1 + (d - 1)/m in expectation, for isotropic covariates.

    Notes
    -----
    FedRep, Claim 1, equation (88).
    """
    X = check.array("X", X, None)
    if X.ndim < 2:
        raise ValueError(f"X must have shape (..., m, d), got {X.shape}")
    products = (X @ X[..., :1, :].swapaxes(-1, -2))[..., 0]
    if not (products[..., 0] > 0.0).all():
        raise ValueError("X must not hold a client whose first sample is zero")
    return np.sum(products**2, axis=-1) / (X.shape[-2] * products[..., 0])


def _samples(d, k, participants, condition, constant):
    d = check.numbers("d", d, minimum=1.0)
    k = check.numbers("k", k, minimum=1.0)
    rn = check.numbers("participants", participants, minimum=1.0)
    kappa = check.numbers("condition", condition, minimum=1.0)
    constant = check.real("constant", constant, above=0.0)
    return constant * kappa**4 * k**2 * (d / rn + k * np.log(rn))


checked(globals(), nan=False, large=False)

r"""PerFedSI near the truth, without noise: exact rates of linear maps.

A step on client z's entry of item i maps the error of the factors, :math:`\delta`, to
:math:`(I - \eta aa^\top)\delta` with :math:`a = (e_i \otimes V^\top z, z \otimes u_i)`. Directions
that change no entry are left out. docs/learning-curves.md has the derivation.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.sparse.linalg import LinearOperator

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.lanczos import largest_eigenvalue
from linrep.problems.completion import SideInformationCompletion
from linrep.problems.random import RNGLike, generator
from linrep.stats import mean_interval

_RANK = 1e-10  # relative: below, a direction changes no entry
_ROOT = 1e-10  # relative: of the step limit
_RUNS = 10_000  # at most, of the linear map


def mean_rate(truth: SideInformationCompletion, *, step_size: float, local_steps: int = 5) -> float:
    """Return the factor per round of the mean of the error.

    Parameters
    ----------
    truth : SideInformationCompletion
        A small one: matrices of ((d + p)k)^2 numbers are made.
    step_size : float
    local_steps : int, default 5

    Returns
    -------
    float
        Largest absolute eigenvalue of the map of a round's mean error.
    """
    step = check.real("step_size", step_size, above=0.0)
    steps = check.integer("local_steps", local_steps, minimum=1)
    return _largest(_mean(_features(truth), step, steps))


def mean_square_rate(
    truth: SideInformationCompletion,
    *,
    step_size: float,
    local_steps: int = 5,
    participants: int = 1,
) -> float:
    """Return the factor per round of the mean of the squared error.

    Parameters
    ----------
    truth : SideInformationCompletion
        A small one: n matrices of ((d + p)k)^2 numbers are made.
    step_size : float
    local_steps : int, default 5
    participants : int, default 1
        Clients per round, drawn independently.

    Returns
    -------
    float
        Runs contract in mean square if and only if it is below 1.
    """
    step = check.real("step_size", step_size, above=0.0)
    steps = check.integer("local_steps", local_steps, minimum=1)
    count = check.integer("participants", participants, minimum=1)
    return _mean_square(_features(truth), step, steps, count)


def typical_rate(
    truth: SideInformationCompletion,
    *,
    step_size: float,
    local_steps: int = 5,
    participants: int = 1,
    rounds: int = 400,
    runs: int = 64,
    rng: RNGLike = None,
) -> tuple[float, float, float]:
    """Return the factor per round of a typical run, with its 95 % interval.

    That is e to the Lyapunov exponent of the product of a round's linear maps, which has no closed
    form: it is the mean of the logarithm, over runs of the linear map, while the mean square is
    that of rare runs.

    Parameters
    ----------
    truth, step_size, local_steps, participants
        As for :func:`mean_square_rate`.
    rounds : int, default 400
        Of each run; the first half, in which its direction settles, is left out.
    runs : int, default 64
        From 2 to 10,000.
    rng : optional
        Anything `numpy.random.default_rng` takes.

    Returns
    -------
    rate, low, high : float
    """
    step = check.real("step_size", step_size, above=0.0)
    steps = check.integer("local_steps", local_steps, minimum=1)
    count = check.integer("participants", participants, minimum=1, maximum=_RUNS)
    rounds = check.integer("rounds", rounds, minimum=2)
    runs = check.integer("runs", runs, minimum=2, maximum=_RUNS)
    rng = generator(rng)
    features = _features(truth)
    n, d, size = features.shape
    error, logs = rng.standard_normal((runs, 1, size)), np.zeros(runs)
    for t in range(rounds):
        who = rng.integers(n, size=(runs, count))
        moved = np.repeat(error, count, axis=1)
        for _ in range(steps):
            a = features[who, rng.integers(d, size=who.shape)]
            moved -= step * np.sum(a * moved, axis=-1, keepdims=True) * a
        error = moved.mean(axis=1, keepdims=True)
        length = np.linalg.norm(error, axis=-1, keepdims=True)
        error /= length
        if t >= rounds // 2:
            logs += np.log(length[:, 0, 0]) / (rounds - rounds // 2)
    middle, low, high = mean_interval(logs)
    return float(np.exp(middle)), float(np.exp(low)), float(np.exp(high))


def step_limit(
    truth: SideInformationCompletion, *, local_steps: int = 5, participants: int = 1
) -> float:
    """Return the step size up to which runs contract in mean square.

    Parameters
    ----------
    truth, local_steps, participants
        As for :func:`mean_square_rate`.

    Returns
    -------
    float
        Where :func:`mean_square_rate` is 1: for one local step it is below 1 for all shorter steps.
    """
    steps = check.integer("local_steps", local_steps, minimum=1)
    count = check.integer("participants", participants, minimum=1)
    features = _features(truth)

    def excess(step):
        return _mean_square(features, step, steps, count) - 1.0

    high = 1.0 / np.max(np.sum(features**2, axis=2))
    while excess(high) < 0.0:
        high *= 2.0
    return float(brentq(excess, high / 2.0, high, rtol=_ROOT))


def small_step_rate(
    truth: SideInformationCompletion, *, step_size: float, local_steps: int = 5
) -> float:
    r"""Return the factor per round for small steps, 1 - eta tau sigma_k/d.

    Parameters
    ----------
    truth : SideInformationCompletion
        With balanced factors, isotropic side information, :math:`Z^\top Z/n = I`, and k below d
        and p.
    step_size : float
    local_steps : int, default 5

    Returns
    -------
    float
        To first order in the step.
    """
    check.instance("truth", truth, SideInformationCompletion)
    step = check.real("step_size", step_size, above=0.0)
    steps = check.integer("local_steps", local_steps, minimum=1)
    _, Z = _read(truth)
    left, right = truth.U.T @ truth.U, truth.V.T @ truth.V
    if not np.allclose(left, right, rtol=1e-6, atol=1e-6 * np.abs(left).max()):
        raise ValueError("truth must have balanced factors, U'U = V'V")
    if not np.allclose(Z.T @ Z / truth.n, np.eye(Z.shape[1]), atol=1e-6):
        raise ValueError("truth must have isotropic side information, Z'Z/n = I")
    if truth.k >= min(truth.d, Z.shape[1]):
        raise ValueError(f"k must be below d and p, got k = {truth.k}")
    return float(1.0 - step * steps * np.linalg.eigvalsh(left)[0] / truth.d)


def _read(truth):
    check.instance("truth", truth, SideInformationCompletion)
    Z = np.eye(truth.n) if truth.Z is None else truth.Z
    return (truth.d + Z.shape[1]) * truth.k, Z


def _features(truth):
    """Return the vectors a of clients and items, in a basis of what changes entries."""
    size, Z = _read(truth)
    n, d, k = truth.n, truth.d, truth.k
    features = np.zeros((n, d, size))
    ahead = Z @ truth.V
    for i in range(d):
        features[:, i, i * k : (i + 1) * k] = ahead
        features[:, i, d * k :] = (Z[:, :, None] * truth.U[i]).reshape(n, -1)
    flat = features.reshape(-1, size)
    squares, basis = np.linalg.eigh(flat.T @ flat)
    return features @ basis[:, squares > _RANK * squares[-1]]


def _mean(features, step, steps):
    n, d, size = features.shape
    total = np.zeros((size, size))
    for each in features:
        total += np.linalg.matrix_power(np.eye(size) - step * each.T @ each / d, steps) / n
    return total


def _mean_square(features, step, steps, participants):
    """Return the largest eigenvalue of the map, that of a positive semidefinite matrix."""
    n, d, size = features.shape
    mean, turned = _mean(features, step, steps), np.swapaxes(features, 1, 2)
    drift = step * turned @ features / d

    def image(flat):
        start = flat.reshape(size, size)
        start = (start + start.T) / 2.0
        moments = np.tile(start, (n, 1, 1))
        for _ in range(steps):
            moved = drift @ moments
            squares = np.sum((features @ moments) * features, axis=2)
            spread = (turned * squares[:, None]) @ features
            moments = moments - moved - np.swapaxes(moved, 1, 2) + step**2 / d * spread
        alone = moments.mean(axis=0) / participants
        return (alone + (1.0 - 1.0 / participants) * mean @ start @ mean).ravel()

    start = np.eye(size).ravel()
    if size == 1:
        return float(image(start)[0])
    operator = LinearOperator((size**2, size**2), matvec=image, dtype=float)
    return largest_eigenvalue(operator, start)


def _largest(symmetric):
    return float(np.abs(np.linalg.eigvalsh(symmetric)).max())


checked(globals(), nan=False, large=False)

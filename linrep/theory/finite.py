r"""FedRep at finite n, d, m and rn: the mean of a round exactly, and what follows from it.

Exact heads, fresh Gaussian batches, the gradient on the head's own batch, near B* also on another.
A client's head errs independently of what its batch says outside of span(B), so that second moments
of a round have a closed form at every size; docs/learning-curves.md derives it. In the coordinates
of :mod:`linrep.theory.asymptotics.learning_curves`, which has what these become as d and n grow,

.. math:: C = B^\top B^*, \qquad E = B^\top (I - B^* B^{*\top}) B = I - C C^\top.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.warning import warn
from linrep.problems.random import RNGLike, generator
from linrep.problems.regression import SharedRepresentation
from linrep.theory._clients import require_gaussian, require_spanning
from linrep.theory.asymptotics import learning_curves
from linrep.theory.asymptotics.learning_curves import PARTICLES, Curve, outside_gram
from linrep.theory.asymptotics.starts import STARTS
from linrep.theory.fedrep_limits import BATCHES

Values = NDArray[np.float64]
#: By what :func:`linrep.fedrep` calls them.
_BATCHES = {"fresh": "same", "gram": "same", "split": "split", "gram_split": "split"}
_SETTINGS = {
    "batches", "head_step_size", "local_steps", "normalization", "orthonormal", "participants",
}  # fmt: skip
#: tan^2 of the start's angle over the participants, from where runs end about a tenth away.
_NOTICEABLE = 0.1
_EQUAL = 1e-9  # relative difference up to which eigenvalues are one


class Moments(NamedTuple):
    """Means over a round, given B, of what it makes of B before the QR factorization, B~.

    Attributes
    ----------
    outside : ndarray, shape (k, k)
        Of B~' (I - B* B*') B~.
    gram : ndarray, shape (k, k)
        Of B~' B~.
    """

    outside: Values
    gram: Values


def round_moments(
    W: ArrayLike,
    C: ArrayLike,
    E: ArrayLike,
    *,
    d: int,
    m: int,
    step_size: float,
    participants: int | None = None,
    noise: float = 0.0,
) -> Moments:
    r"""Return the second moments of a round of FedRep, exactly.

    Parameters
    ----------
    W : array_like, shape (n, k)
        True heads, of any lengths.
    C, E : array_like, shape (k, k)
        B' B*, and I - C C'.
    d : int
        Dimension, at least k.
    m : int
        Samples in a batch, at least k + 2: with fewer, heads have no second moment.
    step_size : float
        Eta, positive.
    participants : int, optional
        Clients in a round, drawn without replacement; all by default.
    noise : float, default 0
        Standard deviation of the labels' noise.

    Returns
    -------
    Moments

    Notes
    -----
    With :math:`N` participants, :math:`\nu = m - k`, :math:`h = \eta\nu/m`,
    :math:`\beta = (N-1)/(n-1)`, S the mean of ww', :math:`F = CSC^\top`, P = I - C'C,
    :math:`q = w^\top P w + \sigma^2`, and bars for means over the clients,

    .. math:: \mathbb E\,\tilde B^\top(I - B^*B^{*\top})\tilde B = E - h(EF + FE)
              + \mathcal M(C^\top E C,\ d - k - \mathrm{tr} P), \quad
              \mathbb E\,\tilde B^\top\tilde B = I + \mathcal M(P,\ d - k),

    .. math:: \mathcal M(G, t) = \frac{\eta^2}{m^2}\Big\{\frac1N C\,
              \overline{(v - \beta\nu^2 a)\, w w^\top}\,C^\top
              + \frac{\overline{v q}}{N(\nu - 1)} I
              + \frac{\beta n}N \nu^2\, C S G S C^\top\Big\}, \quad
              a = w^\top G w, \quad v = \nu(\nu + 1) a + \nu q t.
    """
    W = check.array("W", W, (None, None))
    n, k = W.shape
    C = check.array("C", C, (k, k))
    E = check.array("E", E, (k, k))
    d = check.integer("d", d, minimum=k)
    m = check.integer("m", m, minimum=k + 2)
    eta = check.real("step_size", step_size, above=0.0)
    N = n if participants is None else participants
    N = check.integer("participants", N, minimum=1, maximum=n)
    noise = check.real("noise", noise, minimum=0.0)

    nu, both = m - k, _both(N, n)
    S, P, fitted = W.T @ W / n, outside_gram(C, E), W @ C.T
    q = np.einsum("ia,ab,ib->i", W, P, W) + noise**2

    def squared(G, trace):
        a = np.einsum("ia,ab,ib->i", W, G, W)
        v = nu * (nu + 1) * a + nu * q * trace
        own = (fitted.T * (v - both * nu**2 * a)) @ fitted / n
        own += np.mean(v * q) / (nu - 1) * np.eye(k)
        pairs = both * n * nu**2 * (C @ S @ G @ S @ C.T)
        return eta**2 / (m**2 * N) * (own + pairs)

    slope = eta * nu / m * (E @ C @ S @ C.T)
    outside = E - slope - slope.T + squared(C.T @ E @ C, d - k - np.trace(P))
    return Moments(outside, np.eye(k) + squared(P, d - k))


def fedrep(
    truth: SharedRepresentation,
    *,
    m: int,
    step_size: float,
    rounds: int,
    start: float | str | tuple[ArrayLike, ArrayLike] = "moments",
    participation: float = 1.0,
    rng: RNGLike = None,
) -> Curve:
    r"""Return the learning curve of FedRep at its own n, d and number of participants.

    Parameters
    ----------
    truth : SharedRepresentation
        Of Gaussian covariates.
    m, step_size, rounds, start, rng
        As for :func:`linrep.theory.asymptotics.learning_curves.fedrep`, with exact heads on one
        batch.
    participation : float, default 1
        Fraction r of clients in a round; rn is rounded as by :func:`linrep.fedrep`.

    Returns
    -------
    Curve
        Its ``squared_chordal``, the sum of the squared sines, is that of the mean square of runs.
        Its ``distance`` is the largest sine of the mean: that of runs is larger where several
        angles are nearly equal, see docs/learning-curves.md.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range.

    Notes
    -----
    A round leads from E to :math:`R^{-\top} X R^{-1}`, where X and R'R are the exact means of
    :func:`round_moments`. So it is the mean of a ratio that is taken for a ratio of means, and a
    mean over the state that is taken for the state. Near B* both are exact. From afar the curve is
    below the mean square of runs: in docs/learning-curves.md it is .81 to .97 of it for 1 to 5
    participants and a start at 0.5, and .41 to .73 at 0.9. Where it may be a tenth or more below, a
    warning says so.
    """
    require_gaussian(truth, "the mean of a round")
    n, k = truth.n, truth.k
    rounds = check.integer("rounds", rounds, minimum=0)
    N = check.count_participants(n, participation)
    C, E = learning_curves.first_state(truth, m, start, generator(rng))
    states = [E]
    square = float(np.linalg.eigvalsh(E)[-1])
    if rounds and square > _NOTICEABLE * N * (1.0 - square):
        warn(
            f"from a distance of {np.sqrt(square):.3g} with {N} participants the mean square of "
            "runs ends about a tenth or more above this curve, see docs/learning-curves.md",
            UserWarning,
            "a far start for the participants",
        )
    for _ in range(rounds):
        outside, gram = round_moments(
            truth.W, C, E, d=truth.d, m=m, step_size=step_size, participants=N, noise=truth.noise
        )
        top = C.T + step_size * (1.0 - k / m) * outside_gram(C, E) @ (truth.W.T @ truth.W / n) @ C.T
        inverse = np.linalg.inv(np.linalg.cholesky(gram).T)
        E = inverse.T @ outside @ inverse
        E = (E + E.T) / 2.0
        C = _inner(E, (top @ inverse).T)
        states.append(E)
    return learning_curves.curve_of(states, C)


def _inner(E, near):
    """Return C with CC' = I - E and the orthogonal factor of a matrix near it."""
    U, _, VT = np.linalg.svd(near)
    values, vectors = np.linalg.eigh(E)
    return (vectors * np.sqrt(np.clip(1.0 - values, 0.0, 1.0))) @ vectors.T @ U @ VT


def _both(participants, n):
    """Return how often another given client takes part where one does."""
    return (participants - 1.0) / (n - 1.0) if n > 1 else 1.0


def of_run(
    truth: SharedRepresentation,
    settings: Mapping[str, Any],
    *,
    rounds: int | None = None,
    start: float | str | tuple[ArrayLike, ArrayLike] | None = None,
    particles: int = PARTICLES,
    rng: RNGLike = None,
) -> Curve:
    """Return the learning curve that belongs to a run of FedRep, at its own size where known.

    That is :func:`fedrep` for exact heads on one batch. For heads that are stepped, or another
    batch for the gradient, it is the limit,
    :func:`linrep.theory.asymptotics.learning_curves.fedrep`.

    Parameters
    ----------
    truth : SharedRepresentation
        What the run was on.
    settings : mapping
        Of its trace.
    rounds : int, optional
        By default as many as the run was given.
    start : float, "moments", "truncated" or pair (C, E), optional
        By default the run's, if that is a distance or one of these two. For another, such as
        "random", the trace's first distance is a choice, which takes all angles for equal.
    particles, rng
        As for the limit.

    Returns
    -------
    Curve

    Raises
    ------
    ValueError, TypeError
        If the run is not one of FedRep on fresh batches, or neither is known.

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.SharedRepresentation.random(n=20, d=10, k=2, rng=0)
    >>> run = lr.fedrep(truth, m=10, rounds=20, start=0.5, rng=1)
    >>> curve = lr.theory.finite.of_run(truth, run.settings)
    >>> bool(abs(curve.distance[-1] / run["distance"][-1] - 1) < 0.2)
    True
    """
    particles = check.integer("particles", particles, minimum=1)
    missing = _SETTINGS - set(settings)
    if missing:
        raise ValueError(f"settings must be those of a run of FedRep, {min(missing)} is missing")
    batches = settings["batches"]
    if batches not in _BATCHES:
        raise ValueError(f"settings must be of batches {', '.join(_BATCHES)}, got {batches}")
    if not settings["orthonormal"]:
        raise ValueError("settings must be of rounds with a QR factorization")
    start = settings["start"] if start is None else start
    if isinstance(start, str) and start not in STARTS:
        raise ValueError(f"start must be given: where {start!r} leads has no limit")
    participants, batches = settings["participants"], _BATCHES[batches]
    given = {
        "m": settings["m"],
        "step_size": settings["step_size"]
        * (participants if settings["normalization"] == "published" else 1),
        "rounds": settings["rounds"] if rounds is None else rounds,
        "start": start,
        "participation": participants / truth.n,
        "rng": rng,
    }
    if batches == "same" and settings["local_steps"] is None:
        return fedrep(truth, **given)
    return learning_curves.fedrep(
        truth,
        batches=batches,
        local_steps=settings["local_steps"],
        head_step_size=settings["head_step_size"],
        particles=particles,
        **given,
    )


def contraction(
    truth: SharedRepresentation,
    *,
    m: int,
    step_size: float,
    participation: float = 1.0,
    batches: str = "same",
) -> float:
    r"""Return the factor per round of the root mean square distance near B*, without noise.

    Parameters
    ----------
    truth, m, step_size, participation
        As for :func:`fedrep`.
    batches : {"same", "split"}
        Whether the gradient is taken on the head's batch (``"fresh"`` and ``"gram"`` of
        :func:`linrep.fedrep`), or on another one of m samples (``"split"`` and ``"gram_split"``).

    Returns
    -------
    float
        Of runs from near B*; exact. The mean square contracts if and only if it is below 1.

    Notes
    -----
    Near B* the distance is small, C orthogonal, and the means of :func:`round_moments` linear:
    rho^2 is the spectral radius of

    .. math:: E \mapsto E - h(SE + ES) + \frac{\beta n}N h^2 SES
              + \frac{\eta^2\nu g}{N m^2}\,\overline{(w^\top E w)\, w w^\top}, \qquad
              g = d - k + 1 + \nu\frac{n - N}{n - 1}.

    On another batch :math:`\nu = m`, h = eta, and g has :math:`(d - k)(1 + k/(m - k - 1))` for
    d - k: the head's error acts like noise.
    """
    near = _near(truth, m, step_size, participation, batches)
    return float(np.sqrt(_dominant_direction(truth, *near)[0]))


def floor(
    truth: SharedRepresentation,
    *,
    m: int,
    step_size: float,
    participation: float = 1.0,
    batches: str = "same",
) -> float:
    r"""Return the mean of the squared sines' sum at which runs settle, for small noise.

    With all clients, on one batch, to first order in the step size
    :math:`\eta\sigma^2 (d - k) k/(2nm)`, whatever the heads' spectrum lambda_a; in full

    .. math:: \frac{\eta\sigma^2 (d - k)}{nm} \sum_{a=1}^k \frac1{2 - \eta(1 - k/m)\lambda_a}

    but for what the sampling of covariates adds, which is of relative order :math:`\eta d/(nm)` and
    part of what is returned.

    Parameters
    ----------
    truth, m, step_size, participation, batches
        As for :func:`contraction`; the heads span R^k.

    Returns
    -------
    float
        Infinite where the mean square grows from round to round. The square of the ``distance`` of
        traces, the largest sine, is between a k-th of it and all of it.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or the heads do not span R^k.

    Notes
    -----
    A round adds :math:`\eta^2\nu\sigma^2(d - k)/(Nm^2)\, S` to the map of :func:`contraction`, on
    another batch 1 + k/(m - k - 1) times as much. The fixed point is exact for vanishing noise at
    any step size. FedRep states nothing about noise; ``fedrep.noise_floor`` compares runs with the
    formula above.
    """
    if truth.d == truth.k:
        return 0.0
    h, weight, pairs = _near(truth, m, step_size, participation, batches)
    require_spanning(truth)
    step = _near_map(truth, h, weight, pairs)
    if np.linalg.eigvalsh(step)[-1] >= 1.0:
        return np.inf
    n, k = truth.n, truth.k
    N = check.count_participants(n, participation)
    nu, head = _freedom(m, k, batches)
    added = (step_size / m * truth.noise) ** 2 * nu * (truth.d - k) * (1.0 + head) / N
    change = np.eye(k**2) - step
    return float(
        np.trace(np.linalg.solve(change, added * (truth.W.T @ truth.W / n).ravel()).reshape(k, k))
    )


def fluctuation(
    truth: SharedRepresentation,
    *,
    m: int,
    step_size: float,
    participation: float = 1.0,
    rounds: int = 1,
) -> float:
    r"""Return the standard deviation of the logarithm of a single run's chordal distance near B*.

    With :math:`\nu = m - k`, :math:`K = I - hS`, E the dominant direction of what
    :func:`contraction`'s map is for many clients and dimensions,
    :math:`E \mapsto KEK + N`, of Frobenius norm one, and rho its factor, T rounds have the variance
    :math:`T v/(4\rho^4)`,

    .. math:: v = \frac{2\nu}{rn}\,\overline{c^2} + \nu^2 \frac{1 - \beta}{rn}\,
              \mathrm{Var}(c) + \frac{4\eta^2\nu}{rn\,m^2}\,
              \overline{q\,\|K E w\|_E^2 - (w^\top E K E w)^2}
              + \frac{2}{d - k} \mathrm{tr}\big((EN)^2\big)

    where bars are means over the clients' heads w, :math:`\beta = (rn - 1)/(n - 1)`, q = w'Ew,
    :math:`\|x\|_E^2 = x^\top E x`,

    .. math:: c = \frac{\eta^2\gamma}{m^2} q^2 - \frac{2\eta}m w^\top E K E w, \qquad
              N = \frac{\eta^2\gamma\nu}{m^2}\,\overline{q\,w w^\top}, \qquad
              \gamma = \frac{d - k}{rn}.

    The terms come from the residuals' squared lengths, the choice of participants, the residuals'
    directions within the span of B*'s error, and those outside.

    Parameters
    ----------
    truth, m, step_size, participation
        As for :func:`fedrep`; d above k.
    rounds : int, default 1
        T, counted from where E has its dominant direction.

    Returns
    -------
    float
        To first order in 1/sqrt(rn), without noise.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or d = k.
    """
    h, _, _ = _near(truth, m, step_size, participation)
    rounds = check.integer("rounds", rounds, minimum=0)
    W, (n, k) = truth.W, truth.W.shape
    N, nu, eta = check.count_participants(n, participation), float(m - k), step_size / m
    gamma = (truth.d - k) / N
    value, E = _dominant_direction(truth, h, eta**2 * gamma * nu, 1.0)
    K = np.eye(k) - h * (W.T @ W / n)
    KEW = W @ E @ K  # rows w'EK
    q = np.einsum("ia,ab,ib->i", W, E, W)
    along = np.einsum("ia,ab,ib->i", KEW, E, W)
    across = q * np.einsum("ia,ab,ib->i", KEW, E, KEW) - along**2
    c = eta**2 * gamma * q**2 - 2.0 * eta * along
    EN = eta**2 * gamma * nu * (E @ (W.T * q) @ W) / n
    variance = 2.0 * nu / N * np.mean(c**2) + 4.0 * eta**2 * nu / N * np.mean(across)
    variance += nu**2 * (1.0 - _both(N, n)) / N * np.var(c)
    variance += 2.0 / (truth.d - k) * np.sum(EN * EN.T)
    return float(np.sqrt(rounds * variance) / (2.0 * value))


def typical_contraction(
    truth: SharedRepresentation, *, m: int, step_size: float, participation: float = 1.0
) -> float:
    r"""Return the factor per round of a typical run near B*, without noise.

    The mean square is that of few runs with large distances. A single run's logarithm is below its
    logarithm by the variance of a round, to second order in a round's fluctuation:

    .. math:: \rho\,e^{-v}, \qquad v = \mathrm{fluctuation}^2

    Parameters
    ----------
    truth, m, step_size, participation
        As for :func:`fluctuation`.

    Returns
    -------
    float
        Of the Lyapunov exponent, with rho by :func:`contraction`. Within 0.001 of runs where the
        fluctuation is below 0.11, and 0.004 below them at 0.13 and 0.14: at one participant, or
        long steps of few.
    """
    rho = contraction(truth, m=m, step_size=step_size, participation=participation)
    single = fluctuation(truth, m=m, step_size=step_size, participation=participation)
    return float(rho * np.exp(-(single**2)))


def step_limit(truth: SharedRepresentation, *, m: int, participation: float = 1.0) -> float:
    """Return the step size below which the mean square contracts near B*, without noise.

    Parameters
    ----------
    truth, m, participation
        As for :func:`fedrep`; the heads span R^k.

    Returns
    -------
    float
        Where :func:`contraction` is 1.
    """
    _, weight, pairs = _near(truth, m, 1.0, participation)
    require_spanning(truth)
    kept = 1.0 - truth.k / m
    slope, spread, squares = _second_moments(truth)
    return float(
        1.0 / eigh(kept**2 * pairs * squares + weight * spread, kept * slope, eigvals_only=True)[-1]
    )


def least_samples(
    truth: SharedRepresentation, *, step_size: float, participation: float = 1.0
) -> int:
    """Return the least number of samples with which the mean square contracts near B*.

    Parameters
    ----------
    truth, participation
        As for :func:`fedrep`; the heads span R^k.
    step_size : float
        Below the limit of many samples.

    Returns
    -------
    int
        At least k + 2.
    """
    n, k = truth.n, truth.k
    N = check.count_participants(n, participation)
    eta = check.real("step_size", step_size, above=0.0)
    _require_distances(truth)
    require_spanning(truth)
    slope, spread, squares = _second_moments(truth)
    both = _both(N, n)
    # Of m it is enough that (m - k) many > few.
    many = slope - eta / N * (both * n * squares + (1.0 - both) * spread)
    few = eta * (truth.d - k + 1.0) / N * spread - k * slope
    if np.linalg.eigvalsh(many)[0] <= 0.0:
        longest = N / eigh(both * n * squares + (1.0 - both) * spread, slope, eigvals_only=True)[-1]
        raise ValueError(f"step_size must be below {longest:.4g}, got {eta:g}: else no m is enough")
    nu = eigh(few, many, eigvals_only=True)[-1]
    return k + max(2, int(np.floor(nu)) + 1)


def _second_moments(truth):
    """Return the maps E -> SE + ES, mean (w'Ew) ww' and SES as matrices."""
    W, (n, k) = truth.W, truth.W.shape
    S, one = W.T @ W / n, np.eye(k)
    both = np.einsum("ia,ib->iab", W, W).reshape(n, k * k)
    return np.kron(S, one) + np.kron(one, S), both.T @ both / n, np.kron(S, S)


def _near(truth, m, step_size, participation, batches="same"):
    """Return h, and the factors of the mean of (w'Ew) ww' and of h^2 SES."""
    _require_distances(truth)
    n, k = truth.n, truth.k
    m = check.integer("m", m, minimum=k + 2)
    eta = check.real("step_size", step_size, above=0.0)
    N = check.count_participants(n, participation)
    (nu, head), both = _freedom(m, k, batches), _both(N, n)
    g = (truth.d - k) * (1.0 + head) + 1.0 + nu * (1.0 - both)
    return eta * nu / m, eta**2 * nu * g / (N * m**2), both * n / N


def _require_distances(truth):
    require_gaussian(truth, "the mean of a round")
    if truth.d == truth.k:
        raise ValueError(f"truth must have d > k, got d = k = {truth.k}: every distance is zero")


def _freedom(m, k, batches):
    """Return nu, and the mean square of a head's error, over that of the residuals."""
    check.choice("batches", batches, BATCHES)
    return (m - k, 0.0) if batches == "same" else (m, k / (m - k - 1.0))


def _near_map(truth, h, weight, pairs):
    slope, spread, squares = _second_moments(truth)
    return np.eye(truth.k**2) - h * slope + pairs * h**2 * squares + weight * spread


def _dominant_direction(truth, h, weight, pairs):
    """Return the largest eigenvalue of the map of second moments near B*, and its direction.

    As the mean of maps that keep matrices positive semidefinite the map does so, too, and no
    eigenvalue is larger in absolute value; where several are equal, the direction is what equal
    angles lead to.
    """
    values, vectors = np.linalg.eigh(_near_map(truth, h, weight, pairs))
    equal = vectors[:, values >= values[-1] * (1.0 - _EQUAL)]
    E = (equal @ (equal.T @ np.eye(truth.k).ravel())).reshape(truth.k, truth.k)
    return float(values[-1]), E / np.linalg.norm(E)


checked(globals(), nan=False, large=False)

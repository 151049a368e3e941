r"""FedRep's rounds as the number rn of clients in a round goes to infinity, m fixed or infinite.

A frame B sees the truth as

.. math:: B^* = BC + F\Phi,

F being an orthonormal basis of what B* adds to span(B). The singular values of Phi are the sines of
the principal angles. Means over data are exact for Gaussian covariates; docs/gram.md derives the
law of a batch in these coordinates, from which they follow. With infinitely many samples they hold
for any covariates of covariance I.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems.regression import SharedRepresentation
from linrep.problems.subspace import orthonormalize
from linrep.theory._numbers import squared_cosine

Values = NDArray[np.float64]
BATCHES = ("same", "split")


def coordinates(truth: SharedRepresentation, B: ArrayLike) -> tuple[Values, Values]:
    """Return C = B' B* and Phi with B* = B C + F Phi, for some orthonormal F orthogonal to B.

    Parameters
    ----------
    truth : SharedRepresentation
    B : array_like, shape (d, k), or float
        Basis of full column rank; or a distance in [0, 1], all principal angles being equal, which
        needs d >= 2k and no stored B*.

    Returns
    -------
    C, Phi : ndarray, shape (k, k)
        Phi up to a rotation from the left, C too for a distance: neither changes what follows.
    """
    d, k = truth.d, truth.k
    if np.ndim(B) == 0:
        if d < 2 * k:
            raise ValueError(f"equal angles need d >= 2k = {2 * k}, got d = {d}")
        cosine = np.sqrt(squared_cosine("B, a distance,", B))
        return cosine * np.eye(k), float(np.asarray(B)) * np.eye(k)
    frame = orthonormalize(check.array("B", B, (d, k)))
    C = frame.T @ truth.B
    outside = truth.B - frame @ C
    return C, np.linalg.qr(outside - frame @ (frame.T @ outside))[1]


def mean_gradient(
    W: ArrayLike,
    C: ArrayLike,
    Phi: ArrayLike,
    *,
    m: int | None = None,
    noise: float = 0.0,
    batches: str = "same",
) -> tuple[Values, Values]:
    r"""Return the mean over data of clients' gradients X'(X B w - y) w'/m at exact heads.

    In coordinates of B and F, with S the mean of w* w*' over the clients,

    .. math:: \text{same batch:}\quad 0, \quad -\Big(1 - \frac km\Big)\Phi S C^\top; \qquad
              \text{split batch:}\quad v I, \quad -\Phi S C^\top, \qquad
              v = \frac{\mathrm{tr}(\Phi S\Phi^\top) + \sigma^2}{m - k - 1}

    Parameters
    ----------
    W : array_like, shape (n, k)
        True heads of the clients averaged over.
    C : array_like, shape (k, k)
    Phi : array_like, shape (p, k)
        As :func:`coordinates` returns them.
    m : int, optional
        Samples in a batch; by default infinitely many. For split batches at least k + 2: no other
        heads have a second moment.
    noise : float, default 0
        Standard deviation of the labels' noise.
    batches : {"same", "split"}
        Whether the gradient is taken on the head's batch, as in FedRep, or on another of the
        same size.

    Returns
    -------
    inside : ndarray, shape (k, k)
    outside : ndarray, shape (p, k)
        Coordinates of B and of F; those of all other directions are zero.

    Raises
    ------
    ValueError, TypeError
        If shapes do not fit, or an argument is out of range.

    Notes
    -----
    The residual on the head's own batch is orthogonal to X B: of the outside it keeps m - k of m
    degrees of freedom, none if m <= k, and it is independent of the head's error. On another batch
    the residual's mean is what the head lacks, and the head's error meets itself. Limit of FedRep's
    (15), as rn goes to infinity with m fixed.
    """
    inner = check.array("C", C, (None, None))
    k = inner.shape[1]
    inner = check.array("C", inner, (k, k))
    outer = check.array("Phi", Phi, (None, k))
    heads = check.array("W", W, (None, k))
    S = heads.T @ heads / len(heads)
    variance = _head_variance(S, outer, m, noise, batches)
    share = _share(k, m) if batches == "same" else 1.0
    return variance * np.eye(k), -share * (outer @ S @ inner.T)


def gradient_bias(
    W: ArrayLike,
    C: ArrayLike,
    Phi: ArrayLike,
    *,
    m: int,
    noise: float = 0.0,
) -> tuple[Values, Values]:
    r"""Return the mean over data of (A*A(Q)/m - Q)'W/(rn), which Lemma 5 takes to be zero.

    .. math:: -\Big(v - \frac{\sigma^2}m\Big) I, \quad \frac km \Phi S C^\top

    in coordinates of B and F, with the notation of :func:`mean_gradient`, on one batch: heads and
    covariates are dependent. On split batches it is zero.

    Parameters
    ----------
    W, C, Phi, m, noise
        As in :func:`mean_gradient`; m at least k + 2.

    Returns
    -------
    inside : ndarray, shape (k, k)
    outside : ndarray, shape (p, k)

    Notes
    -----
    FedRep, Lemma 5, equations (49) and (50): of order k/m and free of rn, where the lemma's bound
    is of order k sqrt(d/(rn m)).
    """
    inside, outside = mean_gradient(W, C, Phi, m=m, noise=noise, batches="split")
    k = inside.shape[0]
    return noise**2 / m * np.eye(k) - inside, -k / m * outside


def effective_step_size(
    step_size: ArrayLike,
    *,
    k: int,
    m: int | None = None,
    batches: str = "same",
    variance: ArrayLike = 0.0,
) -> Values:
    """Return the step size with which a round on infinitely many samples does the same.

    Parameters
    ----------
    step_size : array_like
        Of the round on batches of m samples, positive.
    k : int
        Rank.
    m : int, optional
        Samples in a batch; by default infinitely many.
    batches : {"same", "split"}
        As in :func:`mean_gradient`.
    variance : array_like, default 0
        Of each coordinate of the heads' errors, averaged over clients: v in :func:`mean_gradient`.
        For split batches, which shrink B by 1 - eta v before they tilt it.

    Returns
    -------
    float or ndarray
        eta (1 - k/m), zero for m <= k, or eta/(1 - eta v).

    Notes
    -----
    As rn goes to infinity; see :func:`mean_gradient`.
    """
    step_size = check.numbers("step_size", step_size, above=0.0)
    k = check.integer("k", k, minimum=1)
    check.choice("batches", batches, BATCHES)
    if batches == "same":
        return step_size * _share(k, m)
    remaining = 1.0 - step_size * check.numbers("variance", variance, minimum=0.0)
    if np.any(remaining == 0.0):
        raise ValueError("step_size times variance must not be 1: the round would lose B")
    return step_size / remaining


def population_round(
    C: ArrayLike, Phi: ArrayLike, covariance: ArrayLike, step_size: float
) -> tuple[Values, Values]:
    r"""Return the coordinates after a round of FedRep on infinitely many samples.

    .. math:: \Phi^+ = (I + EE^\top)^{-1/2}\,\Phi\,(I - \eta S C^\top C), \quad
              C^+ = (I + E^\top E)^{-1/2}(C + E^\top\Phi), \quad E = \eta\Phi S C^\top

    Parameters
    ----------
    C : array_like, shape (k, k)
    Phi : array_like, shape (p, k)
        As :func:`coordinates` returns them.
    covariance : array_like, shape (k, k)
        S = W*'W*/(rn), over the participants.
    step_size : float
        Eta; see :func:`effective_step_size` for batches of m samples.

    Returns
    -------
    C, Phi : ndarray
        Of the new frame. Distances stay accurate in relative terms, however small.

    Notes
    -----
    The step is B + F E, as w_i = C w_i* and B w_i - B* w_i* = -F Phi w_i*. FedRep, Algorithm 2
    with (7) in place of (8): for any design of covariance I, and with noise, too.
    """
    inner = check.array("C", C, (None, None))
    k = inner.shape[1]
    inner = check.array("C", inner, (k, k))
    outer = check.array("Phi", Phi, (None, k))
    S = check.array("covariance", covariance, (k, k))
    E = check.real("step_size", step_size, minimum=0.0) * (outer @ S @ inner.T)
    U, values, VT = np.linalg.svd(E, full_matrices=False)
    shrink = 1.0 / np.hypot(1.0, values) - 1.0
    new_C, new_Phi = inner + E.T @ outer, outer - E @ inner
    return (
        new_C + (VT.T * shrink) @ (VT @ new_C),
        new_Phi + (U * shrink) @ (U.T @ new_Phi),
    )


def limit_distances(
    truth: SharedRepresentation,
    B: ArrayLike,
    *,
    step_size: float,
    rounds: int,
    m: int | None = None,
    batches: str = "same",
) -> NDArray[np.float64]:
    """Return the distances of FedRep's rounds with all clients, as their number goes to infinity.

    Parameters
    ----------
    truth : SharedRepresentation
        Every client stands for infinitely many of the same head.
    B : array_like, shape (d, k), or float
        The start; or its distance, as in :func:`coordinates`.
    step_size : float
        Positive.
    rounds : int
        At least 0.
    m : int, optional
        Samples in a batch, fresh in each round; by default infinitely many, and then the number
        of clients does not matter.
    batches : {"same", "split"}
        As in :func:`mean_gradient`.

    Returns
    -------
    ndarray, shape (rounds + 1,)
        Principal-angle distances, the start's first.
    """
    rounds = check.integer("rounds", rounds, minimum=0)
    _require_gaussian(truth, m)
    C, Phi = coordinates(truth, B)
    S = truth.W.T @ truth.W / truth.n
    distances = np.empty(rounds + 1)
    for t in range(rounds + 1):
        distances[t] = min(float(np.linalg.norm(Phi, 2)), 1.0)
        if t < rounds:
            variance = _head_variance(S, Phi, m, truth.noise, batches)
            step = effective_step_size(
                step_size, k=truth.k, m=m, batches=batches, variance=variance
            )
            C, Phi = population_round(C, Phi, S, float(step))
    return distances


def limiting_contraction(
    truth: SharedRepresentation, *, step_size: float, m: int | None = None, batches: str = "same"
) -> float:
    """Return the factor per round of :func:`limit_distances` once the distance is small.

    The largest absolute value of 1 - eta' lambda over the eigenvalues lambda of W*'W*/n, with eta'
    the effective step size.

    Parameters
    ----------
    truth, step_size, m, batches
        As in :func:`limit_distances`.

    Returns
    -------
    float
        1 - eta (1 - k/m) sigma_min^2 on one batch, for step sizes within Theorem 1's limit.
    """
    _require_gaussian(truth, m)
    S = truth.W.T @ truth.W / truth.n
    variance = _head_variance(S, np.zeros((1, truth.k)), m, truth.noise, batches)
    step = effective_step_size(step_size, k=truth.k, m=m, batches=batches, variance=variance)
    return float(np.abs(1.0 - step * np.linalg.eigvalsh(S)).max())


def population_bound(distance: ArrayLike, *, sigma_min: ArrayLike, step_size: ArrayLike) -> Values:
    """Return a bound on the factor by which a round on infinitely many samples contracts.

    1 - eta sigma_min^2 (1 - dist^2), for step sizes up to 1/sigma_max^2: that of FedRep's (67) with
    delta_k = 0, as R^-1 has norm at most 1; R'R is I + E'E in :func:`population_round`.

    Parameters
    ----------
    distance : array_like
        Of the frame, in [0, 1].
    sigma_min : array_like
        At least 0.
    step_size : array_like
        Positive.
    """
    smallest = check.numbers("sigma_min", sigma_min, minimum=0.0)
    step_size = check.numbers("step_size", step_size, above=0.0)
    return 1.0 - step_size * smallest**2 * squared_cosine("distance", distance)


def _share(k, m):
    """Return 1 - k/m, the residual's share of the degrees of freedom; None is infinity."""
    return 1.0 if m is None else max(0.0, 1.0 - k / check.integer("m", m, minimum=1))


def _require_gaussian(truth, m):
    if m is not None and truth.design != "gaussian":
        raise ValueError(
            f"m must be None for a {truth.design} design: only Gaussian batches are known"
        )


def _head_variance(S, Phi, m, noise, batches):
    """Return the mean variance of the heads' coordinates, where it matters, for split batches."""
    check.choice("batches", batches, BATCHES)
    noise = check.real("noise", noise, minimum=0.0)
    k = S.shape[0]
    if batches == "same" or m is None:
        return 0.0
    m = check.integer("m", m, minimum=1)
    if m < k + 2:
        raise ValueError(f"m must be at least k + 2 = {k + 2} for split batches, got {m}")
    return (np.sum((Phi @ S) * Phi) + noise**2) / (m - k - 1.0)


checked(globals(), nan=False, large=False)

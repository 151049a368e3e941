r"""Where FedRep ends on fixed Gaussian batches as d and n grow together, m and k fixed.

Rounds on stored samples, with exact heads and small steps, and alternating least squares come to
rest at the frame of rank k with the least loss. Its limit is a fixed point between k×k matrices,

.. math:: C = B^\top B^*, \qquad E = B^\top (I - B^* B^{*\top}) B = I - C C^\top,

and V, the mean curvature's inverse, with :math:`\gamma = (d - k)/n`. docs/learning-curves.md
derives it by the replica method, which is no proof, and has runs beside it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, norm, qmc

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.warning import warn
from linrep.problems.regression import SharedRepresentation
from linrep.theory._clients import require_gaussian, require_spanning

Values = NDArray[np.float64]
_LEVELS = 14  # binary logarithm of the number of simulated blocks
_CHANGE = 1e-6  # relative, of E and V in the last step
_STEPS = 1000
_LOST = 0.99  # squared sine from which on a direction of B* counts as lost


class Minimizer(NamedTuple):
    """The frame of least loss, and what it costs.

    Attributes
    ----------
    distance : float
        Principal-angle distance to B*, the largest sine.
    squared_chordal : float
        Sum of the squared sines of all principal angles.
    loss : float
        Half the mean squared residual of the samples that it was fitted to.
    new_client_risk : float
        Half the mean squared distance to B*w of a new client's model, whose head is fitted to m
        other samples: infinite for m = k + 1. That of the clients it was fitted to has no limit.
    C, E, V : ndarray, shape (k, k)
        With B's columns turned so that C is symmetric.
    """

    distance: float
    squared_chordal: float
    loss: float
    new_client_risk: float
    C: Values
    E: Values
    V: Values


def minimizer(truth: SharedRepresentation, *, m: int) -> Minimizer:
    r"""Return the limit of the frame of least loss on m samples of each client.

    Parameters
    ----------
    truth : SharedRepresentation
        Of Gaussian covariates. Its heads, which span R^k, stand for their law; gamma is (d - k)/n,
        and nothing else depends on d and n.
    m : int
        Samples per client, above k(1 + gamma): where equations outnumber unknowns.

    Returns
    -------
    Minimizer
        By quasi-Monte Carlo, to about 1 % of the squared sines. Where the equations have several
        solutions, the one near B*.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or all solutions have a squared sine of .99 or more.

    Examples
    --------
    >>> import linrep as lr
    >>> from linrep.theory.asymptotics import fixed_batches
    >>> truth = lr.SharedRepresentation.random(n=400, d=200, k=1, noise=0.5, rng=0)
    >>> round(fixed_batches.minimizer(truth, m=6).distance, 2)
    0.17
    """
    n, k, m, gamma = _read(truth, m)
    V = _curvature(truth.W, gamma / (m - k))
    C, E, noise = np.eye(k), np.zeros((k, k)), truth.noise**2
    if noise == 0.0:
        return Minimizer(0.0, 0.0, 0.0, 0.0, C, E, V)
    choice, factors = _blocks(k, m)
    w = truth.W[(choice * n).astype(int)]
    E = noise * V / np.linalg.norm(np.eye(k) + noise * V, 2)
    for _ in range(_STEPS):
        C = _power(np.eye(k) - E, 0.5)
        before = E, V
        E, V, loss = _step(w, noise, factors, m, gamma, C, E, V)
        if np.linalg.norm(E, 2) >= _LOST:
            raise ValueError(f"noise {truth.noise:g} hides B* from {m} samples of each client")
        pairs = zip((E, V), before, strict=True)
        if max(np.abs(a - b).max() / np.abs(a).max() for a, b in pairs) < _CHANGE:
            break
    else:
        warn(f"{_STEPS} steps were not enough: the noise is near where it hides B*")
    sines = np.clip(np.linalg.eigvalsh(E), 0.0, 1.0)
    q = np.einsum("ia,ab,ib->i", truth.W, E, truth.W).mean()
    risk = np.inf if m == k + 1 else 0.5 * (q + (q + noise) * k / (m - k - 1.0))
    return Minimizer(float(np.sqrt(sines[-1])), float(sines.sum()), loss, float(risk), C, E, V)


def small_noise(truth: SharedRepresentation, *, m: int) -> Values:
    r"""Return the squared sines of the angles to B* to first order in the squared noise.

    .. math:: \sigma^2\, \text{eig } V, \qquad
              \gamma V^{-1} = (m - k)\, \overline{w w^\top/(1 + w^\top V w)}

    For isotropic heads of equal norm, with second moment s^2 I, all are
    :math:`(\sigma^2/s^2)\, \gamma/(m - k - k\gamma)`.

    Parameters
    ----------
    truth, m
        As for :func:`minimizer`.

    Returns
    -------
    ndarray, shape (k,)
        Ascending. The loss is :math:`\sigma^2 (m - k - k\gamma)/(2m)` to this order. Their sum is
        the limit of :func:`linrep.theory.design_bounds.cramer_rao`.
    """
    _, k, m, gamma = _read(truth, m)
    return truth.noise**2 * np.linalg.eigvalsh(_curvature(truth.W, gamma / (m - k)))


def _read(truth, m):
    require_gaussian(truth, "the limit")
    require_spanning(truth)
    n, k = truth.n, truth.k
    gamma = (check.integer("d", truth.d, minimum=k + 1) - k) / n
    m = check.integer("m", m, minimum=k + 1)
    if m <= k * (1.0 + gamma):
        raise ValueError(f"m must be above k(1 + (d - k)/n) = {k * (1.0 + gamma):.4g}, got {m}")
    return n, k, m, gamma


def _curvature(W, ratio):
    """Return V of small noise."""
    V = ratio * np.linalg.inv(W.T @ W / len(W))
    for _ in range(10 * _STEPS):
        weights = 1.0 / (1.0 + np.einsum("ia,ab,ib->i", W, V, W))
        before, V = V, ratio * np.linalg.inv((W.T * weights) @ W / len(W))
        if np.abs(V - before).max() <= 1e-10 * np.abs(V).max():
            break
    return V


def _blocks(k, m):
    """Return numbers that choose heads, and Bartlett's factors of Wishart matrices."""
    rows, columns = np.tril_indices(k + 1, -1)
    points = qmc.Sobol(2 + k + len(rows), scramble=False).random_base2(_LEVELS) + 0.5**_LEVELS / 2
    factors = np.zeros((len(points), k + 1, k + 1))
    factors[:, rows, columns] = norm.ppf(points[:, k + 2 :])
    for j in range(k + 1):
        factors[:, j, j] = np.sqrt(chi2.ppf(points[:, 1 + j], m - j))
    return points[:, 0], factors


def _step(w, noise, factors, m, gamma, C, E, V):
    """Return E and V after a step of state evolution, and the loss before it."""
    N, k = w.shape
    root, inverse, signal = _power(V, 0.5), _power(V, -0.5), w @ C
    q = np.einsum("ia,ab,ib->i", w, E, w) + noise
    L = np.zeros((N, k + 1, k + 1))
    L[:, :k, :k], L[:, k, :k], L[:, k, k] = inverse, signal, np.sqrt(q)
    A = L @ factors
    values, vectors = np.linalg.eigh(A @ A.transpose(0, 2, 1))
    least, p, s = values[:, 0], vectors[:, :k, 0], vectors[:, k, 0]
    # The first k entries of inv(L L') v, of which z's part is the slope of lambda.
    slope = least[:, None] * (p @ root - signal * ((s - np.sum(p @ root * signal, 1)) / q)[:, None])
    slopes = slope.T @ p @ inverse
    D = np.linalg.inv((slopes + slopes.T) / (2 * N))
    toward = -D @ (slope.T @ (s[:, None] * w)) / N
    across = gamma * D @ inverse @ ((p.T * least) @ p / N) @ inverse @ D
    # B is determined up to a factor k×k: the one is taken for which B'B = I and C is symmetric.
    scale = _power(toward @ toward.T + across, -0.5)
    left, _, right = np.linalg.svd(scale @ toward)
    turn = (left @ right).T
    E = turn @ scale @ across @ scale @ turn.T
    return E, gamma * turn @ D @ turn.T, float(0.5 * np.mean(least * s**2) / m)


def _power(matrix, exponent):
    """Return a power of a symmetric matrix, eigenvalues below 0 being taken for rounding errors."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 0.0) ** exponent) @ vectors.T


checked(globals(), nan=False, large=False)

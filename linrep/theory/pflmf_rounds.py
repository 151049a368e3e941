r"""Exact expectations over one round of pFL^MF with the whole gradient in U (Appendix A.1).

Given U, clients do not meet: a quantity that is a sum over clients has as expectation, over all 2^n
patterns of independent participation, the sum of p times what a participant has and 1 - p times
what it has that does not move. With normal noise expectations are exact for quadratic functions,
whose gradients are linear.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import display as show
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems.objectives import Objectives, QuadraticObjectives
from linrep.theory.pflmf import Round, Setting

Values = NDArray[np.float64]


class Heads(NamedTuple):
    """A participant's heads over the local steps: means and covariances, and those of their sum.

    Attributes
    ----------
    means : ndarray, shape (K + 1, n, k)
    gradients : ndarray, shape (K, n, k)
        In V at the first K means.
    spreads : ndarray, shape (K + 1, n, k, k), or None
        Covariances; None without noise.
    sums : ndarray, shape (n, k)
        Of the gradients over the local steps.
    sum_spread : ndarray, shape (n, k, k), or None
        Covariances of these sums; None without noise.
    """

    means: Values
    gradients: Values
    spreads: Values | None
    sums: Values
    sum_spread: Values | None

    def __repr__(self):
        return show.line(self)


def expected_round(s: Setting, problem: Objectives, U: ArrayLike, V: ArrayLike) -> Round:
    """Return exact expectations over one round.

    Parameters
    ----------
    s : Setting
        Its participation, steps, step sizes and noise; its smoothness is not read.
    problem : Objectives
        With noise, a QuadraticObjectives.
    U, V : array_like, shape (d, k), (n, k)

    Returns
    -------
    Round

    Raises
    ------
    ValueError
        If there is noise and the functions are not quadratic.

    Notes
    -----
    Noise is normal, with expected squares sigma^2 in all, as that of :func:`linrep.pflmf`.
    """
    U, V = _factors(problem, U, V)
    return round_along(s, problem, U, V, local_path(s, problem, U, V))


def round_along(s: Setting, problem: Objectives, U: Values, V: Values, path: Heads) -> Round:
    """Return exact expectations over one round whose local steps are computed already.

    Parameters
    ----------
    s, problem, U, V
        As in :func:`expected_round`.
    path : Heads
        What :func:`local_path` returns for these.
    """
    U, V = _factors(problem, U, V)
    p, n = s.participation, problem.n
    value, in_U, _ = problem.factor_gradients(U, V)
    new_U = U - s.step_size * in_U
    matrices = _matrices(problem) if s.noise > 0.0 else None
    moving = np.sum(path.gradients**2, axis=(1, 2))
    still = float(moving[0])
    total = float(np.sum(path.sums**2))
    moved_V = float(np.sum((path.means[-1] - V) ** 2))
    if matrices is not None:
        G = np.einsum("da,nde,eb->nab", U, matrices, U) / n
        assert path.spreads is not None
        assert path.sum_spread is not None
        moving += np.einsum("nab,tnbc,nca->t", G, path.spreads[:-1], G)
        total += float(np.einsum("naa->", path.sum_spread))
        moved_V += float(np.einsum("naa->", path.spreads[-1]))
    steps_V = p * moving + (1.0 - p) * still
    K = s.local_steps

    def expected(at, spread_U):
        """Return E F at a U, normal around `at`: heads of participants moved or not."""
        moved = _mean_value(problem, matrices, at, path.means[-1], _last(path), spread_U)
        return p * moved + (1.0 - p) * _mean_value(problem, matrices, at, V, None, spread_U)

    spread_U = (s.step_size * s.noise) ** 2 / U.size
    return Round(
        value=value,
        after_V=expected(U, 0.0),
        after_U=_mean_value(problem, matrices, new_U, V, None, spread_U),
        after_both=expected(new_U, spread_U),
        delta_U=float(np.sum(in_U**2)),
        delta_V=float(steps_V.mean()),
        steps_V=steps_V,
        masked_V=p * moving,
        sum_V=p * total + (1.0 - p) * K**2 * still,
        masked_sum_V=p * total,
        moved_V=p * moved_V,
    )


def mean_value(problem: Objectives, U: ArrayLike, V: ArrayLike, variance: float) -> float:
    """Return E F(U, V) where normal noise is added to each entry of U.

    Exact for quadratic functions.

    Parameters
    ----------
    problem : Objectives
        A QuadraticObjectives unless the variance is zero.
    U, V : array_like, shape (d, k), (n, k)
    variance : float
        Of the noise, at least 0.

    Raises
    ------
    ValueError
        If there is noise and the functions are not quadratic.
    """
    matrices = _matrices(problem) if variance > 0.0 else None
    return _mean_value(problem, matrices, *_factors(problem, U, V), None, variance)


def expected_value(
    s: Setting, problem: Objectives, U: ArrayLike, V: ArrayLike, new_U: ArrayLike
) -> float:
    """Return E F(U', V+) for a given U', the local steps of the round being taken at U.

    There is noise in the heads only.

    Parameters
    ----------
    s, problem, U, V
        As in :func:`expected_round`.
    new_U : array_like, shape (d, k)
        U'.

    Raises
    ------
    ValueError
        If there is noise and the functions are not quadratic.
    """
    U, V = _factors(problem, U, V)
    new_U = check.array("new_U", new_U, U.shape)
    path, p = local_path(s, problem, U, V), s.participation
    matrices = _matrices(problem) if s.noise > 0.0 else None
    moved = _mean_value(problem, matrices, new_U, path.means[-1], _last(path), 0.0)
    return float(p * moved + (1.0 - p) * problem.value(V @ new_U.T))


def fixed_U_average(
    s: Setting, curvature: float, square: float, rounds: ArrayLike
) -> NDArray[np.float64]:
    r"""Return the mean over rounds of Delta_V, where U does not move.

    The objective is :math:`\frac h2 \|V - C\|_F^2` plus a constant, h the curvature. A round takes
    a participant's E||g||^2 to :math:`r^K E\|g\|^2 + (1 - r^K) x`, :math:`r = (1 - \eta_v h)^2`,
    where :math:`x = (\eta_v h \sigma)^2/(1 - r)` is what the noise keeps up; a mean over rounds is
    a geometric sum.

    Parameters
    ----------
    s : Setting
        Its participation, local steps, step size of the heads and noise are read.
    curvature : float
        h, with eta_v h below 2 and not 1.
    square : float
        ||g||^2 at the start, 2h times what F is above its least value.
    rounds : array_like
        Their number T.

    Notes
    -----
    Not in the paper. It is what runs from U = I (d = k), V = 0 tend to, relative to the squares of
    the centres and of sigma, as these go to zero: U moves by these squares only.
    """
    p, K, step = s.participation, s.local_steps, s.head_step_size * curvature
    check.real("curvature", curvature, above=0.0)
    T = check.numbers("rounds", rounds, above=0.0)
    log_r = 2.0 * np.log(abs(1.0 - step)) if step > 0.5 else 2.0 * np.log1p(-step)
    decrease = -np.expm1(K * log_r)  # 1 - r^K
    first = decrease / (-K * np.expm1(log_r))  # the mean of r^k over local steps
    floor = (step * s.noise) ** 2 / -np.expm1(log_r)
    decay = p * decrease
    rate = np.log1p(-decay) if decay < 1.0 else -np.inf
    mean = floor + (square - floor) * -np.expm1(T * rate) / (T * decay)
    return np.asarray(mean * (p * first + 1.0 - p) + p * floor * (1.0 - first))


def local_path(s: Setting, problem: Objectives, U: ArrayLike, V: ArrayLike) -> Heads:
    """Return the heads that every client would have if it took part.

    Parameters
    ----------
    s, problem, U, V
        As in :func:`expected_round`.

    Raises
    ------
    ValueError
        If there is noise and the functions are not quadratic.
    """
    U, V = _factors(problem, U, V)
    n, k = V.shape
    eta = s.head_step_size
    means, gradients = np.empty((s.local_steps + 1, n, k)), np.empty((s.local_steps, n, k))
    means[0] = V
    for t in range(s.local_steps):
        np.divide(problem.gradients(means[t] @ U.T) @ U, n, out=gradients[t])
        np.subtract(means[t], eta * gradients[t], out=means[t + 1])
    sums = np.sum(gradients, axis=0)
    if s.noise == 0.0:
        return Heads(means, gradients, None, sums, None)
    # v moves by -eta (G v - c + noise), and the sum of gradients by G v - c: linear in (v, sum).
    G = np.einsum("da,nde,eb->nab", U, _matrices(problem), U) / n
    move = np.zeros((n, 2 * k, 2 * k))
    move[:, :k, :k], move[:, k:, k:] = np.eye(k) - eta * G, np.eye(k)
    move[:, k:, :k] = G
    fresh = np.zeros((2 * k, 2 * k))
    fresh[:k, :k] = (eta * s.noise) ** 2 / V.size * np.eye(k)
    joint = [np.zeros((n, 2 * k, 2 * k))]
    for _ in range(s.local_steps):
        joint.append(move @ joint[-1] @ move.swapaxes(1, 2) + fresh)
    spreads = np.array([each[:, :k, :k] for each in joint])
    return Heads(means, gradients, spreads, sums, joint[-1][:, k:, k:])


def _factors(problem: Objectives, U: Any, V: Any) -> tuple[Values, Values]:
    """Return factors of the clients' models."""
    U = check.array("U", U, (problem.d, None))
    return U, check.array("V", V, (problem.n, U.shape[1]))


def _last(path):
    return None if path.spreads is None else path.spreads[-1]


def _mean_value(problem, matrices, U, V, spread_V, spread_U):
    """Return E F of independent normal factors: means, covariances of V, variance of U's entries.

    tr(H_i) spread_U E||v_i||^2 and tr(U'H_i U cov(v_i)) are what noise adds to twice f_i.
    """
    value = problem.value(V @ U.T)
    if matrices is None:
        return value
    lengths = np.sum(V**2, axis=1)
    if spread_V is not None:
        lengths = lengths + np.einsum("naa->n", spread_V)
        value += 0.5 * np.mean(np.einsum("da,nde,eb,nba->n", U, matrices, U, spread_V))
    return float(value + 0.5 * spread_U * np.mean(np.einsum("ndd->n", matrices) * lengths))


def _matrices(problem):
    """Return the H_i of quadratic functions, shape (n, d, d)."""
    if not isinstance(problem, QuadraticObjectives):
        raise ValueError("expectations with noise are exact for quadratic functions only")
    n, d = problem.n, problem.d
    if problem.weights is not None:
        return np.einsum("nd,de->nde", problem.weights, np.eye(d))
    return np.broadcast_to(np.eye(d) if problem.H is None else problem.H, (n, d, d))


checked(globals(), nan=False, large=False)

"""FedRep's formulas as calls on arrays; see the package."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep.kernels import moments
from linrep.kernels._border import (
    FINE,
    LOST,
    OFFSETS,
    OVERLAP,
    Call,
    Workspace,
    finite_matrix,
    flaw_of_round_on_samples,
    good_offsets,
    overlap,
    positive,
    rank,
    steps,
    transpose,
)
from linrep.kernels.jit import kernel
from linrep.kernels.linalg import copy, copy_rows, distance_between, finite
from linrep.kernels.rounds import EXACT, add_gradient, fit_head, move_representation, project

_EPS = float(np.finfo(np.float64).eps)


class FedRepRound(NamedTuple):
    """The result of a round of FedRep.

    Attributes
    ----------
    B : ndarray, shape (d, k)
        Representation, with orthonormal columns.
    W : ndarray, shape (n, k)
        Heads as rows.
    loss : float
        Mean loss of the participants at the old representation and their new heads.
    """

    B: NDArray[np.float64]
    W: NDArray[np.float64]
    loss: float


class Gradient(NamedTuple):
    """A mean loss and its gradient.

    Attributes
    ----------
    B : ndarray, shape (d, k)
        Gradient in the representation.
    loss : float
        Mean loss of all clients.
    """

    B: NDArray[np.float64]
    loss: float


@kernel
def _round(X, y, offsets, B, W, step_size, head_steps, clients, numbers, new_B, new_W):
    """Return how the round ended, and its loss."""
    flaw = flaw_of_round_on_samples(X, y, offsets, clients, B, W, new_B, new_W)
    if flaw != FINE:
        return flaw, 0.0
    (N, d), (n, k) = X.shape, W.shape
    count = clients.shape[0] if clients.shape[0] > 0 else n
    size = k * d
    BT, rest = numbers[:size].reshape((k, d)), numbers[size:]
    gradientT, rest = rest[:size].reshape((k, d)), rest[size:]
    candidateT, rest = rest[:size].reshape((k, d)), rest[size:]
    heads, rest = rest[: count * k].reshape((count, k)), rest[count * k :]
    G, rest = rest[: k * k].reshape((k, k)), rest[k * k :]
    v, rest = rest[: 2 * k], rest[2 * k :]
    g, rest = rest[:d], rest[d:]
    residual, rest = rest[:N], rest[N:]
    transpose(B, BT)
    gradientT[:] = 0.0
    loss = 0.0
    for place in range(count):
        i = clients[place] if clients.shape[0] > 0 else place
        Xi, yi, w = X[offsets[i] : offsets[i + 1]], y[offsets[i] : offsets[i + 1]], heads[place]
        Z = rest[: k * Xi.shape[0]].reshape((k, Xi.shape[0]))
        copy(W[i], w)
        fit_head(Xi, yi, BT, w, head_steps[0], head_steps[1], Z, G, v)
        loss += add_gradient(Xi, yi, w, 1.0 / count, Z, residual, g, gradientT) / count
    if not (finite(loss) and move_representation(BT, gradientT, step_size, True, candidateT)):
        return LOST, loss
    copy_rows(W, new_W)
    for place in range(count):
        i = clients[place] if clients.shape[0] > 0 else place
        copy(heads[place], new_W[i])
    transpose(BT, new_B)
    return FINE, loss


_SAMPLES: dict[str, Any] = {"X": "N d", "y": "N", "offsets": "n+1: int"}
_ROUND = Call(
    _round,
    {
        **_SAMPLES,
        "B": "d k",
        "W": "n k",
        "step_size": positive,
        "head_steps": steps,
        "participants": "r: int | None",
    },
    (("d k", "B"), ("n k", "W")),
    scratch=lambda N, d, n, k, r=0: (3 * d + (r or n) + k + 2 + N) * k + d + N,
    result=FedRepRound,
    tall="B",
    below=("participants", "n"),
    lost="the result of step_size {step_size:g} is not finite, or B has dependent columns",
)


def fedrep_round(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    B: NDArray[np.float64],
    W: NDArray[np.float64],
    *,
    step_size: float,
    head_steps: tuple[int, float] | None = None,
    participants: NDArray[np.int64] | None = None,
    out: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    work: Workspace | None = None,
) -> FedRepRound:
    r"""Take one round of FedRep: new heads for participants I, then a step of the representation.

    .. math:: w_i = \arg\min_w \frac1{2m_i} \|y_i - X_i B w\|^2, \qquad
              B \leftarrow \mathrm{QR}\Big(B - \frac{\eta}{|I|} \sum_{i \in I}
              \frac1{m_i} X_i^\top (X_i B w_i - y_i)\, w_i^\top\Big)

    Parameters
    ----------
    X : ndarray, shape (N, d)
        Samples of all clients, one client's after the other's.
    y : ndarray, shape (N,)
        Their labels.
    offsets : ndarray of int64, shape (n + 1,)
        Client i owns rows ``offsets[i]:offsets[i + 1]``, at least one.
    B : ndarray, shape (d, k)
        Representation, k at most d.
    W : ndarray, shape (n, k)
        Heads. Those of participants are read only with `head_steps`; others stay as they are.
    step_size : float
        The server's, greater than 0.
    head_steps : (int, float), optional
        Number and size of gradient steps that take the place of the exact head. By default heads
        are least squares, of minimum norm where they are not unique.
    participants : ndarray of int64, shape (r,), optional
        Distinct clients that take part, in any order (one named twice counts twice); by default
        all.
    out : pair of ndarray, shapes (d, k) and (n, k), optional
        Where B and W are written; ``(B, W)`` themselves for an update in place.
    work : Workspace, optional
        Scratch memory to be used again.

    Returns
    -------
    FedRepRound
        ``B``, the Q of the QR factorization in which R has a positive diagonal, ``W``, ``loss``.

    Raises
    ------
    ValueError, TypeError
        If an argument has the wrong type, shape, order or content, or `out` shares memory with
        another argument.
    FloatingPointError
        If the result is not finite, or B not of full rank. Nothing is written then.

    Notes
    -----
    FedRep, Algorithm 2 with equations (8), (15) and (16); with `head_steps`, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> import linrep as lr
    >>> truth = lr.SharedRepresentation.random(n=20, d=6, k=2, rng=0)
    >>> data = truth.draw(8, rng=1)
    >>> B = lr.kernels.moments_start(data.X, data.y, data.offsets, 2)
    >>> W, work = np.zeros((20, 2)), lr.kernels.Workspace()
    >>> for _ in range(200):
    ...     done = lr.kernels.fedrep_round(
    ...         data.X, data.y, data.offsets, B, W, step_size=0.5, out=(B, W), work=work
    ...     )
    >>> lr.kernels.distance(B, truth.B) < 1e-8
    True
    """
    return _ROUND(locals(), unread="W" if head_steps is None else "")


@kernel
def _heads(X, y, offsets, B, numbers, W):
    """Return how it ended."""
    (N, d), (n, k) = X.shape, W.shape
    if not good_offsets(offsets, N):
        return OFFSETS
    if overlap(W, X) or overlap(W, y) or overlap(W, offsets) or overlap(W, B):
        return OVERLAP
    BT, rest = numbers[: k * d].reshape((k, d)), numbers[k * d :]
    heads, rest = rest[: n * k].reshape((n, k)), rest[n * k :]
    G, rest = rest[: k * k].reshape((k, k)), rest[k * k :]
    v, rest = rest[: 2 * k], rest[2 * k :]
    transpose(B, BT)
    for i in range(n):
        Xi, yi = X[offsets[i] : offsets[i + 1]], y[offsets[i] : offsets[i + 1]]
        Z = rest[: k * Xi.shape[0]].reshape((k, Xi.shape[0]))
        fit_head(Xi, yi, BT, heads[i], EXACT, 0.0, Z, G, v)
    if not finite_matrix(heads):
        return LOST
    copy_rows(heads, W)
    return FINE


_HEADS = Call(
    _heads,
    {**_SAMPLES, "B": "d k"},
    (("n k", ""),),
    scratch=lambda N, d, n, k: (d + n + k + 2 + N) * k,
    lost="a head is not finite",
)


def fit_heads(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    B: NDArray[np.float64],
    *,
    out: NDArray[np.float64] | None = None,
    work: Workspace | None = None,
) -> NDArray[np.float64]:
    r"""Solve for every client's head on a frozen representation.

    .. math:: w_i = \arg\min_w \frac1{2m_i} \|y_i - X_i B w\|^2

    Parameters
    ----------
    X, y, offsets
        Clients' samples; see :func:`fedrep_round`.
    B : ndarray, shape (d, k)
        Representation.
    out : ndarray, shape (n, k), optional
        Where heads are written.
    work : Workspace, optional
        Scratch memory to be used again.

    Returns
    -------
    ndarray, shape (n, k)
        Heads as rows, of minimum norm where they are not unique, as ``numpy.linalg.lstsq`` has
        them with ``rcond=1e-13``.

    Raises
    ------
    ValueError, TypeError
        If an argument has the wrong type, shape, order or content, or `out` shares memory with
        another argument.
    FloatingPointError
        If a head is not finite. Nothing is written then.

    Notes
    -----
    FedRep, equation (8) at fixed B.
    """
    return _HEADS(locals())


@kernel
def _gradient(X, y, offsets, B, W, numbers, out):
    """Return how it ended, and the loss."""
    (N, d), (n, k) = X.shape, W.shape
    if not good_offsets(offsets, N):
        return OFFSETS, 0.0
    if overlap(out, X) or overlap(out, y) or overlap(out, offsets):
        return OVERLAP, 0.0
    if overlap(out, B) or overlap(out, W):
        return OVERLAP, 0.0
    BT, rest = numbers[: k * d].reshape((k, d)), numbers[k * d :]
    gradientT, rest = rest[: k * d].reshape((k, d)), rest[k * d :]
    g, rest = rest[:d], rest[d:]
    residual, rest = rest[:N], rest[N:]
    transpose(B, BT)
    gradientT[:] = 0.0
    loss = 0.0
    for i in range(n):
        Xi, yi = X[offsets[i] : offsets[i + 1]], y[offsets[i] : offsets[i + 1]]
        Z = rest[: k * Xi.shape[0]].reshape((k, Xi.shape[0]))
        project(Xi, BT, Z)
        loss += add_gradient(Xi, yi, W[i], 1.0 / n, Z, residual, g, gradientT) / n
    if not (finite(loss) and finite_matrix(gradientT)):
        return LOST, loss
    transpose(gradientT, out)
    return FINE, loss


_GRADIENT = Call(
    _gradient,
    {**_SAMPLES, "B": "d k", "W": "n k"},
    (("d k", ""),),
    scratch=lambda N, d, n, k: (2 * d + N) * k + d + N,
    result=Gradient,
    lost="the gradient is not finite",
)


def gradient(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    B: NDArray[np.float64],
    W: NDArray[np.float64],
    *,
    out: NDArray[np.float64] | None = None,
    work: Workspace | None = None,
) -> Gradient:
    r"""Return the gradient in B of the clients' mean loss, and that loss.

    .. math:: \nabla_B \frac1n \sum_i \frac1{2m_i} \|y_i - X_i B w_i\|^2
              = \frac1n \sum_i \frac1{m_i} X_i^\top (X_i B w_i - y_i)\, w_i^\top

    Parameters
    ----------
    X, y, offsets
        Clients' samples; see :func:`fedrep_round`.
    B : ndarray, shape (d, k)
        Representation.
    W : ndarray, shape (n, k)
        Heads.
    out : ndarray, shape (d, k), optional
        Where the gradient is written.
    work : Workspace, optional
        Scratch memory to be used again.

    Returns
    -------
    Gradient
        ``B`` and ``loss``.

    Raises
    ------
    ValueError, TypeError
        If an argument has the wrong type, shape, order or content, or `out` shares memory with
        another argument.
    FloatingPointError
        If the loss or the gradient is not finite. Nothing is written then.

    Notes
    -----
    FedRep, the step of Algorithm 2 in B, equation (15), for all clients.
    """
    return _GRADIENT(locals())


@kernel
def _distance(B1, B2, numbers):
    """Return how it ended, the sine of the largest angle, and how independent the columns are."""
    d, k = B1.shape
    BT1, rest = numbers[: k * d].reshape((k, d)), numbers[k * d :]
    BT2, rest = rest[: k * d].reshape((k, d)), rest[k * d :]
    transpose(B1, BT1)
    transpose(B2, BT2)
    sine, first, second = distance_between(BT1, BT2, rest[: k * k].reshape((k, k)))
    return FINE, sine, first, second


_DISTANCE = Call(
    _distance,
    {"B1": "d k", "B2": "d k"},
    scratch=lambda d, k: (2 * d + k) * k,
    result=lambda *beside: beside,
    tall="B1",
)


def distance(
    B1: NDArray[np.float64], B2: NDArray[np.float64], *, work: Workspace | None = None
) -> float:
    r"""Return the principal-angle distance between the column spaces of two bases.

    .. math:: \mathrm{dist}(B_1, B_2) = \|\hat B_{1,\perp}^\top \hat B_2\|_2
              = \|(I - \hat B_1 \hat B_1^\top) \hat B_2\|_2

    Parameters
    ----------
    B1, B2 : ndarray, shape (d, k)
        Bases of full column rank; they need not be orthonormal.
    work : Workspace, optional
        Scratch memory to be used again.

    Returns
    -------
    float
        The sine of the largest principal angle, accurate for small angles, too.

    Raises
    ------
    ValueError, TypeError
        If an argument has the wrong type or shape, is not finite, or its columns are
        linearly dependent.

    Notes
    -----
    FedRep, Definition 1, equation (10). :func:`linrep.problems.subspace.distance` takes any
    array_like.
    """
    sine, *independence = _DISTANCE(locals())
    for name, B, independent in (("B1", B1, independence[0]), ("B2", B2, independence[1])):
        if not independent > len(B) * _EPS:
            if not np.isfinite(B).all():
                raise ValueError(f"{name} must be finite, it holds NaN or infinity")
            raise ValueError(f"{name} must have full column rank, its columns are dependent")
    return sine


@kernel
def _samples_of(X, y, offsets, out):
    """Return whether clients' samples may be read, and a result written."""
    if not good_offsets(offsets, X.shape[0]):
        return OFFSETS
    if overlap(out, X) or overlap(out, y) or overlap(out, offsets):
        return OVERLAP
    return FINE


def _moments(X, y, offsets, k, numbers, B):
    """Return how it ended."""
    status = _samples_of(X, y, offsets, B)
    if status != FINE:
        return status
    sizes = np.diff(offsets)
    with np.errstate(over="ignore", invalid="ignore"):
        weights = y**2 / np.repeat(sizes * len(sizes), sizes)
    try:
        B[:] = moments.leading_eigenvectors(X, weights, k)
    except FloatingPointError:
        return LOST
    return FINE


_MOMENTS = Call(
    _moments,
    {**_SAMPLES, "k": rank},
    (("d k", ""),),
    lost="the second moment is not finite",
)


def moments_start(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    k: int,
    *,
    out: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    r"""Return the leading eigenvectors of a second moment of labels and covariates.

    .. math:: \frac1n \sum_i \frac1{m_i} \sum_j (y_i^j)^2\, x_i^j (x_i^j)^\top

    Parameters
    ----------
    X, y, offsets
        Clients' samples; see :func:`fedrep_round`.
    k : int
        How many, at most d.
    out : ndarray, shape (d, k), optional
        Where they are written.

    Returns
    -------
    ndarray, shape (d, k)
        Orthonormal columns, that of the largest eigenvalue first.

    Raises
    ------
    ValueError, TypeError
        If an argument has the wrong type, shape, order or content, or `out` shares memory with
        another argument.
    FloatingPointError
        If the second moment is not finite. Nothing is written then.

    Notes
    -----
    FedRep, Algorithm 2 (initialization) and Theorem 2.
    """
    return _MOMENTS(locals())

"""pFL^MF's rounds as calls on arrays; see the package."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep.kernels._border import (
    ASYMMETRIC,
    FINE,
    INDICES,
    LOST,
    OVERLAP,
    Call,
    Workspace,
    all_below,
    finite_matrix,
    flaw_of_round_on_samples,
    mixed_up,
    overlap,
    positive,
    steps,
    transpose,
)
from linrep.kernels.jit import kernel
from linrep.kernels.linalg import copy, copy_rows, dot, finite
from linrep.kernels.rounds import add_gradient, project, step_head

_SYMMETRIC = 1e-12


class PFLMFRound(NamedTuple):
    """The result of a round of pFL^MF.

    Attributes
    ----------
    U : ndarray, shape (d, k)
        Shared factor.
    V : ndarray, shape (n, k)
        Clients' factors as rows.
    loss : float
        Mean of the participants' functions at the old factors.
    """

    U: NDArray[np.float64]
    V: NDArray[np.float64]
    loss: float


@kernel
def _finish(clients, loss, UT, V, gradientT, step_size, heads, new_U, new_V):
    """Move U and write the round's results, if they are finite; return how it ended."""
    for a in range(UT.shape[0]):
        for column in range(UT.shape[1]):
            UT[a, column] -= step_size * gradientT[a, column]
    if not (finite(loss) and finite_matrix(UT) and finite_matrix(heads)):
        return LOST
    transpose(UT, new_U)
    copy_rows(V, new_V)
    for place in range(heads.shape[0]):
        copy(heads[place], new_V[clients[place] if clients.shape[0] > 0 else place])
    return FINE


@kernel
def _samples_round(X, y, offsets, U, V, step_size, head_steps, clients, numbers, new_U, new_V):
    """Return how the round ended, and its loss."""
    flaw = flaw_of_round_on_samples(X, y, offsets, clients, U, V, new_U, new_V)
    if flaw != FINE:
        return flaw, 0.0
    (N, d), (n, k) = X.shape, V.shape
    count = clients.shape[0] if clients.shape[0] > 0 else n
    steps, head_step = head_steps if head_steps[0] > 0 else (1, step_size)
    UT, rest = numbers[: k * d].reshape((k, d)), numbers[k * d :]
    gradientT, rest = rest[: k * d].reshape((k, d)), rest[k * d :]
    heads, rest = rest[: count * k].reshape((count, k)), rest[count * k :]
    G, rest = rest[: k * k].reshape((k, k)), rest[k * k :]
    v, rest = rest[: 2 * k], rest[2 * k :]
    g, rest = rest[:d], rest[d:]
    residual, rest = rest[:N], rest[N:]
    transpose(U, UT)
    gradientT[:] = 0.0
    loss = 0.0
    for place in range(count):
        i = clients[place] if clients.shape[0] > 0 else place
        Xi, yi, own = X[offsets[i] : offsets[i + 1]], y[offsets[i] : offsets[i + 1]], heads[place]
        m = Xi.shape[0]
        Z = rest[: k * m].reshape((k, m))
        copy(V[i], own)
        project(Xi, UT, Z)
        loss += add_gradient(Xi, yi, own, 1.0 / count, Z, residual, g, gradientT) / count
        step_head(Z, m, yi, own, steps, head_step / n, G, v)
    return _finish(clients, loss, UT, V, gradientT, step_size, heads, new_U, new_V), loss


_FACTORS: dict[str, Any] = {"U": "d k", "V": "n k", "step_size": positive}
_STEPS: dict[str, Any] = {"head_steps": steps, "participants": "r: int | None"}
_WRITES = ("d k", "U"), ("n k", "V")
_ENDS: dict[str, Any] = {
    "result": PFLMFRound,
    "below": ("participants", "n"),
    "lost": "the result of step_size {step_size:g} is not finite",
}
_ON_SAMPLES = Call(
    _samples_round,
    {"X": "N d", "y": "N", "offsets": "n+1: int", **_FACTORS, **_STEPS},
    _WRITES,
    scratch=lambda N, d, n, k, r=0: (2 * d + (r or n) + k + 2 + N) * k + d + N,
    **_ENDS,
)


def pflmf_round(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    U: NDArray[np.float64],
    V: NDArray[np.float64],
    *,
    step_size: float,
    head_steps: tuple[int, float] | None = None,
    participants: NDArray[np.int64] | None = None,
    out: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    work: Workspace | None = None,
) -> PFLMFRound:
    r"""Take one round of pFL^MF on least squares: local steps of v_i, one step of U at the old v_i.

    .. math:: v_i \leftarrow v_i - \frac{\eta_v}{n} U^\top \nabla f_i(U v_i)
              \ \text{ K times}, \qquad
              U \leftarrow U - \frac{\eta}{|I|} \sum_{i \in I} \nabla f_i(U v_i)\, v_i^\top, \qquad
              f_i(\theta) = \frac1{2m_i} \|y_i - X_i \theta\|^2

    Parameters
    ----------
    X, y, offsets
        Clients' samples; see :func:`fedrep_round`.
    U : ndarray, shape (d, k)
        Shared factor; client i's model is U v_i.
    V : ndarray, shape (n, k)
        Clients' factors; row i is v_i.
    step_size : float
        The η above, greater than 0.
    head_steps : (int, float), optional
        The K and η_v above; by default one step of `step_size`.
    participants : ndarray of int64, shape (r,), optional
        Distinct clients in I, in any order (one named twice counts twice); by default all.
    out : pair of ndarray, shapes (d, k) and (n, k), optional
        Where U and V are written; ``(U, V)`` themselves for an update in place.
    work : Workspace, optional
        Scratch memory to be used again.

    Returns
    -------
    PFLMFRound
        ``U``, ``V`` and ``loss``.

    Raises
    ------
    ValueError, TypeError
        If an argument has the wrong type, shape, order or content, or `out` shares memory with
        another argument.
    FloatingPointError
        If the result is not finite. Nothing is written then.

    Notes
    -----
    pFL^MF, Algorithm 1, with the gradients of equation (7).
    """
    return _ON_SAMPLES(locals())


@kernel
def _symmetric(H):
    """Tell whether a matrix is symmetric, but for rounding."""
    off, size = 0.0, 0.0
    for a in range(H.shape[0]):
        for b in range(H.shape[0]):
            off = max(off, abs(H[a, b] - H[b, a]))
            size = max(size, abs(H[a, b]))
    return not off > _SYMMETRIC * size


@kernel
def _curvature(H, UT, HU, G):
    """Write U'HU into G, H one matrix or none for the identity; HU is scratch of d numbers."""
    k, d = UT.shape
    for b in range(k):
        for row in range(d):
            HU[row] = dot(H[row], UT[b]) if H.shape[0] > 0 else UT[b, row]
        for a in range(k):
            G[a, b] = dot(UT[a], HU)


@kernel
def _quadratic_round(A, U, V, step_size, H, head_steps, clients, numbers, new_U, new_V):
    """Return how the round ended, and its loss; matrices stand below each other in H.

    Heads' gradients z = U' H (U v - a) follow z <- z - (head_step / n) U'HU z, see docs/pflmf.md.
    """
    (n, d), k = A.shape, U.shape[1]
    if not all_below(clients, n):
        return INDICES, 0.0
    if mixed_up(U, V, new_U, new_V):
        return OVERLAP, 0.0
    for out in (new_U, new_V):
        if overlap(out, A) or overlap(out, H) or overlap(out, clients):
            return OVERLAP, 0.0
    count = clients.shape[0] if clients.shape[0] > 0 else n
    steps, head_step = head_steps if head_steps[0] > 0 else (1, step_size)
    UT, rest = numbers[: k * d].reshape((k, d)), numbers[k * d :]
    gradientT, rest = rest[: k * d].reshape((k, d)), rest[k * d :]
    heads, rest = rest[: count * k].reshape((count, k)), rest[count * k :]
    G, rest = rest[: k * k].reshape((k, k)), rest[k * k :]
    off, rest = rest[:d], rest[d:]
    g, rest = rest[:d], rest[d:]
    z, change = rest[:k], rest[k : 2 * k]
    transpose(U, UT)
    gradientT[:] = 0.0
    rate, loss = head_step / n, 0.0
    for place in range(count):
        i = clients[place] if clients.shape[0] > 0 else place
        each = H.shape[0] > d
        own = H[i * d : (i + 1) * d] if each else H
        if place == 0 or each:
            if not _symmetric(own):
                return ASYMMETRIC, 0.0
            _curvature(own, UT, g, G)
        v = heads[place]
        copy(V[i], v)
        for column in range(d):
            off[column] = -A[i, column]
        for a in range(k):
            for column in range(d):
                off[column] += v[a] * UT[a, column]
        for column in range(d):
            g[column] = dot(own[column], off) if H.shape[0] > 0 else off[column]
        loss += 0.5 * dot(off, g) / count
        for a in range(k):
            factor = v[a] / count
            for column in range(d):
                gradientT[a, column] += factor * g[column]
            z[a] = dot(UT[a], g)
        for step in range(steps):
            for a in range(k):
                v[a] -= rate * z[a]
                change[a] = dot(G[a], z)
            for a in range(k if step + 1 < steps else 0):
                z[a] -= rate * change[a]
    return _finish(clients, loss, UT, V, gradientT, step_size, heads, new_U, new_V), loss


def _own_round(A, U, V, step_size, H, *others):
    return _quadratic_round(A, U, V, step_size, H.reshape(-1, A.shape[1]), *others)


_SHARED, _OWN = (
    Call(
        run,
        {"A": "n d", **_FACTORS, "H": H, **_STEPS},
        _WRITES,
        scratch=lambda n, d, k, r=0: (2 * d + (r or n) + k + 2) * k + 2 * d,
        **_ENDS,
    )
    for run, H in ((_quadratic_round, "d d | None"), (_own_round, "n d d"))
)


def pflmf_quadratic_round(
    A: NDArray[np.float64],
    U: NDArray[np.float64],
    V: NDArray[np.float64],
    *,
    step_size: float,
    H: NDArray[np.float64] | None = None,
    head_steps: tuple[int, float] | None = None,
    participants: NDArray[np.int64] | None = None,
    out: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    work: Workspace | None = None,
) -> PFLMFRound:
    r"""Take one round of pFL^MF on quadratic functions; see :func:`pflmf_round`.

    .. math:: v_i \leftarrow v_i - \frac{\eta_v}{n} U^\top \nabla f_i(U v_i)
              \ \text{ K times}, \qquad
              U \leftarrow U - \frac{\eta}{|I|} \sum_{i \in I} \nabla f_i(U v_i)\, v_i^\top, \qquad
              f_i(\theta) = \frac12 (\theta - a_i)^\top H_i (\theta - a_i)

    Parameters
    ----------
    A : ndarray, shape (n, d)
        Centres; row i is a_i.
    U : ndarray, shape (d, k)
        Shared factor; client i's model is U v_i.
    V : ndarray, shape (n, k)
        Clients' factors; row i is v_i.
    step_size : float
        The η above, greater than 0.
    H : ndarray, shape (d, d) or (n, d, d), optional
        Symmetric matrices, one for all or one per client; by default the identity.
    head_steps : (int, float), optional
        The K and η_v above; by default one step of `step_size`.
    participants : ndarray of int64, shape (r,), optional
        Distinct clients in I, in any order (one named twice counts twice); by default all.
    out : pair of ndarray, shapes (d, k) and (n, k), optional
        Where U and V are written; ``(U, V)`` themselves for an update in place.
    work : Workspace, optional
        Scratch memory to be used again.

    Returns
    -------
    PFLMFRound
        ``U``, ``V`` and ``loss``.

    Raises
    ------
    ValueError, TypeError
        If an argument has the wrong type, shape, order or content, or `out` shares memory with
        another argument.
    FloatingPointError
        If the result is not finite. Nothing is written then.

    Notes
    -----
    pFL^MF, Algorithm 1, with the gradients of equation (7). Where n = 1, both shapes of H mean the
    same.
    """
    return (_OWN if getattr(H, "ndim", 2) == 3 else _SHARED)(locals())

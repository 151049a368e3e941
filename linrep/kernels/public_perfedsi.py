"""Federated inductive matrix completion (PerFedSI) as calls on arrays; see the package."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep.kernels._border import (
    FINE,
    INDICES,
    LOST,
    OFFSETS,
    OVERLAP,
    Call,
    Workspace,
    all_below,
    finite_matrix,
    finite_vector,
    good_offsets,
    index,
    mixed_up,
    overlap,
    positive,
    real,
)
from linrep.kernels.completion import Side, read_head, step_on_entry
from linrep.kernels.jit import kernel
from linrep.kernels.linalg import copy, copy_rows, dot, finite


class PerFedSIRound(NamedTuple):
    """The result of steps on single entries.

    Attributes
    ----------
    U : ndarray, shape (d, k)
        Factor of the items.
    V : ndarray, shape (p, k)
        Factor of the side information.
    loss : float
        Mean half squared error of the entries, each before its step.
    """

    U: NDArray[np.float64]
    V: NDArray[np.float64]
    loss: float


@kernel
def _epoch(items, values, offsets, Z, U, V, step_size, numbers, new_U, new_V):
    """Return how it ended, and the loss.

    A client walks on v = V' z; what it changes of V is z a' for some a, see docs/perfedsi.md.
    """
    (d, k), (p, _), n = U.shape, V.shape, Z.shape[0]
    if not good_offsets(offsets, items.shape[0]):
        return OFFSETS, 0.0
    if not all_below(items, d):
        return INDICES, 0.0
    if mixed_up(U, V, new_U, new_V):
        return OVERLAP, 0.0
    for out in (new_U, new_V):
        if overlap(out, items) or overlap(out, values) or overlap(out, offsets) or overlap(out, Z):
            return OVERLAP, 0.0
    mean_U, rest = numbers[: d * k].reshape((d, k)), numbers[d * k :]
    own, rest = rest[: d * k].reshape((d, k)), rest[d * k :]
    mean_V, rest = rest[: p * k].reshape((p, k)), rest[p * k :]
    v, start = rest[:k], rest[k : 2 * k]
    for factor in (mean_U, own):
        copy_rows(U, factor)
    copy_rows(V, mean_V)
    total = 0.0
    for i in range(n):
        square = read_head(V, Side(Z, False), i, v)
        for c in range(k):
            start[c] = v[c]
        for entry in range(offsets[i], offsets[i + 1]):
            residual = step_on_entry(own[items[entry]], v, values[entry], step_size, square)
            total += residual * residual
        for entry in range(offsets[i], offsets[i + 1]):
            item = items[entry]
            for c in range(k):  # 0 where the client saw the item before
                mean_U[item, c] += (own[item, c] - U[item, c]) / n
                own[item, c] = U[item, c]
        for c in range(k):
            along = (v[c] - start[c]) / (square * n) if square > 0.0 else 0.0
            for row in range(p):
                mean_V[row, c] += Z[i, row] * along
    loss = total / (2.0 * items.shape[0])
    if not (finite(loss) and finite_matrix(mean_U) and finite_matrix(mean_V)):
        return LOST, loss
    copy_rows(mean_U, new_U)
    copy_rows(mean_V, new_V)
    return FINE, loss


_FACTORS: dict[str, Any] = {"U": "d k", "V": "p k", "step_size": positive}
_WRITES = ("d k", "U"), ("p k", "V")
_LOST = "the result of step_size {step_size:g} is not finite"
_EPOCH = Call(
    _epoch,
    {"items": "N: int", "values": "N", "offsets": "n+1: int", "Z": "n p", **_FACTORS},
    _WRITES,
    scratch=lambda N, n, p, d, k: (2 * d + p + 2) * k,
    result=PerFedSIRound,
    below=("items", "d"),
    lost=_LOST,
)


def perfedsi_epoch(
    items: NDArray[np.int64],
    values: NDArray[np.float64],
    offsets: NDArray[np.int64],
    Z: NDArray[np.float64],
    U: NDArray[np.float64],
    V: NDArray[np.float64],
    *,
    step_size: float,
    out: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    work: Workspace | None = None,
) -> PerFedSIRound:
    r"""Let every client step through its entries, each from (U, V), and average the results.

    .. math:: \rho = \langle u_j, V^\top z_i\rangle - y, \qquad
              u_j \leftarrow u_j - \eta \rho\, V^\top z_i, \qquad
              V \leftarrow V - \eta \rho\, z_i u_j^\top

    Parameters
    ----------
    items : ndarray of int64, shape (N,)
        Rows of U, one client's entries after the other's, in the order of its steps.
    values : ndarray, shape (N,)
        What was observed of them.
    offsets : ndarray of int64, shape (n + 1,)
        Client i owns entries ``offsets[i]:offsets[i + 1]``, at least one.
    Z : ndarray, shape (n, p)
        Side information; row i is client i's.
    U : ndarray, shape (d, k)
        Factor of the items.
    V : ndarray, shape (p, k)
        Factor of the side information.
    step_size : float
        Greater than 0.
    out : pair of ndarray, shapes (d, k) and (p, k), optional
        Where U and V are written; ``(U, V)`` themselves for an update in place.
    work : Workspace, optional
        Scratch memory to be used again.

    Returns
    -------
    PerFedSIRound
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
    PerFedSI, equations (11) and (12), and the server's mean. For participants only, hand in their
    entries and rows of Z; for clients without side information, rows of the identity.
    """
    return _EPOCH(locals())


@kernel
def _step(item, value, z, U, V, step_size, numbers, new_U, new_V):
    """Return how it ended, and the loss."""
    (p, k), u = V.shape, U[item]
    if mixed_up(U, V, new_U, new_V) or overlap(new_U, z) or overlap(new_V, z):
        return OVERLAP, 0.0
    moved, rest = numbers[: p * k].reshape((p, k)), numbers[p * k :]
    v, after = rest[:k], rest[k : 2 * k]
    read_head(V, Side(z.reshape((1, p)), False), 0, v)
    residual = dot(u, v) - value
    along = step_size * residual
    for c in range(k):
        after[c] = u[c] - along * v[c]
        for row in range(p):
            moved[row, c] = V[row, c] - along * z[row] * u[c]
    loss = 0.5 * residual * residual
    if not (finite(loss) and finite_vector(after) and finite_matrix(moved)):
        return LOST, loss
    if new_U.ctypes.data != U.ctypes.data:
        copy_rows(U, new_U)
    copy(after, new_U[item])
    copy_rows(moved, new_V)
    return FINE, loss


_STEP = Call(
    _step,
    {"item": index("d"), "value": real, "z": "p", **_FACTORS},
    _WRITES,
    scratch=lambda p, d, k: (p + 2) * k,
    result=PerFedSIRound,
    lost=_LOST,
)


def perfedsi_step(
    item: int,
    value: float,
    z: NDArray[np.float64],
    U: NDArray[np.float64],
    V: NDArray[np.float64],
    *,
    step_size: float,
    out: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    work: Workspace | None = None,
) -> PerFedSIRound:
    r"""Take a client's gradient step on half the squared error of one entry.

    .. math:: \rho = \langle u_j, V^\top z\rangle - y, \qquad
              u_j \leftarrow u_j - \eta \rho\, V^\top z, \qquad
              V \leftarrow V - \eta \rho\, z u_j^\top

    Parameters
    ----------
    item : int
        Row of U.
    value : float
        What was observed of it.
    z : ndarray, shape (p,)
        The client's side information.
    U, V : ndarray, shape (d, k), (p, k)
        Factors of the items and of the side information.
    step_size : float
        Greater than 0.
    out : pair of ndarray, shapes (d, k) and (p, k), optional
        Where U and V are written; ``(U, V)`` themselves for an update in place, which touches no
        other row of U.
    work : Workspace, optional
        Scratch memory to be used again.

    Returns
    -------
    PerFedSIRound
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
    PerFedSI, equations (11) and (12), both at the old factors.
    """
    return _STEP(locals())

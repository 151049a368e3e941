"""FLUTE's symmetric dynamics as calls on arrays; see the package."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep.kernels._border import (
    FINE,
    LOST,
    OVERLAP,
    UNORDERED,
    Call,
    Workspace,
    finite_matrix,
    finite_vector,
    overlap,
    overlap_partly,
    positive,
    transpose,
)
from linrep.kernels.flute import run_theta
from linrep.kernels.jit import kernel
from linrep.kernels.rounds import COMPLETED, CONVERGED, DIVERGED

_ENDS = {COMPLETED: "completed", CONVERGED: "converged", DIVERGED: "diverged"}
_NEXT = np.array([1])


class Orbit(NamedTuple):
    """Iterates of a map.

    Attributes
    ----------
    Theta : ndarray, shape (records, rows, k)
        The iterates asked for; after the last step that was taken, the last one.
    steps : int
        Steps that were taken.
    status : str
        ``completed``; ``converged`` where the next steps would move nothing but digits lost to
        rounding; ``diverged`` where the next step would not be finite.
    """

    Theta: NDArray[np.float64]
    steps: int
    status: str


@kernel
def _increasing(record):
    """Tell whether numbers of steps increase from 0 or more."""
    good = record[0] >= 0
    for place in range(record.shape[0] - 1):
        good = good and record[place] < record[place + 1]
    return good


@kernel
def _flaw(Theta, eigenvalues, R, out):
    """Return what is wrong with the arrays that both calls below take, but for Theta and out."""
    if overlap(out, eigenvalues) or overlap(out, R):
        return OVERLAP
    if not (finite_matrix(Theta) and finite_vector(eigenvalues) and finite_matrix(R)):
        return LOST
    return FINE


@kernel(counted=True)
def _walk(Theta, eigenvalues, step_size, R, record, numbers):
    """Run the map; return steps and status. Then numbers begin with iterates (records, k, rows)."""
    (rows, k), records = Theta.shape, record.shape[0]
    size = rows * k
    outT, rest = numbers[: records * size].reshape((1, records, k, rows)), numbers[records * size :]
    ThetaT, rest = rest[:size].reshape((1, k, rows)), rest[size:]
    RT, rest = rest[:size].reshape((1, k, rows)), rest[size:]
    nextT, rest = rest[:size].reshape((k, rows)), rest[size:]
    G, step_sizes = rest[: k * k].reshape((k, k)), rest[k * k : k * k + 1]
    completed, status = np.empty(1, np.int64), np.empty(1, np.int64)
    step_sizes[0] = step_size
    transpose(Theta, ThetaT[0])
    RT[:] = 0.0
    if R.shape[0] > 0:
        transpose(R, RT[0])
    run_theta(
        ThetaT, eigenvalues.reshape((1, rows)), step_sizes, RT, record, outT, nextT, G, completed,
        status,
    )  # fmt: skip
    return completed[0], status[0]


@kernel
def _step(Theta, eigenvalues, step_size, R, numbers, out):
    """Return how it ended."""
    flaw = _flaw(Theta, eigenvalues, R, out)
    if flaw != FINE:
        return flaw
    if overlap_partly(out, Theta):
        return OVERLAP
    _, end = _walk(Theta, eigenvalues, step_size, R, _NEXT, numbers)
    if end == DIVERGED:
        return LOST
    rows, k = Theta.shape
    transpose(numbers[: k * rows].reshape((k, rows)), out)
    return FINE


@kernel
def _orbit(Theta, eigenvalues, record, step_size, R, numbers, out):
    """Return how the call ended, how many steps were taken, and how the orbit ended."""
    if not _increasing(record):
        return UNORDERED, 0, 0
    flaw = _flaw(Theta, eigenvalues, R, out)
    if flaw != FINE:
        return flaw, 0, 0
    if overlap(out, Theta) or overlap(out, record):
        return OVERLAP, 0, 0
    steps, end = _walk(Theta, eigenvalues, step_size, R, record, numbers)
    rows, k = Theta.shape
    for place in range(record.shape[0]):
        transpose(numbers[place * k * rows :][: k * rows].reshape((k, rows)), out[place])
    return FINE, steps, end


_THETA: dict[str, Any] = {"Theta": "rows k", "eigenvalues": "rows"}
_MOVED: dict[str, Any] = {"step_size": positive, "R": "rows k | None"}
_STEP = Call(
    _step,
    {**_THETA, **_MOVED},
    (("rows k", "Theta"),),
    scratch=lambda rows, k: (4 * rows + k) * k + 1,
    lost="the result of step_size {step_size:g} is not finite",
)
_ORBIT = Call(
    _orbit,
    {**_THETA, "record": "records: int", **_MOVED},
    (("records rows k", ""),),
    scratch=lambda rows, k, records: ((3 + records) * rows + k) * k + 1,
    result=lambda Theta, steps, end: Orbit(Theta, steps, _ENDS[end]),
)


def theta_step(
    Theta: NDArray[np.float64],
    eigenvalues: NDArray[np.float64],
    *,
    step_size: float,
    R: NDArray[np.float64] | None = None,
    out: NDArray[np.float64] | None = None,
    work: Workspace | None = None,
) -> NDArray[np.float64]:
    r"""Take one step of the symmetric dynamics that FLUTE's lifted iterates follow.

    .. math:: \Theta + \frac{\eta}{2} \Lambda \Theta
              - \frac{\eta}{2} \Theta \Theta^\top \Theta + R, \qquad
              \Lambda = \mathrm{diag}(\lambda_1, \ldots)

    Parameters
    ----------
    Theta : ndarray, shape (rows, k)
        The iterate.
    eigenvalues : ndarray, shape (rows,)
        The diagonal of Λ, in any order.
    step_size : float
        The η above, greater than 0.
    R : ndarray, shape (rows, k), optional
        Perturbation; by default none.
    out : ndarray, shape (rows, k), optional
        Where the result is written; `Theta` itself for an update in place.
    work : Workspace, optional
        Scratch memory to be used again.

    Returns
    -------
    ndarray, shape (rows, k)
        The next iterate.

    Raises
    ------
    ValueError, TypeError
        If an argument has the wrong type, shape, order or content, or `out` shares memory with
        another argument.
    FloatingPointError
        If the result is not finite. Nothing is written then.

    Notes
    -----
    FLUTE, equation (13).
    """
    return _STEP(locals())


def theta_orbit(
    Theta: NDArray[np.float64],
    eigenvalues: NDArray[np.float64],
    record: NDArray[np.int64],
    *,
    step_size: float,
    R: NDArray[np.float64] | None = None,
    out: NDArray[np.float64] | None = None,
    work: Workspace | None = None,
) -> Orbit:
    r"""Follow the symmetric dynamics of FLUTE's lifted iterates.

    .. math:: \Theta_{t+1} = \Theta_t + \frac{\eta}{2} \Lambda \Theta_t
              - \frac{\eta}{2} \Theta_t \Theta_t^\top \Theta_t + R

    Parameters
    ----------
    Theta : ndarray, shape (rows, k)
        The initial point.
    eigenvalues : ndarray, shape (rows,)
        The diagonal of Λ, in any order.
    record : ndarray of int64, shape (records,)
        Numbers of steps after which the iterate is kept, increasing.
    step_size : float
        The η above, greater than 0.
    R : ndarray, shape (rows, k), optional
        Perturbation, the same in every step; by default none.
    out : ndarray, shape (records, rows, k), optional
        Where iterates are written.
    work : Workspace, optional
        Scratch memory to be used again.

    Returns
    -------
    Orbit
        ``Theta``, ``steps`` and ``status``. An orbit that diverges is no error.

    Raises
    ------
    ValueError, TypeError
        If an argument has the wrong type, shape, order or content, or `out` shares memory with
        another argument.

    Notes
    -----
    FLUTE, equation (13). The orbit ends early where it has settled, never at a saddle that some
    direction still leaves.
    """
    return _ORBIT(locals())

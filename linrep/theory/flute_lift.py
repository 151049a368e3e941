"""FLUTE's lifted iterate: from (B, W) and back, what sampling adds to a step, and the map itself.

Its rows are in the order of the eigenvalues of a :class:`linrep.theory.flute.Spectrum`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import display as show
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.kernels import flute as kernel
from linrep.problems.clients import ClientData
from linrep.problems.low_rank import LowRankRegression
from linrep.theory.flute import Spectrum, Values


def lift(truth: LowRankRegression, B: ArrayLike, W: ArrayLike) -> Values:
    r"""Return the lifted iterate of a representation and heads.

    .. math:: \Theta = \frac1{\sqrt2}
              \begin{bmatrix} U^\top B + V^\top W \\ U^\top B - V^\top W \end{bmatrix}

    with the shorter one of U'B and V'W padded by rows of zeros, and the rows of the lower half in
    reverse: the order of the eigenvalues. Applied to Q and Q~ it gives the noise R of (13).

    Parameters
    ----------
    truth : LowRankRegression
        Whose singular bases U and V are meant.
    B : array_like, shape (d, k)
    W : array_like, shape (n, k)

    Returns
    -------
    ndarray, shape (2 max(n, d), k)

    Notes
    -----
    FLUTE, Appendix A.1, before (13).
    """
    B = check.array("B", B, (truth.d, None))
    W = check.array("W", W, (truth.n, B.shape[1]))
    U, _, V = truth.svd
    size = max(truth.n, truth.d)
    left, right = np.zeros((2, size, B.shape[1]))
    left[: truth.d], right[: truth.n] = U.T @ B, V.T @ W
    return np.vstack([left + right, (left - right)[::-1]]) / np.sqrt(2.0)


def lower(truth: LowRankRegression, Theta: ArrayLike) -> tuple[Values, Values]:
    """Return the B and W of which Theta is the lifted iterate; inverse of `lift`.

    What Theta has outside the range of `lift`, in the padding, is dropped.

    Parameters
    ----------
    truth : LowRankRegression
        Whose singular bases U and V are meant.
    Theta : array_like, shape (2 max(n, d), k)

    Returns
    -------
    B : ndarray, shape (d, k)
    W : ndarray, shape (n, k)
    """
    size = max(truth.n, truth.d)
    Theta = check.array("Theta", Theta, (2 * size, None))
    upper, reverse = Theta[:size], Theta[size:][::-1]
    U, _, V = truth.svd
    left, right = (upper + reverse) / np.sqrt(2.0), (upper - reverse) / np.sqrt(2.0)
    return U @ left[: truth.d], V @ right[: truth.n]


@np.errstate(over="ignore", invalid="ignore")  # of runs that diverge
def discrepancy(
    data: ClientData, Phi: ArrayLike, B: ArrayLike, W: ArrayLike, step_size: float
) -> tuple[Values, Values]:
    r"""Return what samples change in a step: Q and the transpose of Q~.

    .. math:: Q = \eta \sum_i (e_i - S_i e_i + X_i^\top \xi_i / m_i) w_i^\top, \qquad
              \tilde q_i = \eta B^\top (e_i - S_i e_i + X_i^\top \xi_i / m_i)

    with e_i = B w_i - phi_i, S_i = X_i'X_i/m_i and the labels' noise xi_i.

    Parameters
    ----------
    data : ClientData
        Samples of n clients.
    Phi : array_like, shape (d, n)
        True models.
    B : array_like, shape (d, k)
    W : array_like, shape (n, k)
    step_size : float
        eta in (13).

    Returns
    -------
    Q : ndarray, shape (d, k)
    Q_heads : ndarray, shape (n, k)
        Row i is q~_i.

    Notes
    -----
    FLUTE, equations (11) and (12). ``lift(truth, Q, Q_heads)`` is R in (13).
    """
    Phi = check.array("Phi", Phi, (data.d, data.n))
    B = check.array("B", B, (data.d, None))
    W = check.array("W", W, (data.n, B.shape[1]))
    step_size = check.real("step_size", step_size, minimum=0.0)
    models = B @ W.T
    excess = models - Phi
    for i in range(data.n):
        X, y = data.client(i)
        excess[:, i] -= X.T @ (X @ models[:, i] - y) / len(y)
    return step_size * excess @ W, step_size * excess.T @ B


class Orbit(NamedTuple):
    """Iterates of the lifted map.

    Attributes
    ----------
    Theta : ndarray, shape (..., records, rows, k)
        The iterates after the recorded numbers of steps.
    record : ndarray of int, shape (records,)
    steps : ndarray of int, shape (...)
        Steps made until the end, or until nothing moved any more but rounding: the remaining
        records hold the last iterate.
    status : ndarray of int, shape (...)
        0: all steps made; 1: settled; 2: the next iterate would not have been finite.
    """

    Theta: Values
    record: NDArray[np.int64]
    steps: NDArray[np.int64]
    status: NDArray[np.int64]

    def __repr__(self):
        return show.line(self)


def _spread(name: str, value: Any, shape: tuple[int, ...]) -> Values:
    """Return numbers broadcast to a shape."""
    value = check.array(name, value, None)
    try:
        return np.broadcast_to(value, shape)
    except ValueError:
        raise ValueError(f"{name} must fit into shape {shape}, got {value.shape}") from None


def iterate(
    Theta: ArrayLike,
    eigenvalues: ArrayLike,
    step_size: ArrayLike,
    record: ArrayLike,
    R: ArrayLike = 0.0,
) -> Orbit:
    r"""Iterate the lifted map from one or many starts.

    .. math:: \Theta \leftarrow \Theta + \frac\eta2 \tilde\Lambda\Theta
              - \frac\eta2 \Theta\Theta^\top\Theta + R

    Parameters
    ----------
    Theta : array_like, shape (..., rows, k)
        Starts.
    eigenvalues : array_like, shape (..., rows)
        Diagonal of the matrix, in the order of the rows; broadcast against the starts.
    step_size : array_like, shape (...)
        Positive; broadcast, too.
    record : array_like of int
        Numbers of steps after which to record, increasing; 0 is the start.
    R : array_like, shape (..., rows, k), default 0
        The same in every step.

    Returns
    -------
    Orbit

    Notes
    -----
    FLUTE, equation (13). Cost per step O(rows k^2), no allocation.
    """
    Theta = check.array("Theta", Theta, None)
    if Theta.ndim < 2:
        raise ValueError(f"Theta must have shape (..., rows, k), got {Theta.shape}")
    *batch, rows, k = Theta.shape
    record = check.read_array("record", record)
    if record.ndim != 1 or record.size == 0 or record.dtype.kind not in "iu":
        raise ValueError("record must be a list of numbers of steps, at least one")
    if record[0] < 0 or (np.diff(record) <= 0).any():
        raise ValueError("record must be increasing, from 0 on")
    eigenvalues = _spread("eigenvalues", eigenvalues, (*batch, rows))
    sizes = _spread("step_size", check.numbers("step_size", step_size, above=0.0), tuple(batch))
    R = _spread("R", R, Theta.shape)
    trials = int(np.prod(batch))
    # Fresh, contiguous copies with the rows last, which is what the innermost loops run through.
    state, forced = (
        np.array(a.reshape(trials, rows, k).transpose(0, 2, 1), order="C") for a in (Theta, R)
    )
    out = np.empty((trials, record.size, k, rows))
    steps, status = np.empty(trials, np.int64), np.empty(trials, np.int64)
    kernel.run_theta(
        state,
        np.array(eigenvalues.reshape(trials, rows)),
        np.array(sizes.reshape(trials)),
        forced,
        record.astype(np.int64),
        out,
        np.empty((k, rows)),
        np.empty((k, k)),
        steps,
        status,
    )
    return Orbit(
        out.transpose(0, 1, 3, 2).reshape(*batch, record.size, rows, k),
        record,
        steps.reshape(batch),
        status.reshape(batch),
    )


class LocalFactors(NamedTuple):
    """Factors per step of small deviations from the optimum, see `local_factors`.

    Attributes
    ----------
    rest : ndarray, shape (2 max(n, d) - k, k)
        Of the rows that are not learned.
    leading : ndarray, shape (k, k)
        Of the product of the leading rows.
    """

    rest: Values
    leading: Values

    def __repr__(self):
        return show.line(self)


def local_factors(spectrum: Spectrum, step_size: float) -> LocalFactors:
    r"""Return how the population map multiplies deviations from its fixed point Phi_k.

    Row i > k times column j of the rotation that makes :math:`\Theta_k = \Lambda_k^{1/2}` grows by
    :math:`1 + \frac\eta2(\lambda^*_i - \lambda^*_j)`, entry i, j of
    :math:`\Theta_k\Theta_k^\top - \tilde\Lambda_k` by
    :math:`1 - \frac\eta2(\lambda^*_i + \lambda^*_j)`; rotations of the columns stay as they are.

    Parameters
    ----------
    spectrum : Spectrum
    step_size : float
        eta in (13).

    Returns
    -------
    LocalFactors
        ``rest`` (2 max(n, d) - k, k) and ``leading`` (k, k). The largest of the first is
        1 - eta Delta/2.

    Notes
    -----
    Equation (13), linearized.
    """
    eta = check.real("step_size", step_size, above=0.0)
    learned, others = spectrum.eigenvalues[: spectrum.k], spectrum.eigenvalues[spectrum.k :]
    return LocalFactors(
        1.0 + 0.5 * eta * (others[:, None] - learned),
        1.0 - 0.5 * eta * (learned[:, None] + learned),
    )


@np.errstate(over="ignore")
def product_error(Theta: ArrayLike, spectrum: Spectrum) -> Values:
    """Return the Frobenius norm of Theta Theta' - diag(Lambda_k, 0), shape (...).

    Parameters
    ----------
    Theta : array_like, shape (..., 2 max(n, d), k)
        Lifted iterates.
    spectrum : Spectrum

    Notes
    -----
    What Proposition A.12 of FLUTE bounds: :func:`linrep.theory.flute.product_bound`.
    """
    Theta = check.array("Theta", Theta, None)
    if Theta.ndim < 2 or Theta.shape[-2] != 2 * spectrum.size:
        raise ValueError(f"Theta must have {2 * spectrum.size} rows, got shape {Theta.shape}")
    target = np.zeros(2 * spectrum.size)
    target[: spectrum.k] = spectrum.eigenvalues[: spectrum.k]
    with np.errstate(over="ignore", invalid="ignore"):  # of runs that diverge
        product = Theta @ np.swapaxes(Theta, -1, -2)
        return np.linalg.norm(product - np.diag(target), axis=(-2, -1))


checked(globals(), nan=False, units=False)  # iterates of runs that diverge are large

r"""Least errors of estimating models that share a representation, for covariates at hand.

The problems and errors of :mod:`linrep.theory.bounds`, for any covariates and any numbers of
samples: nothing is averaged, so that these bounds belong to the estimators that see these samples'
labels. Information matrices are written out: their side is d k where the heads are known,
(d - k) k where nothing is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from linrep import _memory as memory
from linrep.problems import weights as weighting
from linrep.problems.clients import ClientData
from linrep.problems.regression import SharedRepresentation
from linrep.theory.bounds import ErrorBound

Values = NDArray[np.float64]

# Smallest over largest eigenvalue of an information matrix up to which it counts as singular.
_SINGULAR = 1e-13


def known_representation(data: ClientData, truth: SharedRepresentation | None = None) -> ErrorBound:
    r"""Return the errors of least-squares heads where B* is known.

    .. math:: \mathrm E\|\hat\theta_i - \theta_i\|^2
              = \sigma^2\,\mathrm{tr}\big((B^\top X_i^\top X_i B)^{-1}\big)

    Parameters
    ----------
    data : ClientData
        Of which the covariates count.
    truth : SharedRepresentation, optional
        The one the data were drawn from by default.

    Returns
    -------
    ErrorBound
        Infinite for a client whose samples do not determine its head; the distance is 0.

    Raises
    ------
    ValueError, TypeError
        If there is no truth, it has another shape than the data, or the data are weighted.

    Notes
    -----
    Exact; no unbiased estimator does better (Gauss and Markov), and no other in the worst case over
    the heads.
    """
    truth = _read(data, truth)
    errors = np.empty(data.n)
    for i in range(data.n):
        half = _inverse_factor(data.client(i)[0] @ truth.B)
        errors[i] = np.inf if half is None else truth.noise**2 * np.sum(half**2)
    return ErrorBound(errors, 0.0)


def known_heads(data: ClientData, truth: SharedRepresentation | None = None) -> ErrorBound:
    r"""Return the errors of generalized least squares for B where the heads are known.

    .. math:: \mathrm{Cov}(\mathrm{vec}\,\hat B)
              = \sigma^2 \Big(\sum_i X_i^\top X_i \otimes w_i w_i^\top\Big)^{-1}

    Parameters
    ----------
    data : ClientData
        Of which the covariates count.
    truth : SharedRepresentation, optional
        The one the data were drawn from by default.

    Returns
    -------
    ErrorBound
        The errors are exact, the distance of span(B-hat) is to first order in the noise. Infinite
        where the samples do not determine B.

    Raises
    ------
    ValueError, TypeError
        If there is no truth, it has another shape than the data, the data are weighted, or there is
        no memory for the matrix.

    Notes
    -----
    B is any d x k matrix here. No unbiased estimator does better (Gauss and Markov), and no other
    in the worst case over B.
    """
    truth = _read(data, truth)
    W = truth.W
    blocks = (X.T @ X for X, _ in map(data.client, range(data.n)))
    inverse = _inverse_information(blocks, W, truth.d)
    if inverse is None:
        return _unbounded(data.n)
    sigma2 = truth.noise**2
    traces = np.einsum("ajbj->ab", inverse)
    errors = sigma2 * np.einsum("ia,ab,ib->i", W, traces, W)
    inside = np.einsum("ajal,jc,lc->", inverse, truth.B, truth.B)
    return ErrorBound(errors, max(float(sigma2 * (np.trace(traces) - inside)), 0.0))


def cramer_rao(data: ClientData, truth: SharedRepresentation | None = None) -> ErrorBound:
    r"""Return the Cramér-Rao bound where neither the representation nor the heads are known.

    Parameters
    ----------
    data : ClientData
        Of which the covariates count.
    truth : SharedRepresentation, optional
        The one the data were drawn from by default.

    Returns
    -------
    ErrorBound
        Infinite for a client whose samples do not determine its head, and everywhere where all
        samples together do not determine the representation. Without noise all others are 0.

    Raises
    ------
    ValueError, TypeError
        If there is no truth, it has another shape than the data, the data are weighted, or there is
        no memory for the matrix.

    Notes
    -----
    Gorman and Hero, 1990; Stoica and Ng, 1998; Tang and Nehorai, 2011: see
    :func:`linrep.theory.bounds.cramer_rao` for the matrix A whose inverse this is. In the
    coordinates Z = N'B the model's tangent space has no redundant direction, whatever basis of
    span(B) is chosen; a client's error is that of Z w_i, and of its head, which
    :math:`(X_i B)^+ (\varepsilon_i - X_i N Z w_i)` adds. The minimizer of the empirical risk
    attains it as the noise goes to zero.
    """
    truth = _read(data, truth)
    d, k, W = truth.d, truth.k, truth.W
    N = np.linalg.qr(truth.B, mode="complete")[0][:, k:]
    rest, sigma2 = d - k, truth.noise**2
    blocks, heads, crossed = [], np.empty(data.n), []
    memory.require("the clients' second moments", 2 * data.n * rest**2, n=data.n, d=d)
    for i in range(data.n):
        X = data.client(i)[0]
        inside, outside = X @ truth.B, X @ N
        U, values, _ = np.linalg.svd(inside, full_matrices=False)
        U = U[:, values > max(inside.shape) * np.finfo(np.float64).eps * values[0]]
        residual = outside - U @ (U.T @ outside)
        blocks.append(residual.T @ residual)
        half = _inverse_factor(inside)
        heads[i] = np.inf if half is None else np.sum(half**2)
        crossing = np.linalg.pinv(inside) @ outside
        crossed.append(np.eye(rest) + crossing.T @ crossing)
    inverse = _inverse_information(blocks, W, rest) if rest else np.zeros((k, 0, k, 0))
    if inverse is None:
        return _unbounded(data.n)
    spread = [
        np.sum(np.einsum("a,ajbl,b->jl", w, inverse, w) * C)
        for w, C in zip(W, crossed, strict=True)
    ]
    errors = np.where(
        np.isfinite(heads), sigma2 * (np.where(np.isfinite(heads), heads, 0.0)), heads
    )
    return ErrorBound(
        errors + sigma2 * np.array(spread), float(sigma2 * np.einsum("ajaj->", inverse))
    )


def _read(data, truth):
    """Return the truth that the bounds are about, of the data's shape."""
    if not isinstance(data, ClientData):
        raise TypeError(f"data must be ClientData, got {type(data).__name__}")
    weighting.unweighted(data, "bounded")
    truth = data.truth if truth is None else truth
    if not isinstance(truth, SharedRepresentation):
        raise TypeError(
            f"truth must be a SharedRepresentation, got {type(truth).__name__}: pass the one that "
            "the errors are measured from"
        )
    if (truth.n, truth.d) != (data.n, data.d):
        raise ValueError(
            f"truth must have n = {data.n} and d = {data.d} as the data, "
            f"got n = {truth.n} and d = {truth.d}"
        )
    return truth


def _unbounded(n):
    return ErrorBound(np.full(n, np.inf), np.inf)


def _inverse_factor(Z):
    """Return a matrix whose square is the inverse of Z'Z; None where that is singular."""
    m, k = Z.shape
    if m < k:
        return None
    _, values, VT = np.linalg.svd(Z, full_matrices=False)
    if values[-1] <= max(m, k) * np.finfo(np.float64).eps * values[0]:
        return None
    return VT.T / values


def _inverse_information(blocks, W, side):
    """Return the inverse of sum_i w_i w_i' (x) block_i, (k, side, k, side); None if singular."""
    k = W.shape[1]
    whole = k * side
    memory.require("the information matrix", 4 * whole**2, d=side, k=k)
    information = np.zeros((k, side, k, side))
    for w, block in zip(W, blocks, strict=True):
        information += np.einsum("a,jl,b->ajbl", w, block, w)
    information = information.reshape(whole, whole)
    values = np.linalg.eigvalsh(information)
    if not values[0] > _SINGULAR * whole * values[-1]:
        return None
    try:
        factor = cho_factor(information, lower=True)
    except LinAlgError:  # eigenvalues that are positive by rounding alone
        return None
    return cho_solve(factor, np.eye(whole)).reshape(k, side, k, side)

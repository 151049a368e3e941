r"""Least errors of estimating models that share a representation, for given covariates.

The problems and errors of :mod:`linrep.theory.bounds`, for any covariates and any numbers of
samples: nothing is averaged, so that these bounds belong to the estimators that see these samples'
labels. Information matrices are written out: their side is d k where the heads are known,
(d - k) k where nothing is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linrep._lib.arguments import checked
from linrep.problems.clients import ClientData
from linrep.problems.regression import SharedRepresentation
from linrep.theory.bounds import ErrorBound

Values = NDArray[np.float64]

# Eigenvalues of an information matrix that count as zero, over its scale and its side.
_SINGULAR = 1e-14
# What a client's model may share with a direction that counts so, but for rounding.
_APART = 1e-6


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
        If there is no truth, or it has another shape than the data.

    Notes
    -----
    Exact; no unbiased estimator does better (Gauss and Markov), and no other in the worst case over
    the heads.
    """
    truth = _read(data, truth)
    errors = np.empty(data.n)
    for i in range(data.n):
        inside = data.client(i)[0] @ truth.B
        values = np.linalg.svd(inside, compute_uv=False)
        short = max(inside.shape) * np.finfo(np.float64).eps * values[0]
        known = values.size == truth.k and values[-1] > short
        errors[i] = truth.noise**2 * np.sum(values**-2.0) if known else np.inf
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
        for a client whose model the samples of all do not determine, and for B likewise.

    Raises
    ------
    ValueError, TypeError
        If there is no truth, or it has another shape than the data.

    Notes
    -----
    B is any d x k matrix here. No unbiased estimator does better (Gauss and Markov), and no other
    in the worst case over B.
    """
    truth = _read(data, truth)
    W = truth.W
    moments = [X.T @ X for X, _ in map(data.client, range(data.n))]
    scale = max(np.sum(w**2) * np.trace(block) for w, block in zip(W, moments, strict=True))
    inverse, lost = _inverse_information(moments, truth, scale)
    sigma2 = truth.noise**2
    traces = np.einsum("ajbj->ab", inverse)
    errors = sigma2 * np.einsum("ia,ab,ib->i", W, traces, W)
    errors[_touched(W, lost)] = np.inf
    outside = lost - np.einsum("jc,lc,alr->ajr", truth.B, truth.B, lost)
    if np.linalg.norm(outside) > _APART:
        return ErrorBound(errors, np.inf)
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
        Infinite for a client whose samples do not determine its head, or all samples together not
        what the representation adds to its model, and for the representation likewise. Without
        noise all others are 0.

    Raises
    ------
    ValueError, TypeError
        If there is no truth, or it has another shape than the data.

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
    n, d, k, W = truth.n, truth.d, truth.k, truth.W
    codimension, sigma2 = d - k, truth.noise**2
    N = np.linalg.qr(truth.B, mode="complete")[0][:, k:]
    blocks, growth = np.empty((2, n, codimension, codimension))
    heads, scale = np.empty(n), 0.0
    for i in range(n):
        X = data.client(i)[0]
        inside, outside = X @ truth.B, X @ N
        U, values, VT = np.linalg.svd(inside, full_matrices=False)
        is_positive = values > max(inside.shape) * np.finfo(np.float64).eps * values[0]
        U, values, VT = U[:, is_positive], values[is_positive], VT[is_positive]
        products = U.T @ outside
        residual = outside - U @ products
        blocks[i] = residual.T @ residual
        heads[i] = np.sum(values**-2.0) if is_positive.sum() == k else np.inf
        # An error Z w_i outside of span(B) moves the head by (X_i B)^+ X_i N Z w_i.
        moved = products / values[:, None]
        growth[i] = np.eye(codimension) + moved.T @ moved
        scale = max(scale, np.sum(W[i] ** 2) * np.sum(outside**2))
    inverse, lost = _inverse_information(blocks, truth, scale)
    outside = np.einsum("ia,ajbl,ib,ijl->i", W, inverse, W, growth, optimize=True)
    lost_heads = np.isinf(heads)
    errors = sigma2 * (np.where(lost_heads, 0.0, heads) + outside)
    errors[lost_heads | _touched(W, lost)] = np.inf
    distance = np.inf if lost.size else float(sigma2 * np.einsum("ajaj->", inverse))
    return ErrorBound(errors, distance)


def _read(data, truth):
    """Return the truth that the bounds are about, of the data's shape."""
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


def _inverse_information(blocks, truth, scale):
    """Return the pseudoinverse of sum_i w_i w_i' (x) block_i, and its null space.

    Of shapes (k, side, k, side) and (k, side, dimension).
    """
    k, side = truth.k, blocks[0].shape[0]
    size = k * side
    information = np.zeros((k, side, k, side))
    for w, block in zip(truth.W, blocks, strict=True):
        information += np.einsum("a,jl,b->ajbl", w, block, w)
    values, vectors = np.linalg.eigh(information.reshape(size, size))
    is_regular = values > _SINGULAR * size * scale
    half, lost = vectors[:, is_regular] / np.sqrt(values[is_regular]), vectors[:, ~is_regular]
    inverse = (half @ half.T).reshape(k, side, k, side)
    return inverse, lost.reshape(k, side, lost.shape[1])


def _touched(W, lost):
    """Tell of every client whether directions that no sample shows change its model."""
    if not lost.size:
        return np.zeros(len(W), dtype=bool)
    changes = np.linalg.norm(np.einsum("ia,ajr->ijr", W, lost), axis=(1, 2))
    return changes > _APART * np.linalg.norm(W, axis=1)


checked(globals(), nan=False, large=False, units=False)

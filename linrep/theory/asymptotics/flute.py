r"""FLUTE at its limit point: the error left by fixed samples, and the factor per round near it.

On m samples the limit point is the rank-k minimizer of the empirical risk. Its error is that of the
truncated singular value decomposition of a perturbed :math:`\Phi`, to first order in
:math:`1/\sqrt m`. docs/learning-curves.md has the derivations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems.low_rank import LowRankRegression
from linrep.theory.flute import Spectrum

Values = NDArray[np.float64]
_GAP = 1e-8  # between singular values, relative: below, they count as equal


class Floor(NamedTuple):
    """Expected errors at a number of samples per client.

    Attributes
    ----------
    error : float
        Mean of `by_client`.
    by_client : ndarray, shape (n,)
        Expected distance of each client's model from its column of the truth's best approximation.
    """

    error: float
    by_client: Values


def floor(truth: LowRankRegression, k: int, m: int) -> Floor:
    r"""Return the expected error per client of the rank-k minimizer of the empirical risk.

    Parameters
    ----------
    truth : LowRankRegression
        With normal covariates.
    k : int
        Rank of the fit; the truth's singular values k and k + 1 must differ.
    m : int
        Samples per client.

    Returns
    -------
    Floor

    Notes
    -----
    To first order in :math:`1/\sqrt m`, a normal error whose expected norm is exact. It is for m
    well above d: where m is of the order of d runs end higher. With 40 clients, rank 5 and k = 2
    they end 15, 7 and 1 % above it at m = 15, 30 and 60 in 20 dimensions, 22 % at m = 30 in 80.
    Takes O(n^2 d^3) operations and n d^2 numbers.
    """
    k = check.integer("k", k, minimum=1)
    m = check.integer("m", m, minimum=1)
    by_client = _expected_norms(truth, k) / np.sqrt(m)
    return Floor(float(by_client.mean()), by_client)


def sufficient_samples(truth: LowRankRegression, k: int, tolerance: float) -> float:
    r"""Return the samples per client at which :func:`floor` is a given error.

    Parameters
    ----------
    truth, k
        As for :func:`floor`.
    tolerance : float
        Mean error per client, positive.

    Returns
    -------
    float
        Not rounded. Too small where it is of the order of d or below, see :func:`floor`.
    """
    k = check.integer("k", k, minimum=1)
    tolerance = check.real("tolerance", tolerance, above=0.0)
    return float((_expected_norms(truth, k).mean() / tolerance) ** 2)


class LocalRate(NamedTuple):
    """Factors per round near the best models of rank k.

    Attributes
    ----------
    models : float
        Of the clients' distance from their models there.
    imbalance : float
        Of the norm of B'B - W'W.
    """

    models: float
    imbalance: float


def local_rate(
    truth: LowRankRegression,
    k: int,
    *,
    step_size: float,
    regularizer_step_size: float | None = None,
) -> LocalRate:
    r"""Return the factors by which rounds on infinitely many samples shrink small errors.

    Parameters
    ----------
    truth : LowRankRegression
        Its singular values k and k + 1 must differ.
    k : int
        Rank of the representation.
    step_size : float
        :math:`\eta_l`, of half losses that are summed.
    regularizer_step_size : float, optional
        :math:`\eta_r`, with :math:`\gamma_1 = 2\gamma_2 = 1/4`; by default `step_size`.

    Returns
    -------
    LocalRate
        Rounds contract if and only if both are below 1.

    Notes
    -----
    The larger one of :math:`1-\eta_l\Delta/2` and :math:`|1-2\eta_l\lambda_1|` for the models,
    of :math:`|1-2\eta_r\lambda_k|` and :math:`|1-2\eta_r\lambda_1|` for the imbalance: equations
    (5), with half losses, and (6) of FLUTE, linearized. Theorem 5.5 has :math:`1-\eta\Delta/16`.
    Errors of the models that imbalance leaves are of second order in it and in :math:`\eta_r`.
    """
    check.instance("truth", truth, LowRankRegression)
    spectrum = Spectrum.of(truth, k)
    step = check.real("step_size", step_size, above=0.0)
    penalty = step if regularizer_step_size is None else regularizer_step_size
    penalty = check.real("regularizer_step_size", penalty, above=0.0)
    if spectrum.gap <= _GAP * spectrum.first:
        raise ValueError(f"truth must have singular value k = {k} above the next one")
    return LocalRate(
        max(1.0 - 0.5 * step * spectrum.gap, abs(1.0 - step * spectrum.first)),
        max(abs(1.0 - penalty * spectrum.last), abs(1.0 - penalty * spectrum.first)),
    )


def _expected_norms(truth, k):
    """Return the root of m times the expected norm of each client's error."""
    check.instance("truth", truth, LowRankRegression)
    models = truth.Phi.T
    n, d = models.shape
    k = check.integer("k", k, minimum=1, maximum=min(n, d))
    if truth.design != "gaussian":
        raise ValueError(f"truth must have normal covariates, got design = {truth.design!r}")
    left, values, right = np.linalg.svd(models, full_matrices=True)
    rank = len(values)
    following = values[k] if k < rank else 0.0
    if values[k - 1] - following <= _GAP * values[0]:
        raise ValueError(
            f"truth must have singular value k above the next one, got {values[k - 1]:g} and "
            f"{following:g} for k = {k}"
        )
    # In singular bases the error is own * z + other * z', z the perturbation.
    own, other = np.zeros((n, d)), np.zeros((n, d))
    own[:k], own[:, :k] = 1.0, 1.0
    kept, rest = values[:k, None], values[None, k:]
    gap = kept**2 - rest**2
    own[:k, k:rank] = kept**2 / gap
    own[k:rank, :k] = own[:k, k:rank].T
    other[:k, k:rank] = kept * rest / gap
    other[k:rank, :k] = other[:k, k:rank].T
    residuals = models @ right.T
    residuals[:, :k] = 0.0
    sizes = np.sum(residuals**2, axis=1) + truth.noise**2
    norms = np.empty(n)
    columns = left[:, :rank] if rank == d else np.pad(left, ((0, 0), (0, d - n)))
    padded = np.zeros((d, d))
    padded[:rank, :rank] = other[:rank, :rank].T
    for i, row in enumerate(left):
        # What client j's perturbation adds to the error of i: a linear map of it.
        head = np.zeros(d)
        head[:rank] = row[:rank]
        maps = columns[:, :, None] * (padded * head)
        maps[:, np.arange(d), np.arange(d)] += (left * row) @ own
        along = np.einsum("jba,ja->jb", maps, residuals)
        flat = (maps * np.sqrt(sizes)[:, None, None]).transpose(1, 0, 2).reshape(d, -1)
        norms[i] = _mean_norm(np.linalg.eigvalsh(flat @ flat.T + along.T @ along))
    return norms


def _mean_norm(variances):
    """Return the expected norm of a normal vector of given principal variances.

    E root(Q) is the integral of (1 - E exp(-tQ)) t^(-3/2) over t, over 2 root(pi); with t the
    exponential of x the trapezoidal rule is exact to rounding.
    """
    variances = np.maximum(variances, 0.0)
    total = variances.sum()
    if total == 0.0:
        return 0.0
    x = np.linspace(-60.0, 60.0, 2401)
    logs = -0.5 * np.log1p(2.0 * np.exp(x)[:, None] * (variances / total)).sum(axis=1)
    integral = np.sum(-np.expm1(logs) * np.exp(-x / 2.0)) * (x[1] - x[0])
    return float(np.sqrt(total / np.pi) / 2.0 * integral)


checked(globals(), nan=False, large=False)

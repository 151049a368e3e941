"""Ridge regressions of many clients for many penalties, from one decomposition of each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import validation as check
from linrep.kernels.linalg import RANK_TOLERANCE

Values = NDArray[np.float64]

#: Penalties that are tried, over the largest squared singular value of any client's covariates.
GRID = 10.0 ** np.arange(-12.0, 4.5, 0.5)
_ROUNDING = 1e-9  # relative difference of errors below which they count as equal
_ALONE = 1e-8  # one minus leverage below which a sample cannot be left out


class Spectrum(NamedTuple):
    """A client's covariates X = U S V', of rank r, and what its labels are in them."""

    left: Values  # U (m, r)
    values: Values  # diagonal of S (r,)
    right: Values  # V' (r, d)
    along: Values  # U'y (r,)
    outside: Values  # y - U U'y (m,)
    free: Values  # one minus the leverages (m,)

    def solve(self, penalty: float) -> Values:
        """Return the model of least ||y - X w||^2 + penalty ||w||^2, of minimum norm for 0."""
        return (self.values / (self.values**2 + penalty) * self.along) @ self.right

    def left_out(self, penalties: Values) -> Values:
        """Return the errors at every sample of models fitted to the others (penalties, m)."""
        unfitted = penalties[:, None] / (self.values**2 + penalties[:, None])
        residuals = self.outside + (unfitted * self.along) @ self.left.T
        return residuals / (self.free + unfitted @ (self.left**2).T)


def decompose(X: Values, y: Values, offsets: NDArray[np.int64]) -> Iterator[Spectrum]:
    """Yield the spectrum of every client."""
    for start, stop in pairwise(offsets):
        U, values, VT = np.linalg.svd(X[start:stop], full_matrices=False)
        m = stop - start
        rank = int(np.count_nonzero(values > RANK_TOLERANCE * values[0]))
        U, values, VT = U[:, :rank], values[:rank], VT[:rank]
        along = U.T @ y[start:stop]
        if rank == m:  # where rounding is all that there is outside
            outside = free = np.zeros(m)
        else:
            outside = y[start:stop] - U @ along
            free = np.maximum(1.0 - np.sum(U**2, axis=1), 0.0)
        yield Spectrum(U, values, VT, along, outside, free)


def read_penalty(name: str, value: ArrayLike, n: int) -> Values:
    """Return a penalty for each of n clients, given one for all or one for each."""
    penalties = check.numbers(name, value, minimum=0.0)
    if penalties.shape not in ((), (n,)):
        raise ValueError(f"{name} must be a number or {n}, one per client, got {penalties.shape}")
    return np.broadcast_to(penalties, (n,))


def grid(spectra: list[Spectrum]) -> Values:
    """Return the penalties that are tried, increasing."""
    largest = max((float(each.values[0]) for each in spectra if each.values.size), default=0.0)
    return GRID * (largest**2 or 1.0)


def best_penalties(spectra: list[Spectrum], *, per_client: bool) -> Values:
    """Return each client's penalty (n,) of least squared error at samples left out one by one.

    Of penalties that are equally good the largest: with one sample, the largest that is tried.
    """
    penalties = grid(spectra)
    errors = np.array([np.sum(each.left_out(penalties) ** 2, axis=1) for each in spectra])
    if not per_client:
        errors = np.broadcast_to(errors.sum(axis=0), errors.shape)
    return penalties[[_last_best(row) for row in errors]]


def models_around_mean(spectra: list[Spectrum], penalty: float) -> tuple[Values, Values]:
    """Return models (n, d) and mean c of least sum of ||y_i - X_i w_i||^2 + penalty ||w_i - c||^2.

    Where c is not unique, that of minimum norm.
    """
    mean = _inverse(spectra, penalty) @ sum(each.solve(penalty) for each in spectra)
    models = [
        each.solve(penalty) + mean - (_share(each, penalty) * (each.right @ mean)) @ each.right
        for each in spectra
    ]
    return np.array(models), mean


def best_penalty_around_mean(spectra: list[Spectrum]) -> float:
    """Return the penalty of the above with least squared error at samples left out one by one.

    A sample that is the only one in a direction of the covariates cannot be left out, as the mean
    is not penalized; nothing depends on the penalty there.
    """
    penalties, errors = grid(spectra), []
    count = None
    for penalty in penalties[::-1]:
        residual, free = _left_out_around_mean(spectra, penalty)
        if count is None:  # with the largest, no other sample comes near
            count = free > _ALONE
        error = residual[count] / np.maximum(free[count], np.finfo(np.float64).eps)
        errors.append(error @ error)
    return float(penalties[_last_best(np.array(errors[::-1]))])


def _left_out_around_mean(spectra, penalty):
    """Return all samples' residuals and one minus their leverages."""
    inverse = _inverse(spectra, penalty)
    mean = inverse @ sum(each.solve(penalty) for each in spectra)
    residuals, frees = [], []
    for each in spectra:
        unfitted = penalty / (each.values**2 + penalty)
        residuals.append(
            each.outside + each.left @ (unfitted * (each.along - each.values * (each.right @ mean)))
        )
        pulled = (each.left * (each.values / (each.values**2 + penalty))) @ each.right
        through_mean = penalty * np.sum((pulled @ inverse) * pulled, axis=1)
        frees.append(each.free + each.left**2 @ unfitted - through_mean)
    return np.concatenate(residuals), np.concatenate(frees)


def _share(spectrum, penalty):
    """Return how much of a model along V the samples decide, and not the mean."""
    return spectrum.values**2 / (spectrum.values**2 + penalty)


def _inverse(spectra, penalty):
    """Return the pseudo-inverse (d, d) of the system for the mean."""
    total = sum((each.right.T * _share(each, penalty)) @ each.right for each in spectra)
    return np.linalg.pinv(total, rcond=np.finfo(np.float64).eps * len(total), hermitian=True)


def _last_best(errors):
    """Return the last place at which errors are least, to rounding."""
    return int(np.flatnonzero(errors <= errors.min() * (1.0 + _ROUNDING))[-1])

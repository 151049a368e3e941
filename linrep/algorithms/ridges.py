"""Ridge regressions of many clients for many penalties, from one decomposition of each.

Clients of as many samples are calculated with together.
"""

from __future__ import annotations

from collections.abc import Iterator
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
_BLOCK = 2**17  # numbers of covariates that are decomposed together


class Spectra(NamedTuple):
    """Covariates X = U S V' of clients of m samples, and what labels are in them; r = min(m, d).

    Where the rank is below r, what is beyond it is 0.
    """

    clients: NDArray[np.int64]  # (n,)
    left: Values  # U (n, m, r)
    values: Values  # diagonal of S (n, r)
    right: Values  # V' (n, r, d)
    along: Values  # U'y (n, r)
    outside: Values  # y - U U'y (n, m)
    free: Values  # one minus the leverages (n, m)

    def solve(self, penalties: Values | float) -> Values:
        """Return the models (n, d) of least ||y - X w||^2 + penalty ||w||^2, of minimum norm for 0.

        There is a penalty for each of the clients, or one for all.
        """
        damped = self.values**2 + np.reshape(penalties, (-1, 1))
        heads = self.values / np.where(damped > 0.0, damped, 1.0)
        return np.einsum("nr,nrd->nd", heads * self.along, self.right)

    def left_out(self, penalty: float) -> Values:
        """Return the errors (n, m) at every sample of models fitted to the client's others."""
        unfitted = penalty / (self.values**2 + penalty)
        residuals = self.outside + _times(self.left, unfitted * self.along)
        return residuals / (self.free + _times(self.left**2, unfitted))


def _times(matrices, vectors):
    """Return the product of each matrix with its vector."""
    return (matrices @ vectors[..., None])[..., 0]


def decompose(X: Values, y: Values, offsets: NDArray[np.int64]) -> list[Spectra]:
    """Return the spectra of all clients, in blocks of clients of as many samples."""
    return list(_decomposed(X, y, offsets))


def _decomposed(X, y, offsets) -> Iterator[Spectra]:
    sizes = np.diff(offsets)
    for m in np.unique(sizes):
        alike = np.flatnonzero(sizes == m)
        at_once = max(1, _BLOCK // max(1, int(m) * X.shape[1]))
        for clients in np.split(alike, np.arange(at_once, len(alike), at_once)):
            rows = offsets[clients][:, None] + np.arange(m)
            labels = y[rows]
            U, values, VT = np.linalg.svd(X[rows], full_matrices=False)
            kept = values > RANK_TOLERANCE * values[:, :1]
            values = np.where(kept, values, 0.0)
            U, VT = U * kept[:, None, :], VT * kept[:, :, None]
            along = _times(np.swapaxes(U, 1, 2), labels)
            outside = labels - _times(U, along)
            free = np.maximum(1.0 - np.sum(U**2, axis=2), 0.0)
            whole = kept.sum(axis=1) == m  # where rounding is all that there is outside
            outside[whole] = free[whole] = 0.0
            yield Spectra(clients, U, values, VT, along, outside, free)


def read_penalty(name: str, value: ArrayLike, n: int) -> Values:
    """Return a penalty for each of n clients, given one for all or one for each."""
    penalties = check.numbers(name, value, minimum=0.0)
    if penalties.shape not in ((), (n,)):
        raise ValueError(f"{name} must be a number or {n}, one per client, got {penalties.shape}")
    return np.broadcast_to(penalties, (n,))


def grid(spectra: list[Spectra]) -> Values:
    """Return the penalties that are tried, increasing."""
    largest = max(float(each.values[:, 0].max()) for each in spectra)
    return GRID * (largest**2 or 1.0)


def models(spectra: list[Spectra], penalties: Values) -> Values:
    """Return all clients' models (n, d) of least ||y - X w||^2 + penalty ||w||^2."""
    found = np.empty((len(penalties), spectra[0].right.shape[2]))
    for each in spectra:
        found[each.clients] = each.solve(penalties[each.clients])
    return found


def best_penalties(spectra: list[Spectra], *, per_client: bool) -> Values:
    """Return each client's penalty (n,) of least squared error at samples left out one by one.

    Of penalties that are equally good the largest: with one sample, the largest that is tried.
    """
    penalties = grid(spectra)
    errors = np.empty((sum(len(each.clients) for each in spectra), len(penalties)))
    for each in spectra:
        for place, penalty in enumerate(penalties):
            errors[each.clients, place] = np.sum(each.left_out(penalty) ** 2, axis=1)
    if not per_client:
        return np.full(len(errors), penalties[_last_best(errors.sum(axis=0))])
    return penalties[[_last_best(row) for row in errors]]


def models_around_mean(spectra: list[Spectra], penalty: float) -> tuple[Values, Values]:
    """Return models (n, d) and mean c of least sum of ||y_i - X_i w_i||^2 + penalty ||w_i - c||^2.

    Where c is not unique, that of minimum norm.
    """
    mean = _mean(spectra, penalty, _inverse(spectra, penalty))
    found = np.empty((sum(len(each.clients) for each in spectra), len(mean)))
    for each in spectra:
        pulled = np.einsum("nr,nrd->nd", _share(each, penalty) * (each.right @ mean), each.right)
        found[each.clients] = each.solve(penalty) + mean - pulled
    return found, mean


def best_around_mean(spectra: list[Spectra]) -> tuple[float, float]:
    """Return the penalty of the above with least squared error at samples left out one by one.

    And the mean of that error.

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
        errors.append(error @ error / max(1, len(error)))
    best = _last_best(np.array(errors[::-1]))
    return float(penalties[best]), float(errors[::-1][best])


def _left_out_around_mean(spectra, penalty):
    """Return all samples' residuals and one minus their leverages, in the order of the blocks."""
    inverse = _inverse(spectra, penalty)
    mean = _mean(spectra, penalty, inverse)
    residuals, frees = [], []
    for each in spectra:
        damped = each.values**2 + penalty
        unfitted = penalty / damped
        missed = unfitted * (each.along - each.values * (each.right @ mean))
        pulled = (each.left * (each.values / damped)[:, None, :]) @ each.right
        through_mean = penalty * np.sum((pulled @ inverse) * pulled, axis=2)
        residuals.append((each.outside + _times(each.left, missed)).ravel())
        frees.append((each.free + _times(each.left**2, unfitted) - through_mean).ravel())
    return np.concatenate(residuals), np.concatenate(frees)


def _share(spectra, penalty):
    """Return how much of models along V the samples decide, and not the mean."""
    return spectra.values**2 / (spectra.values**2 + penalty)


def _mean(spectra, penalty, inverse):
    """Return the mean (d,) of the models."""
    return inverse @ sum(each.solve(penalty).sum(axis=0) for each in spectra)


def _inverse(spectra, penalty):
    """Return the pseudo-inverse (d, d) of the system for the mean."""
    d = spectra[0].right.shape[2]
    total = np.zeros((d, d))
    for each in spectra:
        rows = each.right.reshape(-1, d)
        total += (rows.T * _share(each, penalty).ravel()) @ rows
    return np.linalg.pinv(total, rcond=np.finfo(np.float64).eps * d, hermitian=True)


def _last_best(errors):
    """Return the last place at which errors are least, to rounding."""
    return int(np.flatnonzero(errors <= errors.min() * (1.0 + _ROUNDING))[-1])

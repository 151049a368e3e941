"""Samples that rounds read again and again, by the triangular factors of their QR factorizations.

Half mean squared errors of linear models, and what is computed of them, depend on a client's m
samples by R'R of [X y] = QR alone: the d + 1 rows of R are as good, multiplied by the root of
(d + 1)/m, so that means over them are those over the samples.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dgeqrf

from linrep.problems.clients import ClientData
from linrep.problems.losses import LeastSquaresObjectives
from linrep.problems.objectives import Objectives

# What a multiplication of the factorization and a client's call cost, in multiplications of rounds.
_EACH, _CALL = 3.0, 1e5
_BLOCK = 64  # columns that LAPACK works on at a time


def pays(m: NDArray[np.int64], d: int, work: float) -> bool:
    """Tell whether rounds on factors cost less than those on samples, factorization included.

    `work` is that of all rounds, in multiplications per sample.
    """
    factored = m[m > d + 1]
    cost = _EACH * (d + 1) ** 2 * factored.sum() + _CALL * len(factored)
    return bool(work * np.sum(factored - (d + 1)) > cost)


def compressed(data: ClientData, work: float) -> ClientData:
    """Return data of the same losses, where that pays: the samples themselves where it does not.

    Clients of at most d samples keep them, others have d + 1 rows then, X triangular; `work` is
    as of :func:`pays`.
    """
    if not pays(data.m, data.d, work):
        return data
    blocks = [_factor(*data.client(i)) for i in range(data.n)]
    rows = np.concatenate(blocks)
    offsets = np.concatenate([[0], np.cumsum([len(block) for block in blocks])])
    return ClientData(rows[:, :-1], rows[:, -1], offsets, truth=data.truth)


def compressed_losses(problem: Objectives, work: float) -> Objectives:
    """Return least-squares losses on what `compressed` makes of their samples; others as they are.

    They are for a method's rounds: they do not know the truth.
    """
    if type(problem) is not LeastSquaresObjectives:
        return problem
    rows = compressed(problem.data, work)
    return problem if rows is problem.data else LeastSquaresObjectives(rows, ridge=problem.ridge)


def compressed_halves(data: ClientData, work: float) -> ClientData:
    """Return what `compressed` does, for rounds that read each half of a client's samples alone.

    The first half is the larger one by a sample where there is one too many. Both have d + 1 rows
    then, or the samples they had.
    """
    middles = data.offsets[1:] - data.m // 2
    offsets = np.sort(np.concatenate([data.offsets, middles]))
    halves = compressed(ClientData(data.X, data.y, offsets), work)
    if len(halves.y) == len(data.y):
        return data
    return ClientData(halves.X, halves.y, halves.offsets[::2], truth=data.truth)


def _factor(X, y):
    """Return the rows of [X y], or those of its triangular factor where these are not more."""
    (m, d), size = X.shape, X.shape[1] + 1
    rows = np.empty((m, size), order="F")
    rows[:, :d], rows[:, d] = X, y
    if m < size:
        return rows
    factor = dgeqrf(rows, lwork=_BLOCK * size, overwrite_a=True)[0][:size]
    return np.triu(factor) * np.sqrt(size / m)

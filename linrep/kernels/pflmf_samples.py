"""pFL^MF's rounds on least-squares or logistic losses of samples, with a ridge.

Conventions as in linrep.kernels.pflmf; Z = (X U)^T is (k, m). A client's data are read twice a
round, whatever the number of local steps.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep.kernels.jit import kernel
from linrep.kernels.linalg import copy_rows, dot, gram
from linrep.kernels.pflmf import finish_round, order_clients
from linrep.kernels.rounds import COMPLETED, DIVERGED, back_project, project

LEAST_SQUARES, LOGISTIC = range(2)  # losses

Values = NDArray[np.float64]


class Losses(NamedTuple):
    """Mean losses of samples, client i's being rows offsets[i]:offsets[i + 1] of X and y."""

    loss: int
    X: Values  # (N, d)
    y: Values  # (N,)
    offsets: NDArray[np.int64]
    ridge: float


@kernel
def slopes(loss, Z, y, v, residual):
    """Write the descents of a client's mean loss in its samples' scores into residual."""
    m = y.shape[0]
    for j in range(m):
        residual[j] = 0.0
    for a in range(v.shape[0]):
        for j in range(m):
            residual[j] += v[a] * Z[a, j]
    if loss == LOGISTIC:
        for j in range(m):
            residual[j] = y[j] / ((1.0 + np.exp(y[j] * residual[j])) * m)
    else:
        for j in range(m):
            residual[j] = (y[j] - residual[j]) / m


@kernel
def head_descent(Z, residual, ridge, C, v, h):
    """Write the head's descent into h, ridge included; return its square. C is U'U."""
    m, square = residual.shape[0], 0.0
    for a in range(v.shape[0]):
        h[a] = dot(Z[a][:m], residual)
        if ridge > 0.0:
            h[a] -= ridge * dot(C[a], v)
        square += h[a] * h[a]
    return square


@kernel
def sample_client(functions, i, place, moving, settings, noise, t, start_V, state, work):
    """Add a client's descent, times its head, to work.descents, and move its head, if moving.

    Into work.sums go the squares of the head's descents, over all local steps, and of the head at
    last; into work.spread its squared distances from the start; work.old_heads keeps the head.
    """
    UT, v = state.UT, state.V[i]
    k, d = UT.shape
    X = functions.X[functions.offsets[i] : functions.offsets[i + 1]]
    y = functions.y[functions.offsets[i] : functions.offsets[i + 1]]
    ridge = functions.ridge
    sumT, Z, C, g, h = work.descents[0 if moving else 1], work.Z, work.G, work.row, work.rows[0]
    sums, spread = work.sums, work.spread
    local_steps = spread.shape[0] - 1
    residual = work.residual[: y.shape[0]]
    project(X, UT, Z)
    slopes(functions.loss, Z, y, v, residual)
    back_project(X, residual, g)
    if ridge > 0.0:
        for a in range(k):
            for column in range(d):
                g[column] -= ridge * v[a] * UT[a, column]
    for a in range(k):
        for column in range(d):
            sumT[a, column] += v[a] * g[column]
    if not (moving or settings.measured):
        return
    for a in range(k):
        spread[0] += (v[a] - start_V[i, a]) ** 2
    if not moving:
        sums[0] += local_steps * head_descent(Z, residual, ridge, C, v, h)
        return
    for a in range(k):
        work.old_heads[a, place] = v[a]
    for step in range(local_steps):
        if step > 0:
            slopes(functions.loss, Z, y, v, residual)
        sums[0] += head_descent(Z, residual, ridge, C, v, h)
        for a in range(k):
            v[a] += settings.head_step * h[a]
            if noise.present:
                v[a] -= settings.head_step_size * noise.V[t, step, i, a]
            spread[step + 1] += (v[a] - start_V[i, a]) ** 2
    sums[1] += dot(v, v)


@kernel
def run_samples(functions, masks, scales, settings, noise, start, state, totals, work):
    """Run a round per row of masks on losses of samples; return rounds done and the status.

    Parameters as in linrep.kernels.pflmf.run_quadratic, but functions : Losses.
    """
    UT, order, spread = state.UT, work.order, work.spread
    n = state.V.shape[0]
    for t in range(masks.shape[0]):
        count = order_clients(masks[t], order)
        copy_rows(UT, work.old_UT)
        work.descents[:] = 0.0
        work.sums[:] = 0.0
        spread[:] = 0.0
        if functions.ridge > 0.0:
            gram(UT, work.G)
        rest = 0.0
        for place in range(n if settings.everyone or settings.measured else count):
            before, moving = spread[0], place < count
            sample_client(
                functions, order[place], place, moving, settings, noise, t, start.V, state, work
            )
            if not moving:
                rest += spread[0] - before
        if not finish_round(
            scales[t], settings, noise, t, order[:count], start, state, totals, rest, work
        ):
            return t, DIVERGED
    return masks.shape[0], COMPLETED

"""pFL^MF's rounds on least-squares or logistic losses of samples, with a ridge.

Conventions as in linrep.kernels.pflmf; Z = (X U)^T is (k, m). A client's data are read twice a
round, whatever the number of local steps.
"""

import numpy as np

from linrep.kernels._jit import kernel
from linrep.kernels.linalg import copy_rows, dot, gram
from linrep.kernels.pflmf import finish_round, order_clients
from linrep.kernels.rounds import COMPLETED, DIVERGED, back_project, project

LEAST_SQUARES, LOGISTIC = range(2)  # losses


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
def sample_client(
    loss, X, y, ridge, i, moving, measured, head_step, head_step_size, noisy, noise, start_V, UT,
    C, v, sumT, Z, h, residual, g, old, sums, spread,
):  # fmt: skip
    """Add a client's descent, times its head, to sumT, and move its head v, if moving.

    Into sums go the squares of the head's descents, over all local steps, and of the head at last;
    into spread its squared distances from the start; old keeps the head.
    """
    k, d = UT.shape
    m = y.shape[0]
    local_steps = spread.shape[0] - 1
    residual = residual[:m]
    project(X, UT, Z)
    slopes(loss, Z, y, v, residual)
    back_project(X, residual, g)
    if ridge > 0.0:
        for a in range(k):
            for column in range(d):
                g[column] -= ridge * v[a] * UT[a, column]
    for a in range(k):
        for column in range(d):
            sumT[a, column] += v[a] * g[column]
    if not (moving or measured):
        return
    for a in range(k):
        spread[0] += (v[a] - start_V[i, a]) ** 2
    if not moving:
        sums[0] += local_steps * head_descent(Z, residual, ridge, C, v, h)
        return
    for a in range(k):
        old[a] = v[a]
    for step in range(local_steps):
        if step > 0:
            slopes(loss, Z, y, v, residual)
        sums[0] += head_descent(Z, residual, ridge, C, v, h)
        for a in range(k):
            v[a] += head_step * h[a]
            if noisy:
                v[a] -= head_step_size * noise[step, i, a]
            spread[step + 1] += (v[a] - start_V[i, a]) ** 2
    sums[1] += dot(v, v)


@kernel
def _run_samples(
    loss, X, y, offsets, ridge, masks, scales, everyone, measured, step_size, head_step_size, noisy,
    noise_U, noise_V, start_UT, start_V, UT, V, totals, work,
):  # fmt: skip
    """See run_samples."""
    order, descents, copies, wide, C, _, rows, Z, row, sums, spread = work
    n, d = V.shape[0], UT.shape[1]
    largest = row.shape[0] - d
    for t in range(masks.shape[0]):
        count = order_clients(masks[t], order)
        copy_rows(UT, copies[0])
        descents[:] = 0.0
        sums[:] = 0.0
        spread[:] = 0.0
        if ridge > 0.0:
            gram(UT, C)
        rest = 0.0
        for place in range(n if everyone or measured else count):
            i = order[place]
            part = 0 if place < count else 1
            before = spread[0]
            own = slice(offsets[i], offsets[i + 1])
            sample_client(
                loss, X[own], y[own], ridge, i, part == 0, measured, head_step_size / n,
                head_step_size, noisy, noise_V[t if noisy else 0], start_V, UT, C, V[i],
                descents[part], Z, rows[0], row[:largest], row[largest:],
                wide[0][:, place], sums, spread,
            )  # fmt: skip
            if part == 1:
                rest += spread[0] - before
        if not finish_round(
            n, scales[t], everyone, measured, step_size, noisy, noise_U[t if noisy else 0],
            order[:count], start_UT, UT, V, descents, copies[0], wide[0], totals, sums, spread,
            rest,
        ):  # fmt: skip
            return t, DIVERGED
    return masks.shape[0], COMPLETED


@kernel(counted=True)
def run_samples(
    loss, X, y, offsets, ridge, masks, scales, everyone, measured, step_size, head_step_size, noisy,
    noise_U, noise_V, start_UT, start_V, UT, V, totals, work,
):  # fmt: skip
    """Run a round per row of masks; return rounds done and the status.

    Client i owns rows offsets[i]:offsets[i + 1] of X and y. All else as in pflmf.run_quadratic.
    """
    return _run_samples(
        loss, X, y, offsets, ridge, masks, scales, everyone, measured, step_size, head_step_size,
        noisy, noise_U, noise_V, start_UT, start_V, UT, V, totals, work,
    )  # fmt: skip

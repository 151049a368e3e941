"""One global model (B, w) for all clients: the local work of FedSGD and FedAvg."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep.kernels.jit import kernel
from linrep.kernels.linalg import copy, copy_rows, dot
from linrep.kernels.rounds import back_project

Values = NDArray[np.float64]


class Workspace(NamedTuple):
    """Sums over participants, and scratch."""

    sumT: Values  # (k, d): of their representations
    head_sum: Values  # (k,): of their heads
    localT: Values  # (k, d)
    local: Values  # (k,)
    theta: Values  # (d,)
    g: Values  # (d,)
    residual: Values  # (m,)


def workspace(k: int, d: int, m: int) -> Workspace:
    """Return room for a round on batches of at most m samples."""
    return Workspace(
        sumT=np.empty((k, d)),
        head_sum=np.empty(k),
        localT=np.empty((k, d)),
        local=np.empty(k),
        theta=np.empty(d),
        g=np.empty(d),
        residual=np.empty(m),
    )


@kernel
def global_model_round(samples, participants, BT, w, step_size, local_steps, work):
    """Sum up in work the models (B, w) the participants reach; return the mean loss.

    Each starts at (BT, w) and takes local_steps full-batch gradient steps on (1/2m)||y - X B w||^2,
    in B and w at once. The loss is the one at (BT, w).
    """
    k, d = BT.shape
    X, y, offsets = samples
    localT, local, theta, g, residual = work.localT, work.local, work.theta, work.g, work.residual
    work.sumT[:] = 0.0
    work.head_sum[:] = 0.0
    loss = 0.0
    for i in participants:
        Xi, yi = X[offsets[i] : offsets[i + 1]], y[offsets[i] : offsets[i + 1]]
        m = Xi.shape[0]
        copy_rows(BT, localT)
        copy(w, local)
        for step in range(local_steps):
            for column in range(d):
                theta[column] = 0.0
                for a in range(k):
                    theta[column] += local[a] * localT[a, column]
            for j in range(m):
                residual[j] = dot(Xi[j], theta) - yi[j]
            if step == 0:
                loss += dot(residual[:m], residual[:m]) / (2.0 * m)
            back_project(Xi, residual, g)
            for a in range(k):
                slope = dot(localT[a], g)
                factor = step_size * local[a] / m
                for column in range(d):
                    localT[a, column] -= factor * g[column]
                local[a] -= step_size * slope / m
        for a in range(k):
            work.head_sum[a] += local[a]
            for column in range(d):
                work.sumT[a, column] += localT[a, column]
    return loss / participants.shape[0]

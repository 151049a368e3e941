"""One shared model (B, w) for all clients: the local work of FedSGD and FedAvg."""

from linrep.kernels._jit import kernel
from linrep.kernels.linalg import copy, copy_rows, dot
from linrep.kernels.rounds import back_project


@kernel
def one_model_round(
    X, y, offsets, participants, BT, w, step_size, local_steps, sumT, head_sum, localT, local, work
):
    """Sum up in sumT and head_sum the models (B, w) the participants reach; return the mean loss.

    Each starts at (BT, w) and takes local_steps full-batch gradient steps on (1/2m)||y - X B w||^2,
    in B and w at once. The loss is the one at (BT, w). Scratch: localT (k, d), local (k,), and work
    of length 2d plus the largest number of samples.
    """
    k, d = BT.shape
    theta, g, residual = work[:d], work[d : 2 * d], work[2 * d :]
    sumT[:] = 0.0
    head_sum[:] = 0.0
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
            head_sum[a] += local[a]
            for column in range(d):
                sumT[a, column] += localT[a, column]
    return loss / participants.shape[0]

"""PerFedSI, one plain step per line (float64).

Equation numbers are those of the PerFedSI paper, its k being p here and its r being k. U is (d, k),
V is (p, k), Z is (n, p), M is (d, p). No function modifies its arguments.
"""

import numpy as np


def loss(U, V, M, Z):
    """Equation (10): mean over clients of half ||(U V' - M) z||^2."""
    total = 0.0
    for z in Z:
        total += 0.5 * np.sum(((U @ V.T - M) @ z) ** 2)
    return total / len(Z)


def local_step(U, V, item, value, z, step_size):
    """Equations (11) and (12): a gradient step on half the squared error of one entry."""
    e = np.zeros(len(U))
    e[item] = 1.0
    residual = e @ U @ V.T @ z - value
    return (
        U - step_size * residual * np.outer(e, z @ V),
        V - step_size * residual * np.outer(z, e @ U),
    )


def round_of(U, V, clients, entries, Z, step_size):
    """Return the server's averages; entries[j] lists the (item, value) that participant j sees."""
    Us, Vs, losses = [], [], []
    for client, seen in zip(clients, entries, strict=True):
        Ui, Vi = U, V
        for item, value in seen:
            losses.append(0.5 * (Ui[item] @ Vi.T @ Z[client] - value) ** 2)
            Ui, Vi = local_step(Ui, Vi, item, value, Z[client], step_size)
        Us.append(Ui)
        Vs.append(Vi)
    return np.mean(Us, axis=0), np.mean(Vs, axis=0), np.mean(losses)


def left_over(vectors, targets, offsets):
    """What least squares on each group's rows of vectors leaves of the same rows of targets."""
    rest = targets.copy()
    for group in range(len(offsets) - 1):
        first, last = offsets[group], offsets[group + 1]
        if last > first:
            A, b = vectors[first:last], targets[first:last]
            rest[first:last] = b - A @ np.linalg.lstsq(A, b, rcond=1e-12)[0]
    return rest


def entry_loss(U, V, item, value, z):
    """Half the squared error of one entry."""
    return 0.5 * (U[item] @ V.T @ z - value) ** 2


def entry_step(U, V, item, value, z, step_size):
    """A gradient step on it; the row of U and V at their old values."""
    u, v = U[item], V.T @ z
    residual = u @ v - value
    new_U = U.copy()
    new_U[item] = u - step_size * residual * v
    return new_U, V - step_size * np.outer(z, residual * u)

"""The cell of Figure 3 in FedRep's published notebook, FedRep_linear_sims.ipynb, loop by loop.

In the notebook's units: covariates A (n, m, d) are normal over sqrt(m), labels Y (n, m) have noise
of standard deviation 1e-3. U (n, k) are heads, V (d, k) a representation; M is U V^T.
"""

import numpy as np
import scipy.linalg

from .subspace import distance


def nearest(M, k):
    """What it takes for the nearest matrix of rank k: columns of V^T in the place of its rows."""
    U, s, Vt = scipy.linalg.svd(M)  # V^T is (d, d)
    return U[:, :k] @ np.diag(s[:k]) @ Vt[:, :k].T


def start(A, Y, M, k):
    """U and V after ten rounds from the matrix M (n, d)."""
    Mk = nearest(M, k)
    for _ in range(10):
        gradient = np.zeros(Mk.shape)
        for i in range(len(A)):
            for j in range(len(A[i])):
                gradient[i] += (A[i, j] @ Mk[i] - Y[i, j]) * A[i, j]
        Mk = nearest(Mk - 0.1 * gradient, k)
    U, _, Vt = scipy.linalg.svd(Mk)
    return U[:, :k], Vt[:, :k]


def residual(A, Y, U, V, clients):
    """Sum over clients and samples of (<A_ij, M> - Y_ij) A_ij, a matrix (n, d)."""
    total = np.zeros((len(U), len(V)))
    for i in clients:
        for j in range(len(A[i])):
            total[i] += (A[i, j] @ V @ U[i] - Y[i, j]) * A[i, j]
    return total


def run(A, Y, U, V, B_star, W_star, schedule, alpha, beta, betaff):
    """Distances and function values before each round and at the end, by method.

    alpha is FedRep's step, beta that of GD-GD, for 10GD-GD's representation too, betaff that of
    10GD-GD's heads.
    """
    n = len(U)
    Udd = Uff = U = U.copy()  # one array
    Vdd = Vff = V
    found = []

    def note():
        pairs = {"FedRep": (U, V), "10GD-GD": (Uff, Vff), "GD-GD": (Udd, Vdd)}
        found.append(
            {
                name: (
                    distance(right, B_star),
                    float(np.sum((W_star @ B_star.T - left @ right.T) ** 2) / (2 * n)),
                )
                for name, (left, right) in pairs.items()
            }
        )

    for clients in schedule:
        note()
        for i in clients:
            Z = A[i] @ V
            U[i] = np.linalg.inv(Z.T @ Z) @ Z.T @ Y[i]  # in place
        Udd = Udd - beta * residual(A, Y, Udd, Vdd, clients) @ Vdd
        for _ in range(10):
            Uff = Uff - betaff * residual(A, Y, Uff, Vff, clients) @ Vff
        g = residual(A, Y, U, V, clients).T @ U
        gdd = residual(A, Y, Udd, Vdd, clients).T @ Udd
        gff = residual(A, Y, Uff, Vff, clients).T @ Uff
        V, Vdd, Vff = V - alpha * g, Vdd - beta * gdd, Vff - beta * gff
    note()
    return found

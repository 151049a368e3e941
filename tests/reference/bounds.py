"""Bounds on errors, from Fisher information written out entry by entry (float64)."""

import numpy as np
import scipy.linalg

ZERO = 1e-9  # eigenvalues and lengths, relative to the largest, that count as zero


def information(Xs, B, W, noise):
    """Fisher information of (B, W) in all d k + n k entries, and the Jacobians of B w_i."""
    (d, k), n = B.shape, len(W)
    F, jacobians = np.zeros((d * k + n * k, d * k + n * k)), []
    for i, X in enumerate(Xs):
        J = np.zeros((d, d * k + n * k))
        for j in range(d):
            for a in range(k):
                J[j, j * k + a] = W[i, a]  # d (B w_i)_j / d B_ja
                J[j, d * k + i * k + a] = B[j, a]  # d (B w_i)_j / d w_ia
        F += J.T @ (X.T @ X) @ J / noise**2
        jacobians.append(J)
    return F, jacobians


def bound(F, G):
    """Trace of G F^+ G', the bound on what has the Jacobian G; infinite if F does not show it."""
    values, vectors = scipy.linalg.eigh(F)
    seen = values > ZERO * max(values[-1], 1.0 * np.trace(F) / len(F))
    along = G @ vectors
    if np.linalg.norm(along[:, ~seen]) > 1e-5 * np.linalg.norm(G):
        return np.inf
    return float(np.sum(along[:, seen] ** 2 / values[seen]))


def cramer_rao(Xs, B, W, noise):
    """Errors of B w_i, and of N'B for an orthonormal basis N of what is orthogonal to B."""
    (d, k), n = B.shape, len(W)
    F, jacobians = information(Xs, B, W, noise)
    N = scipy.linalg.null_space(B.T)
    G = np.hstack([np.kron(N.T, np.eye(k)), np.zeros(((d - k) * k, n * k))])
    return [bound(F, J) for J in jacobians], bound(F, G) if d > k else 0.0


def known_heads(Xs, B, W, noise):
    """Likewise with the entries of B as the only parameters."""
    d, k = B.shape
    F, jacobians = information(Xs, B, W, noise)
    F = F[: d * k, : d * k]
    N = scipy.linalg.null_space(B.T)
    errors = [bound(F, J[:, : d * k]) for J in jacobians]
    return errors, bound(F, np.kron(N.T, np.eye(k))) if d > k else 0.0


def known_representation(Xs, B, W, noise):
    """Likewise with a client's own head as the only parameters."""
    (d, k), n = B.shape, len(W)
    F, jacobians = information(Xs, B, W, noise)
    errors = []
    for i in range(n):
        own = slice(d * k + i * k, d * k + (i + 1) * k)
        errors.append(bound(F[own, own], jacobians[i][:, own]))
    return errors


def mean_square_round(M, W, N, p, m, noise, step_size, split):
    """Mean of Phi'Phi after a linearized round of FedRep with N clients, M being the one before.

    Phi <- Phi - (eta/N) sum_i (G_i Phi w_i - e_i) w_i', the moments of Wishart matrices of p
    dimensions: E G = nu/m, E G^2 = nu (nu + p + 1)/m^2.
    """
    n, k = W.shape
    nu = m if split else m - k
    one, two = N / n, N * (N - 1) / (n * (n - 1)) if n > 1 else 0.0  # chances to take part
    new = M.copy()
    for w in W:
        new -= step_size / n * (nu / m) * (np.outer(w, w) @ M + M @ np.outer(w, w))
    for i, w in enumerate(W):
        for j, v in enumerate(W):
            square = one * nu * (nu + p + 1) if i == j else two * nu**2
            new += (step_size / N) ** 2 * square / m**2 * (w @ M @ v) * np.outer(w, v)
        variance = noise**2
        if split:
            variance += (noise**2 + w @ M @ w) * k / (m - k - 1)
        new += one * (step_size / N) ** 2 * p * nu / m**2 * variance * np.outer(w, w)
    return new

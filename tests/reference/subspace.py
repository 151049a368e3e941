"""Subspace distance and orthonormalization, straight from their definitions (float64)."""

import numpy as np
import scipy.linalg


def distance(B1, B2):
    """Principal angle distance, equation (10): ||B1_perp^T B2_hat||_2."""
    B1_perp = scipy.linalg.null_space(B1.T)
    B2_hat = scipy.linalg.orth(B2)
    product = B1_perp.T @ B2_hat
    if product.size == 0:  # span(B1) is all of R^d, or span(B2) is {0}
        return 0.0
    return float(np.linalg.norm(product, 2))


def orthonormalize(B):
    """Q of the thin QR of B with R's diagonal non-negative (Algorithm 2 / equation (16))."""
    Q, R = np.linalg.qr(B)
    Q = Q.copy()
    for p in range(R.shape[0]):
        if R[p, p] < 0:
            Q[:, p] = -Q[:, p]
    return Q

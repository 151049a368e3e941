"""Rounds of FedRep as Algorithm 2 has them: samples, least squares, a gradient step, QR."""

import numpy as np


def frames(d, sines, rng):
    """Return B* and B, the sines of their principal angles being given."""
    k = len(sines)
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    truth, B = basis[:, :k], np.zeros((d, k))
    for j, sine in enumerate(sines):
        B[:, j] = np.sqrt(1.0 - sine**2) * truth[:, j]
        if sine:
            B[:, j] += sine * basis[:, k + j]
    turns = np.linalg.qr(rng.standard_normal((2, k, k)))[0]
    return truth @ turns[0], B @ turns[1]


def covariates(B, m, rng, tilted):
    """Return a batch for each of the frames B, and by what the normal law divides its density.

    That is more than 1 where X B is nearly singular, and more often so if tilted: then X B has the
    law of the Gram matrices of m - 2 samples, whose density is the normal one over det(B'X'XB).
    """
    runs, d, k = B.shape
    X = rng.standard_normal((runs, m, d))
    few = np.linalg.qr(X @ B)[0] @ np.linalg.qr(rng.standard_normal((runs, m - 2, k)))[1]
    Z = np.where(tilted[:, None, None], few, X @ B)
    X = X - (X @ B - Z) @ np.swapaxes(B, 1, 2)
    return X, np.prod(m - 2.0 - np.arange(k)) / np.linalg.det(np.swapaxes(Z, 1, 2) @ Z)


def rounds(B, truth, W, *, participants, m, step_size, noise, rng, tilt=False):
    """Return B before the QR factorization after a round of each of the frames B, and weights.

    With m near k squares of a round have a mean but no variance. Tilted, one of the participants
    has a nearly singular batch more often, and the weights make up for it.
    """
    (n, _), (runs, d, k) = W.shape, B.shape
    gradient, ratios = np.zeros((runs, d, k)), np.zeros(runs)
    order = rng.permuted(np.tile(np.arange(n), (runs, 1)), axis=1)
    one = rng.integers(participants, size=runs) if tilt else np.full(runs, -1)
    for place, clients in enumerate(order[:, :participants].T):
        X, ratio = covariates(B, m, rng, one == place)
        y = np.einsum("rma,ra->rm", X, W[clients] @ truth.T)
        y += noise * rng.standard_normal((runs, m))
        Q, R = np.linalg.qr(X @ B)
        w = np.linalg.solve(R, np.einsum("rma,rm->ra", Q, y)[..., None])[..., 0]
        error = np.einsum("rma,rab,rb->rm", X, B, w) - y
        gradient += np.einsum("rmd,rm,ra->rda", X, error, w) / (m * participants)
        ratios += ratio / participants
    return B - step_size * gradient, 1.0 / ratios if tilt else np.ones(runs)


def squared_sines(B, truth):
    """Return the squared sines of the principal angles of each of the frames, however small."""
    rest = B - truth @ (truth.T @ B)
    return np.linalg.svd(rest, compute_uv=False) ** 2

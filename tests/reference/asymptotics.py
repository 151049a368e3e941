"""FedRep's limit with d and n, step by step with a basis F of what B* adds to span(B)."""

import numpy as np


def psd_root(P):
    """Return Phi with Phi'Phi = P."""
    values, vectors = np.linalg.eigh(P)
    return (vectors * np.sqrt(np.maximum(values, 0.0))).T


def step(C, Phi, A, D, N):
    """Return C and Phi of the frame of B A + F D + Xi, where Xi'Xi = N and B* = B C + F Phi.

    All in coordinates of B, F and of k further directions, in which Xi is the root of N.
    """
    k = len(C)
    new = np.vstack([A, D, psd_root(N)])
    truth = np.vstack([C, Phi, np.zeros((k, k))])
    frame, _ = np.linalg.qr(new)
    inner = frame.T @ truth
    return inner, np.linalg.qr(truth - frame @ inner)[1]


def means(W, C, Phi, noise, m, batches, rng, draws):
    """Return the mean of X'r w'/m on B and F, and of |r|^2 w w'/m^2, by simulated clients."""
    k = len(C)
    inside, outside, power = (np.zeros((k, k)) for _ in range(3))
    for _ in range(draws):
        for w_true in W:

            def batch(w_true=w_true):
                Z, Y = rng.standard_normal((m, k)), rng.standard_normal((m, len(Phi)))
                return Z, Y, Z @ C @ w_true + Y @ Phi @ w_true + noise * rng.standard_normal(m)

            Z, Y, y = batch()
            w = np.linalg.lstsq(Z, y, rcond=None)[0]
            if batches == "split":
                Z, Y, y = batch()
            r = Z @ w - y
            inside += np.outer(Z.T @ r, w) / m
            outside += np.outer(Y.T @ r, w) / m
            power += r @ r * np.outer(w, w) / m**2
    return tuple(total / (draws * len(W)) for total in (inside, outside, power))


def truncated(models, k):
    """Return the best approximation of rank k."""
    left, values, right = np.linalg.svd(models, full_matrices=False)
    return (left[:, :k] * values[:k]) @ right[:k]


def flute_error(models, k, noise, rng, draws, size=1e-5):
    """Return clients' mean errors, per root(1/m), of truncated SVDs of perturbed models."""
    best = truncated(models, k)
    rest = models - best
    total = np.zeros(len(models))
    for _ in range(draws):
        zeta = np.sqrt(np.sum(rest**2, axis=1) + noise**2)[:, None] * rng.standard_normal(
            models.shape
        )
        zeta += rest * rng.standard_normal((len(models), 1))
        total += np.linalg.norm(truncated(models + size * zeta, k) - best, axis=1) / size
    return total / draws


def flute_round(Phi, B, W, step, penalty):
    """Return (5) and (6) of FLUTE with half losses, infinitely many samples, gamma_1 = 1/4."""
    new_B, new_W = B.copy(), W.copy()
    for i, w in enumerate(W):
        error = B @ w - Phi[:, i]
        new_B -= step * np.outer(error, w)
        new_W[i] -= step * B.T @ error
    imbalance = B.T @ B - W.T @ W  # of |imbalance|^2/8
    return new_B - penalty / 2 * B @ imbalance, new_W + penalty / 2 * W @ imbalance


def flute_local_rate(Phi, k, step, penalty, size=1e-5):
    """Return the largest factors of directions that move models, and of those that move B'B - W'W.

    Of the round's derivative at the balanced best models of rank k, by central differences.
    """
    d, n = Phi.shape
    left, values, right = np.linalg.svd(Phi)
    B, W = left[:, :k] * np.sqrt(values[:k]), right[:k].T * np.sqrt(values[:k])

    def parts(move):
        return move[: d * k].reshape(d, k), move[d * k :].reshape(n, k)

    def after(move):
        dB, dW = parts(move)
        moved = flute_round(Phi, B + dB, W + dW, step, penalty)
        return np.concatenate([part.ravel() for part in moved])

    moves = size * np.eye((d + n) * k)
    derivative = np.array([(after(move) - after(-move)) / (2 * size) for move in moves]).T
    factors, directions = np.linalg.eigh((derivative + derivative.T) / 2)
    models, imbalance = [], []
    for factor, move in zip(factors, directions.T, strict=True):
        dB, dW = parts(move)
        if np.linalg.norm(dB @ W.T + B @ dW.T) > 1e-6:
            models.append(abs(factor))
        change = dB.T @ B - dW.T @ W
        if np.linalg.norm(change + change.T) > 1e-6:
            imbalance.append(abs(factor))
    return max(models), max(imbalance)


def perfedsi_second_moment(U, V, Z, eta, tau, C, S):
    """Return a round's second moments of the factors' error, by sums over items and clients."""
    d, k = U.shape
    n, p = Z.shape
    size = (d + p) * k
    mean, square = np.zeros((size, size)), np.zeros_like(S)
    for z in Z:
        vectors = []
        for i in range(d):
            a = np.zeros((d + p, k))
            a[i] = V.T @ z
            a[d:] = np.outer(z, U[i])
            vectors.append(a.ravel())
        one, moment = np.eye(size), S
        for _ in range(tau):
            one = sum(one - eta * np.outer(a, a @ one) for a in vectors) / d
            steps = [np.eye(size) - eta * np.outer(a, a) for a in vectors]
            moment = sum(step @ moment @ step for step in steps) / d
        mean += one / n
        square += moment / n
    return square / C + (1 - 1 / C) * mean @ S @ mean.T

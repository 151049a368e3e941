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


def anil_round(W, C, Phi, scale, head, noise, gamma, m, alpha, beta, first_order, rng):
    """Return C, Phi, scale and head after a round of ANIL, by clients with two batches each.

    In coordinates of Q and F; B is Q scale.
    """
    n, k = W.shape
    X1, X2 = rng.standard_normal((2, n, m, k + len(Phi)))
    models = W @ np.vstack([C, Phi]).T
    y1, y2 = (
        np.einsum("imk,ik->im", X, models) + noise * rng.standard_normal((n, m)) for X in (X1, X2)
    )
    XB1, XB2 = X1[:, :, :k] @ scale, X2[:, :, :k] @ scale
    r1 = XB1 @ head - y1
    w = head - alpha * np.einsum("imk,im->ik", XB1, r1) / m
    r2 = np.einsum("imk,ik->im", XB2, w) - y2
    u = np.einsum("imk,im->ik", XB2, r2) / m
    # The gradient in B is X'M over m.
    M1, M2 = np.zeros((n, m, k)), np.einsum("im,ik->imk", r2, w)
    if not first_order:
        along = np.einsum("imk,ik->im", XB1, u)
        M1 = -alpha * (np.einsum("im,ik->imk", r1, u) + np.einsum("im,k->imk", along, head))
        u = u - alpha * np.einsum("imk,im->ik", XB1, along) / m
    gradient = sum(np.einsum("ima,imb->ab", X, M) for X, M in ((X1, M1), (X2, M2))) / (n * m)
    power = sum(np.einsum("ima,imb->ab", M, M) for M in (M1, M2)) / (n * m**2)
    A, D = scale - beta * gradient[:k], -beta * gradient[k:]
    N = beta**2 * gamma * power
    R = np.linalg.qr(np.vstack([A, D, psd_root(N)]))[1]
    return *step(C, Phi, A, D, N), R, head - beta * u.mean(0)


def start_angles(W, d, noise, sizes, kind, shares):
    """Return squared sines of a start to first order, from moments of labels by quadrature.

    A client's matrix is the mean of y_a x_a y_b x_b' over pairs of its samples: of a sample with
    itself, of all, or of different ones.
    """
    k = W.shape[1]
    nodes, weights = np.polynomial.hermite_e.hermegauss(6)
    points = np.array(np.meshgrid(*[nodes] * (k + 1))).reshape(k + 1, -1).T
    mass = np.array(np.meshgrid(*[weights] * (k + 1))).reshape(k + 1, -1).prod(axis=0)
    mass /= mass.sum()
    z = points[:, :k]
    outer = z[:, :, None] * z[:, None, :]
    gap, spread = np.zeros((k, k)), np.zeros((k, k))

    def mean(values):
        return np.tensordot(mass, values, 1)

    for w, m, share in zip(W, sizes, shares, strict=True):
        y = z @ w + noise * points[:, k]
        taken = {
            "moments": [(a, a) for a in range(m)],
            "truncated": [(a, b) for a in range(m) for b in range(m)],
            "cross": [(a, b) for a in range(m) for b in range(m) if a != b],
        }[kind]
        for a, b in taken:
            same = mean(outer * (y**2)[:, None, None]) - mean(y**2) * np.eye(k)
            apart = np.outer(mean(y[:, None] * z), mean(y[:, None] * z))
            gap += share / len(taken) * (same if a == b else apart)
            for c, b_too in taken:
                if c != a:  # whose coordinates outside of B* are independent
                    continue
                term = _product(mean, y, z, outer, a, b, b_too)
                spread += share**2 / len(taken) ** 2 * term
    inverse = np.linalg.inv(gap)
    return np.linalg.eigvalsh((d - k) * inverse @ spread @ inverse)[::-1]


def _product(mean, y, z, outer, a, b, c):
    """Return the mean of y_a^2 y_b z_b y_c z_c' over independent samples."""
    labels = y[:, None]
    if b == c:
        if a == b:
            return mean(outer * (y**4)[:, None, None])
        return mean(y**2) * mean(outer * (y**2)[:, None, None])
    first = mean(labels ** (3 if a == b else 1) * z)
    second = mean(labels ** (3 if a == c else 1) * z)
    return (1.0 if a in (b, c) else mean(y**2)) * np.outer(first, second)


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


def pflmf_mean_map(A, U, V, eta, p, K):
    """Return the map of the mean error (dU, dV) of a round around (U, V), by differences.

    The mean over who takes part: every client's row is that after its local steps with chance p.
    """
    n = len(V)

    def mean_round(U, V):
        new_U, new_V = U.copy(), V.copy()
        for i in range(n):
            new_U -= eta / n * np.outer(U @ V[i] - A[i], V[i])
            v = V[i]
            for _ in range(K):
                v = v - p * eta / K / n * U.T @ (U @ v - A[i])
            new_V[i] = (1 - p) * V[i] + p * v
        return np.concatenate([new_U.ravel(), new_V.ravel()])

    at, h = np.concatenate([U.ravel(), V.ravel()]), 1e-5
    columns = []
    for e in np.eye(at.size):
        moved = [
            mean_round(x[: U.size].reshape(U.shape), x[U.size :].reshape(V.shape))
            for x in (at + h * e, at - h * e)
        ]
        columns.append((moved[0] - moved[1]) / (2 * h))
    return np.array(columns).T

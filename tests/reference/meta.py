"""ANIL and MAML of Collins, Mokhtari, Oh and Shakkottai (2022), one client at a time (float64).

A client is (X1, y1, X2, y2), samples of the inner and of the outer loss; B is (d, k), w (k,).
"""

import numpy as np


def loss(X, y, B, w):
    return np.mean((X @ B @ w - y) ** 2) / 2


def adapted(client, B, w, alpha, whole):
    """The client's representation and head after its inner step."""
    X, y, _, _ = client
    residual = X @ B @ w - y
    of_w = B.T @ X.T @ residual / len(y)
    of_B = np.outer(X.T @ residual, w) / len(y)
    return (B - alpha * of_B if whole else B), w - alpha * of_w


def objective(clients, B, w, alpha, whole):
    """The mean outer loss after the inner step."""
    values = []
    for client in clients:
        values.append(loss(client[2], client[3], *adapted(client, B, w, alpha, whole)))
    return np.mean(values)


def first_order(clients, B, w, alpha, whole):
    """The outer loss's mean gradient at the adapted points."""
    of_B, of_w = np.zeros_like(B), np.zeros_like(w)
    for client in clients:
        X, y = client[2:]
        B_i, w_i = adapted(client, B, w, alpha, whole)
        residual = X @ B_i @ w_i - y
        of_B += np.outer(X.T @ residual, w_i) / len(y) / len(clients)
        of_w += B_i.T @ X.T @ residual / len(y) / len(clients)
    return of_B, of_w


def differences(clients, B, w, alpha, whole, step=1e-6):
    """Central differences of the objective, for gradients through the inner step."""
    of_B, of_w = np.zeros_like(B), np.zeros_like(w)
    for entry in np.ndindex(B.shape):
        move = np.zeros_like(B)
        move[entry] = step
        up, down = (objective(clients, B + s * move, w, alpha, whole) for s in (1, -1))
        of_B[entry] = (up - down) / (2 * step)
    for entry in range(len(w)):
        move = np.zeros_like(w)
        move[entry] = step
        up, down = (objective(clients, B, w + s * move, alpha, whole) for s in (1, -1))
        of_w[entry] = (up - down) / (2 * step)
    return of_B, of_w


def halves(clients):
    """Return a client's samples of the inner loss, rounded up, and of the outer one."""
    parts = []
    for X, y in clients:
        middle = (len(y) + 1) // 2
        parts.append((X[:middle], y[:middle], X[middle:], y[middle:]))
    return parts

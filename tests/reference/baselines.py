"""Ridge regressions and alternating minimization by the book: one system after the other.

Clients are a list of pairs (X_i, y_i); penalties stand beside a sum over samples.
"""

import numpy as np


def ridge(X, y, penalty):
    """Return the solution of the normal equations, of minimum norm."""
    return np.linalg.pinv(X.T @ X + penalty * np.eye(X.shape[1])) @ X.T @ y


def around_mean(clients, penalty):
    """Return models and mean from the system for all of them at once, of minimum norm."""
    n, d = len(clients), clients[0][0].shape[1]
    system, right = np.zeros(((n + 1) * d, (n + 1) * d)), np.zeros((n + 1) * d)
    mean = slice(n * d, None)
    for i, (X, y) in enumerate(clients):
        own = slice(i * d, (i + 1) * d)
        system[own, own] = X.T @ X + penalty * np.eye(d)
        system[own, mean] = system[mean, own] = -penalty * np.eye(d)
        right[own] = X.T @ y
    system[mean, mean] = n * penalty * np.eye(d)
    solution = np.linalg.pinv(system, rcond=1e-10, hermitian=True) @ right
    return solution[: n * d].reshape(n, d), solution[mean]


def left_out(clients, fit):
    """Return the error at every sample of models fitted without it; fit(clients) gives them."""
    errors = []
    for i, (X, y) in enumerate(clients):
        for j in range(len(y)):
            rest = list(clients)
            rest[i] = (np.delete(X, j, axis=0), np.delete(y, j))
            errors.append(y[j] - X[j] @ fit(rest)[i])
    return np.array(errors)


def objective(clients, theta, penalties):
    """Return the mean of (||y - X theta||^2 + penalty ||theta||^2) / 2m over the clients."""
    return np.mean(
        [
            (np.sum((y - X @ model) ** 2) + mu * model @ model) / (2 * len(y))
            for (X, y), model, mu in zip(clients, theta, penalties, strict=True)
        ]
    )


def alternating_round(clients, B, penalties):
    """Fit heads on a frame B, then the best B for them, a frame again; return it and its heads."""
    (d, k) = B.shape
    heads = [ridge(X @ B, y, mu) for (X, y), mu in zip(clients, penalties, strict=True)]
    rows, labels = [], []
    for (X, y), w, mu in zip(clients, heads, penalties, strict=True):
        rows += [np.kron(x, w) / np.sqrt(len(y)) for x in X]
        labels += list(y / np.sqrt(len(y)))
        rows += [np.kron(x, w) * np.sqrt(mu / len(y)) for x in np.eye(d)]
        labels += [0.0] * d
    B = np.linalg.lstsq(np.array(rows), np.array(labels), rcond=None)[0].reshape(d, k)
    B = np.linalg.qr(B)[0]
    return B, np.array([ridge(X @ B, y, mu) for (X, y), mu in zip(clients, penalties, strict=True)])

"""Biases of ratings and fits with a ridge, one plain formula each (float64)."""

import numpy as np


def variances(items, clients, values):
    """Gao and Owen (2017): three U-statistics set equal to their expectations, a pair at a time.

    Half the squared differences of entries of one item, over its number of entries; the same of one
    client; and of all entries, over their number.
    """
    of_item = of_client = of_all = 0.0
    N = len(values)
    for e in range(N):
        for f in range(N):
            half = 0.5 * (values[e] - values[f]) ** 2
            of_all += half / N
            if items[e] == items[f]:
                of_item += half / np.sum(items == items[e])
            if clients[e] == clients[f]:
                of_client += half / np.sum(clients == clients[e])
    # What each is on average, by the variances of items, clients and noise, a pair at a time.
    system = np.zeros((3, 3))
    for e in range(N):
        for f in range(N):
            differs = np.array([items[e] != items[f], clients[e] != clients[f], e != f])
            if items[e] == items[f]:
                system[0] += differs / np.sum(items == items[e])
            if clients[e] == clients[f]:
                system[1] += differs / np.sum(clients == clients[e])
            system[2] += differs / N
    found = np.linalg.lstsq(system, np.array([of_item, of_client, of_all]), rcond=None)[0]
    return np.maximum(found, 0.0)


def predictions(items, clients, values, d, n, variances):
    """The best linear unbiased predictions of offset, items' and clients' biases."""
    P, Q = np.eye(d)[items], np.eye(n)[clients]
    item, client, noise = variances
    covariance = item * P @ P.T + client * Q @ Q.T + noise * np.eye(len(values))
    inverse = np.linalg.inv(covariance)
    ones = np.ones(len(values))
    offset = ones @ inverse @ values / (ones @ inverse @ ones)
    rest = inverse @ (values - offset)
    return offset, item * P.T @ rest, client * Q.T @ rest


def ridge_objective(U, V, A, Z, items, clients, values, ridge):
    """Half the squared error of the entries of A U V' Z', A and Z having orthonormal columns."""
    total = 0.0
    for item, client, value in zip(items, clients, values, strict=True):
        total += 0.5 * (A[item] @ U @ V.T @ Z[client] - value) ** 2
    return total + 0.5 * ridge * (np.sum(U**2) + np.sum(V**2))


def features(others, columns, unit):
    """What entries of one row depend on: their columns' factors, and the unit of the row's bias."""
    return np.column_stack([columns[others, :-1], np.full(len(others), unit)])


def fit_rows(places, others, values, weights, columns, offset, units, ridge, priors):
    """Every row's factor and bias (in its unit) by its normal equations, near its prior."""
    found = np.zeros_like(priors)
    penalty = np.diag([ridge] * (columns.shape[1] - 1) + [1.0])
    for row, prior in enumerate(priors):
        mine = places == row
        X = features(others[mine], columns, units[0])
        y = values[mine] - offset - units[1] * columns[others[mine], -1]
        normal = X.T @ np.diag(weights[mine]) @ X + penalty
        found[row] = np.linalg.solve(normal, X.T @ (weights[mine] * y) + penalty @ prior)
    return found


def residuals(places, others, values, rows, columns, offset, units):
    """Values less offset, both biases and the product of both factors."""
    fit = np.sum(rows[places, :-1] * columns[others, :-1], axis=1)
    return values - offset - units[0] * rows[places, -1] - units[1] * columns[others, -1] - fit


def completion_objective(
    clients, items, values, weights, rows, columns, offset, unit, ridge, sides, feature_ridge
):
    """Half the weighted squared error and the penalties; sides are pairs of features and A."""
    left = residuals(clients, items, values, rows, columns, offset, (unit, unit))
    total = np.sum(weights * left**2)
    for F, side in zip((rows, columns), sides, strict=True):
        explained, penalty = 0.0, 0.0
        if side is not None:
            Z, A = side
            explained = Z @ A
            penalty = feature_ridge * (ridge * np.sum(A[:, :-1] ** 2) + np.sum(A[:, -1] ** 2))
        free = F - explained
        total += ridge * np.sum(free[:, :-1] ** 2) + np.sum(free[:, -1] ** 2) + penalty
    return 0.5 * total

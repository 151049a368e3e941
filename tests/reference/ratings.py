"""Fits of rows of ratings with a ridge, one plain formula each (float64)."""

import numpy as np


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

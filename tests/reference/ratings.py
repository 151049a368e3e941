"""Fits of rows of ratings with a ridge, one plain formula each (float64)."""

import numpy as np


def features(others, columns, unit):
    """What entries of one row depend on: their columns' factors, and the unit of the row's bias."""
    return np.column_stack([columns[others, :-1], np.full(len(others), unit)])


def fit_rows(places, others, values, columns, offset, units, ridge, rows):
    """Every row's factor and bias (in its unit) by its normal equations."""
    k = columns.shape[1] - 1
    found = np.zeros((rows, k + 1))
    penalty = np.diag([ridge] * k + [1.0])
    for row in range(rows):
        mine = places == row
        X = features(others[mine], columns, units[0])
        y = values[mine] - offset - units[1] * columns[others[mine], -1]
        found[row] = np.linalg.solve(X.T @ X + penalty, X.T @ y)
    return found


def residuals(places, others, values, rows, columns, offset, units):
    """Values less offset, both biases and the product of both factors."""
    fit = np.sum(rows[places, :-1] * columns[others, :-1], axis=1)
    return values - offset - units[0] * rows[places, -1] - units[1] * columns[others, -1] - fit


def row_objectives(places, others, values, columns, offset, units, ridge, rows):
    """Half the squared error of each row's entries, and its penalties."""
    left = residuals(places, others, values, rows, columns, offset, units)
    penalty = ridge * np.sum(rows[:, :-1] ** 2, axis=1) + rows[:, -1] ** 2
    return 0.5 * (np.bincount(places, left**2, minlength=len(rows)) + penalty)

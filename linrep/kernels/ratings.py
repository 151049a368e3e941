"""Alternating least squares with a ridge: factors and biases of the entries seen of a matrix.

An entry is offset + (row's bias) + (column's bias) + (row's factor)'(column's factor). Entries are
sorted by row, and once more by column; those of row i stand from offsets[i] to offsets[i + 1].
Roots are the square roots of their weights, or have no entry where these are 1.
"""

import numpy as np

from linrep.kernels.jit import kernel
from linrep.kernels.linalg import dot

_BLOCK = 64  # entries whose columns' factors are gathered at once
_LANES = 32  # what loops over them are unrolled to
_SMALLEST = 1e-15  # share of its diagonal entry that a pivot has at least: less is rounding
#: The roots of weights that are all 1, and the priors that are all 0.
UNWEIGHTED, NO_PRIORS = np.empty(0), np.empty((0, 0))


def workspace(k: int):
    """Return the scratch arrays of `fit_rows`: gathered factors, and normal equations."""
    return np.zeros((k + 2, _BLOCK)), np.empty((k + 2, k + 2))


@kernel
def sort_by(places, cursors, others, values, sorted_others, sorted_values):
    """Sort entries by their places, stably; cursors are where each one's begin, and then end."""
    for entry in range(places.shape[0]):
        place = places[entry]
        target = cursors[place]
        cursors[place] = target + 1
        sorted_others[target] = others[entry]
        sorted_values[target] = values[entry]


@kernel
def gather(others, values, roots, columns, offset, units, X):
    """Write what a row's entries depend on into X (k + 2, entries), and their values less biases.

    Both times the roots of their weights. Return the number of entries, rounded up with zeros.
    """
    k = columns.shape[1] - 1
    count = others.shape[0]
    weighted = roots.shape[0] > 0
    for entry in range(count):
        root = roots[entry] if weighted else 1.0
        column = columns[others[entry]]
        for c in range(k):
            X[c, entry] = root * column[c]
        X[k, entry] = root * units[0]
        X[k + 1, entry] = root * (values[entry] - offset - units[1] * column[k])
    padded = -(-count // _LANES) * _LANES
    for c in range(k + 2):
        for entry in range(count, padded):
            X[c, entry] = 0.0
    return padded


@kernel
def solve_last_row(G, ridge):
    """Replace the last row of G (k + 2, k + 2) by the solution of the system of the others.

    Of G only the lower triangle is read. The diagonal is raised by the ridge, and by 1 for the
    bias, which comes last.
    """
    size = G.shape[0] - 1
    solution = G[size]
    for row in range(size + 1):
        for column in range(min(row, size)):
            entry = G[row, column] - dot(G[row, :column], G[column, :column])
            G[row, column] = entry * G[column, column]
        if row < size:
            raised = G[row, row] + (ridge if row < size - 1 else 1.0)
            pivot = raised - dot(G[row, :row], G[row, :row])
            G[row, row] = 1.0 / np.sqrt(max(pivot, _SMALLEST * raised))
    for row in range(size - 1, -1, -1):
        entry = solution[row]
        for inner in range(row + 1, size):
            entry -= G[inner, row] * solution[inner]
        solution[row] = entry * G[row, row]


@kernel
def fit_rows(offsets, others, values, roots, columns, offset, units, ridge, priors, rows, X, G):
    """Fit every row's factor and bias to its entries, those of the columns being given.

    Parameters
    ----------
    offsets, others, values, roots : ndarray
        Entries by row: their columns, values, and roots of weights.
    columns : ndarray, shape (columns, k + 1)
        Factors and, in the last place, biases in their unit.
    offset : float
    units : tuple of float
        Of the rows' biases and of the columns'; with 0 there are none.
    ridge : float
        Half of it times the squared distance of a factor from its prior, and half that of a bias in
        its unit, are added to half the squared error.
    priors : ndarray, shape (rows, k + 1), or `NO_PRIORS`
    rows : ndarray, shape (rows, k + 1)
        Written: the prior where there is no entry.
    X, G : ndarray
        Of `workspace`.
    """
    size = G.shape[0]
    for row in range(rows.shape[0]):
        for a in range(size):
            for b in range(a + 1):
                G[a, b] = 0.0
        if priors.shape[0] > 0:
            for c in range(size - 1):
                G[size - 1, c] = (ridge if c < size - 2 else 1.0) * priors[row, c]
        for first in range(offsets[row], offsets[row + 1], _BLOCK):
            last = min(first + _BLOCK, offsets[row + 1])
            count = gather(
                others[first:last], values[first:last], roots[first:last], columns, offset, units, X
            )
            for a in range(size):
                for b in range(a + 1):
                    G[a, b] += dot(X[a, :count], X[b, :count])
        solve_last_row(G, ridge)
        for c in range(size - 1):
            rows[row, c] = G[size - 1, c]


@kernel
def find_residuals(offsets, others, values, roots, rows, columns, offset, units, residuals):
    """Write residuals times their weights; return the sum of these, and that of weighted squares.

    A residual is a value less what is made of it.
    """
    k, total, square = rows.shape[1] - 1, 0.0, 0.0
    weighted = roots.shape[0] > 0
    for row in range(rows.shape[0]):
        here = rows[row]
        level = offset + units[0] * here[k]
        for entry in range(offsets[row], offsets[row + 1]):
            there = columns[others[entry]]
            residual = values[entry] - level - units[1] * there[k]
            for c in range(k):
                residual -= here[c] * there[c]
            times = roots[entry] * roots[entry] * residual if weighted else residual
            residuals[entry] = times
            total += times
            square += times * residual
    return total, square

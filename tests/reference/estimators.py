"""Naive estimators of the representation, from their papers' formulas."""

import numpy as np


def second_moment(clients):
    """Tripuraneni, Jin and Jordan (2021): mean of y^2 x x'."""
    d = clients[0][0].shape[1]
    total = np.zeros((d, d))
    for X, y in clients:
        for x, label in zip(X, y, strict=True):
            total += label**2 * np.outer(x, x) / (len(y) * len(clients))
    return total


def cross_moment(clients):
    """Duchi, Feldman, Hu and Talwar (2022): mean of y y' x x'^T over pairs of different samples."""
    d = clients[0][0].shape[1]
    clients = [(X, y) for X, y in clients if len(y) > 1]
    total = np.zeros((d, d))
    for X, y in clients:
        m = len(y)
        for j in range(m):
            for other in range(m):
                if j != other:
                    pair = y[j] * y[other] * np.outer(X[j], X[other])
                    total += pair / (m * (m - 1) * len(clients))
    return total


def balanced_objective(clients, B, W, square=1.0):
    """Squared loss and a quarter of the squared distance between the factors' second moments.

    The second term is times a mean square, that of the covariates in units of their own.
    """
    n = len(clients)
    losses = [np.mean((X @ B @ w - y) ** 2) for (X, y), w in zip(clients, W, strict=True)]
    return np.mean(losses) + square * np.sum((B.T @ B - W.T @ W / n) ** 2) / 4


def truncated_matrix(clients, truncation):
    """Nayer and Vaswani (2023): each client's mean of y x, without labels far above their RMS.

    One row per client, their columns; labels above root(truncation) times it do not count.
    """
    labels = np.concatenate([y for _, y in clients])
    threshold = truncation * np.sum(labels**2) / len(labels)
    rows = []
    for X, y in clients:
        row = np.zeros(X.shape[1])
        for x, label in zip(X, y, strict=True):
            if label**2 <= threshold:
                row += label * x / len(y)
        rows.append(row)
    return np.array(rows)

"""Representations of few rounds beside one model for all, on samples held out."""

import numpy as np
import pandas as pd
import pytest

import linrep as lr

datasets = pytest.importorskip("sklearn.datasets")

pytestmark = [pytest.mark.slow, pytest.mark.compiled]

RANKS = (1, 2, 3, 5)
LOSS = 0.01  # of R^2, from which on a cell counts
CELLS = 3  # that may count, as of the 52 in which the defaults were chosen


def diabetes():
    X, y = datasets.load_diabetes(return_X_y=True)
    return X, y, np.digitize(X[:, 0], np.quantile(X[:, 0], np.linspace(0, 1, 13)[1:-1]))


def digits():
    """Return 45 tasks, each to tell two digits apart."""
    images, digit = datasets.load_digits(return_X_y=True)
    parts = []
    for task, (one, other) in enumerate(zip(*np.triu_indices(10, 1), strict=True)):
        rows = np.flatnonzero((digit == one) | (digit == other))
        parts.append((images[rows], np.where(digit[rows] == one, 1.0, -1.0), [task] * len(rows)))
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


def low_rank(condition, scales=1.0):
    """Return 100 clients, in columns of these scales, whose heads decay by the condition number."""
    truth = lr.SharedRepresentation.random(n=100, d=20, k=3, rng=0)
    W = truth.W * [1.0, condition**-0.5, 1.0 / condition]
    data = lr.SharedRepresentation(B=truth.B, W=W, noise=0.5).draw(40, rng=1)
    return data.X * scales, data.y, np.repeat(np.arange(100), data.m)


def ragged():
    """Return clients of 5 to 60 samples, whose models are a common one plus two directions."""
    rng = np.random.default_rng(0)
    mean, B = rng.standard_normal(20), np.linalg.qr(rng.standard_normal((20, 2)))[0]
    client = np.repeat(np.arange(100), rng.integers(5, 60, 100))
    X = rng.standard_normal((len(client), 20))
    models = mean + rng.standard_normal((100, 2)) @ B.T
    noise = rng.standard_normal(len(client))
    return X, np.einsum("sd,sd->s", X, models[client]) + noise, client


SCALES = 10.0 ** np.linspace(-6, 6, 20)
#: Each with the samples of a client that are learned from.
SETS = {
    "diabetes": (diabetes, 18),
    "digits": (digits, 20),
    "normal": (lambda: low_rank(1.0), 20),
    "normal, scaled": (lambda: low_rank(1.0, SCALES), 20),
    "decaying": (lambda: low_rank(10.0), 20),
    "decaying, scaled": (lambda: low_rank(10.0, SCALES), 20),
    "ragged": (ragged, 20),
}


def cells(sets):
    """Return the R^2 on samples held out, of each set and rank, and of what has no rank."""
    rows = []
    for name, (read, keep) in sets.items():
        X, y, client = read()
        order = np.random.default_rng(0).permutation(len(y))
        rank = pd.Series(client[order]).groupby(client[order]).cumcount().to_numpy()
        train, test = order[rank < keep], order[rank >= keep]
        table = np.column_stack([X, client])

        def score(train=train, test=test, table=table, y=y, **settings):
            model = lr.estimators.FederatedRegressor(client=-1, **settings)
            return model.fit(table[train], y[train]).score(table[test], y[test])

        beside = {each: score(method=each) for each in ("pooled", "ridge_to_mean", "local")}
        rows += [{"set": name, "k": k, "fedrep": score(k=k), **beside} for k in RANKS]
    return pd.DataFrame(rows)


def test_a_representation_seldom_predicts_worse_than_pooling():
    found = cells(SETS)
    assert (found["fedrep"] < found["pooled"] - LOSS).sum() <= CELLS, found.to_string()

"""Side information beside none, each at what cross-validation chooses, on ratings held out."""

import numpy as np
import pandas as pd
import pytest

import linrep as lr

model_selection = pytest.importorskip("sklearn.model_selection")

pytestmark = [pytest.mark.slow, pytest.mark.compiled]

LOSS = 1.005  # of the error without side information
GRID = {"feature_ridge": [100.0, 1e4], "rank": [2, 5], "ridge": [5.0, 10.0, 20.0]}


def draw(seed, said):
    """Return ratings of 300 clients and 200 items, whose features say a share of their factors."""
    rng = np.random.default_rng(seed)
    n, d, k, N = 300, 200, 3, 6000
    Z, W = rng.standard_normal((n, 5)), rng.standard_normal((d, 8))
    U, V = (
        np.sqrt(said / F.shape[1]) * F @ rng.standard_normal((F.shape[1], k))
        + np.sqrt(1.0 - said) * rng.standard_normal((len(F), k))
        for F in (Z, W)
    )
    clients, items = np.divmod(rng.permutation(n * d)[:N], d)
    y = 0.5 * np.sum(U[clients] * V[items], axis=1) + 0.3 * rng.standard_normal(n)[clients]
    y += 0.3 * rng.standard_normal(d)[items] + 0.7 * rng.standard_normal(N)
    return np.column_stack([clients, items]), y, pd.DataFrame(Z), pd.DataFrame(W)


@pytest.mark.parametrize("said", [0.0, 0.3, 1.0])
def test_side_information_never_costs_much(said):
    ratios = []
    for seed in range(3):
        X, y, Z, W = draw(seed, said)
        parts = model_selection.train_test_split(X, y, test_size=0.2, random_state=seed)
        errors = []
        for features in ({}, {"client_features": Z, "item_features": W}):
            model = lr.estimators.MatrixCompletion(**features)
            search = model_selection.GridSearchCV(model, GRID, cv=3)
            found = search.fit(parts[0], parts[2]).predict(parts[1])
            errors.append(np.sqrt(np.mean((found - parts[3]) ** 2)))
        ratios.append(errors[1] / errors[0])
    assert np.mean(ratios) < LOSS, ratios
    if said == 1.0:
        assert max(ratios) < 0.97

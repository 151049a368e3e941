"""Folds within clients."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn")

import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate

from linrep.estimators import ClientKFold, FederatedRegressor

CLIENT = np.random.default_rng(0).permutation(
    np.repeat(["one", "two", "seven", "thirty"], [1, 2, 7, 30])
)


def test_every_row_but_a_clients_only_one_is_held_out_once():
    folds = list(ClientKFold(4, random_state=0).split(CLIENT, groups=CLIENT))
    assert len(folds) == ClientKFold(4).get_n_splits() == 4
    rows = np.arange(len(CLIENT))
    held_out = np.concatenate([test for _, test in folds])
    assert sorted(held_out) == rows[CLIENT != "one"].tolist()
    for train, test in folds:
        assert sorted([*train, *test]) == rows.tolist()
        assert set(CLIENT[train]) == set(CLIENT)
        counts = pd.Series(CLIENT[test]).value_counts()
        assert counts["thirty"] in (7, 8)
        assert counts["seven"] in (1, 2)


def test_folds_are_random_and_an_integer_repeats_them():
    def held_out(random_state):
        folds = ClientKFold(3, random_state=random_state).split(CLIENT, groups=CLIENT)
        return [test.tolist() for _, test in folds]

    assert held_out(1) == held_out(1) != held_out(2)
    rng = np.random.RandomState(0)
    assert held_out(rng) != held_out(rng)


@pytest.mark.parametrize(
    ("splits", "groups", "named"),
    [
        (3, None, "groups"),
        (3, CLIENT[1:], "groups"),
        (1, CLIENT, "n_splits"),
        (2.5, CLIENT, "n_splits"),
        (99, CLIENT, "n_splits"),
    ],
)
def test_what_cannot_be_divided(splits, groups, named):
    with pytest.raises((TypeError, ValueError), match=named):
        next(ClientKFold(splits).split(CLIENT, groups=groups))


def test_a_column_of_the_table_says_the_same_as_groups():
    X = pd.DataFrame({"x": np.arange(float(len(CLIENT))), "ward": CLIENT})
    by_groups = list(ClientKFold(3, random_state=0).split(X, groups=CLIENT))
    for client in ("ward", 1, -1):
        for table in (X, X.to_numpy()) if client != "ward" else (X,):
            folds = list(ClientKFold(3, random_state=0, client=client).split(table))
            assert all(map(np.array_equal, np.hstack(folds[0]), np.hstack(by_groups[0])))
            assert len(folds) == 3
    with pytest.raises(ValueError, match="client='bed'"):
        next(ClientKFold(3, client="bed").split(X))
    with pytest.raises(TypeError, match=r"a column is ClientKFold\(client='ward'\)"):
        next(ClientKFold(3).split(X, groups="ward"))


@pytest.fixture
def patients():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["x", "z"]).assign(id=np.arange(60) % 6)
    return X, X["x"] * (1 + X["id"]) + 0.1 * rng.normal(size=60)


@pytest.mark.compiled
def test_whatever_of_scikit_learn_hands_groups_over(patients):
    """Also a search within each fold, which needs the groups of its own rows."""
    X, y = patients
    model = FederatedRegressor("local", client="id")
    search = GridSearchCV(model, {"ridge": [0.0, 1.0]}, cv=ClientKFold(3, random_state=0))
    with sklearn.config_context(enable_metadata_routing=True):
        given = {"params": {"groups": X["id"]}}
        flat = cross_validate(model, X, y, cv=ClientKFold(3, random_state=0), **given)
        nested = cross_validate(search, X, y, cv=ClientKFold(3, random_state=1), **given)
        unknown = cross_validate(search, X, y, cv=GroupKFold(3), **given)
        search.fit(X, y, groups=X["id"])
    for found in (flat, nested, unknown):
        assert np.isfinite(found["test_score"]).all()
    assert flat["test_score"].min() > 0.9


@pytest.mark.compiled
def test_a_search_within_each_fold_needs_no_groups_where_a_column_has_them(patients):
    X, y = patients
    folds = ClientKFold(3, client="id", random_state=0)
    model = FederatedRegressor("local", client="id")
    search = GridSearchCV(model, {"ridge": [0.0, 1.0]}, cv=folds)
    assert np.isfinite(cross_validate(search, X, y, cv=folds)["test_score"]).all()

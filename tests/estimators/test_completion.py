"""Matrix completion as scikit-learn's users call it, and what its numbers are."""

import doctest
import pickle

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn")

import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks

from linrep.estimators import MatrixCompletion, completion
from linrep.estimators.turns import Completion
from tests.reference import ratings as naive
from tests.strategies import seeds

pytestmark = pytest.mark.compiled


LEARNT = "ids that are real numbers, each seen once or a few times, say nothing of one another"


FAILING = {"check_regressors_train": LEARNT}
if sklearn.__version__.startswith("1.6."):
    FAILING["check_positive_only_tag_during_fit"] = "the check takes a real number from integers"


@parametrize_with_checks([MatrixCompletion(rank=2)], expected_failed_checks=lambda _: FAILING)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_examples_are_true():
    assert doctest.testmod(completion).failed == 0


def table(N=1500, n=60, d=40, rank=2, noise=0.1, seed=0):
    """Return ratings in a random order with labels, and features of both sides."""
    rng = np.random.default_rng(seed)
    Z, W = rng.standard_normal((n, 3)), rng.standard_normal((d, 4))
    U = Z @ rng.standard_normal((3, rank)) / 2 + 0.3 * rng.standard_normal((n, rank))
    V = W @ rng.standard_normal((4, rank)) / 2 + 0.3 * rng.standard_normal((d, rank))
    b, a = rng.standard_normal(n), Z[0, 0] * W[:, 0]
    pairs = rng.permutation(n * d)[:N]
    X = pd.DataFrame({"user": pairs // d, "film": pairs % d})
    X["user"] = X["user"] + 100
    y = 3.0 + b[pairs // d] + a[pairs % d] + np.sum(U[pairs // d] * V[pairs % d], axis=1)
    y = pd.Series(y + noise * rng.standard_normal(N))
    y.index = X.index = rng.permutation(N) + 1000
    of_users = pd.DataFrame(Z, index=np.arange(n) + 100, columns=["age", "sex", "town"])
    return X, y, of_users, pd.DataFrame(W)


QUICK = {"rank": 2, "ridge": 0.5, "bias_ridge": 0.5, "feature_ridge": 1.0}


@given(
    seeds, st.integers(1, 6), st.integers(1, 6), st.integers(1, 40), st.integers(0, 3),
    st.sampled_from([0.5, 3.0, None]), st.booleans(), st.booleans(), st.booleans(),
)  # fmt: skip
def test_the_objective_is_the_formula_and_never_rises(
    seed, n, d, count, rank, bias_ridge, of_clients, of_items, weighted
):
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, n, count), rng.integers(0, d, count)
    clients, items = (np.unique(each, return_inverse=True)[1] for each in drawn)
    counts = clients.max() + 1, items.max() + 1
    values = rng.standard_normal(count)
    weights = rng.uniform(0.1, 3.0, count) if weighted else None
    sides = [rng.standard_normal((size, 2)) for size in counts]
    features = [
        Z - Z.mean(axis=0) if there else None
        for Z, there in zip(sides, (of_clients, of_items), strict=True)
    ]
    fit = Completion(
        (clients.astype(np.int32), items.astype(np.int32)), counts, values, weights, rank=rank,
        ridge=0.7, bias_ridge=bias_ridge, features=features, feature_ridge=2.0,
    )  # fmt: skip
    before = np.inf
    for sweeps in (0, 1, 1, 1):
        objective = fit.run(0, 0.0) if sweeps == 0 else fit._sweeps(1, 0.0)
        expected = naive.completion_objective(
            clients, items, values, np.ones(count) if weights is None else weights,
            fit.clients.rows, fit.items.rows, fit.offset, fit.unit, 0.7,
            [None if Z is None else (Z, side.coefficients)
             for Z, side in zip(features, (fit.clients, fit.items), strict=True)],
            2.0,
        )  # fmt: skip
        np.testing.assert_allclose(objective[-1], expected, rtol=1e-9, atol=1e-12)
        assert objective[-1] <= before * (1.0 + 1e-10) + 1e-12
        before = objective[-1]
    pairs = pd.Series(list(zip(clients, items, strict=True)))
    assert fit.repeated == pairs.duplicated().sum()


def test_the_end_is_stationary_in_all_unknowns():
    X, y, of_users, of_films = table(300, 20, 15)
    users, clients = np.unique(X["user"], return_inverse=True)
    films, items = np.unique(X["film"], return_inverse=True)
    features = [of_users.loc[users].to_numpy(), of_films.loc[films].to_numpy()]
    features = [Z - Z.mean(axis=0) for Z in features]
    values, weights = y.to_numpy(), np.ones(len(y))
    fit = Completion(
        (clients.astype(np.int32), items.astype(np.int32)), (len(users), len(films)), values, None,
        rank=2, ridge=2.0, bias_ridge=1.5, features=features, feature_ridge=3.0,
    )  # fmt: skip
    fit.run(3000, 1e-14)
    unknowns = [
        fit.clients.rows, fit.items.rows, fit.clients.coefficients, fit.items.coefficients,
        np.array([fit.offset]),
    ]  # fmt: skip

    def objective(U, V, A, B, offset):
        sides = list(zip(features, (A, B), strict=True))
        return naive.completion_objective(
            clients, items, values, weights, U, V, offset[0], fit.unit, 2.0, sides, 3.0
        )

    rng = np.random.default_rng(0)
    for _ in range(20):
        step = [1e-3 * rng.standard_normal(each.shape) for each in unknowns]
        ahead, behind = (
            objective(*(each + sign * by for each, by in zip(unknowns, step, strict=True)))
            for sign in (1.0, -1.0)
        )
        curvature = abs(ahead + behind - 2.0 * objective(*unknowns))
        assert abs(ahead - behind) < 1e-3 * curvature


@pytest.mark.parametrize("features", ["", "users", "films", "both"])
def test_held_out_ratings_keep_their_index(features):
    X, y, of_users, of_films = table()
    settings = dict(QUICK)
    if features in ("users", "both"):
        settings["client_features"] = of_users
    if features in ("films", "both"):
        settings["item_features"] = of_films
    train, test, of_train, of_test = train_test_split(X, y, random_state=0)
    model = MatrixCompletion(**settings).fit(train, of_train)
    assert model.score(test, of_test) > 0.97
    assert (np.diff(model.objective_) <= 0.0).all()
    found = model.predict(test)
    order = np.random.default_rng(1).permutation(len(test))
    np.testing.assert_array_equal(model.predict(test.iloc[order]), found[order])
    again = np.random.default_rng(2).permutation(len(train))
    again = clone(model).fit(train.iloc[again], of_train.iloc[again])
    np.testing.assert_allclose(again.predict(test), found, atol=1e-8)


def test_predictions_are_the_formula():
    X, y, of_users, of_films = table()
    model = MatrixCompletion(**QUICK, client_features=of_users, item_features=of_films).fit(X, y)
    user = [model.clients_.tolist().index(each) for each in X["user"]]
    film = [model.items_.tolist().index(each) for each in X["film"]]
    expected = model.offset_ + model.client_biases_[user] + model.item_biases_[film]
    expected += np.sum(model.client_factors_[user] * model.item_factors_[film], axis=1)
    np.testing.assert_allclose(model.predict(X), expected)


def test_ratings_have_no_unit():
    X, y, of_users, _ = table()
    model = MatrixCompletion(**QUICK, client_features=of_users)
    found = clone(model).fit(X, y).predict(X)
    np.testing.assert_allclose(clone(model).fit(X, 20.0 * y - 7.0).predict(X), 20.0 * found - 7.0)


def test_a_weight_is_a_number_of_ratings():
    X, y, of_users, _ = table(400)
    times = np.random.default_rng(0).integers(0, 3, len(X))
    model = MatrixCompletion(**QUICK, client_features=of_users, tol=1e-10, sweeps=1000)
    weighted = clone(model).fit(X, y, sample_weight=times)
    repeated = np.repeat(np.arange(len(X)), times)
    listed = clone(model).fit(X.iloc[repeated], y.iloc[repeated])
    known = X[X["user"].isin(weighted.clients_) & X["film"].isin(weighted.items_)]
    np.testing.assert_allclose(weighted.predict(known), listed.predict(known), atol=1e-5)
    assert weighted.repeated_ == 0
    assert listed.repeated_ == np.sum(np.maximum(times, 1) - 1)


def test_who_is_new_is_predicted_from_what_is_known():
    X, y, of_users, _ = table()
    known = X["user"] < 150
    model = MatrixCompletion(**QUICK, client_features=of_users).fit(X[known], y[known])
    assert set(model.clients_) == set(of_users.index)
    assert np.corrcoef(model.predict(X[~known]), y[~known])[0, 1] > 0.4
    film = model.items_.tolist().index(7)
    unknown = pd.DataFrame({"user": [999, 999, 150], "film": [999, 7, 999]})
    at = model.clients_.tolist().index(150)
    expected = model.offset_ + np.array([0.0, model.item_biases_[film], model.client_biases_[at]])
    np.testing.assert_allclose(model.predict(unknown), expected)
    plain = MatrixCompletion(rank=0).fit(X[known], y[known])
    assert plain.client_factors_.shape == (len(plain.clients_), 0)
    np.testing.assert_allclose(plain.predict(unknown)[[0, 2]], plain.offset_)


def test_features_in_another_unit_and_order_and_of_some():
    X, y, of_users, _ = table()
    found = MatrixCompletion(**QUICK, client_features=of_users).fit(X, y).predict(X)
    moved = (1e3 * of_users + 5.0).sample(frac=1.0, random_state=0)
    again = MatrixCompletion(**QUICK, client_features=moved).fit(X, y).predict(X)
    np.testing.assert_allclose(again, found, atol=1e-8)
    with pytest.warns(UserWarning, match="client_features: 30 of 60 clients in X have no row"):
        some = MatrixCompletion(**QUICK, client_features=of_users.iloc[::2]).fit(X, y)
    assert some.score(X, y) > 0.97


def test_a_feature_that_does_not_vary_among_the_rated_says_nothing():
    X, y, _, _ = table()
    films = np.unique(X["film"])
    for count in (3, 7, 10):  # the mean of as many 0.1 may be another number than 0.1
        rows = X["film"].isin(films[:count])
        found = MatrixCompletion(**QUICK).fit(X[rows], y[rows]).predict(X)
        said = pd.DataFrame({"genre": np.where(np.arange(len(films)) < count, 0.1, 0.7)}, films)
        again = MatrixCompletion(**QUICK, item_features=said).fit(X[rows], y[rows])
        np.testing.assert_allclose(again.predict(X), found, atol=1e-8)


def test_other_columns_and_rows_in_another_order():
    X, y, _, _ = table()
    found = MatrixCompletion(**QUICK).fit(X, y).predict(X)
    wide = np.column_stack([X, np.full(len(X), np.nan)])
    np.testing.assert_array_equal(MatrixCompletion(**QUICK).fit(wide, y).predict(wide), found)
    numbered = X.set_axis([1, 2], axis=1)
    model = MatrixCompletion(**QUICK, client=-2, item=-1).fit(numbered, y)
    with pytest.raises(ValueError, match="in their order: column 0 is 2, not 1"):
        model.predict(numbered[[2, 1]])


def test_columns_have_names_or_places():
    X, y, _, _ = table()
    found = MatrixCompletion(**QUICK).fit(X, y).predict(X)
    wide = pd.DataFrame({"film": X["film"], "day": 1.5, "user": X["user"]}, index=X.index)
    for settings in ({"client": "user", "item": "film"}, {"client": -1, "item": 0}):
        model = MatrixCompletion(**QUICK, **settings).fit(wide, y)
        np.testing.assert_array_equal(model.predict(wide), found)
    assert model.feature_names_in_.tolist() == ["film", "day", "user"]
    for values in (X.to_numpy(), X.to_numpy(dtype=float), X.to_numpy().tolist()):
        model = MatrixCompletion(**QUICK).fit(values, y)
        np.testing.assert_array_equal(model.predict(values), found)


def test_types_of_columns_do_not_matter_but_texts_are_no_numbers():
    X, y, of_users, _ = table()
    model = MatrixCompletion(**QUICK).fit(X, y)
    found = model.predict(X)
    for kind in ("float64", "Int64", "category", "object"):
        np.testing.assert_array_equal(model.predict(X.astype({"user": kind})), found)
    with pytest.raises(TypeError, match="of another type"):
        model.predict(X.astype({"user": str}))
    with pytest.raises(TypeError, match="give one type"):
        MatrixCompletion(client_features=of_users.set_axis(of_users.index.map(str))).fit(X, y)


def test_a_fit_that_is_cut_short_says_so():
    X, y, _, _ = table()
    with pytest.warns(ConvergenceWarning, match="2 sweeps"):
        model = MatrixCompletion(**QUICK, sweeps=2, tol=0.0).fit(X, y)
    assert model.n_iter_ == 2


def test_ratings_that_are_alike_or_few():
    one = pd.DataFrame({"user": [1], "film": [2]})
    assert MatrixCompletion().fit(one, [4.0]).predict(one) == pytest.approx([4.0])
    X, _, of_users, _ = table()
    alike = MatrixCompletion(client_features=of_users).fit(X, np.full(len(X), 4.0))
    np.testing.assert_allclose(alike.predict(X), 4.0)
    assert alike.client_factors_.shape[1] == 0


def test_scikit_learns_surroundings():
    X, y, of_users, of_films = table()
    model = MatrixCompletion(**QUICK, client_features=of_users, item_features=of_films)
    assert clone(model).get_params()["client_features"].equals(of_users)
    assert cross_val_score(model, X, y, cv=3).min() > 0.9
    search = GridSearchCV(model, {"rank": [0, 2], "ridge": [0.5, 5.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"rank": 2, "ridge": 0.5}
    loaded = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(loaded.predict(X), search.predict(X))

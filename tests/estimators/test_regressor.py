"""The regressor as scikit-learn's users call it, and what its numbers are."""

import doctest
import pickle
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import linrep as lr
from linrep.estimators import ClientKFold, FederatedRegressor, folds, regressor
from linrep.estimators._models import LOW_RANK, METHODS
from tests.tools import sampled

pytestmark = pytest.mark.compiled

COLUMNS = ["x", "y", "z"]
RIDGE = "the ridge is chosen by leaving out samples, one of weight 2 at once"
ONE_EACH = "clients of one sample each, by themselves, learn little but the level"


def expected(estimator):
    """Return the checks that cannot pass, with the reason: clients in a column of real numbers."""
    if estimator.method != "local":
        return {}
    failing = {"check_sample_weight_equivalence_on_dense_data": RIDGE}
    return failing if estimator.client is None else failing | {"check_regressors_train": ONE_EACH}


QUICK = [FederatedRegressor(), FederatedRegressor("ridge_to_mean", client=0)]
CHOSEN = [FederatedRegressor(client=client, k=None) for client in (None, 0)]
OTHERS = [
    FederatedRegressor(method, client=client)
    for method in METHODS
    for client in (None, 0)
    if (method, client) not in [(each.method, each.client) for each in QUICK]
]


@parametrize_with_checks(QUICK, expected_failed_checks=expected)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([*OTHERS, *CHOSEN], expected_failed_checks=expected)
def test_scikit_learns_checks_of_all_methods(estimator, check):
    check(estimator)


def test_examples_are_true():
    for module in (folds, regressor):
        assert doctest.testmod(module).failed == 0


def table(ids=("10", "9", "11", "2"), N=240, seed=0):
    """Return rows of clients in a random order, and labels of models near one another."""
    rng = np.random.default_rng(seed)
    which = rng.integers(0, len(ids), N)
    X = pd.DataFrame(rng.standard_normal((N, 3)) * [1.0, 10.0, 0.1] + 5.0, columns=COLUMNS)
    X.insert(1, "client", pd.Series([ids[i] for i in which]))
    X.index = rng.permutation(N) + 1000
    slopes = np.array([3.0, -0.2, 1.0]) + np.outer(np.arange(len(ids)), [1.0, 0.0, -1.0])
    y = np.einsum("sd,sd->s", X[COLUMNS].to_numpy(), slopes[which]) + 7.0
    return X, pd.Series(y + 0.01 * rng.standard_normal(N), index=X.index)


def predictions(X, y, **settings):
    return FederatedRegressor(client="client", **settings).fit(X, y).predict(X)


@cache
def fitted(method="fedrep"):
    """Return a model of the table, which tests leave as it is."""
    return FederatedRegressor(method, client="client").fit(*table())


@pytest.mark.parametrize("method", METHODS)
def test_a_clients_model_is_that_of_its_rows_however_these_are_ordered(method):
    (X, y), model = table(), fitted(method)
    assert model.clients_.tolist() == ["10", "11", "2", "9"]
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == [*X.columns]
    found = model.predict(X)
    if method != "pooled":
        assert np.corrcoef(found, y)[0, 1] > 0.999
    for place, name in enumerate(model.clients_):
        rows = (X["client"] == name).to_numpy()
        own = X.loc[rows, COLUMNS].to_numpy() @ model.coef_[place] + model.intercept_[place]
        np.testing.assert_allclose(found[rows], own)
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_array_equal(model.predict(X.iloc[order]), found[order])
    again = FederatedRegressor(method, client="client").fit(X.iloc[order], y.iloc[order])
    np.testing.assert_allclose(again.predict(X), found, rtol=1e-6)


@pytest.mark.parametrize("method", LOW_RANK)
def test_weights_by_samples_are_those_of_clients_of_equal_size(method):
    truth = lr.SharedRepresentation.random(n=12, d=6, k=2, noise=0.3, rng=0)
    data = truth.draw(15, rng=1)
    rows = np.column_stack([data.X, np.repeat(np.arange(12), 15)])
    for sample_weight in (None, np.tile(np.linspace(0.5, 1.5, 15), 12)):
        one, other = (
            FederatedRegressor(method, client=-1, k=2, weights=weights)
            .fit(rows, data.y, sample_weight)
            .coef_
            for weights in ("clients", "samples")
        )
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


def test_weights_by_samples_are_nearer_the_truth_where_sizes_differ():
    truth = lr.SharedRepresentation.random(n=60, d=20, k=3, noise=0.5, rng=0)
    m = np.repeat([4, 200], 30)
    data = truth.draw(m, rng=1)
    rows = np.column_stack([data.X, np.repeat(np.arange(60), m)])
    errors = {}
    for weights in ("clients", "samples"):
        model = FederatedRegressor(client=-1, k=3, weights=weights).fit(rows, data.y)
        B = np.linalg.qr(model.representation_)[0]
        errors[weights] = lr.subspace.distance(B, truth.B)
    assert 1.5 * errors["samples"] < errors["clients"]


@pytest.mark.parametrize("names", [[1, 0, 2, 3], [("a", "x"), ("id", ""), ("a", "y"), ("b", "x")]])
def test_columns_whose_names_are_no_texts_are_told_apart_too(names):
    X, y = table()
    X.columns = pd.Index(names)
    model = FederatedRegressor(client=-3).fit(X, y)
    assert model.score(X, y) > 0.999
    with pytest.raises(ValueError, match="in their order: column 2 is"):
        model.predict(X.iloc[:, [0, 1, 3, 2]])


def test_a_column_has_a_name_or_a_place():
    X, y = table()
    by_name = fitted().predict(X)
    arrays = X[["x", "y", "z", "client"]].to_numpy()
    for client, values in ((1, X), (-3, X), (-1, arrays), (3, arrays)):
        model = FederatedRegressor(client=client).fit(values, y)
        np.testing.assert_allclose(model.predict(values), by_name)
    numbered = X.set_axis([1, 5, 2, 3], axis=1)
    assert FederatedRegressor(client=5).fit(numbered, y).clients_.tolist() == ["10", "11", "2", "9"]


def test_ids_are_the_same_in_other_types_of_columns():
    X, y = table(ids=(10, 9, 11, 2))
    model = FederatedRegressor(client="client").fit(X, y)
    found = model.predict(X)
    for kind in ("float64", "Int64", "category", "object"):
        np.testing.assert_allclose(model.predict(X.astype({"client": kind})), found, rtol=1e-12)
    with pytest.raises(TypeError, match="'10'"):
        model.predict(X.astype({"client": str}).query("client == '10'"))


def test_intercepts_have_a_ridge_of_their_own():
    """Many clients of few rows, whose levels differ and whose slopes do not."""
    rng = np.random.default_rng(0)
    client = np.repeat(np.arange(200), 4)
    X = pd.DataFrame(rng.standard_normal((800, 3)), columns=COLUMNS).assign(client=client)
    levels = 3.0 * rng.standard_normal(200)
    y = X["x"] - X["z"] + levels[client] + rng.standard_normal(800)
    model = FederatedRegressor("ridge_to_mean", client="client").fit(X, y)
    slopes, spread = model.coef_.std(axis=0), model.intercept_.std()
    assert slopes.max() < 0.1
    assert 2.0 < spread < 4.0
    alike = FederatedRegressor("ridge_to_mean", client="client", ridge=model.ridge_).fit(X, y)
    missed = [np.mean((each.intercept_ - levels) ** 2) for each in (model, alike)]
    assert missed[0] < 0.7 * missed[1]
    same = FederatedRegressor(client="client").fit(X, y)
    np.testing.assert_allclose(same.coef_, model.coef_)


def test_labels_in_a_column():
    X, y = table()
    with pytest.warns(DataConversionWarning):
        model = FederatedRegressor(client="client").fit(X, y.to_numpy()[:, None])
    assert model.predict(X).shape == (len(X),)


def test_new_clients_have_the_pooled_model_or_are_named():
    X, y = table()
    unknown, model = X.assign(client="new"), fitted()
    alone = FederatedRegressor().fit(X[COLUMNS], y)
    np.testing.assert_allclose(model.predict(unknown), alone.predict(X[COLUMNS]))
    np.testing.assert_allclose(model.pooled_coef_, alone.coef_[0])
    with pytest.raises(ValueError, match="'new'"):
        clone(model).set_params(new_clients="error").fit(X, y).predict(unknown)


@pytest.mark.parametrize("method", METHODS)
def test_clients_that_come_later(method):
    X, y = table(ids=("a", "b", "c", "d", "e"), N=400)
    known = (X["client"] != "e").to_numpy()
    model = FederatedRegressor(method, client="client", new_clients="error")
    model.fit(X[known], y[known])
    more = model.fit_clients(X[~known], y[~known])
    assert model.clients_.tolist() == ["a", "b", "c", "d"]
    assert more.clients_.tolist() == ["a", "b", "c", "d", "e"]
    np.testing.assert_allclose(more.predict(X[known]), model.predict(X[known]))
    if method != "pooled":
        assert more.score(X[~known], y[~known]) > 0.99
    with pytest.raises(ValueError, match="'e'"):
        model.predict(X[~known])
    with pytest.raises(ValueError, match="'e'"):
        more.fit_clients(X[~known], y[~known])
    with pytest.raises(ValueError, match="client="):
        FederatedRegressor().fit(X[COLUMNS], y).fit_clients(X[COLUMNS], y)


@pytest.mark.parametrize("method", METHODS)
def test_a_client_fitted_later_with_the_samples_of_one_is_that_one(method):
    X, y = table()
    model = FederatedRegressor(method, client="client", ridge=0.3).fit(X, y)
    one = (X["client"] == "2").to_numpy()
    more = model.fit_clients(X[one].assign(client="copy"), y[one])
    np.testing.assert_allclose(more.coef_[-1], model.coef_[2], rtol=1e-6)


def test_a_fit_forgets_the_one_before():
    model = clone(fitted()).fit(*table()).set_params(method="local").fit(*table())
    assert not hasattr(model, "representation_")
    assert not hasattr(model, "heads_")


@pytest.mark.parametrize("method", LOW_RANK)
@pytest.mark.parametrize("intercept", [False, True])
def test_coefficients_are_heads_on_the_representation(method, intercept):
    X, y = table()
    model = FederatedRegressor(method, client="client", k=2, fit_intercept=intercept).fit(X, y)
    assert model.heads_.shape == (4, 2)
    np.testing.assert_allclose(model.coef_, model.heads_ @ model.representation_.T)
    assert intercept or not model.intercept_.any()
    more = model.fit_clients(X[:9].assign(client="new"), y[:9])
    np.testing.assert_allclose(more.coef_, more.heads_ @ more.representation_.T)


@pytest.mark.parametrize("method", sampled(METHODS, 1))
def test_the_rank_is_one_that_predicts_what_is_left_out(method):
    rng = np.random.default_rng(0)
    client, d = np.repeat(np.arange(60), 12), 10
    X = rng.standard_normal((len(client), d))
    table = np.column_stack([X, client])
    B, W = np.linalg.qr(rng.standard_normal((d, 2)))[0], rng.standard_normal((60, 2))
    near, apart = W @ B.T, rng.standard_normal(d) + rng.standard_normal((60, d))
    for models, ranks in ((near, {2}), (apart, {8, d + 1})):
        y = np.einsum("sd,sd->s", X, models[client]) + 0.3 * rng.standard_normal(len(client))
        found = FederatedRegressor(method, client=-1, k=None).fit(table, y)
        if method not in LOW_RANK:
            assert not hasattr(found, "k_")
            continue
        assert found.k_ in ranks
        given = FederatedRegressor(method, client=-1, k=found.k_).fit(table, y)
        np.testing.assert_allclose(found.predict(table), given.predict(table))


@pytest.mark.slow
def test_columns_that_say_nothing_new_do_not_change_the_rank_that_is_chosen():
    rng = np.random.default_rng(0)
    client = np.repeat(np.arange(20), 12)
    X, w, slopes = (rng.standard_normal(shape) for shape in ((240, 6), 20, 6))
    y = X @ slopes * w[client] + 0.3 * rng.standard_normal(240)
    ranks = [
        FederatedRegressor(client=-1, k=None).fit(np.column_stack([X, *more, client]), y).k_
        for more in ((), [np.ones((240, 30))], [X, X])
    ]
    assert ranks == ranks[:1] * 3


@pytest.mark.parametrize("method", METHODS)
def test_units_do_not_matter(method):
    X, y = table()
    scaled = X.assign(x=X["x"] * 1e6, z=X["z"] * 1e-6)
    found = fitted(method).predict(X)
    np.testing.assert_allclose(found, predictions(scaled, y, method=method), rtol=1e-6)
    for unit in (1e12, 1e-12):
        np.testing.assert_allclose(predictions(X, unit * y, method=method), unit * found, rtol=1e-6)


def test_without_a_rank_models_are_those_of_the_baselines():
    """On columns of mean 0 and standard deviation 1, with one of ones."""
    X, y = table()
    Z = StandardScaler().fit_transform(X[COLUMNS])
    prepared = np.column_stack([Z, np.ones(len(Z))])
    data = lr.ClientData.from_arrays(prepared, y - y.mean(), X["client"])
    ids = pd.Index(data.names).get_indexer(X["client"])
    for method, trace in {
        "ridge_to_mean": lr.ridge_to_mean(data), "local": lr.ridge(data), "pooled": lr.pooled(data),
    }.items():  # fmt: skip
        theta = trace.state["theta"][ids]
        expected = np.einsum("sd,sd->s", prepared, theta) + y.mean()
        np.testing.assert_allclose(fitted(method).predict(X), expected)
    without = FederatedRegressor("fedrep", client="client", k=4).fit(X, y)
    np.testing.assert_allclose(without.predict(X), fitted("ridge_to_mean").predict(X))
    exact = lr.local_only(data).state["theta"][ids]
    np.testing.assert_allclose(
        predictions(X, y, method="local", ridge=0.0),
        np.einsum("sd,sd->s", prepared, exact) + y.mean(),
    )


@pytest.mark.parametrize("method", ["ridge_to_mean", "local", "pooled"])
def test_weights_are_repetitions_where_the_ridge_is_given(method):
    X, y = table()
    weights = np.random.default_rng(2).integers(0, 4, len(X))
    model = FederatedRegressor(method, client="client", ridge=0.5)
    weighted = clone(model).fit(X, y, sample_weight=weights)
    repeated = np.repeat(np.arange(len(X)), weights)
    again = model.fit(X.iloc[repeated], y.iloc[repeated])
    np.testing.assert_allclose(weighted.predict(X), again.predict(X))


@pytest.mark.parametrize("method", LOW_RANK)
def test_weights_are_honoured_by_representations(method):
    X, y = table()
    wrong = np.arange(len(X)) % 3 == 0
    spoilt, ids = y.where(~wrong, 100.0), X["client"]
    model = FederatedRegressor(method, client="client").fit(
        X, spoilt, sample_weight=np.where(wrong, 1e-9, 1.0)
    )
    assert model.score(X[~wrong], y[~wrong]) > 0.99
    dropped = clone(model).fit(X, y, sample_weight=(ids != "2").to_numpy().astype(float))
    assert dropped.clients_.tolist() == ["10", "11", "9"]


@pytest.mark.parametrize("method", METHODS)
def test_labels_that_do_not_vary(method):
    X, _ = table()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = FederatedRegressor(method, client="client").fit(X, np.full(len(X), 3.0))
    np.testing.assert_allclose(model.predict(X), 3.0)


def test_clients_of_one_sample():
    X, y = table()
    few = pd.concat([X[X["client"] != "2"], X[X["client"] == "2"][:1]])
    for method in METHODS:
        assert np.isfinite(predictions(few, y[few.index], method=method)).all()


def test_in_pipelines_searches_and_folds():
    X, y = table()
    scaled = make_column_transformer(
        (StandardScaler(), COLUMNS), remainder="passthrough", verbose_feature_names_out=False
    )
    named = make_pipeline(scaled, FederatedRegressor(client="client"))
    named.set_output(transform="pandas")
    by_place = make_pipeline(clone(scaled), FederatedRegressor(client=-1))
    for model in (named, by_place):
        np.testing.assert_allclose(model.fit(X, y).predict(X), predictions(X, y), rtol=1e-6)
    for cv in (ClientKFold(3, random_state=0), GroupKFold(4)):
        scores = cross_val_score(named, X, y, groups=X["client"], cv=cv)
        assert len(scores) == cv.get_n_splits()
        assert scores.min() > (0.99 if isinstance(cv, ClientKFold) else 0.0)
    search = GridSearchCV(
        FederatedRegressor(client="client"), {"k": [1, 3], "method": ["fedrep", "pooled"]},
        cv=list(ClientKFold(3, random_state=0).split(X, groups=X["client"])),
    ).fit(X, y)  # fmt: skip
    assert search.best_params_ == {"k": 3, "method": "fedrep"}
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))

import warnings

import matplotlib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linrep as lr
from linrep.algorithms import personalized
from linrep.problems.random import stream
from linrep.simulation.selection import candidates
from tests.reference import baselines as reference
from tests.strategies import seeds
from tests.tools import complaint

matplotlib.use("Agg")

TRUTH = lr.SharedRepresentation.random(n=12, d=5, k=2, noise=0.3, rng=0)
DATA = TRUTH.draw(8, rng=1)
#: As a user's data come: without a truth, with names, ragged.
OWN = lr.ClientData.from_list(
    [(X[: 4 + i % 5], y[: 4 + i % 5]) for i, (X, y) in enumerate(map(DATA.client, range(12)))],
    names=[f"client {i}" for i in range(12)],
)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(2, 6), seeds)
def test_folds_hold_every_sample_out_once_but_a_clients_only_one(sizes, folds, seed):
    total = sum(sizes)
    data = lr.ClientData(
        np.arange(total, dtype=float)[:, None], np.zeros(total), np.cumsum([0, *sizes])
    )
    shared = sum(m for m in sizes if m > 1)
    if shared < folds:
        with complaint(ValueError, "folds must be at most", str(shared)):
            list(data.folds(folds, rng=seed))
        return
    held, counts = [], []
    for train, test in data.folds(folds, rng=seed):
        assert train.names == data.names
        both = np.concatenate([train.X[:, 0], test.X[:, 0]])
        np.testing.assert_array_equal(np.sort(both), data.X[:, 0])
        held += test.X[:, 0].tolist()
        counts.append(len(test.y))
        m = dict(zip(test.names, test.m, strict=True))
        for name, size in zip(data.names, sizes, strict=True):
            share = size / folds if size > 1 else 0.0
            assert np.floor(share) <= m.get(name, 0) <= np.ceil(share)
    assert max(counts) - min(counts) <= 1
    assert len(held) == len(set(held)) == shared


@pytest.mark.parametrize("fraction", [None, 0.3])
def test_errors_are_those_of_models_fitted_to_each_split_by_the_book(fraction):
    found = lr.select(
        OWN, {"ridge": {"penalty": [0.1, 3.0]}}, baselines=False, folds=4, held_out=fraction, rng=5
    )
    generator = stream(5, "selection")
    if fraction is None:
        splits = list(OWN.folds(4, rng=generator))
    else:
        splits = [OWN.split(fraction, rng=own) for own in generator.spawn(4)]
    sums = {name: np.zeros(2) for name in OWN.names}
    for place, (train, test) in enumerate(splits):
        errors = []
        for i, name in enumerate(test.names):
            X, y = train.client(train.names.index(name))
            model = reference.ridge(X, y, 3.0)
            errors.append((test.client(i)[1] - test.client(i)[0] @ model) ** 2)
            sums[name] += errors[-1].sum(), errors[-1].size
        mean = np.concatenate(errors).mean()
        assert found.splits.loc[place, "ridge penalty=3"] == pytest.approx(mean)
    own = found.splits["ridge penalty=3"].to_numpy()
    shares = [len(test.y) / len(train.y) for train, test in splits]
    factor = np.sqrt(1 / 4 + np.mean(shares))
    row = found.table.loc["ridge penalty=3"]
    assert row["error"] == pytest.approx(own.mean())
    assert row["standard_error"] == pytest.approx(own.std(ddof=1) * factor)
    spread = np.mean([np.var(test.y) for _, test in splits])
    assert row["explained_variance"] == pytest.approx(1.0 - own.mean() / spread)
    other = found.splits["ridge penalty=0.1"].to_numpy()
    difference, error = found.compare("ridge penalty=3", "ridge penalty=0.1")
    assert difference == pytest.approx(np.mean(own - other))
    assert error == pytest.approx(np.std(own - other, ddof=1) * factor)
    for name, (total, count) in sums.items():
        if count:
            assert found.clients.loc[name, "ridge penalty=3"] == pytest.approx(total / count)


def test_rounds_are_those_of_one_run_and_ridges_of_heads_fitted_anew():
    grid = {"k": [1, 2], "rounds": [7, 2, 4], "ridge": [0.0, 0.5, "leave_one_out"]}
    found = lr.select(OWN, "fedrep", baselines=False, folds=3, rng=2, **grid)
    assert len(found.table) == 2 * 3 * 3
    splits = list(OWN.folds(3, rng=stream(2, "selection")))
    for k in (1, 2):
        for rounds in (2, 4, 7):
            for place, (train, test) in enumerate(splits):
                B = lr.fedrep(train, k=k, rounds=rounds).state["B"]
                for ridge in grid["ridge"]:
                    mu = lr.ridge_penalty(train, B) if ridge == "leave_one_out" else ridge
                    models = lr.fit_heads(train, B, ridge=mu) @ B.T
                    rows = [train.names.index(name) for name in test.names]
                    fitted = np.sum(test.X * np.repeat(models[rows], test.m, axis=0), axis=1)
                    expected = np.mean((test.y - fitted) ** 2)
                    name = (
                        f"fedrep k={k} rounds={rounds} ridge={ridge:g}"
                        if mu is ridge
                        else (f"fedrep k={k} rounds={rounds} ridge=leave_one_out")
                    )
                    assert found.splits.loc[place, name] == pytest.approx(expected, rel=1e-6)
    assert (found.table["rounds_done"] == found.table["rounds"]).all()


def test_one_seed_gives_one_table_whatever_the_workers():
    grid = {"fedrep": {"k": [1, 2], "rounds": [3, 9], "start": "random", "participation": 0.5}}
    one = lr.select(OWN, grid, rng=3)
    two = lr.select(OWN, grid, workers=3, rng=3)
    other = lr.select(OWN, grid, rng=4)
    pd.testing.assert_frame_equal(one.splits, two.splits)
    pd.testing.assert_frame_equal(
        one.table.drop(columns="seconds"), two.table.drop(columns="seconds")
    )
    pd.testing.assert_frame_equal(one.clients, two.clients)
    assert not one.splits.equals(other.splits)
    np.testing.assert_array_equal(one.trace.models, two.trace.models)


def test_baselines_are_there_unless_switched_off_or_given():
    names = set(candidates.BASELINES)
    method = {"alternating_least_squares": {"k": 2}}
    assert names < set(lr.select(OWN, method, rng=0).table["algorithm"])
    assert not names & set(lr.select(OWN, method, baselines=False, rng=0).table["algorithm"])
    given = lr.select(OWN, {"ridge": {"penalty": [1.0]}}, rng=0).table
    assert "ridge penalty=1" in given.index
    assert "ridge" not in given.index


def test_default_candidates_are_of_the_datas_size_and_scale():
    groups = candidates.read_candidates(OWN, None, True, {})
    labels = [label for group in groups for label, _ in group.candidates()]
    for name in ("fedrep k=5 rounds=300", "alternating_least_squares k=1 ridge=0", "pooled"):
        assert name in labels
    assert not any("k=10" in label for label in labels)
    taken = [group.settings["penalty"] for group in groups if group.name == "nuclear_norm"]
    assert taken == personalized.penalties(OWN)
    largest = 10.0**0.5 * taken[0]
    assert not personalized.nuclear_norm(OWN, penalty=largest * 1.001).state["theta"].any()
    assert personalized.nuclear_norm(OWN, penalty=largest * 0.99).state["theta"].any()


def test_what_is_shared_is_found_and_told():
    truth = lr.SharedRepresentation.random(n=40, d=10, k=2, noise=0.3, rng=0)
    found = lr.select(truth.draw(12, rng=1), "alternating_least_squares", k=[1, 2, 5], rng=0)
    assert found.best == "alternating_least_squares k=2"
    assert found.summary().endswith("sharing pays here")
    assert found.edges() == []
    assert found.best in repr(found)
    assert "sharing pays" in found._repr_html_()
    assert found.trace.rounds == found.trace.recorded[-1]
    assert found.trace.score(truth.draw(50, rng=2)) > 0.8


def test_what_is_not_shared_is_told_too():
    """Models of full rank, each known well: representations of low rank only lose."""
    rng = np.random.default_rng(0)
    data = lr.ClientData.from_list(
        [(X, X @ rng.standard_normal(4)) for X in rng.standard_normal((10, 40, 4))]
    )
    found = lr.select(data, "alternating_least_squares", k=[1, 2], rng=0)
    assert found.table["algorithm"].iloc[0] in ("ridge", "local_only")
    assert found.summary().endswith("sharing does not pay here")


def noise(seed, signal=0.0):
    """Return data on which nothing is shared, and not even each client has a clear model."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((5, 20, 2))
    y = signal * X[..., 0] + rng.standard_normal((5, 20))
    return lr.ClientData.from_list(list(zip(X, y, strict=True)))


def test_what_chance_may_do_is_not_told_as_a_finding():
    found = lr.select(noise(1), "alternating_least_squares", k=1, ridge=[1e6], rng=0)
    assert found.summary().endswith("none predicts better than the mean of all labels")
    assert found.table["explained_variance"].max() <= 0
    near = lr.select(
        noise(1, 3.0),
        {"ridge": {"penalty": 0.1}, "ridge_to_mean": {"penalty": 1e-3}},
        baselines=False,
        rng=0,
    )
    difference, error = near.compare(near.table.index[1], near.table.index[0])
    assert difference <= 2 * error
    assert near.summary().endswith("these data cannot tell")


def test_a_sentence_where_there_is_little_to_compare():
    alone = lr.select(noise(1, 3.0), {"ridge": {}}, baselines=False, rng=0)
    assert alone.summary().endswith("there is no other method")
    single = lr.select(noise(1, 3.0), "pooled", held_out=0.5, folds=1, rng=0)
    assert "no standard error" in single.summary()
    assert np.isnan(single.table["standard_error"]).all()
    both = lr.select(noise(1, 3.0), {"ridge": {}, "local_only": {}}, baselines=False, rng=0)
    assert "ahead of" in both.summary()


def test_one_standard_error_takes_the_first_that_is_as_good():
    grid = {"k": [2, 3, 4, 5]}
    method = "alternating_least_squares"
    least = lr.select(OWN, method, baselines=False, rng=0, **grid)
    simple = lr.select(OWN, method, baselines=False, rule="one_standard_error", rng=0, **grid)
    pd.testing.assert_frame_equal(least.splits, simple.splits)
    table = simple.table
    near = table[table["behind"] <= table["paired_error"].where(table["behind"] > 0, 0.0)]
    assert simple.best == min(near.index, key=lambda name: table.loc[name, "k"])


def own_method(data, *, shrink):
    """Each client alone, shrunk."""
    trace = lr.local_only(data)
    trace.state["theta"] = shrink * trace.state["theta"]
    return trace


def test_methods_of_ones_own_and_several_at_once():
    found = lr.select(OWN, {own_method: {"shrink": [1.0, 0.5]}, "pooled": {}}, rng=0)
    np.testing.assert_array_equal(found.splits["own_method shrink=1"], found.splits["local_only"])
    assert found.edges() == [] or found.best.startswith("own_method")


def test_preparation_is_of_the_samples_learned_from_and_errors_in_the_datas_units():
    data = lr.ClientData(OWN.X * 7.0 + 3.0, 100.0 * OWN.y + 1000.0, OWN.offsets, OWN.names)
    found = lr.select(
        data, "local_only", baselines=False, prepare=lambda own: own.standardized(), rng=0
    )
    train, test = next(data.folds(5, rng=stream(0, "selection")))
    expected = lr.local_only(train.standardized()).score(test, measure="rmse") ** 2
    assert found.splits.loc[0, "local_only"] == pytest.approx(expected)
    assert found.trace.preparation == data.standardized().preparation
    assert np.isfinite(found.trace.predict(data)).all()


def test_signs():
    data = lr.ClientData(OWN.X, np.sign(OWN.y), OWN.offsets, OWN.names)
    found = lr.select(data, "pooled", measure="sign", rng=0)
    shares = found.splits["pooled"]
    counts = [len(test.y) for _, test in data.folds(5, rng=stream(0, "selection"))]
    for share, count in zip(shares, counts, strict=True):
        assert share * count == pytest.approx(round(share * count))
    assert "explained_variance" not in found.table
    assert "% of signs wrong" in found.summary()
    assert "sign" in found.plot().get_xlabel()
    matplotlib.pyplot.close("all")


def test_runs_that_diverge_are_said_to_have_and_judged_by_their_best_state():
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error", lr.RunWarning)  # the table says so
        found = lr.select(OWN, {"fedsgd": {"k": 2, "step_size": [1e9], "rounds": [50, 100]}}, rng=0)
    wild = found.table[found.table["algorithm"] == "fedsgd"]
    assert (wild["stopped"] == "diverged").all()
    assert np.isfinite(wild["error"]).all()
    assert found.best not in wild.index
    ax = found.plot()
    assert len(ax.get_yticks()) == len(found.table)
    ax.figure.canvas.draw()
    matplotlib.pyplot.close("all")


def test_settings_at_the_edge_are_named():
    truth = lr.SharedRepresentation.random(n=40, d=10, k=4, noise=0.1, rng=0)
    data = truth.draw(15, rng=1)
    found = lr.select(data, "alternating_least_squares", k=[1, 2], baselines=False, rng=0)
    assert found.edges() == ["k=2"]
    assert "at the edge of what was tried: k=2" in repr(found)


def test_a_picture_has_a_row_per_candidate_and_a_colour_per_method():
    found = lr.select(OWN, "alternating_least_squares", k=[1, 2], rng=0)
    ax = found.plot()
    assert [text.get_text() for text in ax.get_yticklabels()] == list(found.table.index)
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert named == [*dict.fromkeys(found.table["algorithm"]), "chosen"]
    assert found.plot(ax=ax) is ax
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: lr.select(None), TypeError, ("data", "ClientData", "NoneType")),
        (lambda: lr.select(OWN, "fedrap"), ValueError, ("candidates", "'fedrap'")),
        (lambda: lr.select(OWN, {"fedrep": 3}), TypeError, ("candidates['fedrep']", "3")),
        (lambda: lr.select(OWN, "fedrep", k=[]), ValueError, ("k of fedrep", "at least one")),
        (lambda: lr.select(OWN, "fedrep", k=9, rng=0), ValueError, ("k must be between 1 and 5",)),
        (lambda: lr.select(OWN, k=[1]), ValueError, ("k needs candidates",)),
        (lambda: lr.select(OWN, {"fedrep": {}}, k=1), ValueError, ("k must be among",)),
        (lambda: lr.select(OWN, {}, baselines=False), ValueError, ("candidates", "at least one")),
        (lambda: lr.select(OWN, "fedrep", k=[2, 2]), ValueError, ("differ", "fedrep k=2")),
        (lambda: lr.select(OWN, "pooled", folds=1), ValueError, ("folds", "at least 2")),
        (lambda: lr.select(OWN, "pooled", measure="sign"), ValueError, ("measure", "-1 or 1")),
        (lambda: lr.select(OWN, "pooled", measure="x"), ValueError, ("measure", "'x'")),
        (lambda: lr.select(OWN, "pooled", rule="x"), ValueError, ("rule", "'x'")),
        (lambda: lr.select(OWN, "pooled", ridge=1.0), ValueError, ("ridge", "pooled")),
        (lambda: lr.select(OWN, "fedrep", k=1, ridge="x"), ValueError, ("ridge", "leave_one_out")),
        (lambda: lr.select(OWN.weighted("sample"), "pooled"), ValueError, ("weighted",)),
    ],
)
def test_bad_input_is_named(call, kind, words):
    with complaint(kind, *words):
        call()

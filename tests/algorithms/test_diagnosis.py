"""What runs on data of one's own warn of, and what a run that diverged returns."""

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linrep as lr
from linrep.algorithms import diagnosis
from tests.algorithms.support import clients_of, loss
from tests.reference import fedrep as reference
from tests.strategies import seeds

TRUTH = lr.SharedRepresentation.random(n=12, d=6, k=2, noise=0.1, rng=0)
DRAWN = TRUTH.draw(15, rng=1)


def own(X=None, y=None):
    """Return data that are the same samples, or others, of which no truth is known."""
    X, y = DRAWN.X if X is None else X, DRAWN.y if y is None else y
    return replace(DRAWN, X=X, y=y, truth=None)


def warned(run):
    """Return what a run returns, and the lines that it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trace = run()
    found = [each for each in caught if issubclass(each.category, lr.RunWarning)]
    assert all(each.filename == __file__ for each in found)
    lines = [str(each.message) for each in found]
    assert not any("\n" in line for line in lines)
    return trace, lines


def test_a_truth_needs_no_diagnosis():
    trace, lines = warned(lambda: lr.fedrep(DRAWN, step_size=1e-12, rng=0))
    assert lines == []
    assert trace.notes == ()
    assert diagnosis.own_data(DRAWN) is None
    assert diagnosis.own_data(TRUTH) is None
    assert diagnosis.own_data(None) is None


METHODS = {
    "GD-GD": (lr.fedrep, "loss", {"k": 2, "rng": 0, "local_steps": 1, "head_step_size": 30.0}),
    "fedsgd": (lr.fedsgd, "loss", {"k": 2, "rng": 0, "start": "random"}),
    "flute": (lr.flute, "loss", {"k": 2, "rng": 0, "scale": 0.5}),
    "pflmf": (lr.pflmf, "objective", {"k": 2, "rng": 0}),
    "local": (lr.algorithms.personalized.local, "objective", {}),
}


@pytest.mark.parametrize("name", METHODS)
def test_a_run_that_diverges_returns_the_state_of_its_least_loss(name):
    algorithm, metric, settings = METHODS[name]
    data = own()
    wild, lines = warned(lambda: algorithm(data, step_size=30.0, rounds=60, **settings))
    assert wild.stop_reason == "diverged"
    assert len(lines) == 1
    assert "diverged" in lines[0]
    assert "step_size below 30" in lines[0]
    losses = wild[metric]
    late = int(np.isnan(losses[0]))
    kept = max(int(np.nanargmin(losses)) - late, 0)
    assert f"round {kept}" in wild.notes[0]
    until, _ = warned(lambda: algorithm(data, step_size=30.0, rounds=kept, **settings))
    for part, values in until.state.items():
        np.testing.assert_array_equal(wild.state[part], values)
    assert np.isfinite(wild.predict(data)).all()


def test_a_run_that_falls_before_it_diverges_returns_its_best():
    """Also where it diverges in its last round: rounds are run again, of a table of so many."""
    data, rng = own(), np.random.default_rng(5)
    B = lr.subspace.random_frame(6, 2, rng)
    W = lr.fit_heads(data, B) + 1e-6 * rng.standard_normal((12, 2))
    run = {"k": 2, "local_steps": 1, "head_step_size": 1.5, "step_size": 0.3, "start": (B, W)}
    until, _ = warned(lambda: lr.fedrep(data, rounds=40, rng=0, **run))
    assert until.stop_reason == "diverged"
    first = until["loss"][1]
    rounds = 1 + int(np.argmax(until["loss"][1:] > 100.0 * first))
    wild, lines = warned(lambda: lr.fedrep(data, rounds=rounds, rng=0, **run))
    assert (wild.stop_reason, wild.rounds) == ("diverged", rounds)
    kept = int(np.nanargmin(wild["loss"])) - 1
    assert 1 <= kept < rounds - 1
    assert f"round {kept}" in lines[0]
    best, _ = warned(lambda: lr.fedrep(data, rounds=kept, rng=0, **run))
    np.testing.assert_array_equal(wild.state["B"], best.state["B"])
    np.testing.assert_array_equal(wild.state["W"], best.state["W"])
    # Of a run that goes on, too.
    begun, _ = warned(lambda: lr.fedrep(data, rounds=2, rng=0, **run))
    more, _ = warned(lambda: lr.fedrep(data, rounds=rounds - 2, **run | {"start": begun}))
    assert more.stop_reason == "diverged"
    np.testing.assert_array_equal(more.state["B"], wild.state["B"])


def test_losses_of_other_clients_or_at_rounding_level_are_no_divergence():
    uneven = own(y=DRAWN.y * np.repeat(10.0 ** np.linspace(-3, 3, 12), 15))
    trace, _ = warned(lambda: lr.fedrep(uneven, k=2, participation=1 / 12, rounds=40, rng=0))
    assert trace["loss"][1:].max() > 100.0 * trace["loss"][1:].min()
    assert trace.stop_reason == "rounds"
    exact = lr.SharedRepresentation.random(n=12, d=6, k=2, rng=0).draw(15, rng=1)
    solved = replace(exact, truth=None)
    trace, _ = warned(lambda: lr.fedrep(solved, k=2, start=exact.truth.B, rounds=40, rng=0))
    assert trace.stop_reason == "rounds"
    np.testing.assert_allclose(trace.predict(solved), solved.y, atol=1e-8)


def test_methods_without_heads_by_least_squares_are_not_told_of_them():
    data = own()
    trace, lines = warned(lambda: lr.fedsgd(data, k=2, rounds=200, rng=0))
    assert lines == []
    assert trace.notes == ()
    signs = own(y=np.where(DRAWN.y > 0.0, 1.0, -1.0))
    logistic = lr.LogisticObjectives(signs, ridge=0.1)
    trace, lines = warned(lambda: lr.pflmf(logistic, k=2, rounds=200, rng=0))
    assert lines == []


def test_a_server_that_remembers_begins_anew():
    data = own()
    ditto = lr.algorithms.personalized.distance_regularized
    run = {"penalty": 1.0, "center": "global", "step_size": 2.0}
    wild, _ = warned(lambda: ditto(data, rounds=60, **run))
    assert wild.stop_reason == "diverged"
    kept = int(np.nanargmin(wild["objective"]))
    best, _ = warned(lambda: ditto(data, rounds=kept, **run))
    np.testing.assert_array_equal(wild.state["theta"], best.state["theta"])


def test_a_loss_that_is_a_hundred_times_the_first_is_divergence():
    step = {"k": 2, "rng": 0, "start": "random", "step_size": 30.0}
    trace, lines = warned(lambda: lr.fedsgd(own(), rounds=3, **step))
    assert np.isfinite(trace["loss"][1:]).all()
    assert trace["loss"][-1] > 100.0 * trace["loss"][1]
    assert trace.stop_reason == "diverged"
    assert "diverged" in lines[0]
    drawn, _ = warned(lambda: lr.fedsgd(DRAWN, rounds=3, **step))
    assert drawn.stop_reason == "rounds"


@pytest.mark.parametrize("record", [1, 7])
def test_a_run_that_stands_still_says_so(record):
    trace, lines = warned(lambda: lr.fedrep(own(), k=2, step_size=1e-7, record=record, rng=0))
    assert len(lines) == 1
    assert "hardly moves" in lines[0]
    assert trace.notes[0] in lines[0]
    assert trace.notes[0][1:] in trace.summary()
    assert "hardly moves" in repr(trace)


def test_what_is_to_lower_no_loss_is_not_judged_by_it():
    data = own()
    trace, _ = warned(lambda: lr.fedrep(data, k=2, step_size=1e-7, rng=0))
    run = {name: getattr(trace, name) for name in ("metrics", "state", "settings", "stop_reason")}
    for descends, said in ((True, True), (None, False)):
        about = {"rounds": trace.recorded, "returned": None, **run}
        judged = partial(diagnosis.diagnose, data, data, **about)
        found, _ = warned(lambda judged=judged, descends=descends: judged(descends=descends))
        assert any("hardly moves" in note for note in found.notes) == said


def test_what_data_lack_is_said_once_and_noted_always():
    X = DRAWN.X.copy()
    X[:, 0] *= 1e6
    X[:, 5] = X[:, 4]
    data = own(X)
    first, lines = warned(lambda: lr.fedrep(data, k=2, rng=0))
    assert len(lines) == 1
    assert "FederatedRegressor" in lines[0]
    assert "rank 5 of 6" in lines[0]
    second, lines = warned(lambda: lr.fedrep(data, k=2, rng=1))
    assert not any("rank" in line or "root mean squares" in line for line in lines)
    assert first.notes[-2:] == second.notes[-2:]
    _, lines = warned(lambda: lr.fedrep(own(X[:, 1:5]), k=2, rng=0))
    assert not any("rank" in line for line in lines)


def test_a_run_has_the_same_notes_whichever_came_before_it():
    """Though the rank is looked for in runs only that take longer than that."""
    X = DRAWN.X.copy()
    X[:, 5] = X[:, 4]
    run = {"k": 1, "step_size": 0.1, "rng": 0}
    alone, _ = warned(lambda: lr.fedrep(own(X), rounds=3, **run))
    data = own(X)
    warned(lambda: lr.fedrep(data, rounds=30, **run))
    after, lines = warned(lambda: lr.fedrep(data, rounds=3, **run))
    assert after.notes == alone.notes
    assert not any("rank" in line for line in (*alone.notes, *lines))


def test_clients_with_fewer_samples_than_their_head_are_counted():
    small = lr.ClientData.from_list([(X[:2], y[:2]) for X, y in map(DRAWN.client, range(DRAWN.n))])
    trace, lines = warned(lambda: lr.fedrep(small, k=3, rng=0))
    assert "12 of 12 clients have no more samples" in lines[0]
    assert any("FederatedRegressor" in note for note in trace.notes)


@given(seed=seeds)
def test_the_line_search_gains_what_its_step_does(seed):
    rng = np.random.default_rng(seed)
    data = own(y=rng.standard_normal(DRAWN.y.size))
    B = rng.standard_normal((6, 2))
    parts = clients_of(data)
    W = np.array([np.linalg.lstsq(X @ B, y, rcond=None)[0] for X, y in parts])
    slopes = [reference.client_gradient(X, y, B, w) for (X, y), w in zip(parts, W, strict=True)]
    G = np.mean(slopes, axis=0)
    pooled = np.mean([X.T @ X / len(y) for X, y in parts], axis=0)
    direction = np.linalg.solve(pooled, G)
    # A parabola through three points has its least value at the best step.
    values = [loss(data, W @ (B - step * direction).T) for step in (0.0, 1.0, 2.0)]
    second = values[0] - 2.0 * values[1] + values[2]
    first = values[1] - values[0] - second / 2.0
    expected = first**2 / (2.0 * second) / values[0]
    found = diagnosis.line_search_gain(data, {"B": B, "W": rng.standard_normal((12, 2))})
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(
    losses=st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=8),
    late=st.booleans(),
)
def test_the_best_round_is_the_one_whose_state_has_the_least_loss(losses, late):
    rounds = np.arange(len(losses))
    recorded = np.array([np.nan, *losses[:-1]]) if late else np.array(losses)
    found = diagnosis.best_round({"loss": recorded}, rounds)
    of_state = recorded[1:] if late else recorded
    assert of_state[found] == of_state.min()


def test_no_finite_loss_leads_back_to_the_start():
    assert diagnosis.best_round({"loss": np.array([np.nan])}, np.arange(1)) == 0
    assert diagnosis.best_round({}, np.arange(1)) == 0
    assert diagnosis.line_search_gain(own(), {"theta": np.zeros((12, 6))}) is None


def test_an_algorithm_of_ones_own_is_judged_too():
    data = own()

    def step(state, _):
        return {"B": state["B"] * 40.0, "W": state["W"]}

    def measure(state):
        residuals = (
            np.einsum("sk,sk->s", data.X @ state["B"], np.repeat(state["W"], data.m, axis=0))
            - data.y
        )
        return {"loss": float(np.mean(residuals**2))}

    rng = np.random.default_rng(0)
    start = {"B": rng.standard_normal((6, 2)), "W": rng.standard_normal((12, 2))}
    trace, lines = warned(
        lambda: lr.run_rounds(step, start, rounds=5, measure=measure, problem=data)
    )
    assert trace.stop_reason == "diverged"
    np.testing.assert_array_equal(trace.state["B"], start["B"])
    assert "diverged" in lines[0]


def test_entries_that_diverge_return_what_was_best_and_say_so():
    rng = np.random.default_rng(0)
    places = rng.choice(20 * 12, 120, replace=False)
    entries = lr.Observations(places % 12, places // 12, rng.standard_normal(120), d=12, n=20)
    wild, lines = warned(lambda: lr.perfedsi(entries, k=2, step_size=60.0, rounds=300, rng=0))
    assert wild.stop_reason == "diverged"
    assert len(lines) == 1
    assert "step_size below 60" in lines[0]
    kept = max(int(np.nanargmin(wild["loss"])) - 1, 0)
    until, _ = warned(lambda: lr.perfedsi(entries, k=2, step_size=60.0, rounds=kept, rng=0))
    np.testing.assert_array_equal(wild.state["U"], until.state["U"])
    solver, lines = warned(lambda: lr.algorithms.imc.balanced_gradient(entries, 2, step_size=1e3))
    assert solver.stop_reason == "diverged"
    assert "diverged" in lines[0]
    assert solver["residual"][-1] == solver["residual"].min()
    assert solver.notes[0] in lines[0]

"""What traces predict, against a loop over the samples; and how that is scored."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linrep as lr
from linrep import ClientData, Observations, Trace
from tests.strategies import seeds
from tests.tools import complaint

PERSONALIZED, BIASES, IMC = (
    getattr(lr.algorithms, name) for name in ("personalized", "biases", "imc")
)
NAMES = ("carl", "ada", "berta")


def samples(seed=0, d=4):
    """Return ragged samples of three clients."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((36, d))
    y = X @ rng.standard_normal(d) + 0.1 * rng.standard_normal(36)
    return ClientData(X, y, np.array([0, 8, 20, 36]), NAMES)


START = {"start": (np.eye(4, 2), np.ones((3, 2))), "k": 2, "rounds": 3}


def on_objectives(method):
    return lambda data, ridge=0.0, **settings: method(
        lr.LeastSquaresObjectives(data, ridge=ridge), **settings
    )


# How a client's model and bias are read off the state.


def heads(state, i):
    return state["B"] @ state["W"][i], 0.0


def one_head(state, i):
    return state["B"] @ state["w"], 0.0


def factors(state, i):
    return state["U"] @ state["V"][i], 0.0


def alone(state, i):
    return state["theta"][i], 0.0


def biased(state, i):
    theta = state["theta"]
    return theta if theta.ndim == 1 else theta[i], state["biases"][i]


METHODS = {
    "fedrep": (lr.fedrep, START | {"step_size": 0.1}, heads),
    "flute": (lr.flute, START | {"step_size": 0.01}, heads),
    "fedavg": (lr.fedavg, START | {"step_size": 0.01, "local_steps": 2}, one_head),
    "fedsgd": (lr.fedsgd, START | {"step_size": 0.01}, one_head),
    "pflmf": (lr.pflmf, START | {"step_size": 0.01}, factors),
    "objectives": (on_objectives(lr.pflmf), START | {"step_size": 0.01, "ridge": 0.1}, factors),
    "local only": (lr.local_only, {}, alone),
    "personalized local": (PERSONALIZED.local, {"rounds": 3}, alone),
    "average": (on_objectives(PERSONALIZED.average), {"rounds": 3}, alone),
    "nuclear norm": (PERSONALIZED.nuclear_norm, {"rounds": 3, "penalty": 0.1}, alone),
    "biases, one": (BIASES.least_squares, {"side": "each"}, biased),
    "biases, alone": (BIASES.local_only, {}, biased),
    "biases, averaged": (BIASES.fedavg, {"side": "one", "step_size": 0.001, "rounds": 3}, biased),
}


def one_by_one(trace, read, data):
    """Return the predictions of samples, client by client, found by their names."""
    found = []
    for i, name in enumerate(data.names):
        theta, bias = read(trace.state, NAMES.index(name))
        found += [sum(x * theta) + bias for x in data.client(i)[0]]
    return np.array(found)


@pytest.mark.parametrize(("method", "settings", "read"), METHODS.values(), ids=METHODS)
def test_predictions_are_those_of_the_clients_models(method, settings, read):
    train, test = samples(), samples(1)
    other = ClientData(  # some of the clients, in another order
        np.vstack([test.client(i)[0] for i in (2, 0)]),
        np.concatenate([test.client(i)[1] for i in (2, 0)]),
        np.cumsum([0, test.m[2], test.m[0]]),
        (NAMES[2], NAMES[0]),
    )
    trace = method(train, **settings)
    assert trace.clients == NAMES
    for data in (train, other):
        np.testing.assert_allclose(trace.predict(data), one_by_one(trace, read, data), atol=1e-12)
    wanted = [read(trace.state, i)[0] for i in range(3)]
    np.testing.assert_allclose(trace.models, wanted, atol=1e-14)
    again = pickle.loads(pickle.dumps(trace))
    np.testing.assert_array_equal(again.predict(other), trace.predict(other))


def test_a_run_that_goes_on_keeps_what_it_predicts_with():
    data = samples()
    trace = lr.fedrep(data, **START, step_size=0.1)
    further = lr.fedrep(data, k=2, rounds=2, start=trace, step_size=0.1)
    assert further.clients == NAMES
    whole = lr.fedrep(data, **START | {"rounds": 5}, step_size=0.1)
    np.testing.assert_array_equal(further.predict(data), whole.predict(data))


def test_clients_of_a_truth_are_numbers():
    truth = lr.SharedRepresentation.random(n=5, d=4, k=2, rng=0)
    trace = lr.fedrep(truth, m=10, rounds=50, rng=1)
    data = truth.draw(20, rng=2)
    assert trace.clients is None
    models = trace.state["W"] @ trace.state["B"].T
    wanted = np.einsum("sd,sd->s", data.X, np.repeat(models, 20, axis=0))
    np.testing.assert_allclose(trace.predict(data), wanted, atol=1e-12)
    assert trace.score(data) > 0.999
    with complaint(ValueError, "no client 5"):
        trace.predict(ClientData(data.X, data.y, data.offsets, (0, 1, 2, 3, 5)))
    with complaint(ValueError, "no models", "nothing"):
        lr.local_only(truth, m=10, batches="gram", rng=1).predict(data)
    with complaint(ValueError, "no models"):
        _ = lr.local_only(truth, m=10, batches="gram", rng=1).models


def test_a_custom_algorithms_models_are_found_by_name():
    data = samples()
    trace = lr.run_rounds(
        lambda state, t: state,
        {"theta": np.ones((3, 4))},
        rounds=1,
        measure=lambda state: {"loss": 0.0},
        problem=data,
    )
    np.testing.assert_allclose(trace.predict(data), data.X.sum(axis=1))
    assert trace.clients == NAMES
    one = Trace("global", {"loss": np.zeros(1)}, {"theta": np.ones(4)}, clients=NAMES)
    np.testing.assert_allclose(one.predict(data), data.X.sum(axis=1))
    np.testing.assert_array_equal(one.models, np.ones((3, 4)))


def test_what_cannot_be_predicted():
    data = samples()
    trace = lr.local_only(data)
    stranger = ClientData(data.X, data.y, data.offsets, ("carl", "dora", "berta"))
    with complaint(ValueError, "no client 'dora'", "3 clients", "fit_new_clients"):
        trace.predict(stranger)
    with complaint(ValueError, "4 covariates", "got 3"):
        trace.predict(ClientData(data.X[:, :3].copy(), data.y, data.offsets, NAMES))
    with complaint(TypeError, "ClientData", "ndarray"):
        trace.predict(data.X)
    with complaint(TypeError, "ClientData", "dict"):
        trace.predict({"X": data.X})
    with complaint(ValueError, "U and V", "theta"):
        trace.predict(Observations([0], [1], [2.0], d=2, n=2))


# Scores


MEASURES = ("explained_variance", "rmse")


@given(seeds, st.lists(st.integers(1, 6), min_size=1, max_size=4), st.sampled_from([0.0, 1e3]))
def test_scores(seed, sizes, center):
    rng = np.random.default_rng(seed)
    data = ClientData.from_list(
        [(rng.standard_normal((m, 2)), center + rng.standard_normal(m)) for m in sizes]
    )
    theta = rng.standard_normal((len(sizes), 2))
    trace = Trace("mine", {"loss": np.zeros(1)}, {"theta": theta})
    by = [trace.score(data, by="client", measure=measure) for measure in MEASURES]
    for table in by:
        assert (table.index.tolist(), table.index.name) == (list(data.names), "client")
    groups = {i: [i] for i in data.names} | {"all": data.names}
    for name, clients in groups.items():
        errors, labels = [], []
        for i in clients:
            X, y = data.client(i)
            errors += [(label - x @ theta[i]) ** 2 for x, label in zip(X, y, strict=True)]
            labels += y.tolist()
        mean = sum(labels) / len(labels)
        spread = sum((label - mean) ** 2 for label in labels)
        expected = (
            1.0 - sum(errors) / spread if len(labels) > 1 else np.nan,
            np.sqrt(sum(errors) / len(errors)),
        )
        found = [trace.score(data, measure=measure) for measure in MEASURES]
        found = found if name == "all" else [table[name] for table in by]
        np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_clients_whose_names_are_tuples():
    data = ClientData(np.eye(2), np.ones(2), [0, 1, 2], (("a", 1), ("b", 2)))
    table = lr.local_only(data).score(data, by="client", measure="rmse")
    assert table.index.tolist() == [("a", 1), ("b", 2)]


# New clients


@pytest.mark.parametrize(
    ("method", "settings", "basis"),
    [
        (lr.fedrep, {"start": "random"}, "B"),
        (lr.flute, {"step_size": 0.01}, "B"),
        (lr.pflmf, {"step_size": 0.01}, "U"),
    ],
)
def test_new_clients_fit_heads_on_what_was_learned(method, settings, basis):
    trace = method(samples(), k=2, rounds=3, rng=0, **settings)
    X, y = samples(1).client(1)
    found = lr.fit_new_clients(trace, lr.ClientData(X[:5], y[:5], [0, 5], ("dora",)))
    B = trace.state[basis]
    w = np.linalg.lstsq(X[:5] @ B, y[:5], rcond=None)[0]
    np.testing.assert_allclose(found.state["W"], [w], atol=1e-9)
    np.testing.assert_allclose(
        found["loss"], [np.mean((X[:5] @ B @ w - y[:5]) ** 2) / 2], rtol=1e-9
    )
    test = lr.ClientData(X[5:], y[5:], [0, len(y) - 5], ("dora",))
    np.testing.assert_allclose(found.predict(test), X[5:] @ B @ w, rtol=1e-9)
    assert found.clients == ("dora",)


def test_new_clients_that_cannot_be_fitted():
    data = samples()
    with complaint(ValueError, "representation", "theta"):
        lr.fit_new_clients(lr.local_only(data), data)
    trace = lr.fedrep(data, **START, step_size=1e-6)
    with complaint(TypeError, "trace must be Trace"):
        lr.fit_new_clients(trace.state["B"], data)
    with complaint(TypeError, "ClientData"):
        lr.fit_new_clients(trace, data.X)


# Entries


@pytest.mark.parametrize("side", [True, False])
@pytest.mark.parametrize(
    "run",
    [
        lambda seen: IMC.gauss_newton(seen, 2),
        lambda seen: IMC.alternating(seen, 2, iterations=5),
        lambda seen: lr.perfedsi(seen, k=2, rounds=20, step_size=0.01, rng=0),
    ],
)
def test_entries(run, side):
    truth = lr.SideInformationCompletion.random(n=30, d=12, p=4, k=2, rng=0)
    seen = truth.observe(entries=250, rng=1)
    seen = seen if side else seen.without_side_information()
    learned, held = seen.split(0.2, rng=2)
    trace = run(learned)
    U, V = trace.state["U"], held.Z @ trace.state["V"] if side else trace.state["V"]
    wanted = [sum(U[j] * V[i]) for j, i in zip(held.items, held.clients, strict=True)]
    np.testing.assert_allclose(trace.predict(held), wanted, atol=1e-12)
    error = held.values - wanted
    np.testing.assert_allclose(trace.score(held, measure="rmse"), np.sqrt(np.mean(error**2)))
    share = 1 - np.sum(error**2) / np.sum((held.values - held.values.mean()) ** 2)
    np.testing.assert_allclose(trace.score(held), share)
    by = trace.score(held, by="client", measure="rmse")
    assert by.index.tolist() == np.unique(held.clients).tolist()
    for i in by.index:
        np.testing.assert_allclose(by[i], np.sqrt(np.mean(error[held.clients == i] ** 2)))
    with complaint(ValueError, "items", "13", "12"):
        trace.predict(Observations([0], [1], [2.0], held.Z, d=13, n=30))

"""Steps that FLUTE, global models, pFL^MF and its relatives find by themselves."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linrep as lr
from linrep.algorithms import personalized
from tests.algorithms.support import clients_of, loss, streams
from tests.reference import descent as reference
from tests.reference import flute as flute_reference
from tests.reference import pflmf as pflmf_reference
from tests.strategies import seeds

TRUTH = lr.SharedRepresentation.random(n=8, d=5, k=2, noise=0.1, rng=0)
DATA = TRUTH.draw(m=9, rng=1)
ROUNDS = 6
METHODS = {
    "flute": partial(lr.flute, k=2),
    "flute, some clients": partial(lr.flute, k=2, participation=0.5),
    "fedsgd": lr.fedsgd,
    "fedsgd, some clients": partial(lr.fedsgd, participation=0.5),
    "fedavg": partial(lr.fedavg, local_steps=3),
    "fedavg, some clients": partial(lr.fedavg, local_steps=3, participation=0.5),
    "pflmf": partial(lr.pflmf, k=2),
    "pflmf, some clients": partial(lr.pflmf, k=2, participation=0.5),
    "pflmf, a fixed number": partial(lr.pflmf, k=2, participation=0.5, sampling="fixed"),
    "pflmf, all in U": partial(lr.pflmf, k=2, participation=0.5, aggregate="full"),
    "pflmf, theorem": partial(
        lr.pflmf, k=2, participation=0.5, local_steps=3, head_step_size="theorem"
    ),
    "pflmf, local steps": partial(lr.pflmf, k=2, local_steps=3),
    "pflmf, alternating": partial(lr.pflmf, k=2, order="alternating"),
    "pflmf, noise": partial(lr.pflmf, k=2, gradient_noise=1e-3),
    "pflmf, batches": partial(lr.pflmf, k=2, batch=3),
}
EXACT = ["flute", "fedsgd", "fedavg", "pflmf", "pflmf, local steps", "pflmf, alternating"]


def badly_scaled(seed, exponent):
    """Clients of 2 to 40 samples with a repeated column, and columns of very different size."""
    rng = np.random.default_rng(seed)
    m = rng.integers(2, 41, 12)
    offsets = np.concatenate([[0], np.cumsum(m)])
    X = rng.standard_normal((offsets[-1], 6))
    theta = rng.standard_normal((12, 2)) @ rng.standard_normal((2, 6))
    X[:, -1] = X[:, 0]
    y = np.einsum("ij,ij->i", X, np.repeat(theta, m, axis=0)) + 0.1 * rng.standard_normal(len(X))
    return lr.ClientData(X * 10.0 ** np.linspace(-exponent, exponent, 6), y, offsets)


@pytest.mark.parametrize("name", METHODS)
def test_the_trace_says_which_step_was_taken(name):
    trace = METHODS[name](DATA, rounds=12, rng=3)
    rule = trace.settings["step_size_rule"]
    assert rule == trace.settings["step_size"] == ("adaptive" if name in EXACT else "smoothness")
    steps = trace["step_size"]
    assert np.isnan(steps[0])
    assert (steps[1:] > 0.0).all()
    given_one = METHODS[name](DATA, step_size=1e-3, rounds=2, rng=3, **(
        {"head_step_size": None} if name == "pflmf, theorem" else {}
    ))  # fmt: skip
    assert given_one.settings["step_size_rule"] == "given"
    assert "step_size" not in given_one
    assert trace["floats_up"][-1] > given_one["floats_up"][-1]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("exponent", [0, 1, 6])
def test_nothing_diverges_on_badly_scaled_data(name, exponent):
    data = badly_scaled(5, exponent)
    one = "fed" in name
    run = partial(METHODS[name], data, rng=0, **({"k": 2} if one else {}))
    trace, before = run(rounds=100), loss(data, run(rounds=0).models)
    assert trace.stop_reason != "diverged"
    # One model for all hardly fits these: with drawn clients it need not even end below its start.
    if not (one and "some" in name):
        assert loss(data, trace.models) < before
    if exponent == 0 and not one:
        assert loss(data, trace.models) < 0.1 * before


@given(seeds, st.sampled_from(["half", "full"]), st.sampled_from(["sum", "mean"]))
def test_flute_descends_as_the_reference(seed, loss, aggregate):
    options = {"gamma1": 0.3, "gamma2": 0.2, "loss": loss, "rounds": ROUNDS, "scale": 0.5}
    trace = lr.flute(DATA, k=2, aggregate=aggregate, rng=seed, **options)
    start_rng = streams(seed)[2]
    x = 0.5 * start_rng.standard_normal((DATA.d + DATA.n) * 2)
    clients = clients_of(DATA)
    share = {"half": 1.0, "full": 2.0}[loss] / {"sum": 1, "mean": DATA.n}[aggregate]

    def split(x):
        return x[: DATA.d * 2].reshape(-1, 2), x[DATA.d * 2 :].reshape(-1, 2)

    def value(x):
        return flute_reference.objective(
            clients, *split(x), 0.3, 0.2, loss=loss, clients_as=aggregate
        )

    def gradient(x):
        B, W = split(x)
        in_B, in_W = flute_reference.regularizer_gradients(B, W, 0.3, 0.2)
        for i, (X, y) in enumerate(clients):
            in_B = in_B + share * flute_reference.client_gradient(X, y, B, W[i])
            in_W[i] += share * flute_reference.head_gradient(X, y, B, W[i])
        return np.concatenate([in_B.ravel(), in_W.ravel()])

    points, steps, tried = reference.descend(value, gradient, x, ROUNDS)
    # Each round's step is a ratio of differences, and adds to the rounding of those before.
    np.testing.assert_allclose(trace["step_size"][1:], steps, rtol=1e-6)
    B, W = split(points[-1])
    np.testing.assert_allclose(trace.state["B"], B, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(trace.state["W"], W, rtol=1e-6, atol=1e-8)
    assert trace["floats_up"][-1] == DATA.n * 2 * (DATA.d + 1) * (tried + 1)


@given(seeds)
def test_pflmf_descends_as_the_reference(seed):
    problem = lr.QuadraticObjectives(np.random.default_rng(seed).standard_normal((6, 4)))
    rng = np.random.default_rng(seed)
    U, V = rng.standard_normal((4, 2)), rng.standard_normal((6, 2))
    trace = lr.pflmf(problem, k=2, start=(U, V), rounds=ROUNDS, rng=0)
    functions = [lambda x, a=a: x - a for a in problem.A]

    def split(x):
        return x[:8].reshape(4, 2), x[8:].reshape(6, 2)

    def value(x):
        U, V = split(x)
        return float(np.mean([0.5 * np.sum((U @ V[i] - problem.A[i]) ** 2) for i in range(6)]))

    def gradient(x):
        in_U, in_V = pflmf_reference.factor_gradients(*split(x), functions)
        return np.concatenate([in_U.ravel(), in_V.ravel()])

    x = np.concatenate([U.ravel(), V.ravel()])
    points, steps, _ = reference.descend(value, gradient, x, ROUNDS)
    np.testing.assert_allclose(trace["step_size"][1:], steps, rtol=1e-6)
    np.testing.assert_allclose(trace.state["U"], split(points[-1])[0], rtol=1e-6, atol=1e-8)
    squares = [[np.sum(part**2) for part in split(gradient(point))] for point in points[:-1]]
    means = np.mean(squares, axis=0)
    np.testing.assert_allclose([trace["average_U"][-1], trace["average_V"][-1]], means, rtol=1e-6)
    reach = max(np.linalg.norm(split(point)[1] - V) for point in points)
    np.testing.assert_allclose(trace["reach_V"][-1], reach, rtol=1e-6)


def data_smoothness(data):
    return max(np.linalg.norm(X, 2) ** 2 / len(X) for X, _ in clients_of(data))


def test_the_population_is_descended_too():
    truth = lr.LowRankRegression.random(n=30, d=10, singular_values=[3, 2, 1, 0.5], rng=0)
    trace = lr.flute(truth, k=2, rounds=100, batches="population", rng=1)
    assert trace["error"][-1] < 1e-9
    prescribed = lr.flute(truth, k=2, rounds=1, batches="population", step_size="theorem", rng=1)
    assert prescribed.settings["step_size_rule"] == "theorem"
    assert prescribed.step_size == trace.settings["prescribed_step_size"]
    assert "prescribed_step_size" not in lr.flute(badly_scaled(0, 0), k=2, rounds=1).settings


def test_the_regularizer_can_be_left_out():
    trace = lr.flute(DATA, k=2, regularizer_step_size=0, rounds=200, rng=0)
    assert trace.settings["regularizer_step_size"] == 0.0
    best = lr.empirical_risk_minimizer(DATA, 2).loss
    assert trace["loss"][-1] == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "options"),
    [("local", {}), ("average", {}), ("distance_regularized", {"penalty": 0.3}),
     ("hard_thresholding", {"k": 2})],
)  # fmt: skip
def test_relatives_find_their_step(name, options):
    method = getattr(personalized, name)
    data = badly_scaled(3, 1)
    found = method(data, rounds=300, **options)
    assert found.settings["step_size"] == found.settings["step_size_rule"] == "adaptive"
    assert (found["step_size"][1:] > 0.0).all()
    constant = method(data, rounds=300, step_size=1.0 / data_smoothness(data), **options)
    assert constant.settings["step_size_rule"] == "given"

    def penalized(trace):
        theta = trace.state["theta"]
        pull = 0.5 * options.get("penalty", 0.0) * np.sum((theta - theta.mean(axis=0)) ** 2)
        return trace["objective"][-1] + pull / len(theta)

    assert penalized(found) <= penalized(constant)
    moving = personalized.distance_regularized(data, penalty=0.3, center="global", rounds=3)
    assert moving.settings["step_size_rule"] == "smoothness"

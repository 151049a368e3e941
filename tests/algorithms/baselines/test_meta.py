"""ANIL and MAML: what runs of them come to."""

import numpy as np
import pytest

import linrep as lr
from tests.reference import meta as reference

BOTH = pytest.mark.parametrize("method", [lr.anil, lr.maml])
TRUTH = lr.SharedRepresentation.random(n=100, d=10, k=2, rng=0)


@BOTH
@pytest.mark.parametrize("first_order", [False, True])
def test_rounds_on_stored_samples_are_the_references(method, first_order):
    data = lr.SharedRepresentation.random(n=12, d=5, k=2, noise=0.1, rng=0).draw(9, rng=1)
    trace = method(data, rounds=3, first_order=first_order, rng=2)
    alpha, beta = trace.settings["inner_step_size"], trace.step_size
    zero = method(data, rounds=0, first_order=first_order, rng=2)
    B, w = zero.state["B"], zero.state["w"]
    np.testing.assert_allclose(alpha * B.T @ B, np.eye(2), atol=1e-12)
    assert not w.any()
    clients = reference.halves([data.client(i) for i in range(12)])
    slopes = reference.first_order if first_order else reference.differences
    for _ in range(3):
        of_B, of_w = slopes(clients, B, w, alpha, method is lr.maml)
        B, w = B - beta * of_B, w - beta * of_w
    tolerance = 1e-10 if first_order else 1e-6
    np.testing.assert_allclose(trace.state["B"], B, atol=tolerance)
    np.testing.assert_allclose(trace.state["w"], w, atol=tolerance)
    np.testing.assert_array_equal(trace.state["W"], lr.fit_heads(data, trace.state["B"]))


@BOTH
def test_runs_go_on_and_count_what_they_see(method):
    whole = method(TRUTH, m=6, rounds=9, participation=0.3, rng=1)
    half = method(TRUTH, m=6, rounds=4, participation=0.3, rng=1)
    rest = method(TRUTH, m=6, rounds=5, participation=0.3, start=half)
    np.testing.assert_array_equal(rest.state["B"], whole.state["B"])
    assert whole["samples"].tolist() == [30 * 12 * t for t in range(10)]
    fresh = method(TRUTH, m=6, rounds=3, batches="fresh", rng=1)
    assert fresh["samples"][-1] == 3 * 600
    compared = lr.compare(
        TRUTH, [method, "fedrep"], m=6, k=2, rounds=3, sampling="fresh", trials=1, start="random"
    )
    assert set(compared.rows.groupby("method")["samples"].max()) == {1800}
    assert whole["floats_up"][-1] == 9 * 30 * 2 * 11
    data = TRUTH.draw(8, rng=3)
    assert set(method(data, rounds=3, rng=1)["samples"]) == {800}
    assert method(data, k=3, rounds=3, rng=1).state["B"].shape == (10, 3)


@BOTH
def test_too_long_a_step_diverges_and_says_so(method):
    trace = method(TRUTH, m=6, rounds=200, step_size=1e3, rng=1)
    assert trace.stop_reason == "diverged"
    assert np.isfinite(trace.state["B"]).all()

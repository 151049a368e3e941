import numpy as np

import linrep as lr
from tests.reference import perfedsi as naive


def problem(**options):
    setting = {"n": 20, "d": 16, "p": 4, "k": 2, "side": "unit", "rng": 0}
    return lr.SideInformationCompletion.random(**(setting | options))


def test_metrics_are_the_papers():
    truth = problem()
    trace = lr.perfedsi(truth, step_size=0.3, rounds=7, record=3, participants=3, rng=1)
    U, V = trace.state["U"], trace.state["V"]
    np.testing.assert_array_equal(trace.recorded, [0, 3, 6, 7])
    risk = naive.loss(U, V, truth.M, truth.Z)
    np.testing.assert_allclose(trace["population_risk"][-1], risk, rtol=1e-10)
    whole = truth.M @ truth.Z.T
    expected = np.linalg.norm(U @ V.T @ truth.Z.T - whole) / np.linalg.norm(whole)
    np.testing.assert_allclose(trace["error"][-1], expected, rtol=1e-10)
    np.testing.assert_array_equal(trace["floats_up"], 3 * 2 * (16 + 4) * trace.recorded)


def test_the_error_is_found_without_the_matrix_and_down_to_rounding():
    truth = lr.SideInformationCompletion.random(n=10**5, d=10**5, p=3, k=2, rng=0)
    assert truth.deviation(truth.U, truth.heads) < 1e-14 * truth.norm
    np.testing.assert_allclose(
        truth.deviation(truth.U * (1.0 + 1e-9), truth.heads), 1e-9 * truth.norm, rtol=1e-5
    )


def test_without_side_information_the_factor_has_a_row_per_client():
    truth = problem().without_side_information()
    one_hot = lr.perfedsi(truth, step_size=0.3, rounds=50, participants=4, rng=1)
    seen = truth.observe(16, rng=0)
    plain = lr.perfedsi(
        seen.without_side_information(), step_size=0.3, rounds=50, participants=4, rng=1
    )
    explicit = lr.perfedsi(seen, step_size=0.3, rounds=50, participants=4, rng=1)
    assert one_hot.state["V"].shape == plain.state["V"].shape == (20, 2)
    np.testing.assert_allclose(plain.state["V"], explicit.state["V"], atol=1e-12)


def test_without_replacement_all_clients_take_part_once():
    seen = problem().observe(4, rng=0)
    one = lr.perfedsi(
        seen, step_size=1e-3, rounds=1, participants=20, replacement=False, local_steps=1, rng=2
    )
    assert np.abs(one.state["V"]).min() > 0.0


def test_without_a_step_size_every_entry_has_its_own():
    truth = lr.SideInformationCompletion.random(n=20, d=16, p=4, k=2, side="gaussian", rng=0)
    seen = truth.observe(16, rng=1)
    trace = lr.perfedsi(seen, rounds=20_000, record=10_000, rng=1)
    assert trace["error"][-1] < 1e-3
    assert trace.settings["step_size"] == trace.settings["step_size_rule"] == "curvature"
    assert np.isnan(trace["step_size"][0])
    assert (trace["step_size"][1:] > 0.0).all()
    more = lr.perfedsi(seen, rounds=10_000, record=10_000, start=trace)
    once = lr.perfedsi(seen, rounds=30_000, record=10_000, rng=1)
    np.testing.assert_array_equal(more.state["U"], once.state["U"])
    assert "step_size" not in lr.perfedsi(seen, step_size=0.1, rounds=5, rng=0).metrics

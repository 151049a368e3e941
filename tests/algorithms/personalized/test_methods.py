import numpy as np
import pytest
from scipy.optimize import minimize

import linrep as lr
from linrep.algorithms import personalized
from linrep.problems import personal
from tests.problems.test_objectives import draw

METHODS = {
    "local": {}, "average": {}, "oracle_clusters": {"clusters": [0, 1, 0, 1]},
    "distance_regularized": {"penalty": 0.3}, "constrained": {"delta": 0.5},
    "hard_thresholding": {"k": 1}, "nuclear_norm": {"penalty": 0.05},
}  # fmt: skip


def centres(n=10, d=3, rng=0):
    return np.random.default_rng(rng).standard_normal((n, d)) + 1.0


def theta_of(trace):
    assert trace.stop_reason == "converged"
    return trace.state["theta"]


def test_closed_forms_of_quadratic_functions():
    A = centres()
    problem, mean = lr.QuadraticObjectives(A), A.mean(axis=0)
    np.testing.assert_allclose(theta_of(personalized.local(problem)), A, atol=1e-9)
    one = np.tile(mean, (10, 1))
    np.testing.assert_allclose(theta_of(personalized.average(problem)), one, atol=1e-9)
    for center in personalized.CENTERS:
        pulled = personalized.distance_regularized(problem, penalty=0.7, center=center)
        np.testing.assert_allclose(theta_of(pulled), (A + 0.7 * mean) / 1.7, atol=1e-9)
    clusters = np.arange(10) % 3
    oracle = theta_of(personalized.oracle_clusters(problem, clusters=clusters))
    for i in range(10):
        np.testing.assert_allclose(oracle[i], A[clusters == clusters[i]].mean(axis=0), atol=1e-9)
    hard = personalized.hard_thresholding(problem, k=2)
    np.testing.assert_allclose(theta_of(hard), problem.best(2).theta, atol=1e-9)
    assert hard["gap"][-1] == pytest.approx(0.0, abs=1e-12)
    left, s, right = np.linalg.svd(A, full_matrices=False)
    expected = (left * np.maximum(s - 10 * 0.1, 0.0)) @ right
    soft = personalized.nuclear_norm(problem, penalty=0.1)
    np.testing.assert_allclose(theta_of(soft), expected, atol=1e-9)


@pytest.mark.parametrize("delta", [0.3, 1.0, 2.5])
def test_the_constrained_optimum_is_that_of_an_independent_solver(delta):
    A = centres(6, 2)
    trace = personalized.constrained(lr.QuadraticObjectives(A), delta=delta)
    theta = theta_of(trace)
    pairs = [(i, j) for i in range(6) for j in range(i)]
    assert max(np.linalg.norm(theta[i] - theta[j]) for i, j in pairs) <= delta * (1 + 1e-12)

    def slack(x):
        x = x.reshape(A.shape)
        return np.array([delta**2 - np.sum((x[i] - x[j]) ** 2) for i, j in pairs])

    solved = minimize(
        lambda x: 0.5 * np.mean(np.sum((x.reshape(A.shape) - A) ** 2, axis=1)),
        np.tile(A.mean(axis=0), 6), constraints={"type": "ineq", "fun": slack}, method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    assert trace["objective"][-1] == pytest.approx(solved.fun, rel=1e-6)
    np.testing.assert_allclose(theta, solved.x.reshape(A.shape), atol=1e-4)


def test_the_ends_of_the_constraint_are_a_global_model_and_none():
    A = centres(5, 2)
    problem = lr.QuadraticObjectives(A)
    none = theta_of(personalized.constrained(problem, delta=0.0))
    np.testing.assert_allclose(none, np.tile(A.mean(axis=0), (5, 1)), atol=1e-12)
    np.testing.assert_allclose(theta_of(personalized.constrained(problem, delta=99.0)), A)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", ["own", "weights", "logistic", "softmax"])
def test_results_are_fixed_points(name, kind):
    problem = draw(kind, np.random.default_rng(0), n=4, d=2, ridge=0.2)
    method = getattr(personalized, name)
    trace = method(problem, rounds=20_000, tolerance=1e-7, **METHODS[name])
    assert trace.stop_reason == "converged"
    again = method(problem, rounds=3, start=trace.state["theta"], **METHODS[name])
    np.testing.assert_allclose(again.state["theta"], trace.state["theta"], atol=1e-5)


def test_clusters_and_truths_come_from_the_problem():
    problem = personal.clustered(n=12, d=4, clusters=3, m=3, noise=0.1, rng=0)
    oracle = personalized.oracle_clusters(problem, rounds=3000)
    alone = personalized.local(problem, rounds=3000)
    assert oracle["truth_error"][-1] < 0.5 * alone["truth_error"][-1]
    assert oracle["floats_up"][-1] >= 12 * 4 * oracle.rounds  # and for what was tried
    constant = personalized.oracle_clusters(problem, rounds=30, step_size=0.1)
    assert constant["floats_up"][-1] == 12 * 4 * 30
    assert alone["floats_up"][-1] == 0.0


def test_local_steps_of_averaging_move_its_fixed_point():
    problem = draw("own", np.random.default_rng(2), n=4, d=2)
    one = personalized.average(problem, rounds=5000).state["theta"]
    many = personalized.average(problem, rounds=5000, local_steps=5).state["theta"]
    in_common = np.linalg.solve(problem.H.sum(axis=0), np.einsum("nij,nj->i", problem.H, problem.A))
    np.testing.assert_allclose(one[0], in_common, atol=1e-6)
    assert np.abs(many - one).max() > 1e-3

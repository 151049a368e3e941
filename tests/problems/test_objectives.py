import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize

import linrep as lr
from linrep.problems import personal
from tests.strategies import seeds

KINDS = ("identity", "shared", "own", "weights", "least_squares", "logistic", "softmax", "custom")


def draw(kind, rng, n=4, d=3, ridge=0.0):
    """Return objectives of a kind; softmax has three classes, and so three times the dimension."""
    A = rng.standard_normal((n, d))
    if kind in ("identity", "shared", "own", "weights"):
        roots = rng.standard_normal((n, d, d))
        own = roots @ roots.swapaxes(1, 2)
        return lr.QuadraticObjectives(
            A,
            {"shared": own[0], "own": own}.get(kind),
            weights=rng.random((n, d)) if kind == "weights" else None,
        )
    if kind == "custom":
        return lr.CustomObjectives(
            lambda i, x: (np.sum((x - A[i]) ** 4), 4.0 * (x - A[i]) ** 3), n=n, d=d
        )
    sizes = rng.integers(1, 7, n)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    X = rng.standard_normal((offsets[-1], d))
    y = rng.standard_normal(len(X))
    if kind == "least_squares":
        return lr.LeastSquaresObjectives(lr.ClientData(X, y, offsets), ridge=ridge)
    if kind == "logistic":
        return lr.LogisticObjectives(lr.ClientData(X, np.sign(y), offsets), ridge=ridge)
    labels = rng.integers(0, 3, len(X)).astype(float)
    return lr.SoftmaxObjectives(lr.ClientData(X, labels, offsets), 3, ridge=ridge)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_the_values(kind):
    rng = np.random.default_rng(0)
    problem = draw(kind, rng, ridge=0.3)
    theta = rng.standard_normal((problem.n, problem.d))
    gradients, values = problem.gradients(theta), problem.values(theta)
    for i in range(problem.n):

        def one(model, i=i):
            moved = theta.copy()
            moved[i] = model
            return problem.values(moved)[i]

        np.testing.assert_allclose(gradients[i], approx_fprime(theta[i], one, 1e-7), atol=1e-5)
        value, gradient = problem.evaluate(i, theta[i])
        np.testing.assert_allclose(value, values[i], rtol=1e-12)
        np.testing.assert_allclose(gradient, gradients[i], rtol=1e-12)
    assert problem.value(theta) == pytest.approx(values.mean())


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_in_the_factors_are_equation_7(kind):
    rng = np.random.default_rng(1)
    problem = draw(kind, rng)
    U, V = rng.standard_normal((problem.d, 2)), rng.standard_normal((problem.n, 2))
    value, in_U, in_V = problem.factor_gradients(U, V)
    assert value == pytest.approx(problem.value(V @ U.T))
    for found, factor, objective in (
        (in_U, U, lambda x: problem.value(V @ x.reshape(U.shape).T)),
        (in_V, V, lambda x: problem.value(x.reshape(V.shape) @ U.T)),
    ):
        expected = approx_fprime(factor.ravel(), objective, 1e-7).reshape(factor.shape)
        np.testing.assert_allclose(found, expected, atol=1e-4)


@given(seeds, st.sampled_from(KINDS[:-1]), st.sampled_from([0.0, 0.5]))
def test_no_gradient_changes_faster_than_the_smoothness(seed, kind, ridge):
    rng = np.random.default_rng(seed)
    problem = draw(kind, rng, ridge=ridge)
    one, other = rng.standard_normal((2, problem.n, problem.d)) * 10.0 ** rng.integers(-2, 2)
    change = np.linalg.norm(problem.gradients(one) - problem.gradients(other), axis=1)
    limit = problem.smoothness * np.linalg.norm(one - other, axis=1)
    assert (change <= limit * (1.0 + 1e-9)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_minimizers_are_stationary(kind):
    problem = draw(kind, np.random.default_rng(2), ridge=0.1)
    atol = 1e-9 if kind in KINDS[:5] else 1e-5
    np.testing.assert_allclose(problem.gradients(problem.minimizers), 0.0, atol=atol)
    assert problem.best(min(problem.n, problem.d)).value == problem.infimum


@pytest.mark.parametrize("kind", ["identity", "shared"])
def test_the_best_of_a_rank_is_not_improved_upon(kind):
    rng = np.random.default_rng(3)
    problem = draw(kind, rng, n=6, d=4)
    best = problem.best(2)
    assert np.linalg.matrix_rank(best.theta, tol=1e-9) == 2
    assert problem.value(best.theta) == pytest.approx(best.value)

    def objective(x):
        U, V = x[:8].reshape(4, 2), x[8:].reshape(6, 2)
        value, in_U, in_V = problem.factor_gradients(U, V)
        return value, np.concatenate([in_U.ravel(), in_V.ravel()])

    found = min(minimize(objective, rng.standard_normal(20), jac=True).fun for _ in range(5))
    assert found == pytest.approx(best.value, rel=1e-6)


def test_a_singular_matrix_leaves_the_rest_at_zero():
    H = np.diag([2.0, 1.0, 0.0])
    A = np.random.default_rng(4).standard_normal((5, 3))
    best = lr.QuadraticObjectives(A, H).best(1)
    assert np.linalg.matrix_rank(best.theta, tol=1e-12) == 1
    np.testing.assert_array_equal(best.theta[:, 2], 0.0)
    flat = lr.QuadraticObjectives(A[:, :2], H[:2, :2]).best(1)
    assert best.value == pytest.approx(flat.value)
    # No closed form: of matrices of their own, and where there is no optimum.
    assert draw("own", np.random.default_rng(5)).best(1) is None
    assert lr.QuadraticObjectives(np.ones((2, 2)), np.diag([1.0, -1.0])).best(1) is None


def test_one_function_of_all_clients_and_one_per_client():
    def function(i, x):
        return 0.5 * np.sum((x - i) ** 2), x - i

    one = lr.CustomObjectives(function, n=3, d=2, smoothness=np.ones(3))
    many = lr.CustomObjectives([lambda x, i=i: function(i, x) for i in range(3)], d=2)
    quadratic = lr.QuadraticObjectives(np.outer(np.arange(3.0), np.ones(2)))
    theta = np.random.default_rng(6).standard_normal((3, 2))
    for problem in (one, many):
        np.testing.assert_allclose(problem.values(theta), quadratic.values(theta))
        np.testing.assert_allclose(problem.gradients(theta), quadratic.gradients(theta))
    assert one.smoothness.max() == 1.0
    assert many.smoothness.max() == np.inf


def test_mini_batches_are_unbiased():
    problem = draw("logistic", np.random.default_rng(7), n=3, ridge=0.2)
    theta = np.random.default_rng(8).standard_normal((3, 3))
    rng = np.random.default_rng(9)
    several = np.array([problem.resample(2, rng).gradients(theta) for _ in range(2000)])
    error = (several.mean(axis=0) - problem.gradients(theta)) / np.maximum(
        several.std(axis=0) / np.sqrt(2000), 1e-12
    )
    assert np.abs(error).max() < 5.0


@pytest.mark.parametrize("loss", personal.LOSSES)
def test_clusters_have_models_of_the_clusters_rank(loss):
    problem = personal.clustered(n=12, d=5, clusters=3, m=30, loss=loss, rng=0)
    assert np.linalg.matrix_rank(problem.truth) == 3
    assert set(problem.clusters) == {0, 1, 2}
    for i in range(12):
        np.testing.assert_array_equal(problem.truth[i], problem.truth[problem.clusters[i]])
    if loss in ("quadratic", "least_squares"):
        np.testing.assert_allclose(problem.minimizers, problem.truth, atol=1e-9)
    else:
        zero = np.zeros_like(problem.truth)
        assert problem.value(problem.truth) < 0.8 * problem.value(zero)


def test_flipped_labels_have_opposite_optima():
    for loss in ("logistic", "least_squares"):
        problem = personal.flipped_labels(n=4, d=3, m=60, loss=loss, same=True, rng=0)
        np.testing.assert_array_equal(problem.clusters, [0, 0, 1, 1])
        np.testing.assert_allclose(problem.minimizers[0], -problem.minimizers[2], atol=1e-5)
    with_intercept = personal.flipped_labels(n=3, d=2, m=5, intercept=True, flipped=0.4, rng=0)
    assert with_intercept.d == 3
    assert with_intercept.clusters.sum() == 1


def test_masked_entries_do_not_count():
    rng = np.random.default_rng(0)
    ratings, mask = rng.standard_normal((5, 4)), rng.random((5, 4)) < 0.5
    problem = personal.masked(ratings, mask)
    theta = rng.standard_normal((5, 4))
    expected = 0.5 * np.sum(mask * (theta - ratings) ** 2, axis=1)
    np.testing.assert_allclose(problem.values(theta), expected)
    np.testing.assert_array_equal(problem.truth, ratings)


def test_the_planar_example_lies_on_a_line():
    picture = personal.planar(15, shift=3.0, rng=0)
    assert np.linalg.matrix_rank(picture.line, tol=1e-12) == 1
    F = picture.problem.value
    assert F(picture.local) == 0.0 < F(picture.line) < F(picture.average)
    assert F(picture.average) == pytest.approx(
        np.mean(np.sum((picture.local - picture.average) ** 2, axis=1))
    )

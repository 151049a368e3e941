"""The solvers of inductive completion agree with each other and with plain linear algebra."""

from dataclasses import replace

import numpy as np
import pytest

from linrep.algorithms import imc
from linrep.algorithms.imc.core import Core
from linrep.algorithms.imc.sides import fit_both
from linrep.problems import Observations, SideInformationCompletion

SOLVERS = {
    "gauss_newton": imc.gauss_newton,
    "alternating": imc.alternating,
    "balanced_gradient": imc.balanced_gradient,
    "nuclear_norm": lambda seen, k: imc.nuclear_norm(seen),
    "least_squares": lambda seen, k: imc.least_squares(seen),
}


def two_sided(rng, d, n, a, p, k, entries, without=""):
    """Return entries of a matrix with side information on both sides, which may be left out."""
    A, Z = rng.standard_normal((d, a)), rng.standard_normal((n, p))
    U, V = (np.linalg.qr(rng.standard_normal((size, k)))[0] for size in (a, p))
    right = np.linalg.qr(Z)[1].T @ np.eye(p) @ V
    truth = SideInformationCompletion(np.linalg.qr(A)[0] @ U, right, Z)
    # The items' factor must lie in A's columns; the clients' in Z's by construction.
    seen = truth.observe(entries=entries, rng=rng)
    seen = Observations(seen.items, seen.clients, seen.values, Z, A, truth=truth)
    return replace(seen, **dict.fromkeys(without), d=d, n=n)


@pytest.mark.parametrize("without", ["", "A", "Z", "AZ"])
def test_the_curvature_is_the_operators_norm_and_repeats(without, fresh_rng):
    """The largest squared singular value of the map from a core to its entries, or a little more.

    Without side information all are equal, on which iterations for one of them may break down.
    """
    seen = two_sided(fresh_rng, 8, 9, 4, 3, 2, 30, without)
    core = Core(seen, 2)
    units = np.eye(core.shape[0] * core.shape[1]).reshape(-1, *core.shape)
    operator = np.array([core.predict_core(unit) for unit in units])
    norm = np.linalg.norm(operator, 2) ** 2
    assert norm * (1.0 - 1e-12) <= core.curvature() <= 1.002 * norm
    assert Core(seen, 2).curvature() == core.curvature()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("both", [False, True])
def test_all_find_the_truth_where_it_is_the_only_solution(solver, both, fresh_rng):
    if both:
        seen = two_sided(fresh_rng, 40, 50, 6, 5, 2, 300)
    else:
        truth = SideInformationCompletion.random(n=60, d=12, p=4, k=2, rng=fresh_rng)
        seen = truth.observe(entries=400, rng=fresh_rng)
    trace = SOLVERS[solver](seen, 2)
    assert trace["error"][-1] < 1e-8
    # The factors returned are those in the coordinates of A and Z as given.
    U, V = trace.state["U"], trace.state["V"]
    whole = (U if seen.A is None else seen.A @ U) @ (seen.Z @ V).T
    np.testing.assert_allclose(whole[seen.items, seen.clients], seen.values, atol=1e-6)


@pytest.mark.parametrize(
    ("without", "entries"), [("", 60), ("A", 120), ("Z", 120), ("AZ", 220), ("A", 40)]
)
def test_a_gauss_newton_step_is_the_least_squares_solution_of_least_norm(
    without, entries, fresh_rng
):
    seen = two_sided(fresh_rng, 15, 20, 5, 4, 2, entries, without)
    core = Core(seen, 2)
    U = np.linalg.qr(fresh_rng.standard_normal((core.shape[0], 2)))[0]
    frame = np.linalg.qr(fresh_rng.standard_normal((core.shape[1], 2)))[0]
    values = fresh_rng.standard_normal(entries)
    J = np.array(
        [
            np.concatenate([np.outer(x, frame.T @ y).ravel(), np.outer(y, U.T @ x).ravel()])
            for x, y in zip(core.left.rows, core.right.rows, strict=True)
        ]
    )
    expected = np.linalg.lstsq(J, values, rcond=1e-12)[0]
    S, dV = fit_both(core.left, core.right, U, frame, values)
    found = np.concatenate([S.ravel(), dV.ravel()])
    # It fits best, and is orthogonal to the directions that change nothing.
    np.testing.assert_allclose(J @ found, J @ expected, atol=1e-6)
    np.testing.assert_allclose(U.T @ S, dV.T @ frame, atol=1e-7)
    if np.linalg.matrix_rank(J) == J.shape[1] - 4:  # nothing else is free
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("without", ["", "A", "Z", "AZ"])
def test_least_squares_on_the_core(without, fresh_rng):
    seen = two_sided(fresh_rng, 15, 12, 3, 4, 2, 100, without)
    core = Core(seen, None)
    J = np.array(
        [np.outer(x, z).ravel() for x, z in zip(core.left.rows, core.right.rows, strict=True)]
    )
    expected = np.linalg.lstsq(J, seen.values, rcond=1e-12)[0].reshape(core.shape)
    np.testing.assert_allclose(core.least_squares(), expected, atol=1e-8)


def test_gradients_are_finite_differences(fresh_rng):
    seen = two_sided(fresh_rng, 8, 9, 3, 4, 2, 30)
    core = Core(seen, 2)
    U, V = fresh_rng.standard_normal((3, 2)), fresh_rng.standard_normal((4, 2))

    def objective(U, V):
        return np.sum((core.predict(U, V) - seen.values) ** 2) / (2.0 * core.share)

    for place, found in enumerate(core.gradients(U, V)):
        for index in np.ndindex(found.shape):
            sides = []
            for sign in (1.0, -1.0):
                point = [U.copy(), V.copy()]
                point[place][index] += sign * 1e-5
                sides.append(objective(*point))
            np.testing.assert_allclose((sides[0] - sides[1]) / 2e-5, found[index], rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_singular_values_close_to_each_other_are_found(seed):
    """Lanczos' method fails on four in five such matrices, which soft thresholding leaves."""
    left, size, right = np.linalg.svd(np.random.default_rng(seed).standard_normal((40, 60)))
    M = left * np.minimum(size, np.median(size)) @ right[:40]
    clients, items = np.divmod(np.arange(60 * 40), 40)
    seen = Observations(items, clients, M[items, clients], d=40, n=60)
    left, size, right = Core(seen, None).leading(seen.values, 10)
    np.testing.assert_allclose(size, np.linalg.svd(M, compute_uv=False)[:10], rtol=1e-10)
    np.testing.assert_allclose(M @ right, left * size, atol=1e-10 * size[0])


def noisy(rng, d, n, entries):
    """Return entries of no known truth, of a matrix of rank 2 and noise."""
    clients, items = np.divmod(rng.choice(n * d, entries, replace=False), d)
    U, V = rng.standard_normal((d, 2)), rng.standard_normal((n, 2))
    values = np.sum(U[items] * V[clients], axis=1) + 0.5 * rng.standard_normal(entries)
    return Observations(items, clients, values, d=d, n=n)


@pytest.mark.parametrize("name", ["gauss_newton", "alternating", "balanced_gradient"])
def test_the_best_iterate_is_returned_where_there_is_noise(name, fresh_rng):
    seen = noisy(fresh_rng, 20, 25, 200)
    trace = SOLVERS[name](seen, 3)
    assert trace["residual"][-1] == trace["residual"].min()
    missed = (trace.state["U"] @ trace.state["V"].T)[seen.items, seen.clients] - seen.values
    size = np.linalg.norm(seen.values)
    np.testing.assert_allclose(np.linalg.norm(missed) / size, trace["residual"][-1], rtol=1e-6)


def test_a_run_that_goes_uphill_ends_with_its_best(fresh_rng):
    seen = noisy(fresh_rng, 12, 14, 60)
    trace = imc.balanced_gradient(seen, 3, step_size=50.0)
    assert trace["residual"][-1] == trace["residual"].min()
    assert all(np.isfinite(factor).all() for factor in trace.state.values())


@pytest.mark.parametrize("name", SOLVERS)
def test_few_entries_are_no_error(name):
    seen = Observations([0, 1], [0, 1], [1.0, 2.0])
    assert np.isfinite(SOLVERS[name](seen, 1).predict(seen)).all()


@pytest.mark.parametrize(("record", "recorded"), [(1, [0, 1, 2, 3]), (2, [0, 2, 3]), (9, [0, 3])])
def test_the_nuclear_norms_steps_do_not_depend_on_which_are_recorded(record, recorded, fresh_rng):
    truth = SideInformationCompletion.random(n=20, d=8, p=4, k=2, rng=fresh_rng)
    seen = truth.observe(entries=60, rng=fresh_rng)
    every, some = (imc.nuclear_norm(seen, levels=3, iterations=3, record=n) for n in (1, record))
    assert some.recorded.tolist() == recorded
    for name in every.metrics:
        np.testing.assert_array_equal(some[name], every[name][recorded])
    np.testing.assert_array_equal(some.state["U"], every.state["U"])

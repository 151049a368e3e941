"""Statements of `linrep.papers.pflmf.algorithm1`, and what their check is built of."""

from itertools import product

import numpy as np
import pytest

import linrep as lr
from linrep.papers.pflmf import algorithm1, model
from linrep.theory import pflmf


def naive(problem, U, V, taking, p, K, eta):
    """Return a round of Algorithm 1, client by client, with the heads' step p eta/K."""
    n, steps, new_V = problem.n, [], V.copy()
    for i in taking:
        steps.append(np.outer(problem.evaluate(i, U @ V[i])[1], V[i]))
        for _ in range(K):
            new_V[i] -= p * eta / K * U.T @ problem.evaluate(i, U @ new_V[i])[1] / n
    return U - eta * (np.mean(steps, axis=0) if steps else 0.0), new_V


@pytest.mark.parametrize(("kind", "K"), [("own", 1), ("logistic", 3)])
def test_a_round_is_over_all_sets_of_participants(kind, K):
    rng, p, eta = np.random.default_rng(3), 0.3, 0.2
    problem = model.drawn(rng, kind, 3, 2)
    U, V = rng.standard_normal((2, 2)), rng.standard_normal((3, 2))
    r = algorithm1.one_round(problem, U, V, p, K, eta)
    after, sizes, sampled = 0.0, np.zeros(2), 0.0
    for pattern in product((0, 1), repeat=3):
        chance = np.prod([p if each else 1 - p for each in pattern])
        at = naive(problem, U, V, np.flatnonzero(pattern), p, K, eta)
        after += chance * problem.value(at[1] @ at[0].T)
        sizes += chance * np.array([np.sum(each**2) for each in at])
        if any(pattern):
            gone = (U - at[0]) / eta - problem.factor_gradients(U, V).in_U
            sampled += chance * np.sum(gone**2)
        assert np.linalg.norm(at[0] - U) <= r.reach[0] * (1 + 1e-12)
        assert np.linalg.norm(at[1] - V) <= r.reach[1] * (1 + 1e-12)
    assert r.after == pytest.approx(after)
    assert r.sizes == pytest.approx(sizes)
    assert r.sampled == pytest.approx(sampled)


def test_runs_are_over_all_sequences():
    rng, p, eta, T = np.random.default_rng(0), 0.4, 0.1, 3
    problem = lr.QuadraticObjectives(rng.standard_normal((2, 2)))
    U, V = rng.standard_normal((2, 1)), rng.standard_normal((2, 1))
    pi, squares, size = 1 - 0.6**2, 0.0, 0.0
    subsets = [[], [0], [1], [0, 1]]
    for sequence in product(subsets, repeat=T):
        at, chance = (
            (U, V),
            np.prod([p ** len(each) * (1 - p) ** (2 - len(each)) for each in sequence]),
        )
        for taking in sequence:
            _, in_U, in_V = problem.factor_gradients(*at)
            squares += chance * (pi * np.sum(in_U**2) + p**2 * np.sum(in_V**2))
            at = naive(problem, *at, taking, p, 1, eta)
        size += chance * np.sum(at[0] ** 2)
    run = algorithm1.all_runs(problem, U, V, p, T, eta)
    assert (run.squares, run.size) == pytest.approx((squares, size))


def test_the_bounds_are_the_statements():
    given = {"smoothness": 2.0, "step_size": 0.1, "rounds": 7, "participation": 0.4, "n": 3}
    x, pi = 0.2, 1 - 0.6**3
    found = pflmf.algorithm1_bound(3.0, **given, sampling_variance=0.5)
    assert found.start == pytest.approx(3.0 / (0.1 * 7 * (1 - x)))
    assert found.noise == pytest.approx(1.4 * pi * x * 0.5 / (2 * (1 - x)))
    kappa = x * 1.4 * pi / (2 * 0.4 * (1 - x))
    stated = (3.0 + 0.7 * 2.0 * 5.0) / (0.1 * 7 * (1 - x) * (1 - kappa))
    assert pflmf.algorithm1_rate(3.0, **given, grown=5.0) == pytest.approx(stated)
    assert np.isinf(pflmf.algorithm1_rate(3.0, **given | {"step_size": 0.4}, grown=5.0))

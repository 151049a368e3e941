"""Helpers of the claims of pFL^MF against plain versions."""

from itertools import product

import numpy as np
import pytest

import linrep as lr
from linrep.claims.pflmf import _cases, assumptions, moments, server
from tests.reference import pflmf as naive


def gradients(problem):
    return [lambda x, i=i: problem.evaluate(i, x)[1] for i in range(problem.n)]


@pytest.mark.parametrize("kind", _cases.KINDS)
def test_a_round_stays_where_its_constants_hold(kind):
    rng = np.random.default_rng(0)
    for case in _cases.at_random(rng, 5, (kind,)):
        s, problem = case.setting, case.problem
        new_U, path = naive.appendix_a1(
            case.U, case.V, gradients(problem), range(problem.n), s.step_size, s.head_step_size,
            s.local_steps,
        )  # fmt: skip
        start = problem.factor_gradients(case.U, case.V)
        for U, V in ((case.U, path[-1]), (new_U, path[-1]), (new_U, case.V)):
            moved = np.linalg.norm(U - case.U) + np.linalg.norm(V - case.V)
            end = problem.factor_gradients(U, V)
            for one, other, L in zip(end[1:], start[1:], (s.in_U, s.in_V), strict=True):
                assert np.linalg.norm(one - other) <= L * moved * (1.0 + 1e-6) + 1e-12


def test_families_are_the_functions_they_are_said_to_be():
    case = _cases.flat(0.3, 5, 0.2)
    assert case.setting.in_V == pytest.approx(1.0, rel=1e-6)
    assert case.round.value == pytest.approx(0.5 * _cases.FLAT**2)
    case = _cases.steep(0.2, noise=0.0)
    assert case.setting.in_U == pytest.approx(1.0, rel=1e-6)
    case = _cases.bilinear(0.3, 2, 0.1)
    assert case.round.delta_U == 0.0
    assert case.round.steps_V == pytest.approx(case.round.steps_V[0])


def test_given_participants_and_noise_a_round_is_the_plain_one():
    rng = np.random.default_rng(1)
    case = next(_cases.at_random(rng, 1, ("own",), noisy=True))
    s, problem = case.setting, case.problem
    taking = (rng.random((problem.n, 1)) < 0.5).astype(float)
    taking[0] = 1.0
    noise = 0.1 * rng.standard_normal((s.local_steps, *case.V.shape))
    found = server.follow(case, taking, noise)
    new_U, path = naive.appendix_a1(
        case.U, case.V, gradients(problem), np.flatnonzero(taking), s.step_size,
        s.head_step_size, s.local_steps, noise_V=noise,
    )  # fmt: skip
    # A quadratic function's mean over normal noise of U is that over steps along the axes.
    steps = s.step_size * s.noise * np.eye(new_U.size).reshape(-1, *new_U.shape)
    after = np.mean([problem.value(path[-1] @ (new_U + x).T) for x in (*steps, *-steps)])
    before = problem.value(path[-1] @ case.U.T)
    assert s.noise > 0.0
    assert found.gain == pytest.approx(after - before, abs=1e-9 * before)
    assert found.moved == pytest.approx(np.sum((path[-1] - case.V) ** 2))
    total = sum(naive.factor_gradients(case.U, V, gradients(problem))[1] for V in path[:-1])
    assert found.whole == pytest.approx(s.head_step_size**2 * np.sum(total**2))
    assert found.masked == pytest.approx(s.head_step_size**2 * np.sum((taking * total) ** 2))
    ends = [naive.factor_gradients(case.U, V, gradients(problem))[0] for V in (path[0], path[-1])]
    assert [found.start, found.end] == pytest.approx([np.sum(each**2) for each in ends])


def test_moments_are_means_over_patterns():
    rng = np.random.default_rng(2)
    case = next(_cases.at_random(rng, 1, ("cosine",)))
    s, problem, k = case.setting, case.problem, case.setting.local_steps - 1
    found, masked, whole = moments.moments(case, k), 0.0, 0.0
    for pattern in product((0, 1), repeat=problem.n):
        weight = np.prod([s.participation if each else 1.0 - s.participation for each in pattern])
        path = naive.local_training(
            case.U, case.V, gradients(problem), np.flatnonzero(pattern), s.head_step_size, k
        )
        in_V = naive.factor_gradients(case.U, path[-1], gradients(problem))[1]
        masked += weight * np.sum((np.array(pattern)[:, None] * in_V) ** 2)
        whole += weight * np.sum(in_V**2)
    assert found.mean(found.masked) == pytest.approx(masked)
    assert found.mean(found.whole) == pytest.approx(whole)
    assert found.mean(found.norms) == pytest.approx(1.0 - (1.0 - s.participation) ** problem.n)


def test_the_variance_of_mini_batches_is_that_of_all_of_them():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((6, 2)), rng.standard_normal(6)
    U, V = rng.standard_normal((2, 1)), rng.standard_normal((2, 1))
    singles = [
        lr.LeastSquaresObjectives(lr.ClientData(X[[j, 3 + j]], y[[j, 3 + j]], np.arange(3)))
        for j in range(3)
    ]
    drawn = [
        lr.LeastSquaresObjectives(
            lr.ClientData(X[[a, 3 + b]], y[[a, 3 + b]], np.arange(3))
        ).factor_gradients(U, V)
        for a, b in product(range(3), repeat=2)
    ]
    for place, variance in enumerate(assumptions.batch_variance(singles, U, V), start=1):
        values = np.array([each[place] for each in drawn])
        assert variance == pytest.approx(np.sum((values - values.mean(axis=0)) ** 2) / 9)

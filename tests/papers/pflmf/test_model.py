"""Rounds of pFL^MF that statements are tried on, against plain versions."""

from itertools import product

import numpy as np
import pytest

import linrep as lr
from linrep.papers.pflmf import assumption1_2, eq7_to_9, eq11, eq16, model, step_b
from linrep.theory import pflmf as theory
from linrep.theory import pflmf_rounds
from tests.reference import pflmf as naive


def gradients(problem):
    return [lambda x, i=i: problem.evaluate(i, x)[1] for i in range(problem.n)]


@pytest.mark.parametrize("kind", model.KINDS)
def test_a_round_stays_where_its_constants_hold(kind):
    rng = np.random.default_rng(0)
    for case in model.at_random(rng, 5, (kind,)):
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
    case = model.flat(0.3, 5, 0.2)
    assert case.setting.in_V == pytest.approx(1.0, rel=1e-6)
    assert case.round.value == pytest.approx(0.5 * model.FLAT**2)
    case = model.steep(0.2, noise=0.0)
    assert case.setting.in_U == pytest.approx(1.0, rel=1e-6)
    case = model.bilinear(0.3, 2, 0.1)
    assert case.round.delta_U == 0.0
    assert case.round.steps_V == pytest.approx(case.round.steps_V[0])


def test_given_participants_and_noise_a_round_is_the_plain_one():
    rng = np.random.default_rng(1)
    case = next(model.at_random(rng, 1, ("own",), noisy=True))
    s, problem = case.setting, case.problem
    taking = (rng.random((problem.n, 1)) < 0.5).astype(float)
    taking[0] = 1.0
    noise = 0.1 * rng.standard_normal((s.local_steps, *case.V.shape))
    found = step_b.follow(case, taking, noise)
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
    ends = [naive.factor_gradients(case.U, V, gradients(problem))[0] for V in (path[0], path[-1])]
    assert [found.start, found.end] == pytest.approx([np.sum(each**2) for each in ends])


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
        ).factor_gradients(U, V)[1]
        for a, b in product(range(3), repeat=2)
    ]
    variance = np.sum((drawn - np.mean(drawn, axis=0)) ** 2) / 9
    assert assumption1_2.batch_variance(singles, U, V) == pytest.approx(variance)


def test_at_rest_the_noise_needs_all_of_its_constant():
    for p, K in ((1.0, 1), (0.5, 1), (1.0, 20)):
        s, r = (case := model.at_rest(p, K, 1e-3)).setting, case.round
        assert r.value == 0.0
        needed = 2.0 * r.after_both / (s.step_size**2 * s.largest * s.noise**2)
        assert needed == pytest.approx(theory.summed_noise(s, linear=True), rel=2e-3)


@pytest.mark.parametrize("k", [0, 2])
def test_second_moments_by_hand_are_means_over_noise(k):
    rng = np.random.default_rng(4)
    case = next(model.at_random(rng, 1, ("own",), noisy=True))
    case = model.valid(case.problem, case.U, case.V, 0.5, 3, 0.4, 2.0, "own")
    s, problem, (n, rank) = case.setting, case.problem, case.V.shape
    found = np.zeros(2)
    for _ in range(4000):
        taking = rng.random(n) < 0.5
        noise = s.noise / np.sqrt(n * rank) * rng.standard_normal((k + 1, n, rank))
        path = naive.local_training(
            case.U, case.V, gradients(problem), np.flatnonzero(taking), s.head_step_size, k, noise
        )
        in_V = naive.factor_gradients(case.U, path[-1], gradients(problem))[1][taking]
        found += [np.sum((in_V + noise[k][taking]) ** 2), np.sum(in_V**2)]
    assert found / 4000 == pytest.approx(eq11.by_hand(case, k), rel=0.1)


def test_forms_that_are_written_out_are_the_plain_ones():
    clients = eq7_to_9.instance(np.random.default_rng(5), 6)
    f = [lambda x, i=i: clients.H[i] @ (x - clients.A[i]) for i in range(len(clients.V))]
    for form, expected, head in (
        (clients.algorithm1([0, 1], 0.1, 3), naive.algorithm_1, 0.1),
        (clients.analysed([0, 1], 0.1, 0.02, 3), naive.appendix_a1, 0.02),
    ):
        U, path = expected(clients.U, clients.V, f, [0, 1], 0.1, head, 3)
        np.testing.assert_allclose(form[0], U, atol=1e-14)
        np.testing.assert_allclose(form[1], path[-1], atol=1e-14)
    etas = np.full(len(f), 0.1)
    U, path = naive.appendix_a1(clients.U, clients.V, f, [1], 0.1, 0.1, 1)
    np.testing.assert_allclose(clients.eight_nine([1], etas)[0], U, atol=1e-14)
    np.testing.assert_allclose(clients.eight_nine([1], etas)[1], path[-1], atol=1e-14)
    assert np.isnan(clients.algorithm1([], 0.1, 1)[0]).all()


@pytest.mark.slow
def test_a_round_of_the_cosine_is_that_of_the_theory_and_of_many_rounds(fresh_rng):
    cosine = lr.CustomObjectives(
        lambda i, x: (float(np.cos(x[0])), -np.sin(x)), n=1, d=1, smoothness=[1.0]
    )
    s, at = theory.Setting(0.5, 3, 0.3, 1.0, 1.0), (np.full((1, 1), 0.7), np.full((1, 1), 0.9))
    r = pflmf_rounds.expected_round(s, cosine, *at)
    exact = eq16.expected_cosine(s, 0.7, 0.9)
    assert exact == pytest.approx((r.value - r.after_both, r.delta_U, r.delta_V))
    s, found = theory.Setting(0.5, 3, 0.3, 1.0, 1.0, noise=0.5), []
    for stream in fresh_rng.spawn(4000):
        trace = lr.pflmf(
            cosine, k=1, step_size=0.3, head_step_size="theorem", local_steps=3, participation=0.5,
            aggregate="full", gradient_noise=0.5, rounds=1, start=at, rng=stream,
        )  # fmt: skip
        found.append((-np.diff(trace["objective"])[0], trace["average_V"][-1]))
    exact = eq16.expected_cosine(s, 0.7, 0.9)
    error = 5.0 * np.std(found, axis=0) / np.sqrt(len(found))
    assert np.mean(found, axis=0)[0] == pytest.approx(exact.decrease, abs=error[0])
    assert np.mean(found, axis=0)[1] == pytest.approx(exact.delta_V, abs=error[1])

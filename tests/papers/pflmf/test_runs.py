from math import comb

import numpy as np
import pytest

from linrep.claims import FAILS, claims, judge
from linrep.papers.pflmf import number_of_steps, runs
from linrep.theory import pflmf

CLAIMS = claims()


def test_the_left_side_and_the_reach_are_those_of_a_run_by_hand():
    instance = runs.reference(np.random.default_rng(0), scale=0.1, radii=(1.0, 1.0), n=5)
    eta, U, V = 0.25 / instance.smoothness, instance.U, instance.V
    sums = np.zeros(2)
    for _ in range(7):
        R = V @ U.T - instance.problem.A
        in_U = R.T @ V / 5
        sums[0] += np.sum(in_U**2)
        for _ in range(3):
            in_V = (V @ U.T - instance.problem.A) @ U / 5
            sums[1] += np.sum(in_V**2) / 3
            V = V - eta / 3 * in_V
        U = U - eta * in_U
    found = runs.averages(instance, 0, p=1.0, K=3, T=(3, 7))
    assert (found.in_U[1], found.in_V[1]) == pytest.approx(tuple(sums / 7))
    assert found.inside.all()
    narrow = instance._replace(radii=(1.0, 1e-3))
    assert not runs.averages(narrow, 0, p=1.0, K=3, T=(3, 7)).inside.any()


@pytest.mark.compiled
def test_runs_from_small_centres_tend_to_the_exact_average():
    instance = runs.reference(np.random.default_rng(1), scale=1e-5, n=400, radii=(1e-3, 1e-2))
    p, K, T = 0.4, 2, 50
    L, h = instance.smoothness, 1.0 / 400
    s = pflmf.Setting(p, K, 0.25 / L, L, L)
    square = np.sum((instance.problem.A / 400) ** 2)
    exact = runs.fixed_U_average(s, h, square, T)
    found = [runs.averages(instance, seed, p=p, K=K, T=(T,)).in_V[0] for seed in range(20)]
    assert np.mean(found) == pytest.approx(float(exact), rel=0.02)


def test_a_bound_has_the_constants_that_are_given():
    printed = runs.Bound()
    theorem1 = pflmf.theorem1(2.0, smoothness=1.0, step_size=0.1, rounds=30, noise=0.5)
    assert printed.right(2.0, 1.0, 0.1, 30, 0.5) == pytest.approx(theorem1.total)
    assert printed.left(1.0, 2.0, 0.1) == 3.0
    other = runs.Bound(p_power=2.0, start=1.0, noise=3.0, T_power=2.0)
    assert other.right(2.0, 1.0, 0.1, 30, 0.5) == pytest.approx(
        0.5 * theorem1.start / 30 + 1.5 * theorem1.noise
    )
    assert other.left(1.0, 2.0, 0.1) == pytest.approx(1.02)


def test_settings_of_which_a_run_left_the_ball_are_void():
    cells = runs.Cells()
    narrow = runs.reference(np.random.default_rng(0), radii=(0.3, 2e-3))
    for _ in range(3):
        cells.add(narrow, runs.Bound(), np.random.default_rng(1), p=1.0, T=(1, 100))
    assert set(cells.table["T"]) == {1}
    assert judge([cells.at_most_one("")]).n_trials == 3


def test_many_local_steps_of_all_clients_save_half_a_step():
    # Sums over rounds: 1/(2x - x^2) with one step, 1/(2x) with infinitely many.
    assert number_of_steps.exact_ratio(1.0, 0.3, 10**6, 1e9) == pytest.approx(1 - 0.15, rel=1e-4)


@pytest.mark.parametrize(("p", "K", "T"), [(1.0, 1, 5), (0.3, 2, 4)])
def test_pairs_of_clients_are_averaged_over_all_that_may_take_part(p, K, T):
    s = pflmf.Setting(p, K, 0.4, 1.0, 1.0)
    kept = (1.0 - s.head_step_size) ** K

    def expected(t, power):
        chances = [comb(t, N) * p**N * (1.0 - p) ** (t - N) for N in range(t + 1)]
        return sum(c * (kept**N * (1.0 - kept**N)) ** power for N, c in enumerate(chances))

    same = np.mean([expected(t, 2) for t in range(T)])
    pairs = np.mean([expected(t, 1) ** 2 for t in range(T)])
    assert number_of_steps.fixed_U_pairs(s, T) == pytest.approx((same, pairs))


@pytest.mark.slow
@pytest.mark.negative_control
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("pflmf.theorem1.corrected", {"start": 0.9}),
        ("pflmf.theorem1.corrected", {"noise": 0.5}),
        ("pflmf.corollary2.constants", {"start": 0.9}),
        ("pflmf.corollary2.constants", {"noise": 0.01}),
        ("pflmf.theorem1.sharp", {"slack": 0.97}),
        ("pflmf.theorem1.sharp", {"noise": 0.95}),
    ],
)
def test_constants_that_have_room_can_be_refuted(name, change):
    assert CLAIMS[name].verify("quick", np.random.default_rng(3), **change).verdict == FAILS

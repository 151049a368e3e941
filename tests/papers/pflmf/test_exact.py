"""Rounds and runs in rational numbers against the theory and against runs."""

from fractions import Fraction

import numpy as np
import pytest

import linrep as lr
from linrep.papers.pflmf import _exact, table1_2
from linrep.theory import pflmf as theory
from linrep.theory import pflmf_rounds

FIELDS = ("value", "after_V", "after_U", "after_both", "delta_U")


@pytest.mark.parametrize(("n", "variance"), [(1, 0), (3, 0), (3, Fraction(1, 2))])
def test_a_round_is_that_of_the_theory(n, variance):
    f = _exact.Scalar((2, 1, 3)[:n], (1, -1, 0)[:n], (0, 0, 0)[:n])
    u, v = Fraction(3, 4), [Fraction(1), Fraction(2), Fraction(-1)][:n]
    p, K, eta = Fraction(1, 3), 3, Fraction(1, 5)
    r = _exact.exact_round(f, u, v, p, K, eta, Fraction(1), Fraction(variance))
    s = theory.Setting(1 / 3, K, 0.2, 1.0, 1.0, noise=float(variance) ** 0.5)
    problem = lr.QuadraticObjectives(
        np.array(f.a, dtype=float)[:, None], np.array(f.h, dtype=float)[:, None, None]
    )
    start = np.full((1, 1), 0.75), np.array(v, dtype=float)[:, None]
    expected = pflmf_rounds.expected_round(s, problem, *start)
    for name in FIELDS:
        assert float(getattr(r, name)) == pytest.approx(getattr(expected, name))
    assert float(r.delta_V()) == pytest.approx(expected.delta_V)
    np.testing.assert_allclose([float(x) for x in r.masked], expected.masked_V)
    np.testing.assert_allclose([float(x) for x in r.steps], expected.steps_V)


def test_a_round_that_is_broken_off_is_a_shorter_one():
    f, one = _exact.Scalar((1,), (0,), (0,)), Fraction(1)
    broken = _exact.exact_round(f, one, [one], one / 2, 6, one / 4, one, steps=2)
    shorter = _exact.exact_round(f, one, [one], one / 2, 2, one / 12, one)
    assert broken.after_V == shorter.after_V
    assert broken.masked == shorter.masked


def test_a_round_of_affine_functions():
    r = _exact.affine(Fraction(1, 10), 5, Fraction(1, 4))
    assert (r.delta_U, r.delta_V()) == (0, Fraction(1, 2))
    assert r.value - r.after_both == Fraction(1, 2) * Fraction(1, 4) / 100


@pytest.mark.compiled
@pytest.mark.parametrize("noise", [0.0, 1e-5])
def test_runs_are_not_below_what_is_derived_of_them(noise):
    known = _exact.run(Fraction(1, 10), 100, Fraction(1, 100), sigma=Fraction(noise))
    problem, start = lr.QuadraticObjectives([[0.0]]), ([[1.0]], [[0.01]])
    found = [
        lr.pflmf(
            problem, k=1, step_size=float(known.eta), head_step_size="theorem", participation=0.1,
            aggregate="full", rounds=100, record=100, gradient_noise=noise, start=start, rng=seed,
        )["average_V"][-1]
        for seed in range(300)
    ]  # fmt: skip
    error = 4.0 * np.std(found) / np.sqrt(len(found))
    assert float(known.least_V) <= np.mean(found) + error
    assert float(known.least_V) >= 0.7 * np.mean(found)  # nor far below


def test_a_failing_run_holds_with_p_squared():
    known = _exact.run(Fraction(1, 10), 200, Fraction(1, 100))
    for power, fails in ((0, True), (1, True), (2, False)):
        left, right = known.sides(power, 2.0, 2.0)
        assert (left > right) == fails
    assert known.sides(1.5, 2.0, 2.0)[0] == pytest.approx(0.1**1.5 * float(known.least_V))


def test_the_tables_have_what_is_printed_in_bold_as_their_largest():
    table = table1_2.exactly({**table1_2.OTHERS, **table1_2.RANKS})
    bold = {"MNIST, 0.5": 15, "CIFAR10, 0.5": "pFedFDA", "CIFAR10, 1": 10, "CIFAR100, 0.5": 15,
            "CIFAR100, 1": 10}  # fmt: skip
    for column, name in bold.items():
        j = table1_2.COLUMNS.index(column)
        assert max(table, key=lambda each, j=j: table[each][j]) == name
    second = table1_2.exactly({**table1_2.SECOND_OTHERS, **table1_2.SECOND_RANKS})
    assert max(second, key=lambda each: second[each][3]) == "FedAvg"
    assert max(second, key=lambda each: second[each][2]) == 15

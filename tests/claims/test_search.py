"""The search for violations finds those there are, and shrinks them."""

import numpy as np
import pytest

from linrep.claims import Budget, inequality
from tests.tools import complaint

SHAPES = ({"n": 1}, {"n": 3})


def length(shape):
    return 2 * shape["n"]


def inner_product(factor):
    def sides(shape, x):
        a, b = x[: shape["n"]], x[shape["n"] :]
        return abs(a @ b), factor * np.linalg.norm(a) * np.linalg.norm(b)

    return sides


def test_a_true_inequality_holds_and_its_tightness_is_found(fresh_rng):
    found = inequality(inner_product(1.0), SHAPES, length, Budget("quick"), fresh_rng)
    assert found.verdict == "holds"
    assert found.tightness == pytest.approx(1.0, abs=1e-6)
    assert found.n_trials > 100


@pytest.mark.parametrize("factor", [0.5, 0.99])
def test_a_false_one_fails_with_a_short_counterexample(factor, fresh_rng):
    found = inequality(inner_product(factor), SHAPES[1:], length, Budget("quick"), fresh_rng)
    assert found.verdict == "fails"
    example = found.counterexample
    left, right = inner_product(factor)({"n": example["n"]}, np.array(example["x"]))
    assert left > right
    assert (left, right) == (example["left"], example["right"])
    assert all(float(f"{entry:.3e}") == pytest.approx(entry, rel=1e-12) for entry in example["x"])


def test_hypothesis_finds_what_random_instances_miss(fresh_rng):
    def sides(shape, x):
        return float((x == 2.0).all()), 0.5

    found = inequality(sides, SHAPES[:1], length, Budget("standard"), fresh_rng)
    assert found.verdict == "fails"
    assert found.counterexample["x"] == [2.0, 2.0]


def test_rounding_is_no_violation(fresh_rng):
    def sides(shape, x):
        return 1.0 + 1e-12, 1.0

    assert inequality(sides, SHAPES, length, Budget("quick"), fresh_rng).verdict == "holds"


def test_hypotheses_are_respected(fresh_rng):
    def sides(shape, x):
        return (1.0, 0.0) if x[0] > 1e9 else None

    with complaint(ValueError, "no instance"):
        inequality(sides, SHAPES, length, Budget("quick"), fresh_rng)


def test_known_instances_are_looked_at(fresh_rng):
    def needle(shape, x):
        return (1.0 if np.array_equal(x, [3.0, 1.0]) else 0.0), 0.5

    given = [({"n": 1}, np.array([3.0, 1.0]))]
    found = inequality(needle, SHAPES, length, Budget("quick"), fresh_rng, known=given)
    assert found.verdict == "fails"
    assert found.counterexample["x"] == [3.0, 1.0]

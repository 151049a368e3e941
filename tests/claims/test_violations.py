"""The search for violations finds those there are, and shrinks them."""

from fractions import Fraction

import numpy as np
import pytest

from linrep.claims import Budget, Cases, decide, search_instances
from linrep.claims.evidence import instances
from tests.tools import complaint, sampled


def search(lhs_rhs, shapes, length, budget, rng, **options):
    """Search instances that are nothing but numbers."""

    def read(reader, shape):
        return shape, reader.numbers(length(shape))

    return search_instances(lambda at: lhs_rhs(*at), shapes, read, budget, rng, **options)


def inequality(*arguments, **options):
    return decide(search(*arguments, **options))


SHAPES = ({"n": 1}, {"n": 3})


def length(shape):
    return 2 * shape["n"]


def inner_product(factor):
    def lhs_rhs(shape, x):
        a, b = x[: shape["n"]], x[shape["n"] :]
        return abs(a @ b), factor * np.linalg.norm(a) * np.linalg.norm(b)

    return lhs_rhs


def test_a_true_inequality_holds_and_its_tightness_is_found(fresh_rng):
    found = inequality(inner_product(1.0), SHAPES, length, Budget("quick"), fresh_rng)
    assert found.verdict == "holds"
    assert found.tightness == pytest.approx(1.0, abs=1e-6)
    assert found.n_trials > 100


@pytest.mark.parametrize(
    ("factor", "budget"),
    [(0.5, "quick"), (0.99, "standard")],  # quick misses a violation of 1 % at 1 seed in 200
)
def test_a_false_one_fails_with_a_short_counterexample(factor, budget, fresh_rng):
    found = inequality(inner_product(factor), SHAPES[1:], length, Budget(budget), fresh_rng)
    assert found.verdict == "fails"
    example = found.counterexample
    left, right = inner_product(factor)({"n": example["n"]}, np.array(example["x"]))
    assert left > right
    assert (left, right) == (example["left"], example["right"])
    assert all(float(f"{entry:.3e}") == pytest.approx(entry, rel=1e-12) for entry in example["x"])


def test_hypothesis_finds_what_random_instances_miss(fresh_rng):
    def lhs_rhs(shape, x):
        return float((abs(x - 2.0) < 1e-12).all()), 0.5

    found = inequality(lhs_rhs, SHAPES[:1], length, Budget("standard"), fresh_rng)
    assert found.verdict == "fails"
    assert found.counterexample["x"] == [2.0, 2.0]


def test_sides_that_are_no_numbers_are_named(fresh_rng):
    with complaint(ValueError, "sides()", "NaN"):
        search(lambda shape, x: (float("nan"), 1.0), SHAPES, length, Budget("quick"), fresh_rng)


def test_rounding_is_no_violation(fresh_rng):
    def lhs_rhs(shape, x):
        return 1.0 + 1e-12, 1.0

    assert inequality(lhs_rhs, SHAPES, length, Budget("quick"), fresh_rng).verdict == "holds"


def unit(x):
    return abs(np.linalg.norm(x / np.linalg.norm(x)) - 1.0), 0.0


def orthonormal(x):
    Q = np.linalg.qr(np.outer(x, x) + np.eye(len(x)))[0]
    return np.linalg.norm(Q.T @ Q - np.eye(len(x))), 0.0


def projected(x):
    Q = np.linalg.qr(np.stack([x, np.arange(1.0, len(x) + 1.0)], axis=1))[0]
    return np.linalg.norm(Q @ (Q.T @ x) - x), 0.0


def squares(x):
    return np.sum((x + 1.0) ** 2 - x**2 - 2.0 * x - 1.0), 0.0, 4.0 * np.sum(x**2 + 1.0)


def variances(x):
    """One of two forms cancels, at the scale of the other's terms."""
    return np.mean(x**2) - np.mean(x) ** 2, np.var(x), np.mean(x**2)


def shifted(x):
    return 1e6 + x[0] - 1e6 - x[0], 0.0, 1e6 + abs(x[0])


#: Inequalities that are equalities, computed in another way on either side.
EQUAL = {
    "a constant": lambda x: (0.1 + 0.2 - 0.3, 0.0),
    "shares": lambda x: (1.0 - np.sum(np.abs(x) / np.sum(np.abs(x))), 0.0),
    "Pythagoras": lambda x: (np.cos(x[0]) ** 2 + np.sin(x[0]) ** 2 - 1.0, 0.0),
    "an eigenvalue that is 0": lambda x: (-np.linalg.eigvalsh(np.outer(x, x))[0], 0.0, x @ x),
    "unit length": unit,
    "orthonormal columns": orthonormal,
    "a projection": projected,
    "squares": squares,
    "variances": variances,
    "shifted": shifted,
}


@pytest.mark.parametrize("seed", sampled(range(10), 2))
@pytest.mark.parametrize("name", EQUAL)
def test_sides_that_are_equal_to_rounding_are_no_violation(name, seed):
    found = decide(
        search_instances(
            EQUAL[name], [{"d": 2}, {"d": 4}], {"x": ("d",)}, Budget("quick"),
            np.random.default_rng(seed),
        )
    )  # fmt: skip
    assert found.verdict == "holds", found.sentence
    assert "equal to rounding" in found.sentence
    assert "inf" not in found.sentence


@pytest.mark.parametrize("scale", [1e-10, 1e-3, 1.0, 1e6])
def test_small_violations_are_found_where_their_terms_are_small(scale, fresh_rng):
    def sides(x):
        size = scale * np.sum(x**2)
        return 1.001 * size, size, size

    shapes, arrays = [{"d": 2}], {"x": ("d",)}
    found = decide(search_instances(sides, shapes, arrays, Budget("quick"), fresh_rng))
    assert found.verdict == "fails"


def test_sides_that_are_all_below_rounding_are_no_evidence(fresh_rng):
    def sides(x):
        size = 1e-25 * (1.0 + x @ x)
        return 1.5 * size, size

    def looked_for(sides):
        arrays = {"x": ("d",)}
        return search_instances(sides, [{"d": 2}], arrays, Budget("quick"), fresh_rng)

    with complaint(ValueError, "third number"):
        looked_for(sides)
    assert decide(looked_for(lambda x: (*sides(x), sides(x)[0]))).verdict == "fails"


def davis_kahan(factor, seed):
    """Squared sine of leading eigenvectors' angle, and Yu, Wang and Samworth's bound of it."""
    A = np.random.default_rng(seed).standard_normal((4, 4))
    A = A + A.T
    values, vectors = np.linalg.eigh(A)

    def lhs_rhs(shape, x):
        E = np.zeros((4, 4))
        E[np.triu_indices(4)] = x
        E = E + np.triu(E, 1).T
        v = np.linalg.eigh(A + E)[1][:, -1]
        outside = vectors[:, -1] - v * (v @ vectors[:, -1])
        squared = outside @ outside  # of rounding's size where E is 0
        bound = factor * np.linalg.norm(E, 2) / (values[-1] - values[-2])
        return float(squared), float(bound**2)

    return lhs_rhs


@pytest.mark.parametrize("seed", sampled(range(50), 8))
def test_where_both_sides_vanish_rounding_refutes_nothing(seed):
    """Without perturbation the bound is 0, and the sine what rounding leaves."""
    found = inequality(
        davis_kahan(2.0, seed), ({"n": 4},), lambda shape: 10, Budget("quick"),
        np.random.default_rng(seed), known=[({"n": 4}, np.zeros(10))],
    )  # fmt: skip
    assert found.verdict == "holds"
    assert found.tightness < 1.0


@pytest.mark.parametrize("seed", sampled(range(50), 8))
def test_a_violation_stays_far_above_rounding_when_it_is_shrunk(seed):
    found = inequality(
        davis_kahan(0.5, seed), ({"n": 4},), lambda shape: 10, Budget("quick"),
        np.random.default_rng(seed), known=[({"n": 4}, np.zeros(10))],
    )  # fmt: skip
    assert found.verdict == "fails"
    assert found.measured > 1e-9
    assert found.measured > 1.001 * found.predicted


def test_hypotheses_are_respected(fresh_rng):
    def lhs_rhs(shape, x):
        return (1.0, 0.0) if x[0] > 1e9 else None

    with complaint(ValueError, "no instance"):
        inequality(lhs_rhs, SHAPES, length, Budget("quick"), fresh_rng)


def test_known_instances_are_looked_at(fresh_rng):
    def needle(shape, x):
        return (1.0 if np.allclose(x, [3.0, 1.0], rtol=1e-12) else 0.0), 0.5

    given = [({"n": 1}, np.array([3.0, 1.0]))]
    found = inequality(needle, SHAPES, length, Budget("quick"), fresh_rng, known=given)
    assert found.verdict == "fails"
    assert found.counterexample["x"] == [3.0, 1.0]


def test_the_worst_instance_is_kept_beside_the_smallest(fresh_rng):
    def lhs_rhs(shape, x):
        return np.abs(x).sum(), 0.99 * np.abs(x).max()  # shrunk to a single number

    found = inequality(lhs_rhs, SHAPES[:1], length, Budget("quick"), fresh_rng)
    smallest, worst = found.counterexample, found.worst
    assert 0.0 in smallest["x"]
    assert found.tightness == pytest.approx(1.0 / 0.99)
    assert lhs_rhs(None, worst["x"]) == (worst["left"], worst["right"])
    ratio = worst["left"] / worst["right"]
    assert ratio > 1.1
    assert found.sentence.endswith(f"at the worst instance {ratio:.4g} times the right side")
    assert list(instances(found)) == ["smallest", "worst"]


def test_fractions_of_an_instance_are_read_as_fractions():
    found = decide(Cases([(Fraction(2), Fraction(1), {"sine": Fraction(4, 5), "n": Fraction(3)})]))
    assert instances(found) == {"instance": ["sine = 4/5, n = 3, left = 2, right = 1"]}


def test_what_is_never_violated_is_measured_by_the_ratio(fresh_rng):
    found = inequality(inner_product(1.0), SHAPES, length, Budget("quick"), fresh_rng)
    assert (found.quantity, found.predicted) == ("left over right", 1.0)
    assert found.measured == found.tightness
    assert found.worst["left"] / found.worst["right"] == found.tightness
    assert list(instances(found)) == ["tightest"]
    below = inequality(lambda shape, x: (-1.0, -0.5), SHAPES, length, Budget("quick"), fresh_rng)
    assert (below.measured, below.predicted) == (pytest.approx(-1 / 3), 0.0)
    assert below.quantity == "relative excess of the left side"

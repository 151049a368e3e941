"""Hypotheses accept functions as the checks draw them, and refuse those that violate them."""

import numpy as np
import pytest

import linrep as lr
from linrep.papers.pflmf import model
from tests.papers.hypotheses import assuming, misjudged

PROBLEM = lr.QuadraticObjectives(np.random.default_rng(0).standard_normal((4, 3)))
VIOLATIONS = {
    "Assumption 1": lr.CustomObjectives(
        lambda i, x: (float(np.sum(np.abs(x) ** 3)), 3.0 * np.abs(x) * x), n=4, d=3
    ),
    "lower bound": model.affine(np.random.default_rng(1).standard_normal((4, 3))),
}
ASSUMING = assuming("pflmf")


def test_hypotheses():
    wrong = {
        name: list(misjudged(item, PROBLEM, VIOLATIONS, about_runs=("Assumption 2",)))
        for name, item in ASSUMING.items()
    }
    assert {name: words for name, words in wrong.items() if words} == {}


def test_the_theorem_and_its_proof_assume_them():
    smooth, bounded, noise = model.NOISY
    for names, assumed in (
        (("K", "stationary-point"), (smooth, bounded)),
        (
            ("theorem1", "theorem1.corrected", "theorem1.noise", "theorem1.sharp"),
            (smooth, bounded, noise),
        ),
        (("eq12", "step-B", "step-C", "eq16", "eq16.corrected"), (smooth, noise)),
    ):
        for name in names:
            assert ASSUMING[f"pflmf.{name}"].hypotheses == assumed


def test_counterexamples_satisfy_them():
    # (uv)^2/2, of Theorem 1, and x and -x, of (16), which needs no lower bound.
    assert ASSUMING["pflmf.theorem1"].unmet(lr.QuadraticObjectives([[0.0]])) == []
    opposite = model.affine(np.array([[1.0], [-1.0]]))
    assert ASSUMING["pflmf.eq16"].unmet(opposite) == []
    assert ASSUMING["pflmf.theorem1"].unmet(opposite) == ["lower bound"]


@pytest.mark.parametrize("kind", ["identity", "own", "logistic", "softmax", "cosine"])
def test_functions_with_a_lower_bound_have_one(kind):
    problem = model.drawn(np.random.default_rng(2), kind, 3, 2)
    assert model.stops_falling(problem)
    indefinite = model.drawn(np.random.default_rng(2), "indefinite", 3, 2)
    assert not model.stops_falling(indefinite)

"""Hypotheses accept problems as the checks draw them, and refuse one that violates them."""

import numpy as np
import pytest

from linrep.papers.perfedsi import model
from linrep.problems import BiasedRegression, SideInformationCompletion
from tests.papers.hypotheses import assuming, misjudged
from tests.papers.perfedsi import states


def problem(d=30):
    return SideInformationCompletion.random(n=40, d=d, p=4, k=2, side="unit", rng=0)


def biased(explained=1.0):
    return BiasedRegression.random(n=20, d=5, p=3, noise=1.0, explained=explained, rng=0)


PROBLEM = problem()
SAME = np.full((40, 4), 0.5)  # rows of norm 1, and dependent columns
ABOUT_RUNS = [
    getattr(model, name).name
    for name in ("SAMPLING", "START", "NEAR", "EVENT", "STEP", "NORMAL_NOISE", "FRESH", "REGION")
]
VIOLATIONS = {
    "Assumption 3.2": SideInformationCompletion(PROBLEM.U, PROBLEM.V, SAME),
    "Section 3, rank": SideInformationCompletion(
        np.tile(PROBLEM.U[:, :1], (1, 2)), PROBLEM.V, PROBLEM.Z
    ),
    "Section 3, small rank": problem(d=10),
    "Appendix C.4, rows": SideInformationCompletion(PROBLEM.U, PROBLEM.V, 2.0 * PROBLEM.Z),
    "Appendix B, side information": biased(explained=0.5),
}
ASSUMING = assuming("perfedsi")


def test_hypotheses():
    wrong, sampling = {}, []
    for claim, item in ASSUMING.items():
        names = [hypothesis.name for hypothesis in item.hypotheses]
        accepted = biased() if "Appendix B, side information" in names else PROBLEM
        wrong[claim] = list(misjudged(item, accepted, VIOLATIONS, about_runs=ABOUT_RUNS))
        if model.SAMPLING.name in names:
            sampling.append(claim)
            if item.unmet(PROBLEM, 0) != [model.SAMPLING.name]:
                wrong[claim].append("a round without clients")
    assert sampling
    assert {claim: words for claim, words in wrong.items() if words} == {}


@pytest.mark.parametrize(
    "state",
    [states.of_sides(4.0), states.of_items(32.0), states.edge()[0], states.fitting(16, 0.1)],
)
def test_counterexamples_satisfy_them(state):
    """All clients are alike, or of two kinds: there are 100."""
    truth = state.truth
    truth = SideInformationCompletion(truth.U, truth.V, np.tile(truth.Z, (100 // truth.n, 1)))
    np.testing.assert_allclose(truth.singular_values, 1.0)
    for name in ("lemmaC5", "lemmaC7", "lemmaC10", "lemmaC11", "theoremC4", "lower_bound"):
        assert ASSUMING[f"perfedsi.{name}"].unmet(truth) == []

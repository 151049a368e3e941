"""Hypotheses accept problems as the checks draw them, and refuse one that violates them."""

import numpy as np
import pytest

from linrep.papers.perfedsi._hypotheses import (
    EVENT,
    FRESH,
    NEAR,
    NORMAL_NOISE,
    REGION,
    SAMPLING,
    START,
    STEP,
)
from linrep.problems import BiasedRegression, SideInformationCompletion
from tests.papers.hypotheses import assuming, misjudged
from tests.papers.perfedsi import exact as _exact

PROBLEM = SideInformationCompletion.random(n=40, d=30, p=4, k=2, side="unit", rng=0)
BIASED = BiasedRegression.random(n=20, d=5, p=3, noise=1.0, rng=0)
SAME = np.full((40, 4), 0.5)  # rows of norm 1, and dependent columns
ABOUT_RUNS = [
    item.name for item in (SAMPLING, START, NEAR, EVENT, STEP, NORMAL_NOISE, FRESH, REGION)
]
VIOLATIONS = {
    "Assumption 3.2": SideInformationCompletion(PROBLEM.U, PROBLEM.V, SAME),
    "Section 3, rank": SideInformationCompletion(
        np.tile(PROBLEM.U[:, :1], (1, 2)), PROBLEM.V, PROBLEM.Z
    ),
    "Section 3, small rank": SideInformationCompletion.random(
        n=40, d=10, p=4, k=2, side="unit", rng=0
    ),
    "Appendix C.4, rows": SideInformationCompletion(PROBLEM.U, PROBLEM.V, 2.0 * PROBLEM.Z),
    "Appendix B, side information": BiasedRegression.random(
        n=20, d=5, p=3, noise=1.0, explained=0.5, rng=0
    ),
}
ASSUMING = assuming("perfedsi")


def test_hypotheses():
    wrong, sampling = {}, []
    for claim, item in ASSUMING.items():
        names = [hypothesis.name for hypothesis in item.hypotheses]
        accepted = BIASED if "Appendix B, side information" in names else PROBLEM
        wrong[claim] = list(misjudged(item, accepted, VIOLATIONS, about_runs=ABOUT_RUNS))
        if SAMPLING.name in names:
            sampling.append(claim)
            if item.unmet(PROBLEM, 0) != [SAMPLING.name]:
                wrong[claim].append("a round without clients")
    assert sampling
    assert {claim: words for claim, words in wrong.items() if words} == {}


@pytest.mark.parametrize(
    "state", [_exact.of_sides(4), _exact.of_items(32), _exact.edge(20), _exact.fitting(16, 1)[0]]
)
def test_counterexamples_satisfy_them(state):
    """Those in fractions, as problems in floating point."""
    Z = np.repeat(state.Z.astype(float), state.copies, axis=0)
    truth = SideInformationCompletion(
        state.star_U.astype(float)[:, None], state.star_V.astype(float)[:, None], Z
    )
    np.testing.assert_allclose(truth.singular_values, 1.0)
    for name in ("lemmaC5", "lemmaC7", "lemmaC10", "lemmaC11", "theoremC4", "lower_bound"):
        assert ASSUMING[f"perfedsi.{name}"].unmet(truth) == []

"""Hypotheses accept problems as the checks draw them, and refuse one that violates them."""

from dataclasses import replace

import pytest

from linrep.claims import claims
from linrep.problems import LowRankRegression

PROBLEM = LowRankRegression.random(n=6, d=5, singular_values=[1.0, 0.9, 0.3, 0.1], rng=0)
EQUAL = LowRankRegression.random(n=6, d=5, singular_values=[1.0, 1.0, 1.0], rng=0)
VIOLATIONS = {
    "Delta > 0": (EQUAL, 6),
    "sub-Gaussian x": (replace(PROBLEM, design="student_t"), 6),
    "full participation": (PROBLEM, 5),
}
ASSUMING = {
    name: item for name, item in claims().items() if item.paper == "flute" and item.hypotheses
}


def test_the_theorems_have_them():
    for name in ("theorem5.1", "theorem5.5", "remark4.1", "lemmaA13"):
        assert f"flute.{name}" in ASSUMING


@pytest.mark.parametrize("name", ASSUMING)
def test_hypotheses(name):
    item = ASSUMING[name]
    assert item.unmet(PROBLEM) == []
    for hypothesis in item.hypotheses:
        assert item.unmet(*VIOLATIONS[hypothesis.name]) == [hypothesis.name]

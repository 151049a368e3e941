"""Hypotheses accept problems as the checks draw them, and refuse one that violates them."""

from dataclasses import replace

import numpy as np

from linrep.problems import LowRankRegression
from tests.papers.hypotheses import accept_and_refuse, assuming

PROBLEM = LowRankRegression.random(n=6, d=5, singular_values=[1.0, 0.9, 0.3, 0.1], rng=0)
EQUAL = LowRankRegression.random(n=6, d=5, singular_values=[1.0, 1.0, 1.0], rng=0)
VIOLATIONS = {
    "Delta > 0": (EQUAL, 6),
    "Delta > 0, k up to the rank": (LowRankRegression(np.zeros((5, 6))), 6),
    "sub-Gaussian x": (replace(PROBLEM, design="student_t"), 6),
    "Gaussian x": (replace(PROBLEM, design="rademacher"), 6),
    "synthetic data": (replace(PROBLEM, design="rademacher"), 6),
    "full participation": (PROBLEM, 5),
}
ASSUMING = assuming("flute")


def test_the_theorems_have_them():
    for name in ("theorem5.1", "theorem5.5", "remark4.1", "lemmaA13"):
        assert f"flute.{name}" in ASSUMING


def test_hypotheses():
    accept_and_refuse(ASSUMING, PROBLEM, VIOLATIONS, about_runs=("small start", "small error"))

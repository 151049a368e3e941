"""What FLUTE's statements assume, as predicates on a problem."""

from __future__ import annotations

from linrep.claims import Hypothesis

_DESIGNS = ("gaussian", "rademacher", "uniform", "sphere")


def _has_gap(problem, _):
    """Tell whether a rank k below that of Phi has lambda_k > lambda_{k+1}."""
    values = problem.singular_values
    positive = values[values > 1e-12 * values[0]]
    return bool(positive[0] > (1.0 + 1e-12) * positive[-1])


GAP = Hypothesis(
    "Delta > 0",
    "lambda_k > lambda_{k+1} > 0 for the rank k that is learned, so for some k",
    _has_gap,
)
SUB_GAUSSIAN = Hypothesis(
    "sub-Gaussian x",
    "x has mean 0, covariance I and E exp(v'x) <= exp(|v|^2/2)",
    lambda problem, participants: problem.design in _DESIGNS,
)
FULL = Hypothesis(
    "full participation",
    "all clients take part in every round",
    lambda problem, participants: participants == problem.n,
)
#: What statements on samples assume, those on the population map, and those on runs on samples.
SAMPLED = (SUB_GAUSSIAN, FULL)
POPULATION = (GAP, FULL)
ASSUMPTIONS = (GAP, SUB_GAUSSIAN, FULL)

"""What FLUTE's statements assume, as predicates on a problem."""

from __future__ import annotations

from linrep.claims import Hypothesis

_DESIGNS = ("gaussian", "rademacher", "uniform", "sphere")


def _has_gap(problem, _):
    """Tell whether a rank k below that of Phi has lambda_k > lambda_{k+1}."""
    values = problem.singular_values
    positive = values[values > 1e-12 * values[0]]
    return bool(positive[0] > (1.0 + 1e-12) * positive[-1])


def _is_normal(problem, _):
    return problem.design == "gaussian"


GAP = Hypothesis(
    "Delta > 0",
    "lambda_k > lambda_{k+1} > 0 for the rank k that is learned, so for some k",
    _has_gap,
    printed="Delta > 0 throughout the analysis",
    change="narrower",
)
SUB_GAUSSIAN = Hypothesis(
    "sub-Gaussian x",
    "x has mean 0, covariance I and E exp(v'x) <= exp(|v|^2/2)",
    lambda problem, participants: problem.design in _DESIGNS,
    printed="a sub-Gaussian distribution with mean 0 and covariance I",
    change="narrower",
)
GAUSSIAN = Hypothesis(
    "Gaussian x",
    "x is normal with mean 0 and covariance I, the noise of the labels is normal",
    _is_normal,
    printed="a sub-Gaussian distribution with mean 0 and covariance I",
    change="narrower",
)
SYNTHETIC = Hypothesis(
    "synthetic data",
    "x is normal with mean 0 and covariance I, the noise of the labels is normal",
    _is_normal,
)
SMALL_START = Hypothesis(
    "small start",
    "alpha <= sqrt(lambda_1)/(10 max(d, M)) and delta = 1/5; a smaller delta takes a smaller alpha",
    lambda problem, participants: True,
    printed="alpha <= 1/(10 d) in Theorem 5.1, sufficiently small in Proposition A.2 and A.2.4",
    change="corrected",
)
SMALL_ERROR = Hypothesis(
    "small error",
    "epsilon <= lambda_1/sqrt(M), so that N is at least of order k max(d, M)",
    lambda problem, participants: True,
    printed="any epsilon > 0",
    change="corrected",
)
FULL = Hypothesis(
    "full participation",
    "all clients take part in every round",
    lambda problem, participants: participants == problem.n,
)
#: What statements on samples assume, those on the population map, and those on runs on samples;
#: what their checks draw where that is normal; and the data of the figures.
SAMPLED = (SUB_GAUSSIAN, FULL)
POPULATION = (GAP, FULL)
ASSUMPTIONS = (GAP, SUB_GAUSSIAN, FULL)
DRAWN = (GAP, GAUSSIAN, FULL)
FIGURES = (SYNTHETIC, FULL)

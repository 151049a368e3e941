"""Claims of the papers: statements with the checks that can refute them, verdicts, the ledger."""

from linrep.claims.claim import (
    BUDGETS,
    KINDS,
    Budget,
    Claim,
    Hypothesis,
    claim,
    claims,
    corrections,
    load_file,
    select,
)
from linrep.claims.decide import (
    Slope,
    bounded_constant,
    expectation,
    exponent,
    frequency,
    identity,
    log_slope,
    mean_between,
    ordering,
    threshold_slope,
    trend,
)
from linrep.claims.evidence import (
    FAILS,
    HOLDS,
    LEVEL,
    UNDECIDED,
    VACUOUS,
    VERDICTS,
    Evidence,
    combine,
)
from linrep.claims.search import inequality

__all__ = [
    "BUDGETS",
    "FAILS",
    "HOLDS",
    "KINDS",
    "LEVEL",
    "UNDECIDED",
    "VACUOUS",
    "VERDICTS",
    "Budget",
    "Claim",
    "Evidence",
    "Hypothesis",
    "Slope",
    "bounded_constant",
    "claim",
    "claims",
    "combine",
    "corrections",
    "expectation",
    "exponent",
    "frequency",
    "identity",
    "inequality",
    "load_file",
    "log_slope",
    "mean_between",
    "ordering",
    "select",
    "threshold_slope",
    "trend",
]


def __dir__():
    return sorted(__all__)

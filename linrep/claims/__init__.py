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
    expectation,
    frequency,
    identity,
    mean_between,
    ordering,
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
from linrep.claims.slopes import (
    Slope,
    bounded_constant,
    exponent,
    log_slope,
    threshold_slope,
)

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

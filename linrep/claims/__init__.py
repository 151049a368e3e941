"""Claims of the papers: statements with the checks that can refute them, verdicts, the ledger."""

from linrep._lib.extras import need

need("claims", "linrep.claims")

from linrep.claims.claim import (
    BUDGETS,
    Budget,
    Claim,
    Hypothesis,
    claims,
    corrections,
    load_file,
    select,
    statement,
)
from linrep.claims.evidence import (
    FAILS,
    HOLDS,
    LEVEL,
    MISPRINT,
    UNDECIDED,
    VACUOUS,
    VERDICTS,
    Evidence,
)
from linrep.claims.instances import Reader, search_instances
from linrep.claims.intervals import everywhere
from linrep.claims.measurements import (
    Cases,
    Condition,
    Curve,
    Identity,
    Measurement,
    Missing,
    Readings,
    Search,
    Together,
    Vacuous,
)
from linrep.claims.proofs import proved
from linrep.claims.quantities import Fact
from linrep.claims.sampled import Constant, Exponent, Frequency, Mean, Paired, Threshold, Trend
from linrep.claims.verdict import decide, judge
from linrep.claims.violations import search

__all__ = [
    "BUDGETS",
    "FAILS",
    "HOLDS",
    "LEVEL",
    "MISPRINT",
    "UNDECIDED",
    "VACUOUS",
    "VERDICTS",
    "Budget",
    "Cases",
    "Claim",
    "Condition",
    "Constant",
    "Curve",
    "Evidence",
    "Exponent",
    "Fact",
    "Frequency",
    "Hypothesis",
    "Identity",
    "Mean",
    "Measurement",
    "Missing",
    "Paired",
    "Reader",
    "Readings",
    "Search",
    "Threshold",
    "Together",
    "Trend",
    "Vacuous",
    "claims",
    "corrections",
    "decide",
    "everywhere",
    "judge",
    "load_file",
    "proved",
    "search",
    "search_instances",
    "select",
    "statement",
]


def __dir__():
    return sorted(__all__)

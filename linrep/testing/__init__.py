"""For your own tests: Hypothesis strategies for problems and starts, claims and papers as tests.

Needs nothing but what linrep needs; :func:`claim_tests` and :func:`paper_tests` also need pytest.
"""

from linrep.testing.claims import claim_tests
from linrep.testing.papers import paper_tests
from linrep.testing.strategies import (
    biased_regressions,
    client_data,
    completions,
    draw_client_data,
    draw_start,
    low_rank_regressions,
    objectives,
    observations,
    seeds,
    shared_representations,
    starts,
    with_starts,
)

__all__ = [
    "biased_regressions",
    "claim_tests",
    "client_data",
    "completions",
    "draw_client_data",
    "draw_start",
    "low_rank_regressions",
    "objectives",
    "observations",
    "paper_tests",
    "seeds",
    "shared_representations",
    "starts",
    "with_starts",
]


def __dir__():
    return sorted(__all__)

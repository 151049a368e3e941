"""What the tests of the papers' hypotheses share."""

from linrep.claims import claims


def assuming(paper):
    """Return a paper's claims that have hypotheses, by name."""
    every = claims().items()
    return {name: item for name, item in every if item.paper == paper and item.hypotheses}


def accept_and_refuse(item, accepted, violations, *, about_runs=()):
    """Assert that a claim's hypotheses accept a problem, and each refuses what violates it alone.

    Violations are problems, or pairs of a problem and its participants, by the hypothesis' name;
    hypotheses about runs are violated by no problem.
    """
    assert item.unmet(accepted) == []
    for name in (hypothesis.name for hypothesis in item.hypotheses):
        if name not in about_runs:
            violation = violations[name]
            assert item.unmet(*violation if isinstance(violation, tuple) else [violation]) == [name]

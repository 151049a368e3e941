"""What the tests of the papers' hypotheses share."""

from linrep.claims import claims


def assuming(paper):
    """Return a paper's claims that have hypotheses, by name."""
    every = claims().items()
    return {name: item for name, item in every if item.paper == paper and item.hypotheses}


def misjudged(item, accepted, violations, *, about_runs=()):
    """Yield what is wrong with a claim's hypotheses, in words.

    They accept a problem, and each refuses what violates it alone. Violations are problems, or
    pairs of a problem and its participants, by the hypothesis' name; hypotheses about runs are
    violated by no problem.
    """
    if unmet := item.unmet(accepted):
        yield f"{unmet} of what meets all"
    for name in (hypothesis.name for hypothesis in item.hypotheses):
        if name not in about_runs:
            violation = violations[name]
            unmet = item.unmet(*violation if isinstance(violation, tuple) else [violation])
            if unmet != [name]:
                yield f"{unmet} of what violates {name}"


def accept_and_refuse(items, accepted, violations, **options):
    """Assert that each claim's hypotheses accept a problem and refuse what violates them."""
    wrong = {
        name: list(misjudged(item, accepted, violations, **options)) for name, item in items.items()
    }
    assert wrong
    assert {name: words for name, words in wrong.items() if words} == {}

"""What "derived" is of: a statement with its own constants."""

import inspect

import pytest

from linrep.claims import FAILS, HOLDS, claims
from linrep.claims.evidence import CERTIFIED, DERIVED, EXACT


@pytest.mark.parametrize(
    ("id", "constants"),
    [
        pytest.param("flute.eq19", {"loss": 0.26}, marks=pytest.mark.slow),
        ("flute.eq28.corrected", {"divisor": 8}),
        ("pflmf.lemma4", {"factor": 1.1}),
        pytest.param("pflmf.eq16.corrected", {"noise_factor": 1.05}, marks=pytest.mark.slow),
        ("fedrep.lemma6.samples", {"factor": 2.5}),
        ("perfedsi.lower_bound.corrected", {"k_power": 1.4}),
    ],
)
def test_a_derivation_is_of_the_statements_constants_alone(id, constants):
    """With others, weaker ones here, what it says is searched."""
    claim = claims([id.partition(".")[0]])[id]
    assert claim.verify("quick", 0).strength == DERIVED
    assert claim.verify("quick", 0, **same_as_now(claim, constants)).strength == DERIVED
    for part in (other := claim.verify("quick", 0, **constants)).parts or (other,):
        assert part.verdict != HOLDS or part.strength != DERIVED


def same_as_now(claim, names):
    parameters = inspect.signature(claim.check).parameters
    return {name: claim.constants.get(name, parameters[name].default) for name in names}


def test_enclosing_intervals_certify_other_constants_too():
    """113 in place of 112 is what holds, and so does 114."""
    claim = claims(["fedrep"])["fedrep.lemma5.union.corrected"]
    more = claim.verify("quick", 0, factor=114.0)
    assert (more.verdict, more.strength) == (HOLDS, CERTIFIED)
    less = claim.verify("quick", 0, factor=112.0)
    assert (less.verdict, less.strength) == (FAILS, EXACT)

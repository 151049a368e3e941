"""What asks for more than can exist is vacuous, by one rule."""

import math

import pytest

from linrep.claims import HOLDS, VACUOUS, decide
from linrep.claims.measurements import within_reach
from linrep.theory.requirements import POSSIBLE
from tests.tools import complaint

MOST = math.log10(POSSIBLE)


@pytest.mark.parametrize(
    ("powers", "verdict"),
    [
        ([MOST], HOLDS),
        ([MOST + 0.01], VACUOUS),
        ([586.9, 3.0], HOLDS),
        ([math.inf, 586.9], VACUOUS),
    ],
)
def test_the_least_decides(powers, verdict):
    item = within_reach([(power, {"power": power}) for power in powers], name="N", of="rounds")
    found = decide(item)
    assert found.verdict == verdict
    assert (found.measured, found.predicted) == (min(powers), MOST)
    assert "rounds" in found.quantity


def test_without_a_setting_there_is_nothing_to_decide():
    with complaint(ValueError, "asked"):
        within_reach([])

"""The benchmark of the start, in miniature."""

import pytest

from linrep.bench import startup
from tests.tools import COMPILED


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_fresh_processes_are_timed():
    cases = [records[0] for records in startup.measure(repetitions=1)]
    names = ["import linrep", "linrep.fedrep loaded", "first call", "first call"]
    assert [record.contender for record in cases] == names
    # To compile takes seconds, to load what was compiled does not.
    assert cases[3].seconds > 3.0 * cases[2].seconds > 0.0

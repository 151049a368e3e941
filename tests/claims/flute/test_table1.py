"""Table 1 as it is transcribed, and exact cases."""

from fractions import Fraction

import pytest

from linrep.claims import Cases, Identity, Readings, Together, decide
from linrep.claims.evidence import PROVED
from linrep.claims.flute._proved import exact, proved
from linrep.claims.flute.table1 import ACCURACY, BASELINES, COLUMNS, SPREAD, _steps


def test_every_method_has_a_number_in_each_column():
    for table in (ACCURACY, SPREAD):
        for name, row in table.items():
            numbers = row.split()
            assert len(numbers) == len(COLUMNS), name
            assert all(0.0 < float(number) < 100.0 for number in numbers)
    assert len(BASELINES) == 8


def test_steps_change_the_clients_or_the_classes_alone():
    found = {(COLUMNS[a][1:], COLUMNS[b][1:], grows) for a, b, grows in _steps()}
    assert found == {
        ((50, 2), (100, 2), "N"), ((50, 5), (100, 5), "N"),
        ((50, 2), (50, 5), "m"), ((100, 2), (100, 5), "m"),
        ((100, 5), (100, 10), "m"), ((100, 10), (100, 20), "m"), ((100, 20), (100, 40), "m"),
    }  # fmt: skip


def test_what_is_covered_is_proved_in_all_its_parts():
    parts = [Identity([(0.0, {})], name="one"), Cases([(0.0, 1.0, {})], name="two")]
    assert decide(proved(parts[0])).strength == PROVED
    for group in (Together, Readings):
        assert [part.strength for part in proved(group(parts)).parts] == [PROVED, PROVED]


@pytest.mark.parametrize(("left", "verdict"), [(Fraction(1, 3), "holds"), (Fraction(2), "fails")])
def test_exact_cases_are_proved_either_way(left, verdict):
    found = decide(exact([(left, Fraction(1), {})], name="exact"))
    assert (found.verdict, found.strength) == (verdict, PROVED)

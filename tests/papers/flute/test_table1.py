"""Table 1 as it is transcribed, and exact cases."""

from linrep.papers.flute.table1 import ACCURACY, BASELINES, COLUMNS, SPREAD, _steps


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

"""Table 1 as it is transcribed, and what is read of it, by hand."""

from itertools import pairwise

import pytest

from linrep.claims import judge
from linrep.papers.flute import table1
from linrep.papers.flute.table1 import BASELINES, COLUMNS, LINES, TABLE

MEANS = {name: [float(mean) for mean, _ in row] for name, row in TABLE.items()}


def test_every_method_has_a_number_in_each_column():
    assert len(BASELINES) == 8
    for row in TABLE.values():
        assert len(row) == len(COLUMNS)
        assert all(20.0 < mean < 90.0 and 0.0 < deviation < 3.0 for mean, deviation in row)


@pytest.mark.parametrize(("name", "which", "held"), [("N alone", 1, 2), ("m alone", 2, 1)])
def test_lines_change_the_clients_or_the_classes_alone(name, which, held):
    lines = {line for group in LINES[name] for line in group}
    expected = {}
    for place, column in enumerate(COLUMNS):
        expected.setdefault((column[0], column[held]), []).append((column[which], place))
    found = (tuple(place for _, place in sorted(line)) for line in expected.values())
    assert lines == {line for line in found if len(line) > 1}
    for line in (line for group in LINES["N and m together"] for line in group):
        assert all(COLUMNS[a][1:] <= COLUMNS[b][1:] for a, b in pairwise(line))


def test_readings_of_the_best_are_those_by_hand():
    best = [max(MEANS[name][place] for name in BASELINES) for place in range(8)]
    assert all(mine > other for mine, other in zip(MEANS["FLUTE*"], best, strict=True))
    assert MEANS["FLUTE"][2] < MEANS["FedRep"][2]
    rows = judge(table1.best.measure()).parts[0].map.rows().query("counted")
    holds = rows[rows["verdict"] == "holds"]
    assert set(holds["method"]) == {"the better of them"}
    assert set(holds["margin"]) == {"of the means"}
    assert len(holds) == 2


@pytest.mark.parametrize(("over", "expected"), [("FedRep*", True), ("FedRoD", False)])
def test_growth_on_average_is_that_by_hand(over, expected):
    rows = judge(table1.gain.measure()).parts[0].map.rows().set_index(
        ["method", "over", "gain as", "grows", "along"]
    )["verdict"]  # fmt: skip
    good = []
    for name in ("FLUTE", "FLUTE*"):
        g = [mine - other for mine, other in zip(MEANS[name], MEANS[over], strict=True)]
        good += [g[2] + g[3] > g[0] + g[1], g[1] + g[3] > g[0] + g[2]]
        good += [3.0 * g[7] + g[6] - g[5] - 3.0 * g[4] > 0.0]
    assert all(good) == expected
    found = rows["each of them", over, "difference", "on average", "N and m"]
    assert (found == "holds") == expected

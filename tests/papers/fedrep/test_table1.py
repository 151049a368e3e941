"""Statements of `linrep.papers.fedrep.table1`."""

import numpy as np

from linrep.papers.fedrep import table1


def test_the_table_has_its_shape_and_its_extremes():
    table = np.array(list(table1.ACCURACIES.values()))
    assert table.shape == (15, len(table1.COLUMNS))
    best = [list(table1.ACCURACIES)[row] for row in table.argmax(axis=0)]
    assert best == ["Local Only", *["FedRep"] * 2, "FedAvg+FT", "Ditto", *["FedRep"] * 2]
    assert table.min() == 1765

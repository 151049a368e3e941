"""How far two tables of the same rows differ."""

import math

import pandas as pd
import pytest

from linrep.sweeps.comparison import deviation


@pytest.mark.parametrize(
    ("one", "other", "different", "largest"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0, 0.0),
        ([1.0, 2.0], [1.0, 2.5], 1, 0.2),
        ([1.0, None], [1.0, None], 0, 0.0),
        ([1.0, None], [1.0, 3.0], 1, math.inf),
        ([-1.0, 1.0], [1.0, 1.0], 1, 2.0),
        ([0.0], [1e-300], 1, 1.0),
        ([math.inf], [math.inf], 0, 0.0),
        ([math.inf], [1.0], 1, math.inf),
        (["a", "b"], ["a", "c"], 1, math.inf),
        (["1", "2.0"], ["1", "4.0"], 1, 0.5),
        ([True, False], [True, True], 1, 1.0),
    ],
)
def test_what_differs_and_by_how_much(one, other, different, largest):
    found = deviation(pd.DataFrame({"x": one}), pd.DataFrame({"x": other}), ["x"])
    assert (found.rows, found.different) == (len(one), different)
    assert found.largest == pytest.approx(largest, rel=1e-15)
    assert found.column == ("x" if different else None)


def test_the_column_that_differs_most_is_named():
    one = pd.DataFrame({"x": [1.0, 1.0], "y": [1.0, 1.0]})
    other = pd.DataFrame({"x": [1.0, 1.1], "y": [2.0, 1.0]})
    found = deviation(one, other, ["x", "y"])
    assert (found.different, found.largest, found.column) == (2, 0.5, "y")
    assert str(found) == "2 of 2 row(s) differ, by at most 0.5 relative (column y)"
    missing = deviation(one, other[["x"]], ["x", "y"])
    assert (missing.largest, missing.column) == (math.inf, "y")
    assert str(deviation(one, one, ["x"])) == "all of 2 row(s) the same"

"""The seven statements of the example file, in the forms that theorems have."""

from pathlib import Path

import pytest

import linrep
from linrep.claims import load_file

FILE = Path(linrep.__file__).parents[1] / "docs" / "examples" / "outside.py"


LONG = ("outside.concentration",)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in LONG else ())
        for name in load_file(FILE)
    ],
)
def test_no_verdict_contradicts_and_every_control_is_rejected(name):
    item = load_file(FILE)[name]
    assert item.verify("quick", rng=0).verdict in (item.expected, "undecided")
    assert item.negative_control("quick", rng=1).verdict == "fails"

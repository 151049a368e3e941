"""Texts of the command line turned into values."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrep.cli.values import read_axis, read_shard, read_value
from linrep.sweeps import Grid
from tests.tools import complaint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10", [10]),
        ("10,100, 1000", [10, 100, 1000]),
        ("-1,0.5,1e-3", [-1, 0.5, 0.001]),
        ("true,False,none", [True, False, None]),
        ("module:name,file.py:f", ["module:name", "file.py:f"]),
        ("2:5", [2, 3, 4, 5]),
        ("2:10:4", [2, 6, 10]),
        ("1:2:0.25", [1.0, 1.25, 1.5, 1.75, 2.0]),
        ("0:0.3:0.1", [0.0, 0.1, 0.2, 0.3]),
        ("0.1:0.75:0.2", [0.1, 0.3, 0.5, 0.7]),
        ("0:1:lin5", [0.0, 0.25, 0.5, 0.75, 1.0]),
        ("0:0.9:lin10", [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]),
        ("10:1000:log5", [10, 32, 100, 316, 1000]),
        ("1:4:log9", [1, 2, 3, 4]),
        ("0.01:1:log3", [0.01, 0.1, 1.0]),
        ("1.0:10:log3", [1.0, 3.16227766017, 10.0]),
        ("1,4:6,10", [1, 4, 5, 6, 10]),
    ],
)
def test_an_axis_is_read(text, expected):
    found = read_axis("n", text)
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]


@given(st.integers(-50, 50), st.integers(1, 9), st.integers(0, 20), st.integers(0, 3))
def test_a_range_with_a_decimal_step_is_what_one_would_write_out(start, step, count, digits):
    """Not 0.30000000000000004, which is another parameter than 0.3."""
    scale = 10**digits
    ends = start / scale, (start + step * count) / scale
    found = read_axis("x", f"{ends[0]!r}:{ends[1]!r}:{step / scale!r}")
    assert found == [(start + step * place) / scale for place in range(count + 1)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["missing"]),
        ("5:1", ["'5:1'", "must go up"]),
        ("1:", ["'1:'", "not a range"]),
        ("1:x", ["not a range", "START:STOP"]),
        ("1:2:x", ["step", "logN or linN"]),
        ("1:2:0", ["step", "above 0"]),
        ("0:1:1e-9", ["1,000,000,001 values", "at most 1,000,000", "0:1:lin20"]),
        ("0.1:0.5", ["needs a step", "0.1:0.5:lin5"]),
        ("1:2:lin1", ["2 to 1,000,000 points"]),
        ("0:2:log5", ["start above 0"]),
        ("1:inf", ["finite"]),
    ],
)
def test_a_malformed_axis_is_refused(text, words):
    with complaint(ValueError, "--n", *words):
        read_axis("n", text)


def test_what_is_not_finite_gets_no_further_than_the_grid():
    assert math.isnan(read_value("nan"))
    for text in ("nan", "1,inf", "-inf"):
        with complaint(ValueError, "'n'", "finite"):
            Grid.product({"n": read_axis("n", text)})


def test_a_shard_is_a_pair():
    assert read_shard("2/8") == (2, 8)
    for text in ("2", "2/", "/8", "a/b", "1/2/3", "-1/2", "1.0/2", ""):
        with complaint(ValueError, "--shard", "i/N", repr(text)):
            read_shard(text)

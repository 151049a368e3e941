"""Grids: which cells there are, what they are called, and which one is meant."""

import enum
import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrep.sweeps import Grid, Sweep, canonical, cell_name
from tests.tools import complaint

names = st.from_regex(r"[a-z_][a-z0-9_]{0,4}", fullmatch=True)
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=6),
    st.sampled_from(["true", "null", "1", "1.0", "a,b=1", 'a"', "module:name", "x.py:f", "nan"]),
)
cells = st.dictionaries(names, values, min_size=1, max_size=3)


class Kind(enum.StrEnum):
    EXACT = "exact"


def plain(cell):
    """Say what a cell is, in a way that tells 1, True and '1' apart but not 1 and 1.0."""
    return frozenset((name, type(v) in (bool, str) and type(v), v) for name, v in cell.items())


# --- which cells ---


@given(st.dictionaries(names, st.lists(st.integers(-9, 9), min_size=1, max_size=4, unique=True),
                       min_size=1, max_size=3))  # fmt: skip
def test_a_product_has_every_combination_once_and_the_last_axis_varies_fastest(axes):
    found = [tuple(cell[name] for name in axes) for cell in Grid.product(axes)]
    assert found == list(product(*axes.values()))


@pytest.mark.parametrize(
    "axis", [[1, 2], (1, 2), range(1, 3), np.array([1, 2]), iter([1, 2]), [np.int32(1), 2.0]]
)
def test_an_axis_is_any_iterable_and_becomes_plain(axis):
    found = [cell["a"] for cell in Grid.product({"a": axis})]
    assert found == [1, 2]
    assert set(map(type, found)) == {int}


def test_values_become_plain():
    cell = {"a": np.float32(0.5), "b": np.bool_(True), "c": np.str_("x"), "d": Kind.EXACT}
    (read,) = Grid.of([{**cell, "e": -0.0}])
    assert read == {"a": 0.5, "b": True, "c": "x", "d": "exact", "e": 0}
    assert [type(value) for value in read.values()] == [float, bool, str, str, int]


def test_zipped_axes_vary_together_and_the_others_do_not():
    grid = Grid.product({"a": [1, 2], "b": ["u", "v"], "c": [3, 4]}, zipped=[("c", "a")])
    expected = [(1, "u", 3), (1, "v", 3), (2, "u", 4), (2, "v", 4)]
    assert [tuple(cell.values()) for cell in grid] == expected


def test_derived_parameters_follow_from_those_before():
    rules = {"m": "10 * k", "half": lambda cell: cell["m"] / 2, "more": "half + 1", "one": "1"}
    grid = Grid.product({"k": [1, 2]}, derived=rules, constraints=["m > 10"])
    assert list(grid) == [{"k": 2, "m": 20, "half": 10, "more": 11, "one": 1}]
    assert {type(value) for value in grid.cells[0].values()} == {int}


def test_constraints_count_what_they_leave_out_by_reason():
    for constraints, left, out in (
        ({"a > 1": "few", (lambda cell: cell["a"] != 3): "three"}, [2, 4], {"few": 1, "three": 1}),
        ({"a > 1": "ends", "a < 4": "ends", "a > 0": "none"}, [2, 3], {"ends": 2}),
        (["a > 1 and a < 3"], [2], {"a > 1 and a < 3": 3}),
        ("a > 3", [4], {"a > 3": 3}),
    ):
        grid = Grid.product({"a": [1, 2, 3, 4]}, constraints=constraints)
        assert [cell["a"] for cell in grid] == left
        assert grid.left_out == out


def test_the_sum_of_grids_has_the_cells_of_both():
    one = Grid.product({"a": [1, 2]}, constraints={"a > 1": "small"})
    constraints = {"b > 1": "small", "b < 3": "large"}
    other = Grid.product({"a": [1], "b": [1, 2, 3]}, constraints=constraints)
    assert list(one + other) == [{"a": 2}, {"a": 1, "b": 2}]
    assert (one + other).left_out == {"small": 2, "large": 1}


def test_grids_and_sweeps_show_themselves():
    grid = Grid.product({"a": range(1, 100), "b": 1}, constraints={"a < 90": "large"})
    assert repr(grid) == "Grid(89 cells of a, b; 10 left out: large)"
    own = Sweep(print, Grid.product({"a": range(50)}), 7, seed=3, name="walk")
    assert repr(own) == "Sweep(walk, Grid(50 cells of a), replicates=7, seed=3)"


# --- what a cell is called ---


@given(cells, cells)
def test_names_and_canonical_texts_are_one_to_one_with_cells(one, other):
    (one,), (other,) = Grid.of([one]), Grid.of([other])
    same = plain(one) == plain(other)
    whole_but_large = any(
        isinstance(v, float) and abs(v) >= 2**53 for v in (*one.values(), *other.values())
    )
    if not whole_but_large:  # 1e20 is a float only: too large for an integer to be exact
        assert (canonical(one) == canonical(other)) == same
    assert (canonical(one) == canonical(other)) == (cell_name(one) == cell_name(other))


@given(cells, st.randoms())
def test_a_canonical_text_says_what_the_cell_is_in_any_order_of_parameters(cell, random):
    (cell,) = Grid.of([cell])
    assert plain(json.loads(canonical(cell))) == plain(cell)
    items = list(cell.items())
    random.shuffle(items)
    assert cell_name(dict(items)) == cell_name(cell)
    assert canonical(dict(items)) == canonical(cell)


def test_names_can_be_read():
    cell = {"n": 10, "heads": "qr", "x": 0.5, "flag": True, "none": None, "algorithm": "m:f"}
    assert cell_name(cell) == "algorithm=m:f,flag=true,heads=qr,n=10,none=null,x=0.5"
    assert cell_name({"a": "1", "b": "true", "c": "", "d": "x,y"}) == 'a="1",b="true",c="",d="x,y"'


# --- which cell is meant ---


@given(st.lists(cells, min_size=1, max_size=4, unique_by=cell_name))
def test_each_cell_is_found_by_its_name(every):
    grid = Grid.of(every)
    for cell in grid:
        assert grid.find(cell_name(cell)) == cell


def test_a_cell_is_found_by_what_singles_it_out():
    every = [{"a": 1, "b": "u"}, {"a": 1, "b": "v"}, {"a": 2, "b": "u"}, {"a": True}]
    grid = Grid.of(every)
    assert grid.find({"b": "v"}) == grid.find("b=v") == every[1]
    assert grid.find({"a": np.float64(2)}) == every[2]
    assert grid.find({"a": True}) == {"a": True}
    for selection, words in (
        ({"a": 3}, ["a=3", "a=1,b=u"]),
        ({"a": "1"}, ['a="1"']),
        ({"a": 1}, ["2 cells", "a=1,b=u", "a=1,b=v"]),
        ({}, ["4 cells"]),
        ("", ["no cell"]),
        ("a", ["no cell"]),
        ("a=1", ["2 cells"]),
    ):
        with complaint(ValueError, *words):
            grid.find(selection)

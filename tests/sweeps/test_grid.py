"""Grids: which cells there are, what they are called, and what is refused."""

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
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=6),
    st.sampled_from(["true", "null", "1", "1.0", "a,b=1", 'a"', "module:name", "x.py:f", "nan"]),
)
cells = st.dictionaries(names, values, min_size=1, max_size=3)


def plain(cell):
    """Say what a cell is, in a way that tells 1, True and '1' apart but not 1 and 1.0."""
    return frozenset((name, type(v) in (bool, str) and type(v), v) for name, v in cell.items())


# --- which cells ---


def test_the_last_axis_varies_fastest():
    grid = Grid.product({"a": [1, 2], "b": ["u", "v"], "c": 7})
    assert [tuple(cell.values()) for cell in grid] == list(product([1, 2], ["u", "v"], [7]))
    assert all(list(cell) == ["a", "b", "c"] for cell in grid)
    assert len(grid) == 4


@pytest.mark.parametrize(
    "axis", [[1, 2], (1, 2), range(1, 3), np.array([1, 2]), iter([1, 2]), [np.int32(1), 2]]
)
def test_an_axis_is_any_iterable_and_becomes_plain(axis):
    assert [cell["a"] for cell in Grid.product({"a": axis})] == [1, 2]
    assert all(type(cell["a"]) is int for cell in Grid.product({"a": [np.int64(1), 2]}))


def test_values_become_plain():
    class Kind(enum.StrEnum):
        EXACT = "exact"

    cell = {
        "a": np.float32(0.5),
        "b": np.bool_(True),
        "c": np.str_("x"),
        "d": Kind.EXACT,
        "e": -0.0,
    }
    (read,) = Grid.of([cell])
    assert read == {"a": 0.5, "b": True, "c": "x", "d": "exact", "e": 0}
    assert [type(value) for value in read.values()] == [float, bool, str, str, int]


def test_zipped_axes_vary_together_and_the_others_do_not():
    grid = Grid.product({"a": [1, 2], "b": "uv", "c": [3, 4]}, zipped=[("a", "c")])
    assert [tuple(cell.values()) for cell in grid] == [(1, "uv", 3), (2, "uv", 4)]
    grid = Grid.product({"a": [1, 2], "b": ["u", "v"], "c": [3, 4]}, zipped=[("c", "a")])
    expected = [(1, "u", 3), (1, "v", 3), (2, "u", 4), (2, "v", 4)]
    assert [tuple(cell.values()) for cell in grid] == expected


def test_derived_parameters_follow_from_those_before():
    rules = {"m": "10 * k", "half": lambda cell: cell["m"] / 2, "more": "half + 1"}
    grid = Grid.product({"k": [1, 2]}, derived=rules)
    expected = [{"k": k, "m": 10 * k, "half": 5 * k, "more": 5 * k + 1} for k in (1, 2)]
    assert list(grid) == expected
    assert {type(value) for value in grid.cells[0].values()} == {int}


def test_a_derived_constant_is_the_same_in_every_cell():
    assert [cell["b"] for cell in Grid.product({"a": [1, 2]}, derived={"b": "3"})] == [3, 3]


def test_constraints_count_what_they_leave_out_by_reason():
    grid = Grid.product(
        {"a": [1, 2, 3, 4]},
        constraints={"a > 1": "small", (lambda cell: cell["a"] != 3): "three"},
    )
    assert [cell["a"] for cell in grid] == [2, 4]
    assert grid.left_out == {"small": 1, "three": 1}


def test_constraints_with_the_same_reason_add_up():
    grid = Grid.product({"a": [1, 2, 3]}, constraints={"a > 1": "ends", "a < 3": "ends"})
    assert grid.left_out == {"ends": 2}


def test_an_expression_is_its_own_reason():
    for constraints in (["a > 1 and a < 3"], "a > 1 and a < 3"):
        grid = Grid.product({"a": [1, 2, 3]}, constraints=constraints)
        assert grid.left_out == {"a > 1 and a < 3": 2}


def test_a_constraint_that_leaves_nothing_out_is_not_listed():
    assert Grid.product({"a": [1, 2]}, constraints=["a > 0"]).left_out == {}


def test_constraints_see_derived_parameters():
    grid = Grid.product({"k": [1, 2]}, derived={"m": "10 * k"}, constraints=["m > 10"])
    assert list(grid) == [{"k": 2, "m": 20}]


def test_the_sum_of_grids_has_the_cells_of_both():
    one = Grid.product({"a": [1, 2]}, constraints={"a > 1": "small"})
    other = Grid.product({"a": [1], "b": [1, 2]}, constraints={"b > 1": "small"})
    assert list(one + other) == [{"a": 2}, {"a": 1, "b": 2}]
    assert (one + other).left_out == {"small": 2}
    with complaint(ValueError, "a=2", "twice"):
        one + Grid.of([{"a": 2.0}])


def test_a_grid_shows_itself_in_a_notebook():
    grid = Grid.product({"a": range(1, 100), "b": 1}, constraints={"a < 90": "a < 90 & <b>"})
    assert repr(grid) == "Grid(89 cells of a, b; 10 left out: a < 90 & <b>)"
    assert "Grid(89 cells of a, b; 10 left out: a &lt; 90 &amp; &lt;b&gt;)" in grid._repr_html_()
    assert "<table" in grid._repr_html_()


def test_a_sweep_shows_what_it_computes():
    own = Sweep(print, Grid.product({"a": range(50)}), 7, seed=3, name="<walk>")
    assert repr(own) == "Sweep(<walk>, Grid(50 cells of a), replicates=7, seed=3)"
    assert "</strong> &lt;walk&gt;: 7 replicates, seed 3" in own._repr_html_()


@given(st.dictionaries(names, st.lists(st.integers(-9, 9), min_size=1, max_size=4, unique=True),
                       min_size=1, max_size=3))  # fmt: skip
def test_a_product_has_every_combination_once(axes):
    found = [tuple(cell[name] for name in axes) for cell in Grid.product(axes)]
    assert found == list(product(*axes.values()))


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


@given(cells)
def test_a_canonical_text_says_what_the_cell_is(cell):
    (cell,) = Grid.of([cell])
    assert plain(json.loads(canonical(cell))) == plain(cell)


@given(cells, st.randoms())
def test_names_do_not_depend_on_the_order_of_parameters(cell, random):
    (cell,) = Grid.of([cell])
    items = list(cell.items())
    random.shuffle(items)
    assert cell_name(dict(items)) == cell_name(cell)
    assert canonical(dict(items)) == canonical(cell)


def test_names_can_be_read():
    cell = {"n": 10, "heads": "qr", "x": 0.5, "flag": True, "none": None, "algorithm": "m:f"}
    assert cell_name(cell) == "algorithm=m:f,flag=true,heads=qr,n=10,none=null,x=0.5"
    assert cell_name({"a": "1", "b": "true", "c": "", "d": "x,y"}) == 'a="1",b="true",c="",d="x,y"'


def test_ten_is_ten_but_true_is_not_one():
    assert cell_name({"a": 10}) == cell_name({"a": 10.0}) == "a=10"
    assert cell_name({"a": True}) != cell_name({"a": 1})
    assert len(Grid.product({"a": [True, 1, "1", None, False, 0]})) == 6
    (read,) = Grid.product({"a": 10.0})
    assert type(read["a"]) is int
    with complaint(ValueError, "'a'", "10", "twice"):
        Grid.product({"a": [10, 10.0]})


# --- what is refused ---


@pytest.mark.parametrize(
    ("axes", "options", "kind", "words"),
    [
        ({}, {}, ValueError, ["axes", "at least one"]),
        ({"a": []}, {}, ValueError, ["'a'", "empty"]),
        ({"a": [1, 2, 1]}, {}, ValueError, ["'a'", "1", "twice"]),
        ({"a": [0.0, -0.0]}, {}, ValueError, ["'a'", "twice"]),
        ({"a": float("nan")}, {}, ValueError, ["'a'", "finite", "nan"]),
        ({"a": [1, -np.inf]}, {}, ValueError, ["'a'", "finite", "-inf"]),
        ({"a": 2**63}, {}, ValueError, ["'a'", "64 bits"]),
        ({"a": [1j]}, {}, TypeError, ["'a'", "complex"]),
        ({"a": [[1]]}, {}, TypeError, ["'a'", "list"]),
        ({"a": {"b": 1}}, {}, TypeError, ["'a'", "dict"]),
        ({"a b": 1}, {}, ValueError, ["identifier", "'a b'"]),
        ({1: 1}, {}, ValueError, ["identifier", "1"]),
        ({"a": [1]}, {"zipped": [("a", "q")]}, ValueError, ["zipped", "'q'", "there are a"]),
        ({"a": [1]}, {"zipped": [("a",)]}, ValueError, ["zipped", "at least two"]),
        ({"a": [1], "b": [1]}, {"zipped": ["ab"]}, ValueError, ["zipped", "'ab'"]),
        ({"a": [1, 2], "b": [1]}, {"zipped": [["a", "b"]]}, ValueError, ["a 2, b 1"]),
        (
            {"a": [1], "b": [1], "c": [1]},
            {"zipped": [("a", "b"), ("b", "c")]},
            ValueError,
            ["'b'", "two groups"],
        ),
        ({"a": [1]}, {"derived": {"a": "2"}}, ValueError, ["'a'", "axis already"]),
        ({"a": [1]}, {"derived": {"b c": "2"}}, ValueError, ["identifier"]),
        ({"a": [1]}, {"derived": {"b": "q + 1"}}, ValueError, ["'q + 1'", "q"]),
        ({"a": [1]}, {"derived": {"b": "a +"}}, ValueError, ["'a +'"]),
        ({"a": [1]}, {"derived": {"b": ""}}, ValueError, ["''"]),
        ({"a": [1]}, {"derived": {"b": "c = a"}}, ValueError, ["'c = a'", "'='"]),
        ({"a": [0]}, {"derived": {"b": "1 / a"}}, ValueError, ["'b'", "finite"]),
        ({"a": [0]}, {"derived": {"b": lambda cell: [1]}}, TypeError, ["'b'", "list"]),
        ({"a": [1]}, {"constraints": ["q > 1"]}, ValueError, ["'q > 1'", "q"]),
        ({"a": [1]}, {"constraints": {"a > 1": "none is"}}, ValueError, ["no cell", "none is"]),
        ({"a": [1]}, {"constraints": [lambda cell: False]}, ValueError, ["no cell", "lambda"]),
    ],
)
def test_what_makes_no_grid_is_refused_in_one_line(axes, options, kind, words):
    with complaint(kind, *words):
        Grid.product(axes, **options)


def test_given_cells_must_be_distinct_and_there():
    with complaint(ValueError, "at least one"):
        Grid.of([])
    with complaint(ValueError, "a=1,b=2", "twice"):
        Grid.of([{"a": 1, "b": 2}, {"b": 2.0, "a": 1}])

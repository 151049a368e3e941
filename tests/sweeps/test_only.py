"""One replicate again, alone: bit for bit what the run has stored of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrep.sweeps import Grid, Sweep, cell_name, run
from tests.sweeps import functions
from tests.sweeps.support import toy
from tests.sweeps.test_grid import cells
from tests.tools import complaint


@pytest.mark.parametrize("function", [functions.normal, functions.uniform])
def test_every_replicate_is_the_same_again(tmp_path, function):
    sweep = toy(function, [{"a": 1, "b": "x"}, {"a": 2, "b": 0.1}], 4)
    rows = run(sweep, tmp_path / "run").read()
    for cell in sweep.grid:
        for replicate in range(4):
            again = sweep.only({"a": cell["a"]}, replicate)
            mine = rows[(rows["a"] == cell["a"]) & (rows["replicate"] == replicate)]
            for name in again:
                assert again[name].tolist() == mine[name].tolist()


def test_paired_cells_and_streams_by_purpose_are_the_same_again(tmp_path):
    def draw(cell, rng):
        return {name: stream.random() for name, stream in rng.items()}

    grid = Grid.product({"a": [1, 2], "b": [1, 2]})
    sweep = Sweep(draw, grid, 2, streams={"x": ["a"], "y": ["b"]})
    rows = run(sweep, tmp_path / "run").read()
    second = rows[rows["replicate"] == 1].set_index(["a", "b"])
    for cell in grid:
        (again,) = sweep.only(cell, 1).to_dict("records")
        assert again == second.loc[(cell["a"], cell["b"]), ["x", "y"]].to_dict()


def test_what_the_function_raises_comes_as_it_is():
    def divide(cell, rng):
        return 1 / 0

    with pytest.raises(ZeroDivisionError):
        toy(divide, name="divide").only({"a": 1}, 0)


@pytest.mark.parametrize(
    ("selection", "replicate", "kind", "words"),
    [
        ({"a": 9}, 0, ValueError, ["selection", "a=9"]),
        ({}, 0, ValueError, ["selection", "2 cells"]),
        ({"a": 1}, 3, ValueError, ["replicate", "between 0 and 2", "3"]),
        ({"a": 1}, -1, ValueError, ["replicate", "-1"]),
        ({"a": 1}, 1.0, TypeError, ["replicate", "1.0"]),
    ],
)
def test_what_there_is_not_is_refused(selection, replicate, kind, words):
    with complaint(kind, *words):
        toy().only(selection, replicate)


@given(st.lists(cells, min_size=1, max_size=4, unique_by=cell_name))
def test_each_cell_is_found_by_its_name(every):
    grid = Grid.of(every)
    for cell in grid:
        assert grid.find(cell_name(cell)) == cell


def test_a_cell_is_found_by_what_singles_it_out():
    every = [{"a": 1, "b": "u"}, {"a": 1, "b": "v"}, {"a": 2, "b": "u"}, {"a": True}]
    grid = Grid.of(every)
    assert grid.find({"a": 1, "b": "v"}) == every[1]
    assert grid.find({"b": "v"}) == grid.find("b=v") == every[1]
    assert grid.find({"a": np.float64(2)}) == every[2]
    assert grid.find({"a": True}) == {"a": True}
    for selection, words in (
        ({"a": 3}, ["a=3", "a=1,b=u"]),
        ({"a": "1"}, ['a="1"']),
        ({"q": 1}, ["q=1"]),
        ({"a": 1}, ["2 cells", "a=1,b=u", "a=1,b=v"]),
        ({}, ["4 cells"]),
        ("", ["no cell"]),
        ("a", ["no cell"]),
        ("a=1", ["2 cells"]),
    ):
        with complaint(ValueError, *words):
            grid.find(selection)

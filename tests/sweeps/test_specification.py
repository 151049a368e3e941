"""What a sweep is: streams that depend on nothing else, and which sweeps are the same."""

import hashlib
import json
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrep.sweeps import Grid, Sweep, generator, run, stream_key
from linrep.sweeps.directories import check_directory
from linrep.sweeps.specification import differences
from tests.sweeps import functions
from tests.sweeps.support import content, toy
from tests.sweeps.test_grid import cells
from tests.tools import complaint


def key(sweep, cell):
    (found,) = sweep.keys(cell).values()
    return found


# --- streams ---


def test_a_stream_is_what_the_documentation_says(tmp_path):
    """Rebuilt from the stored rows, without linrep."""
    run = toy(functions.uniform, seed=3).run(tmp_path / "run")
    rows = run.read()
    assert len(rows) == 6
    for row in rows.itertuples():
        sequence = np.random.SeedSequence(int(row.stream, 16), spawn_key=(row.replicate,))
        assert np.random.default_rng(sequence).random() == row.value


def test_a_key_is_the_hash_that_the_documentation_says():
    text = json.dumps([5, "data", '{"a":10,"b":"x"}'])
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert stream_key(5, "data", {"b": "x", "a": 10.0}) == int(digest[:32], 16)


@given(
    st.sampled_from((0, 1, 2**32, 2**64, 2**128 - 1)) | st.integers(0, 2**128 - 1),
    st.integers(0, 2**40),
)
def test_a_generator_is_the_seed_sequences(key, replicate):
    expected = np.random.default_rng(np.random.SeedSequence(key, spawn_key=(replicate,)))
    assert generator(key, replicate).bit_generator.state == expected.bit_generator.state


@given(st.lists(cells, min_size=1, max_size=5, unique_by=lambda cell: repr(sorted(cell.items()))),
       st.integers(0, 2**70), st.randoms())  # fmt: skip
def test_a_key_depends_on_seed_and_cell_only(drawn, seed, random):
    grid = []
    for cell in drawn:  # those that are distinct as parameters, too
        try:
            grid = list(Grid.of([*grid, cell]))
        except ValueError:
            continue
    before = {repr(cell): key(toy(cells=grid, seed=seed), cell) for cell in grid}
    shuffled = random.sample(grid, len(grid))
    other = Sweep(print, shuffled, 7, seed=seed, settings={"q": 1}, name="other")
    assert {repr(cell): key(other, cell) for cell in grid} == before
    assert {repr(cell): key(toy(cells=[cell], seed=seed), cell) for cell in grid} == before
    assert len(set(before.values())) == len(grid)
    assert key(toy(cells=grid, seed=seed + 1), grid[0]) not in before.values()


def test_paired_cells_share_their_stream_and_others_do_not():
    grid = Grid.product({"a": [1, 2], "method": ["u", "v"]})
    sweep = Sweep(print, grid, 2, paired="method")
    keys = {(cell["a"], cell["method"]): key(sweep, cell) for cell in grid}
    assert keys[1, "u"] == keys[1, "v"] != keys[2, "u"] == keys[2, "v"]
    unpaired = Sweep(print, grid, 2)
    assert len({key(unpaired, cell) for cell in grid}) == 4


def test_streams_by_purpose_change_with_their_own_parameters_only(tmp_path):
    def draw(cell, rng):
        assert set(rng) == {"truth", "noise", "fixed"}
        return {purpose: stream.random() for purpose, stream in rng.items()}

    streams = {"truth": ["a"], "noise": ["a", "b"], "fixed": []}
    grid = Grid.product({"a": [1, 2], "b": [1, 2]})
    rows = Sweep(draw, grid, 2, streams=streams).run(tmp_path / "run").read()
    for replicate, group in rows.groupby("replicate"):
        assert group["fixed"].nunique() == 1, replicate
        assert group["noise"].nunique() == 4
        assert group.groupby("a")["truth"].nunique().tolist() == [1, 1]
        assert group["truth"].nunique() == 2
    assert rows["fixed"].nunique() == 2  # a replicate is another replicate
    for row in rows.itertuples():
        for text in row.stream.split(";"):
            purpose, _, digits = text.partition(":")
            sequence = np.random.SeedSequence(int(digits, 16), spawn_key=(row.replicate,))
            assert np.random.default_rng(sequence).random() == getattr(row, purpose)


# --- which sweeps are the same ---


def test_the_order_of_cells_and_the_writing_of_numbers_make_no_difference():
    one = toy(cells=[{"a": 1, "b": 2}, {"a": 2, "b": 2}]).describe()
    other = toy(cells=[{"b": 2.0, "a": 2}, {"b": 2, "a": 1.0}]).describe()
    assert differences(one, other) == []


ONE, TWO, THREE = ({"a": a} for a in (1, 2, 3))
ANOTHER, SMALLER = "holds another sweep", "holds a smaller sweep"
#: What is changed in a sweep, and what is said of the run that is there: more of it extends it.
CHANGES = [
    ({"seed": 1}, ANOTHER, "seed: 0 there, 1 here"),
    ({"seed": 1, "replicates": 4}, ANOTHER, "seed: 0 there, 1 here"),
    ({"settings": {"q": 1}}, ANOTHER, 'settings: {} there, {"q": 1} here'),
    ({"function": functions.uniform}, ANOTHER, 'name: "normal" there, "uniform" here'),
    ({"paired": "a"}, ANOTHER, "cells with other streams: 2, such as a=1"),
    ({"paired": "a", "replicates": 4}, ANOTHER, "cells with other streams: 2, such as a=1"),
    ({"streams": {"x": ["a"]}}, ANOTHER, "cells with other streams: 2"),
    ({"cells": [ONE]}, ANOTHER, "cells only there: 1, such as a=2"),
    ({"cells": [ONE, THREE]}, ANOTHER, "cells only here: 1, such as a=3"),
    ({"cells": [ONE, TWO, THREE]}, SMALLER, "cells only here: 1, such as a=3"),
    ({"cells": [THREE, TWO, {"a": 1.0}], "replicates": 5}, SMALLER, "3 there, 5 here"),
    ({"replicates": 4}, SMALLER, "replicates: 3 there, 4 here"),
    ({"replicates": 2}, ANOTHER, "replicates: 3 there, 2 here"),
]


def test_another_sweep_is_refused_and_more_of_the_same_extends(tmp_path):
    path = run(toy(), tmp_path / "run").path
    before = content(path)
    for change, what, difference in CHANGES:
        sweep = toy(**change)
        attempts = [partial(run, sweep, path), partial(check_directory, path, sweep)]
        if what == ANOTHER:
            attempts.append(partial(run, sweep, path, extend=True))
        else:
            assert check_directory(path, sweep, extend=True).path == path
        for attempt in attempts:
            with complaint(ValueError, f"{path} {what}", difference):
                attempt()
    assert content(path) == before


# --- one replicate again, alone ---


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

"""One replicate again: bit for bit, and honest where it is not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from linrep import simulation, sweeps
from linrep.sweeps import Grid, Sweep, create_run, open_run, run
from linrep.sweeps.targets import Untrusted
from tests.sweeps import functions
from tests.sweeps.support import toy, write_again
from tests.tools import complaint, sampled

ROOT = Path(__file__).resolve().parents[2]


def replay(run, *arguments, **options):
    """Call it with the run's own function allowed."""
    return sweeps.replay(run, *arguments, **{"allow": [run.target or ""], **options})


@pytest.mark.parametrize("function", [functions.normal, functions.fragile, functions.uniform])
def test_every_replicate_is_the_same_again(tmp_path, function):
    stored = run(toy(function, [{"a": 1, "b": "x"}, {"a": 2, "b": 0.1}], 6), tmp_path / "run")
    rows = open_run(stored.path).read()
    for cell in stored.cells:
        for replicate in range(6):
            again = replay(open_run(stored.path), {"a": cell["a"]}, replicate)
            assert again.same is True
            assert (again.cell, again.replicate) == (cell, replicate)
            mine = rows[(rows["a"] == cell["a"]) & (rows["replicate"] == replicate)]
            assert again.stored["stream"].tolist() == mine["stream"].tolist()
            assert (again.error is not None) == (mine["status"] == "failed").all()
            for name in again.rows:
                assert again.rows[name].tolist() == mine[name].tolist()


def test_paired_cells_and_streams_by_purpose_are_the_same_again(tmp_path):
    def draw(cell, rng):
        return {name: stream.random() for name, stream in rng.items()}

    grid = Grid.product({"a": [1, 2], "b": [1, 2]})
    stored = run(Sweep(draw, grid, 2, streams={"x": ["a"], "y": ["b"]}), tmp_path / "run")
    for cell in grid:
        assert replay(stored, cell, 1, function=draw).same is True


def test_a_module_beside_the_script_that_swept_it_is_found_from_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "beside.py").write_text("def draw(cell, rng):\n    return rng.random()\n")
    (tmp_path / "script.py").write_text(
        "from beside import draw\nfrom linrep.sweeps import Sweep\n"
        "Sweep(draw, [{'a': 1}], 1).run('run')\n"
    )
    subprocess.run([sys.executable, "script.py"], cwd=tmp_path, check=True, capture_output=True)
    monkeypatch.setattr(sys, "path", list(sys.path))
    stored = open_run(tmp_path / "run")
    with complaint(Untrusted, "'beside:draw'", "--allow"):
        sweeps.replay(stored, {}, 0)
    with complaint(ValueError, "no module 'beside'", "FOLDER/beside.py:draw"):
        replay(stored, {}, 0, allow=["beside:draw"])
    assert "beside" not in sys.modules
    assert replay(stored, {}, 0, allow=[f"{tmp_path}/beside.py:draw"]).same is True
    del sys.modules["beside"]


#: What a run directory may bring along: it leaves a mark, and passes for the module of its name.
PROXY = """
import pathlib, sys
pathlib.Path(__file__).with_name("ran").touch()
here = str(pathlib.Path(__file__).parent)
sys.path[:] = [each for each in sys.path if each not in (here, "")]
del sys.modules[__name__]
__import__(__name__)
"""
MINE = """
import colorsys, helper

def draw(cell, rng):
    return rng.random() + helper.OFFSET
"""


@pytest.fixture
def visited(tmp_path):
    """A folder with a file, its helper, and a run whose own folder has modules of all names."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "helper.py").write_text("OFFSET = 1.0\n")
    evil = tmp_path / "runs" / "a" / "evil"
    create_run(evil.parent, toy(functions.uniform, [{"a": 1}]))
    evil.mkdir()
    for name in ("numba", "colorsys", "helper", "mine", "scipy", "threadpoolctl", "only"):
        (evil / f"{name}.py").write_text(PROXY)
    (evil / "only.py").write_text(PROXY + MINE)
    return tmp_path


def replayed(visited, *arguments, cwd=".", **description):
    """Replay in a process of its own, whose first folder is not the current one."""
    path = visited / "runs" / "a" / "sweep.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **description}))
    done = subprocess.run(
        [sys.executable, "-P", "-m", "linrep.cli", "replay", visited / "runs" / "a",
         "--replicate", "0", *arguments],
        cwd=visited / cwd, env=os.environ | {"PYTHONPATH": str(ROOT)}, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert not (visited / "runs" / "a" / "evil" / "ran").exists()
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize(
    "named",
    sampled(
        [
            ("mine.py:draw", ["--allow", "mine.py:draw"], "{}/runs/a/evil"),
            ("mine:draw", ["--allow", "mine.py:draw"], "runs/a/evil"),
            ("mine.py:draw", ["--allow", "mine.py:draw"], "runs/a/evil"),
            ("mine:draw", ["--allow", "mine:draw"], "{}/runs/a/evil"),
            ("mine.py:draw", ["--function", "mine.py:draw"], "{}/runs/a/evil"),
        ],
        2,
    ),
    ids=str,
)
def test_nothing_is_imported_from_the_folders_that_only_a_run_names(visited, named):
    target, words, folder = named
    done = replayed(visited, *words, target=target, path=[folder.format(visited)])
    assert done.returncode == 0, done.stderr
    assert "nothing is stored for it" in done.stdout


def test_a_module_that_only_a_run_has_is_not_found(visited):
    path = [str(visited / "runs" / "a" / "evil")]
    done = replayed(visited, "--allow", "only:draw", target="only:draw", path=path)
    assert done.returncode == 2
    assert "no module 'only'" in done.stderr


def test_a_run_that_is_looked_at_from_within_replaces_no_module(visited):
    cell = {"algorithm": "fedrep", "n": 6, "d": 4, "k": 2, "m": 8, "rounds": 3}
    described = simulation.sweep("fedrep", {k: v for k, v in cell.items() if k != "algorithm"},
                                 replicates=1).describe()  # fmt: skip
    done = replayed(
        visited, cwd="runs/a/evil", target="linrep.simulation:simulate", path=["."], **described
    )
    assert done.returncode == 0, done.stderr


def test_an_algorithm_of_a_cell_is_that_of_the_file_that_the_caller_names(visited):
    (visited / "elsewhere").mkdir()
    (visited / "elsewhere" / "own.py").write_text(
        "def average(problem, *, rng):\n    return {'x': [1.0]}\n"
    )
    (visited / "runs" / "a" / "evil" / "own.py").write_text(PROXY)
    axes = {"n": 4, "d": 3, "k": 2}
    described = simulation.sweep("fedrep", axes | {"m": 5}, replicates=1).describe()
    cells = [{"algorithm": "own:average", **axes}]
    done = replayed(
        visited, "--allow", "elsewhere/own.py:average", target="linrep.simulation:simulate",
        path=["runs/a/evil"], **{**described, "cells": cells},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_replicate_that_is_not_stored_is_computed_all_the_same(tmp_path):
    stored = create_run(tmp_path / "run", toy(functions.uniform))
    early = replay(stored, {"a": 2}, 1)
    assert early.same is None
    assert early.stored.empty
    run(toy(functions.uniform), tmp_path / "run")
    assert replay(stored, {"a": 2}, 1).rows.equals(early.rows)


def values(*some):
    return lambda cell, rng: [{"x": value} for value in some]


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        (values(1.5), values(1.5), True),
        (values(1.5), values(np.nextafter(1.5, 2)), False),
        (values(0.0), values(-0.0), False),
        (values(np.nan), values(np.nan), True),
        (values(np.nan), values(1.0), False),
        (values(1), values(1), True),
        (values("1"), values(1), True),  # text and numbers in a column are stored as text
        (values(1, "u", 0.5, None), values(1, "u", 0.5, None), True),
        (values(1, 0.5, True), values(1, 0.5, True), True),
        (values(1, 2), values(1), False),
        (values(1), values(1, 2), False),
        (values(), values(1), False),
        (values(), values(), True),
        (values("u"), values("v"), False),
        (values("u"), values(None), False),
        (values(1), lambda cell, rng: {"y": 1}, False),
        (values(1), lambda cell, rng: {"x": 1, "y": 1}, False),
        (lambda cell, rng: {"x": 1, "y": 1}, values(1), False),
        (values(1), lambda cell, rng: 1 / 0, False),
        (lambda cell, rng: 1 / 0, values(1), False),
        (lambda cell, rng: 1 / 0, lambda cell, rng: 1 / 0, True),
        (lambda cell, rng: 1 / 0, lambda cell, rng: [][1], False),
        (lambda cell, rng: [1], lambda cell, rng: [1], True),
    ],
)
def test_what_counts_as_the_same(tmp_path, before, after, same):
    stored = run(toy(before, [{"a": 1}], 1, name="x"), tmp_path / "run")
    again = replay(stored, {}, 0, function=after)
    assert again.same is same
    if same is not None:
        assert replay(stored, {}, 0, function=before).same is True


def test_an_error_is_handed_on_with_its_place(tmp_path):
    stored = run(toy(functions.fragile, replicates=20), tmp_path / "run")
    first = stored.failures().iloc[0]
    again = replay(stored, {"a": first["a"]}, first["replicate"])
    assert isinstance(again.error, RuntimeError)
    assert again.error.__traceback__ is not None
    assert again.rows.empty


def test_a_replicate_computed_twice_is_stored_once(tmp_path):
    stored = run(toy(functions.fragile), tmp_path / "run")
    part = stored.parts()[0].path
    write_again(part)
    rows = stored.read()
    for replicate in range(3):
        again = replay(open_run(stored.path), {"a": 1}, replicate)
        assert again.same is True
        expected = rows[(rows["a"] == 1) & (rows["replicate"] == replicate)]
        pd.testing.assert_series_equal(
            again.stored["value"], expected["value"].reset_index(drop=True)
        )


@pytest.mark.parametrize(
    ("selection", "replicate", "kind", "words"),
    [
        ({"a": 9}, 0, ValueError, ["no cell with a=9"]),
        ({}, 0, ValueError, ["2 cells"]),
        ({"a": 1}, 3, ValueError, ["replicate", "between 0 and 2", "3"]),
        ({"a": 1}, -1, ValueError, ["replicate", "-1"]),
        ({"a": 1}, 1.0, TypeError, ["replicate", "1.0"]),
    ],
)
def test_what_cannot_be_replayed_is_refused(tmp_path, selection, replicate, kind, words):
    stored = run(toy(), tmp_path / "run")
    with complaint(kind, *words):
        replay(stored, selection, replicate)


def test_a_function_that_cannot_be_found_must_be_handed_over(tmp_path):
    stored = run(toy(lambda cell, rng: rng.random(), name="x"), tmp_path / "run")
    with complaint(ValueError, str(stored.path), "hand it over"):
        replay(stored, {"a": 1}, 0)
    assert replay(stored, {"a": 1}, 0, function=functions.uniform).same is True


def test_a_run_calls_nothing_that_is_not_allowed_be_it_installed(tmp_path):
    (tmp_path / "x.ini").write_text("[loggers]\nkeys=root\n")
    stored = run(toy(), tmp_path / "run")
    for name in (
        "logging.config:fileConfig", "os:system", "tests.sweeps.functions:normal",
        "linrep.sweeps.targets:load_file",
    ):  # fmt: skip
        stored.description["target"] = name
        with complaint(Untrusted, name):
            sweeps.replay(stored, {"a": 1}, 0)

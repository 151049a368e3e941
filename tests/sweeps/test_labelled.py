"""Rows of a run as labelled arrays."""

import numpy as np
import pytest

from linrep.sweeps import Incomplete, Sweep, open_run
from linrep.sweeps.grid import Grid
from tests.tools import complaint

xarray = pytest.importorskip("xarray")


def numbers(cell, rng):
    """Return numbers that tell the cell, a whole one, a truth and a text."""
    value = 10.0 * cell["a"] + cell.get("b", 0.0)
    return {"value": value, "whole": cell["a"], "odd": cell["a"] % 2 == 1, "text": f"a{cell['a']}"}


def rounds(cell, rng):
    """Return three rows."""
    return [{"round": t, "value": cell["a"] + t / 10.0} for t in range(3)]


def stored(function, cells, folder, replicates=2, **options):
    return Sweep(function, cells, replicates, name="numbers", **options).run(
        folder / "run", progress=False, processes=False
    )


def test_a_full_grid_has_a_dimension_for_each_parameter_that_varies(tmp_path):
    grid = Grid.product({"a": [2, 1, 3], "b": [0.5, 0.25], "c": "same"})
    run = stored(numbers, grid, tmp_path, seed=7, settings={})
    data = run.to_xarray()
    assert data["value"].dims == ("a", "b", "replicate")
    assert data["value"].shape == (3, 2, 2)
    assert data["c"].item() == "same"
    assert data["value"].sel(a=1, b=0.25, replicate=1) == 10.25
    assert data["whole"].dtype.kind == "i"
    assert data["odd"].dtype == bool
    assert data["text"].sel(a=3).values.tolist() == [["a3"] * 2] * 2
    assert (data["status"] == "ok").all()
    assert data["seconds"].attrs == {"units": "s"}
    assert (data.attrs["name"], data.attrs["seed"], data.attrs["replicates"]) == ("numbers", 7, 2)
    for cell in run.cells:
        np.testing.assert_array_equal(data["value"].sel(a=cell["a"], b=cell["b"]),
                                      10.0 * cell["a"] + cell["b"])  # fmt: skip


def test_cells_that_are_no_full_grid_are_one_dimension(tmp_path):
    data = stored(numbers, [{"a": 1, "b": 0.5}, {"a": 2}, {"a": 3, "b": 0.5}], tmp_path).to_xarray()
    assert data["value"].dims == ("cell", "replicate")
    assert data["a"].dims == ("cell",)
    np.testing.assert_array_equal(data["value"][:, 0], [10.5, 20.0, 30.5])


def test_several_rows_of_a_replicate_are_a_dimension(tmp_path):
    data = stored(rounds, [{"a": 1}, {"a": 2}], tmp_path).to_xarray(["value"])
    assert set(data.data_vars) == {"value"}
    assert data["value"].dims == ("a", "replicate", "row")
    np.testing.assert_allclose(data["value"].sel(a=2, replicate=0), [2.0, 2.1, 2.2])


def test_what_is_not_stored_is_nan(tmp_path):
    sweep = Sweep(numbers, [{"a": 1}, {"a": 2}], 1, name="numbers")
    sweep.run(tmp_path / "run", progress=False, processes=False)
    run = open_run(tmp_path / "run")
    run.description["replicates"] = 2
    with pytest.warns(Incomplete):
        data = run.to_xarray()
    for name in ("value", "odd"):
        assert np.isnan(data[name].sel(replicate=1)).all()
    with complaint(ValueError, "no column 'a'"):
        run.to_xarray(["a"])
    assert data["text"].sel(a=2).values.tolist() == ["a2", ""]


def test_a_dataset_can_be_written_and_read(tmp_path):
    data = stored(numbers, Grid.product({"a": [1, 2], "b": [0.5, 1.5]}), tmp_path).to_xarray()
    data.to_netcdf(tmp_path / "run.nc", engine="scipy")
    with xarray.open_dataset(tmp_path / "run.nc", engine="scipy") as read:
        assert read.equals(data)
        assert read.attrs["name"] == "numbers"

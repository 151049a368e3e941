"""linrep info: what it says, and that it says it wherever something is missing."""

import json
import os
from importlib import metadata

import pytest
from click.testing import CliRunner

import linrep
from linrep.cli import info, main
from tests.tools import COMPILED


def reported():
    result = CliRunner().invoke(main, ["info", "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_versions_libraries_and_places():
    found = reported()
    assert found["linrep"] == linrep.__version__
    assert found["numpy"] == metadata.version("numpy")
    assert all(each["num_threads"] >= 1 for each in found["BLAS"])
    assert found["compiler"]["compiles"] == COMPILED
    assert "fedrep.figure1" in found["experiments"]["ids"]
    assert (found["kernels"]["kept in"] is not None) == COMPILED
    text = CliRunner().invoke(main, ["info"]).output
    for name in found:
        assert f"\n{name} " in f"\n{text}"
    assert "unknown" not in text


def test_all_dependencies_are_listed():
    own = {name.partition(">")[0] for name in metadata.requires("linrep") if "extra" not in name}
    assert own <= set(reported())
    assert {"numpy", "scipy", "numba"} <= own


def test_what_is_missing_is_said_and_hides_nothing_else(monkeypatch):
    def broken(name):
        if name == "scipy":
            raise OSError("no\nsuch library")
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(info, "version", broken)
    monkeypatch.setattr(info, "_blas", lambda: 1 / 0)
    found = reported()
    assert found["scipy"] == "unknown: OSError: no such library"
    assert found["numpy"] is None
    assert found["BLAS"] == "unknown: ZeroDivisionError: division by zero"
    assert found["linrep"] == linrep.__version__


def test_without_an_installation_the_libraries_are_listed_all_the_same(monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(info, "requires", absent)
    assert "numba" in reported()


@pytest.mark.parametrize("there", [True, False])
def test_the_folder_of_data(monkeypatch, tmp_path, there):
    folder = tmp_path if there else tmp_path / "gone"
    monkeypatch.setenv("LINREP_DATA", os.fspath(folder))
    assert reported()["data"] == {"LINREP_DATA": os.fspath(folder), "there": there}

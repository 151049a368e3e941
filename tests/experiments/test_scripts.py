"""Every experiment that ships, in miniature."""

import dataclasses
import re
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from linrep import experiment, record, reproduction
from linrep.experiment import make_figure, run_rows
from tests.experiments.tiny import TINY


def test_every_script_is_found():
    scripts = {path.stem for path in experiment.folder().glob("*.py")}
    assert {name.replace(".", "_") for name in experiment.available()} == scripts


@pytest.mark.slow
@pytest.mark.filterwarnings("error::linrep.RunWarning")  # runs' notes are in the manifest
@pytest.mark.parametrize("name", experiment.available())
def test_script_draws_a_miniature(name, tmp_path):
    item = dataclasses.replace(experiment.load(name), quick_replicates=2)
    for package in item.packages:
        pytest.importorskip(package)
    assert item.id == name
    drawn = make_figure(item, out=tmp_path, quick=True, workers=2, recorded=True)
    assert drawn.path.stat().st_size > 10_000
    assert len(drawn.summary)
    # The rows that a record keeps say the same as all.
    stored = tmp_path / f"{name}.parquet"
    if stored.exists():
        found = record.compare(
            drawn.manifest,
            drawn.manifest["result"],
            kept=(kept := pd.read_parquet(stored)),
            new_kept=experiment.kept_rows(item, drawn.rows),
            again=item.at(quick=True).summary(kept),
        )
        assert set(found["outcome"]) == {record.SAME}


@pytest.mark.slow
def test_a_figure_has_the_same_rows_for_one_and_two_workers():
    item = dataclasses.replace(experiment.load("fedrep.figure7"), quick_replicates=2)
    one, two = (run_rows(item, quick=True, workers=workers, seed=5) for workers in (1, 2))
    for column in one:
        assert (one[column] == two[column]).all(), column
    assert np.isfinite(one["loss"]).all()


#: Figures whose tiny pictures take more than a few seconds.
LONG = (
    "fedrep.figure1", "fedrep.figure3", "fedrep.figure7", "fedrep.sample_size", "fedrep.scaling",
    "flute.figure1", "literature.estimators", "perfedsi.figure3", "perfedsi.federated",
    "perfedsi.phase", "pflmf.clusters",
)  # fmt: skip
#: Claims about a figure, by the figure.
CLAIMED = {
    "fedrep.figure1": "fedrep.figure1",
    "fedrep.figure3": "fedrep.figure3",
    "fedrep.figure4": "fedrep.figure4",
    "fedrep.figure7": "fedrep.figure7",
    "flute.figure1": "flute._races",
    "flute.figure3": "flute._races",
    "flute.figure4": "flute.figure4",
    "perfedsi.figure3": "perfedsi.figure3",
    "pflmf.figure1": "pflmf.figure1",
}


def test_every_figure_of_synthetic_data_has_sizes():
    sized = {
        name
        for name in experiment.available()
        if experiment.load(name).sizes is not None and not name.startswith("deep.")
    }
    synthetic = {
        name
        for name in experiment.available()
        if not name.startswith("deep.") and not name.endswith(".digits")
    }
    assert sized == synthetic == set(TINY)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in TINY]
)
def test_script_draws_other_sizes(name, tmp_path):
    item = experiment.load(name).with_sizes({**TINY[name], "replicates": 2})
    drawn = make_figure(item, out=tmp_path, quick=True)
    assert drawn.path.stat().st_size > 10_000
    found = drawn.manifest["result"]
    assert "OTHER SIZES" in found["caption"]
    assert found["settings"]["others"].keys() >= TINY[name].keys()
    assert len(drawn.rows["replicate"].unique()) == 2
    for axis, values in TINY[name].items():
        tried = {cell[axis] for cell in found["settings"]["cells"] if axis in cell}
        assert not tried or tried >= {*np.atleast_1d(values).tolist()}, axis


@pytest.mark.parametrize(("name", "module"), CLAIMED.items())
def test_a_figure_and_its_claims_have_the_same_settings(name, module):
    claims = import_module(f"linrep.claims.{module}")
    assert type(claims.FIGURE) is type(experiment.load(name).sizes)
    assert experiment.load(name).sizes == claims.FIGURE


@pytest.mark.parametrize("name", ["PUBLISHED_STEPS", "FEDSGD_STEP", "HELD"])
def test_settings_are_written_down_once(name):
    package = experiment.folder().parent / "linrep"
    sources = [*experiment.folder().glob("*.py"), *package.rglob("*.py")]
    given = re.compile(rf"^{name}\b[^=\n]*=[^=]", re.MULTILINE)
    found = [path.name for path in sources if given.search(path.read_text("utf-8"))]
    assert len(found) == 1, found


def test_rows_are_those_of_the_record():
    """With other replicates, as their streams are of their own."""
    item = experiment.load("fedrep.figure4").with_sizes({"replicates": 2})
    _, kept = reproduction.read_record(experiment.folder().parent / "figures", item.id)
    rows = run_rows(item)
    expected = kept[kept["replicate"] < 2].reset_index(drop=True)
    assert len(rows) == len(expected) == 112
    for column in ("samples", "method", "replicate", "m"):
        assert (rows[column] == expected[column]).all()
    # Processors differ in how they add.
    np.testing.assert_allclose(rows["error"], expected["error"], rtol=1e-6)

"""Every experiment that ships, in miniature."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from linrep import experiment, record
from linrep.experiment import make_figure, run_rows


def test_every_script_is_found():
    scripts = {path.stem for path in experiment.folder().glob("*.py")}
    assert {name.replace(".", "_") for name in experiment.available()} == scripts


@pytest.mark.slow
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

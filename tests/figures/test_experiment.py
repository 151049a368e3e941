"""The runner of figure scripts: streams, workers, files, loading."""

import warnings
from dataclasses import dataclass, fields, replace

import numpy as np
import pandas as pd
import pytest

import linrep as lr
from linrep._lib import atomic as files
from linrep._lib import portable, records, scripts
from linrep._lib.records import content
from linrep.figures import computing, experiment
from linrep.figures.drawing import make_figure
from linrep.figures.experiment import Experiment
from linrep.figures.sizes import Sizes, size
from linrep.sweeps import Grid, Stopped, open_run
from tests.figures.support import run_rows


def replicate(cell, rng):
    return pd.DataFrame({"x": [0, 1], "value": rng.random(2) + cell["a"]})


def draw(rows):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.0, 2.0))
    figure.subplots().plot(rows["x"], rows["value"], ".")
    return figure


TOY = Experiment(
    id="toy.one",
    title="A toy",
    cells=lambda quick: Grid.product({"a": (1,) if quick else (1, 2), "b": ("u", "v")}),
    replicate=replicate,
    draw=draw,
    caption=lambda rows, replicates: (
        f"""A toy,
        {replicates} replicates."""
    ),
    summary=lambda rows: rows.groupby("a")["value"].mean().to_frame(),
    replicates=4,
    quick_replicates=2,
)


def test_rows_do_not_depend_on_the_number_of_workers():
    pd.testing.assert_frame_equal(run_rows(TOY, workers=1), run_rows(TOY, workers=2))


def test_a_cell_keeps_its_rows_when_the_grid_and_the_trials_grow():
    few, many = run_rows(TOY, quick=True), run_rows(TOY)
    keys = ["a", "b", "replicate", "x"]
    both = few.merge(many, on=keys, suffixes=("_few", "_many"))
    assert len(both) == len(few)
    np.testing.assert_array_equal(both["value_few"], both["value_many"])


def test_a_failing_replicate_says_which_one_it_was():
    def fail(cell, rng):
        if cell["b"] == "v":
            raise RuntimeError("boom")
        return replicate(cell, rng)

    broken = replace(TOY, replicate=fail)
    for workers in (1, 2):
        with pytest.raises(RuntimeError, match="boom") as caught:
            run_rows(broken, workers=workers)
        assert "8 replicates of toy.one failed, the first in cell a=1,b=v, replicate 0" in str(
            caught.value
        )


def test_an_interrupted_figure_goes_on_where_it_was(tmp_path):
    calls, pressed = [], []

    def interrupted(cell, rng):
        if len(calls) == 3 and not pressed:
            pressed.append("Ctrl-C")
            raise KeyboardInterrupt
        calls.append(cell)
        return replicate(cell, rng)

    item = replace(TOY, replicate=interrupted)
    with pytest.raises(Stopped):
        make_figure(item, out=tmp_path)
    before = len(calls)
    make_figure(item, out=tmp_path)
    assert len(calls) < before + 16
    assert not (tmp_path / ".runs").exists()
    rows = pd.read_parquet(tmp_path / "toy.one.parquet")
    pd.testing.assert_frame_equal(rows, run_rows(TOY))


def test_make_figure_writes_picture_rows_and_manifest(tmp_path):
    out = tmp_path / "deep" / "figures"
    drawn = make_figure(TOY, out=out, quick=True, seed=3)
    assert drawn.path == out / "toy.one.png"
    names = {file.name for file in out.iterdir()}
    assert names == {"toy.one.png", "toy.one.svg", "toy.one.parquet", "toy.one.json"}
    rows = pd.read_parquet(out / "toy.one.parquet")
    pd.testing.assert_frame_equal(rows, run_rows(TOY, quick=True, seed=3))
    manifest = content(out / "toy.one.json")
    assert manifest == drawn.manifest
    found = manifest["result"]
    assert found["caption"] == "QUICK RUN, reduced grid and replicates. A toy, 2 replicates."
    assert found["settings"] == {
        "quick": True,
        "seed": 3,
        "replicates": 2,
        "cells": [{"a": 1, "b": "u"}, {"a": 1, "b": "v"}],
    }
    value = rows["value"].mean()
    assert found["summary"] == {
        "labels": ["a"],
        "lines": [{"a": 1, "value": {"value": pytest.approx(value)}}],
    }
    # The caption is in the manifest; only what makes it another figure is in the picture, too.
    assert "QUICK RUN" in (out / "toy.one.svg").read_text("utf-8")
    assert "A toy" not in (out / "toy.one.svg").read_text("utf-8")
    make_figure(TOY, out=tmp_path / "again", quick=True, seed=3)
    for kind in ("png", "svg"):
        again = (tmp_path / "again" / f"toy.one.{kind}").read_bytes()
        assert again == (out / f"toy.one.{kind}").read_bytes()
    make_figure(TOY, out=tmp_path / "with", quick=True, seed=3, caption=True)
    assert "A toy" in (tmp_path / "with" / "toy.one.svg").read_text("utf-8")
    for kind in ("png", "svg", "parquet"):
        picture = records.beside(out / "toy.one.json", f".{kind}")
        assert picture == (out / f"toy.one.{kind}").read_bytes()


def test_what_runs_would_warn_of_is_in_the_manifest(tmp_path, capfd):
    """Also of what was run before an interrupt; nothing is printed."""
    pressed = []

    def on_own_data(cell, rng):
        if cell["a"] == 2 and not pressed:
            pressed.append("Ctrl-C")
            raise KeyboardInterrupt
        X = rng.standard_normal((20, 3)) * [1.0, 1.0, 1e5 if cell["b"] == "u" else 1.0]
        data = lr.ClientData(X, X[:, 0], np.array([0, 10, 20]))
        lr.fedrep(data, k=1, start="random", step_size=1e-12, rounds=20, rng=0)
        return replicate(cell, rng)

    item = replace(TOY, replicate=on_own_data)
    with warnings.catch_warnings():
        warnings.simplefilter("error", lr.RunWarning)
        with pytest.raises(Stopped):
            make_figure(item, out=tmp_path)
        drawn = make_figure(item, out=tmp_path)
    notes = {
        "the run hardly moves": "16 of 16",
        "the covariates' root mean squares are far apart": "8 of 16",
    }
    assert drawn.manifest["provenance"]["notes"] == notes
    assert content(tmp_path / "toy.one.json")["provenance"]["notes"] == notes
    assert "Warning" not in capfd.readouterr().err
    assert "notes" not in drawn.rows


def test_a_record_has_one_picture_the_rows_it_keeps_and_what_makes_numbers_comparable(tmp_path):
    make_figure(TOY, out=tmp_path)
    first = replace(TOY, kept=lambda rows: rows[rows["x"] == 0])
    for item, count in ((first, 16), (replace(TOY, kept=None), None)):
        drawn = make_figure(item, out=tmp_path, recorded=True, runs=tmp_path / "elsewhere")
        assert drawn.path == tmp_path / "toy.one.svg"
        kept = {f"toy.one.{kind}" for kind in ("json", "svg", *(["parquet"] if count else []))}
        assert {path.name for path in tmp_path.iterdir()} == kept
        found = drawn.manifest["result"]
        assert found["rows"]["count"] == 32
        if count:
            rows = pd.read_parquet(tmp_path / "toy.one.parquet")
            assert len(rows) == count
            assert "stream" not in rows
        for line in found["summary"]["lines"]:
            low, high = line["value"]["interval"]
            assert low < line["value"]["value"] < high


def test_a_failure_while_drawing_leaves_the_figure_as_it_was_and_keeps_the_replicates(tmp_path):
    calls = []

    def counting(cell, rng):
        calls.append(cell)
        return replicate(cell, rng)

    def fail(rows):
        raise RuntimeError("no picture")

    make_figure(TOY, out=tmp_path, quick=True)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    item = replace(TOY, replicate=counting)
    with pytest.raises(RuntimeError, match="no picture"):
        make_figure(replace(item, draw=fail), out=tmp_path, quick=True, seed=1)
    there = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert there == before
    count = len(calls)
    assert count > 0
    drawn = make_figure(item, out=tmp_path, quick=True, seed=1)
    assert len(calls) == count
    rows = pd.read_parquet(tmp_path / "toy.one.parquet")
    pd.testing.assert_frame_equal(rows, drawn.rows)
    assert not list(tmp_path.glob(".*"))


def test_scripts_are_found_by_id_by_path_and_by_patterns(tmp_path):
    copy = tmp_path / "mine.py"
    copy.write_text((scripts.folder() / "fedrep_figure3.py").read_text())
    for name in ("fedrep.figure3", str(copy)):
        assert experiment.load(name).id == "fedrep.figure3"
    flute = [name for name in experiment.available() if name.startswith("flute.")]
    assert experiment.matching(["flute.*"]) == flute
    names = ["mine.py", "fedrep.figure1", "fedrep.figure[1]"]
    assert experiment.matching(names) == names[:2]


def test_the_run_of_a_figure_stays_while_another_process_is_at_it(tmp_path):
    """That one still reads there; whoever comes last removes it."""
    runs = tmp_path / ".runs"
    runs.mkdir()
    sweep = computing.sweep_of(TOY, quick=True)
    directory = computing.run_directory(runs, TOY, sweep)
    with files.shared(runs / f"{directory.name}.lock"):
        make_figure(TOY, out=tmp_path, quick=True)
        assert open_run(directory).count() == 4
    make_figure(TOY, out=tmp_path, quick=True)
    assert not runs.exists()


def test_a_run_stays_if_asked_to(tmp_path):
    drawn = make_figure(TOY, out=tmp_path, keep=True)
    (directory,) = (path for path in (tmp_path / ".runs").iterdir() if path.is_dir())
    assert open_run(directory).completeness().whole
    again = make_figure(TOY, out=tmp_path)
    pd.testing.assert_frame_equal(drawn.rows, again.rows)
    assert not (tmp_path / ".runs").exists()


@dataclass(frozen=True)
class ToySizes(Sizes):
    """Sizes of the toy."""

    a: tuple[int, ...] = size((1, 2), "Places.", quick=1)
    more: float = size(0.5, "Added.")

    def check(self):
        if self.more >= 10.0 * min(self.a):
            raise ValueError(f"more must be below ten times a, got {self.more:g}")


def sized_replicate(cell, rng, *, a, more):
    assert cell["a"] in a
    return pd.DataFrame({"x": [0, 1], "value": rng.random(2) + cell["a"] + more})


SIZED = Experiment(
    id="toy.sized",
    title="A toy with sizes",
    cells=lambda sizes: Grid.product({"a": sizes.a}),
    replicate=sized_replicate,
    draw=lambda rows, sizes: draw(rows),
    caption=lambda rows, replicates, sizes: f"more = {sizes.more:g}, {replicates} replicates.",
    summary=lambda rows, sizes: (rows.groupby("a")["value"].mean() - sizes.more).to_frame(),
    sizes=ToySizes(),
    replicates=4,
    quick_replicates=2,
)


def test_sizes_reach_every_part_and_change_no_stream(tmp_path):
    other = SIZED.with_sizes({"a": [2, 3], "more": 1.5, "replicates": 3})
    drawn = make_figure(other, out=tmp_path)
    assert sorted(drawn.rows["a"].unique()) == [2, 3]
    found = drawn.manifest["result"]
    sizes = "OTHER SIZES than the default: a = 2, 3; more = 1.5; replicates = 3. "
    assert found["caption"] == f"{sizes}more = 1.5, 3 replicates."
    assert found["settings"]["others"] == {"a": [2, 3], "more": 1.5, "replicates": 3}
    assert content(tmp_path / "toy.sized.json") == drawn.manifest
    plain = run_rows(SIZED)
    keys = ["a", "replicate", "x"]
    both = drawn.rows.merge(plain, on=keys, suffixes=("", "_plain"))
    assert len(both) == 6
    np.testing.assert_allclose(both["value"], both["value_plain"] + 1.0)
    assert (drawn.summary.loc[2, "value"] > 2.0).all()


def test_every_largest_size_has_a_reason():
    """But 1, above which no share is, and no distance."""
    silent = []
    for name in scripts.available():
        for each in fields(sizes) if (sizes := experiment.load(name).sizes) is not None else ():
            most = {end: each.metadata["bounds"].get(end, 1.0) for end in ("maximum", "below")}
            silent += [
                f"{name}: {each.name}"
                for end, value in most.items()
                if value != 1.0 and end not in each.metadata["because"]
            ]
    assert silent == []


def test_a_run_is_of_one_mode_of_its_sizes_and_of_all_code_that_replicates_use(
    tmp_path, monkeypatch
):
    """Going on in another mode would mix digits; code is also helpers that stand elsewhere."""

    def directory(item):
        return computing.run_directory(tmp_path, item, computing.sweep_of(item))

    def scaled(scale):
        return replace(TOY, replicate=lambda cell, rng: replicate(cell, rng) * scale)

    assert directory(scaled(1.0)) == directory(scaled(1.0)) != directory(scaled(2.0))
    other = SIZED.with_sizes({"more": 2.0})
    assert directory(other) != directory(SIZED)
    run_rows(other, runs=tmp_path)
    rows = open_run(directory(other)).read()
    again = computing.sweep_of(other).only({"a": 2}, 1)
    assert again["value"].tolist() == rows.query("a == 2 and replicate == 1")["value"].tolist()
    assert (again["value"] > 4.0).all()
    before = directory(TOY)
    mode = {"portable": "native", "native": "portable"}[portable.mode()]
    monkeypatch.setattr(portable, "mode", lambda: mode)
    assert directory(TOY) != before

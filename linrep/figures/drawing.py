"""How rows become a picture, with the rows and a manifest beside it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from linrep._lib import atomic as files
from linrep._lib.provenance import surroundings
from linrep.figures import record
from linrep.figures.computing import RUNS, compute, measured_rows, run_directory, sweep_of
from linrep.figures.experiment import Experiment, list_sizes


@dataclass(frozen=True)
class Drawn:
    """A figure that was drawn.

    Attributes
    ----------
    path : Path
        The picture.
    summary : DataFrame
        The experiment's summary of the rows.
    manifest : dict
        What is stored beside the picture.
    rows : DataFrame
        All of them.
    """

    path: Path
    summary: pd.DataFrame
    manifest: dict[str, Any]
    rows: pd.DataFrame


def make_figure(
    experiment: Experiment,
    *,
    out: Path,
    quick: bool = False,
    workers: int = 1,
    seed: int = 0,
    recorded: bool = False,
    runs: Path | None = None,
    keep: bool = False,
    caption: bool = False,
) -> Drawn:
    """Run an experiment and write its picture, rows (Parquet) and manifest (JSON).

    Parameters
    ----------
    experiment : Experiment
        What to run and draw.
    out : Path
        Folder, made if missing. Files are written under temporary names and renamed, the manifest
        last: a figure whose manifest is there is complete.
    quick, workers, seed
        As for :func:`linrep.figures.computing.compute`.
    recorded : bool, default False
        Write a record, which other runs are compared with: the picture as SVG only (else as PNG,
        too), of the rows those that the experiment keeps, and in the manifest with each number of
        the summary what makes it comparable.
    runs : Path, optional
        Folder in which finished replicates are kept until all rows are there, so that an
        interrupted figure goes on where it was; by default ``.runs`` in `out`.
    keep : bool, default False
        Keep them afterwards, too: drawn again by the same code, the figure has the same rows.
    caption : bool, default False
        Draw the caption under the picture; it is in the manifest in any case. What makes the
        figure another one than the default, such as reduced sizes, always stands there.

    Returns
    -------
    Drawn

    Raises
    ------
    ValueError
        If a package or the data are missing, a record is asked for of other sizes than the default
        ones.
    """
    missing = experiment.missing(quick)
    if missing:
        raise ValueError(f"{experiment.id} needs {missing}")
    others = experiment.others(quick)
    if recorded and others:
        raise ValueError(
            f"{experiment.id}: a record is of the default sizes, not of {list_sizes(others)}"
        )
    out.mkdir(parents=True, exist_ok=True)
    if not os.access(out, os.W_OK):
        raise PermissionError(f"{out} is not writable")
    began = time.perf_counter()
    runs = out / RUNS if runs is None else runs
    sweep = sweep_of(experiment, quick=quick, seed=seed)
    directory = run_directory(runs, experiment, sweep)
    path = out / f"{experiment.id}.json"
    if recorded:
        record.KIND.check(path)
    lock = runs / f"{directory.name}.lock"
    with files.shared(lock) as alone:
        done = compute(experiment, runs, quick=quick, workers=workers, seed=seed)
        rows = measured_rows(done.read())
        notes = {each: f"{count} of {done.total}" for each, count in done.notes().items()}
        elapsed = time.perf_counter() - began
        fixed = experiment.at(quick)
        kept = kept_rows(experiment, rows) if recorded else rows
        # What cannot be summarized, drawn or recorded says so before a file is replaced.
        result = _result(fixed, rows, quick, seed, recorded, others)
        kinds = ("svg",) if recorded else ("png", "svg")
        text = result["caption"] if caption else " ".join(_remarks(quick, others))
        contents = {
            path.with_suffix(f".{kind}"): content
            for kind, content in _pictures(fixed, rows, text, kinds).items()
        }
        if kept is not None:
            contents[path.with_suffix(".parquet")] = kept.to_parquet(index=False)
        manifest = {
            "id": experiment.id,
            "title": experiment.title,
            "result": result,
            "provenance": {
                **surroundings(experiment.packages),
                **_data(experiment, rows, quick),
                **({"notes": notes} if notes else {}),
                "seconds": round(elapsed, 1),
                "workers": workers,
                "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            },
        }
        with files.alone(out):
            named = {each.name: content for each, content in contents.items()}
            record.KIND.write(path, manifest, named)
            for suffix in (".png", ".parquet"):  # of an earlier drawing
                if (other := path.with_suffix(suffix)) not in contents:
                    other.unlink(missing_ok=True)
        # Another process may be at the same figure, and read what both have computed.
        if not keep and alone():
            shutil.rmtree(directory, ignore_errors=True)
            lock.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        runs.rmdir()  # another figure may still be under way
    return Drawn(path.with_suffix(f".{kinds[0]}"), fixed.summary(rows), manifest, rows)


def _data(experiment, rows, quick):
    """Return where the samples of a figure come from, as a manifest has it."""
    if quick or not experiment.data or "data" not in rows:
        return {}
    from linrep.deep import load

    sets = {name: load(name) for name in rows["data"].unique() if name != "digits"}
    return {"data": {name: {"sha256": each.digest, "about": each.about or None}
                     for name, each in sets.items()}}  # fmt: skip


def kept_rows(experiment: Experiment, rows: pd.DataFrame) -> pd.DataFrame | None:
    """Return the rows that a record keeps, None for none.

    Parameters
    ----------
    experiment : Experiment
    rows : DataFrame
        All of them.
    """
    if experiment.kept is None:
        return None
    kept = experiment.kept(rows)
    return kept.drop(columns="stream", errors="ignore").reset_index(drop=True)


def _result(experiment, rows, quick, seed, comparable, others):
    replicates = int(rows["replicate"].max()) + 1
    text = experiment.caption(rows, replicates)
    text = " ".join([*_remarks(quick, others), *text.split()])
    settings = {
        "quick": quick,
        "seed": seed,
        "replicates": replicates,
        "cells": [dict(cell) for cell in experiment.cells(quick)],
        **({"others": json.loads(json.dumps(others))} if others else {}),
    }
    return record.result(
        rows,
        experiment.summary,
        caption=text,
        settings=settings,
        comparable=comparable,
        signed=experiment.signed,
    )


def _remarks(quick, others):
    """Return sentences on what makes a figure another one than the default."""
    remarks = []
    if quick:
        remarks.append("QUICK RUN, reduced grid and replicates.")
    if others:
        remarks.append(f"OTHER SIZES than the default: {list_sizes(others)}.")
    return remarks


def _pictures(experiment, rows, text, kinds):
    """Return the picture, with a text under it, in each of the formats."""
    import matplotlib.pyplot as plt

    from linrep.figures import plotting
    from linrep.figures.plotting.page import lay_out

    contents = {}
    with plotting.style():
        figure = experiment.draw(rows)
        if text:
            plotting.caption(figure, text)
        lay_out(figure, plt.rcParams["savefig.dpi"])
        for kind in kinds:
            metadata = {"Date": None} if kind == "svg" else None
            content = BytesIO()
            figure.savefig(content, format=kind, metadata=metadata)
            contents[kind] = content.getvalue()
        plt.close(figure)
    return contents

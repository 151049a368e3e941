"""What a script in ``experiments/`` is, and how it becomes a figure with its rows and manifest."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import runpy
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits
from tqdm import tqdm

import linrep

Cell = Mapping[str, Any]
LIBRARIES = ("numpy", "scipy", "numba", "pandas", "pyarrow", "matplotlib", "seaborn")


@dataclass(frozen=True)
class Experiment:
    """A figure: which cells to run, how to run one replicate of a cell, how to draw the rows.

    Attributes
    ----------
    id : str
        Paper and figure, as in ``fedrep.figure3``; the script is ``fedrep_figure3.py``.
    title : str
        One line.
    cells : callable
        ``cells(quick) -> list of dicts``: the points of the grid, each a mapping of plain values.
    replicate : callable
        ``replicate(cell, rng) -> DataFrame``: one independent repetition, all methods on the same
        problem and data. `rng` is a Generator of this cell and trial alone.
    draw : callable
        ``draw(rows) -> matplotlib Figure`` from the rows alone.
    caption : callable
        ``caption(rows, trials) -> str``: what is shown, with the exact setting; white space and
        line breaks in it do not matter.
    summary : callable
        ``summary(rows) -> DataFrame``: the few numbers that the picture is about, for the terminal
        and the manifest.
    trials, quick_trials : int
        Replicates per cell.
    """

    id: str
    title: str
    cells: Callable[[bool], Sequence[Cell]]
    replicate: Callable[[Cell, np.random.Generator], pd.DataFrame]
    draw: Callable[[pd.DataFrame], Any]
    caption: Callable[[pd.DataFrame, int], str]
    summary: Callable[[pd.DataFrame], pd.DataFrame]
    trials: int = 20
    quick_trials: int = 3


def stream(seed: int, cell: Cell, trial: int) -> np.random.Generator:
    """Return the generator of one replicate.

    It depends on the seed, the cell's parameters and the trial's number, not on what else is run.
    """
    canonical = json.dumps(cell, sort_keys=True).encode()
    key = np.frombuffer(hashlib.sha256(canonical).digest(), dtype=np.uint32)
    return np.random.default_rng([seed, trial, *key.tolist()])


def run_rows(
    experiment: Experiment, *, quick: bool = False, workers: int = 1, seed: int = 0
) -> pd.DataFrame:
    """Run all replicates of all cells, with a progress bar on a terminal.

    Parameters
    ----------
    experiment : Experiment
        What to run.
    quick : bool
        The small grid and few trials.
    workers : int
        Threads. The rows do not depend on it.
    seed : int
        Root of all streams.

    Returns
    -------
    DataFrame
        The replicates' rows with the cell's parameters and ``trial`` as further columns.
    """
    trials = experiment.quick_trials if quick else experiment.trials
    tasks = [(cell, trial) for cell in experiment.cells(quick) for trial in range(trials)]

    def one(task):
        cell, trial = task
        try:
            rows = experiment.replicate(cell, stream(seed, cell, trial))
        except Exception as error:
            error.add_note(f"in {experiment.id}, cell {dict(cell)}, trial {trial}, seed {seed}")
            raise
        return rows.assign(**cell, trial=trial)

    bar = {"total": len(tasks), "desc": experiment.id, "unit": "run", "disable": None}
    # BLAS on one thread: matrices are small, and sums must not depend on the number of cores.
    with threadpool_limits(limits=1), ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(one, task) for task in tasks]
        try:
            rows = [future.result() for future in tqdm(futures, **bar)]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return pd.concat(rows, ignore_index=True)


def make_figure(
    experiment: Experiment,
    *,
    out: Path,
    quick: bool = False,
    workers: int = 1,
    seed: int = 0,
) -> tuple[Path, pd.DataFrame]:
    """Run an experiment and write its picture (PNG, SVG), rows (Parquet) and manifest (JSON).

    Parameters
    ----------
    experiment : Experiment
        What to run and draw.
    out : Path
        Folder, made if missing. Files are written under temporary names and renamed, the manifest
        last: a figure whose manifest is there is complete.
    quick, workers, seed
        As in :func:`run_rows`.

    Returns
    -------
    path : Path
        The PNG.
    summary : DataFrame
        The experiment's summary of the rows.
    """
    from linrep import plotting

    out.mkdir(parents=True, exist_ok=True)
    if not os.access(out, os.W_OK):
        raise PermissionError(f"{out} is not writable")
    began = time.perf_counter()
    rows = run_rows(experiment, quick=quick, workers=workers, seed=seed)
    elapsed = time.perf_counter() - began
    trials = int(rows["trial"].max()) + 1
    summary = experiment.summary(rows)
    text = " ".join(experiment.caption(rows, trials).split())
    if quick:
        text = "QUICK RUN, reduced grid and trials. " + text
    names = {kind: f"{experiment.id}.{kind}" for kind in ("png", "svg", "parquet")}
    manifest = {
        "id": experiment.id,
        "title": experiment.title,
        "caption": text,
        "settings": {
            "quick": quick,
            "seed": seed,
            "trials": trials,
            "cells": [dict(cell) for cell in experiment.cells(quick)],
        },
        "summary": json.loads(summary.to_json(orient="records")),
        "rows": len(rows),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(elapsed, 1),
        "workers": workers,
        "versions": versions(),
    }
    manifest_path = out / f"{experiment.id}.json"
    manifest_path.unlink(missing_ok=True)
    _replace(out / names["parquet"], lambda path: rows.to_parquet(path, index=False))
    import matplotlib.pyplot as plt

    with plotting.style():
        figure = experiment.draw(rows)
        plotting.caption(figure, text)
        _replace(out / names["png"], lambda path: figure.savefig(path, format="png"))
        _replace(
            out / names["svg"],
            lambda path: figure.savefig(path, format="svg", metadata={"Date": None}),
        )
        plt.close(figure)
    manifest["files"] = {
        name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in names.values()
    }
    _replace(manifest_path, lambda path: path.write_text(json.dumps(manifest, indent=2) + "\n"))
    return out / names["png"], summary


def versions() -> dict[str, str]:
    """Return the versions that numbers may depend on."""
    return {
        "linrep": linrep.__version__,
        "python": platform.python_version(),
        **{library: version(library) for library in LIBRARIES},
        "system": f"{platform.system()} {platform.machine()}",
    }


def folder() -> Path:
    """Return the folder of the experiments' scripts, of the repository or of the installation."""
    package = Path(linrep.__file__).parent
    shipped = package / "_experiments"
    return shipped if shipped.is_dir() else package.parent / "experiments"


def available() -> list[str]:
    """Return the ids of the experiments that come with linrep."""
    return sorted(_id(path) for path in folder().glob("[a-z]*_*.py"))


def load(name: str) -> Experiment:
    """Load an experiment by id, or from a script of your own by its path (ending in .py).

    Raises
    ------
    ValueError
        If there is no such experiment, or the script defines none.
    """
    path = Path(name) if name.endswith(".py") else folder() / f"{name.replace('.', '_', 1)}.py"
    if name.endswith(".py") and not path.is_file():
        raise ValueError(f"no such file: {name}")
    if not path.is_file():
        raise ValueError(f"unknown experiment {name!r}; there are {', '.join(available())}")
    experiment = runpy.run_path(str(path)).get("EXPERIMENT")
    if not isinstance(experiment, Experiment):
        raise ValueError(f"{path} must define EXPERIMENT, a linrep.experiment.Experiment")
    return experiment


def _id(path):
    return path.stem.replace("_", ".", 1)


def _replace(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def cell_product(**axes: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Yield the cells of a cartesian product of axes, the last one varying fastest."""
    from itertools import product

    for values in product(*axes.values()):
        yield dict(zip(axes, values, strict=True))

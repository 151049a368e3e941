"""What a script in ``experiments/`` is, and how it becomes a figure with its rows and manifest."""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import json
import os
import platform
import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

import linrep
from linrep import _files as files
from linrep._scripts import available, folder
from linrep.deep.readers import FOLDER_VARIABLE
from linrep.stats import mean_interval
from linrep.sweeps import Grid, Run, Sweep, run
from linrep.sweeps.targets import load_file
from linrep.trace import Trace

Cell = Mapping[str, Any]
#: Folder, beside the figures, of the runs that are not finished.
RUNS = ".runs"
_EXTRAS = {"torch": "deep"}
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
        ``cells(quick) -> Grid``: the points of the grid.
    replicate : callable
        ``replicate(cell, rng) -> DataFrame``: one independent repetition, all methods on the same
        problem and data. `rng` is a Generator of this cell and replicate alone.
    draw : callable
        ``draw(rows) -> matplotlib Figure`` from the rows alone.
    caption : callable
        ``caption(rows, replicates) -> str``: what is shown, with the exact setting; white space and
        line breaks in it do not matter.
    summary : callable
        ``summary(rows) -> DataFrame``: the few numbers that the picture is about, for the terminal
        and the manifest.
    replicates, quick_replicates : int
        Per cell.
    packages : tuple of str
        Modules that linrep itself does not depend on.
    data : tuple of str
        Data sets, by their names for :func:`linrep.deep.load`, or files of the folder of
        ``--data``, that the full settings read from there; with ``--quick`` an experiment does
        with what comes along.
    """

    id: str
    title: str
    cells: Callable[[bool], Grid]
    replicate: Callable[[Cell, np.random.Generator], pd.DataFrame]
    draw: Callable[[pd.DataFrame], Any]
    caption: Callable[[pd.DataFrame, int], str]
    summary: Callable[[pd.DataFrame], pd.DataFrame]
    replicates: int = 20
    quick_replicates: int = 3
    packages: tuple[str, ...] = ()
    data: tuple[str, ...] = ()

    def missing(self, quick: bool = False) -> str | None:
        """Return what it cannot run without and does not find, None if there is nothing.

        Parameters
        ----------
        quick : bool, default False
            Whether the quick settings are meant, which do with the data that come along.
        """
        for package in self.packages:
            if find_spec(package) is None:
                extra = _EXTRAS.get(package, "experiments")
                return f"the package {package}: pip install 'linrep[{extra}]'"
        if self.data and not quick and data_folder() is None:
            return f"--data FOLDER with {', '.join(self.data)} (or --quick)"
        return None


def data_folder() -> Path | None:
    """Return the folder of data sets that ``--data`` or the environment variable names."""
    folder = os.environ.get(FOLDER_VARIABLE)
    return Path(folder) if folder else None


class Failed(RuntimeError):
    """Replicates of an experiment raised; ``run`` is where what they raised is stored.

    Parameters
    ----------
    experiment : Experiment
    run : Run
    failures : DataFrame
        The rows of the failed replicates, at least one.
    """

    def __init__(self, experiment: Experiment, run: Run, failures: pd.DataFrame):
        self.run = run
        self.first = failures.iloc[0]
        super().__init__(
            f"{len(failures)} replicates of {experiment.id} failed, the first in cell "
            f"{self.first['cell']}, replicate {self.first['replicate']}: {self.first['exception']}"
        )


def run_rows(
    experiment: Experiment,
    *,
    quick: bool = False,
    workers: int = 1,
    seed: int = 0,
    runs: Path | None = None,
) -> pd.DataFrame:
    """Run all replicates of all cells, with a progress bar on a terminal.

    Parameters
    ----------
    experiment : Experiment
        What to run.
    quick : bool
        The small grid and few replicates.
    workers : int
        Threads. The rows do not depend on it.
    seed : int
        Root of all streams.
    runs : Path, optional
        Folder in which the sweep has its run directory, see :func:`run_directory`: an interrupted
        run goes on from there. By default nothing is kept.

    Returns
    -------
    DataFrame
        The replicates' rows with the cell's parameters, ``replicate`` and ``stream``.

    Raises
    ------
    Failed
        If a replicate did.
    """
    sweep = sweep_of(experiment, quick=quick, seed=seed)
    with TemporaryDirectory() as scratch:
        directory = run_directory(Path(scratch) if runs is None else runs, experiment, sweep)
        done = run(sweep, directory, workers=workers, retry_failed=directory.exists())
        failed = done.failures()
        if len(failed):
            raise Failed(experiment, done, failed)
        rows = done.read()
    return rows.drop(columns=["row", "status", "exception", "seconds", "versions", "cell"])


def sweep_of(experiment: Experiment, *, quick: bool = False, seed: int = 0) -> Sweep:
    """Return the sweep behind a figure.

    Parameters
    ----------
    experiment : Experiment
    quick : bool, default False
        Take the quick cells and replicates.
    seed : int, default 0
        Root of all streams, at least 0.
    """
    return Sweep(
        experiment.replicate,
        experiment.cells(quick),
        experiment.quick_replicates if quick else experiment.replicates,
        seed=seed,
        name=experiment.id,
    )


def run_directory(runs: Path, experiment: Experiment, sweep: Sweep) -> Path:
    """Return the folder of a figure's run: another setting or an edited script has another one.

    Parameters
    ----------
    runs : Path
        The folder of all runs.
    experiment : Experiment
    sweep : Sweep
        As :func:`sweep_of` makes it.
    """
    digest = hashlib.sha256(json.dumps(sweep.describe()).encode())
    source = Path(experiment.replicate.__code__.co_filename)
    digest.update(source.read_bytes() if source.is_file() else b"")
    digest.update(linrep.__version__.encode())
    return runs / f"{experiment.id}-{digest.hexdigest()[:8]}"


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
        last: a figure whose manifest is there is complete. Until all rows are there, finished
        replicates are kept in ``.runs``, so that an interrupted figure goes on where it was.
    quick, workers, seed
        As in :func:`run_rows`.

    Returns
    -------
    path : Path
        The PNG.
    summary : DataFrame
        The experiment's summary of the rows.

    Raises
    ------
    ValueError
        If a package or the data are missing.
    """
    from linrep import plotting

    missing = experiment.missing(quick)
    if missing:
        raise ValueError(f"{experiment.id} needs {missing}")
    out.mkdir(parents=True, exist_ok=True)
    if not os.access(out, os.W_OK):
        raise PermissionError(f"{out} is not writable")
    began = time.perf_counter()
    runs = out / RUNS
    directory = run_directory(runs, experiment, sweep_of(experiment, quick=quick, seed=seed))
    names = {kind: f"{experiment.id}.{kind}" for kind in ("png", "svg", "parquet")}
    manifest_path = out / f"{experiment.id}.json"
    lock = runs / f"{directory.name}.lock"
    with files.shared(lock) as alone:
        rows = run_rows(experiment, quick=quick, workers=workers, seed=seed, runs=runs)
        elapsed = time.perf_counter() - began
        manifest_path.unlink(missing_ok=True)
        with files.whole(out / names["parquet"]) as path:
            rows.to_parquet(path, index=False)
        if alone():  # another process may be at the same figure, and read what both have computed
            shutil.rmtree(directory, ignore_errors=True)
            lock.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        runs.rmdir()  # another figure may still be under way
    replicates = int(rows["replicate"].max()) + 1
    summary = experiment.summary(rows)
    text = " ".join(experiment.caption(rows, replicates).split())
    if quick:
        text = "QUICK RUN, reduced grid and replicates. " + text
    manifest = {
        "id": experiment.id,
        "title": experiment.title,
        "caption": text,
        "settings": {
            "quick": quick,
            "seed": seed,
            "replicates": replicates,
            "cells": [dict(cell) for cell in experiment.cells(quick)],
        },
        "summary": json.loads(summary.to_json(orient="records")),
        "rows": len(rows),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(elapsed, 1),
        "workers": workers,
        "versions": versions(experiment.packages),
    }
    import matplotlib.pyplot as plt

    with plotting.style():
        figure = experiment.draw(rows)
        plotting.caption(figure, text)
        with files.whole(out / names["png"]) as path:
            figure.savefig(path, format="png")
        with files.whole(out / names["svg"]) as path:
            figure.savefig(path, format="svg", metadata={"Date": None})
        plt.close(figure)
    manifest["files"] = {
        name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in names.values()
    }
    text = json.dumps(manifest, indent=2) + "\n"
    files.write(manifest_path, text.encode())
    return out / names["png"], summary


def beside(
    rows: pd.DataFrame,
    paper: Mapping[tuple, float],
    *,
    by: Sequence[str],
    value: str = "accuracy",
    listed: Sequence[str] = (),
) -> pd.DataFrame:
    """Return means over replicates with 95 % intervals, beside the numbers of a paper.

    Parameters
    ----------
    rows : DataFrame
        Columns `by` and `value`, a row for each replicate.
    paper : mapping of tuple to float
        Published number of a group, by its values of the columns `by`.
    by : sequence of str
        Columns that make a group, as the data, their partition and the method.
    value : str
        Column that is averaged.
    listed : sequence of str
        Columns of numbers whose distinct values are listed, as step sizes that were chosen.

    Returns
    -------
    DataFrame
        Columns `by`, ``replicates``, `value`, ``low``, ``high`` (NaN for a single replicate),
        ``paper`` (NaN where there is none) and `listed`; groups in the order of the rows.
    """
    lines = [
        (*group, len(own), *map(float, mean_interval(own[value])), paper.get(group, np.nan),
         *(", ".join(f"{each:g}" for each in sorted(set(own[name]))) for name in listed))
        for group, own in rows.groupby(list(by), sort=False)
    ]  # fmt: skip
    names = [*by, "replicates", value, "low", "high", "paper", *listed]
    return pd.DataFrame(lines, columns=names)


def accuracies(trace: Trace, **labels: Any) -> pd.DataFrame:
    """Return how accurate a run was, in percent, a row for each recorded round.

    Parameters
    ----------
    trace : Trace
        Of a run of networks.
    **labels
        Further columns, the same in all rows, as the method.

    Returns
    -------
    DataFrame
        Columns `labels`, ``round`` and ``accuracy``; :func:`mean_of_last` takes such rows.
    """
    values = {"round": trace.recorded, "accuracy": 100.0 * trace["accuracy"]}
    return pd.DataFrame({**labels, **values})


def mean_of_last(
    rows: pd.DataFrame, *, by: Sequence[str], value: str = "accuracy", rounds: int = 10
) -> pd.DataFrame:
    """Return each replicate's mean over its last rounds, as :meth:`.Trace.mean_of_last` takes it.

    Parameters
    ----------
    rows : DataFrame
        Columns `by`, ``replicate``, ``round`` and `value`, a row for each recorded round.
    by : sequence of str
        Columns that make a group, as for :func:`beside`.
    value : str
        Column that is averaged.
    rounds : int
        How many rounds count as the last; round 0, the start, never does.

    Returns
    -------
    DataFrame
        Columns `by`, ``replicate`` and `value`; groups in the order of the rows.
    """
    by = [*by, "replicate"]
    end = rows.groupby(by)["round"].transform("max")
    last = rows[(rows["round"] > end - rounds) & (rows["round"] > 0)]
    return last.groupby(by, sort=False)[value].mean().reset_index()


def versions(packages: Iterable[str] = ()) -> dict[str, str]:
    """Return the versions that numbers may depend on, those of further modules, too.

    Parameters
    ----------
    packages : iterable of str
        Further modules, each with a ``__version__``.
    """
    return {
        "linrep": linrep.__version__,
        "python": platform.python_version(),
        **{library: version(library) for library in LIBRARIES},
        **{module: import_module(module).__version__ for module in packages},
        "system": f"{platform.system()} {platform.machine()}",
    }


def processor() -> str:
    """Return the name of the processor, or of its kind where the system does not tell."""
    cpus = Path("/proc/cpuinfo")
    if cpus.is_file():
        model = re.search(r"^model name\s*:\s*(.+)$", cpus.read_text("utf-8"), re.MULTILINE)
        if model:
            return model[1]
    return platform.processor() or platform.machine()


def matching(names: Iterable[str]) -> list[str]:
    """Return names with patterns, such as ``flute.*``, replaced by the ids that they match.

    Parameters
    ----------
    names : iterable of str
        Ids, patterns, or paths of scripts.

    Raises
    ------
    ValueError
        If a pattern matches none.
    """
    known = available()
    found: list[str] = []
    for name in names:
        chosen = [name] if not set(name) & set("*?[") else fnmatch.filter(known, name)
        if not chosen:
            raise ValueError(f"unknown experiment {name!r}; there are {', '.join(known)}")
        found += chosen
    return list(dict.fromkeys(found))


def load(name: str) -> Experiment:
    """Load an experiment by id, or from a script of your own by its path (ending in .py).

    Parameters
    ----------
    name : str
        An id such as ``fedrep.figure3``, or a path.

    Raises
    ------
    ValueError
        If there is no such experiment, or the script cannot be run or defines none.
    """
    path = Path(name) if name.endswith(".py") else folder() / f"{name.replace('.', '_', 1)}.py"
    if not name.endswith(".py") and name not in available():
        raise ValueError(f"unknown experiment {name!r}; there are {', '.join(available())}")
    experiment = load_file(path).get("EXPERIMENT")
    if not isinstance(experiment, Experiment):
        raise ValueError(f"{path} must define EXPERIMENT, a linrep.experiment.Experiment")
    return experiment

"""The runs behind a figure: where they are stored, and how they are made."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

import pandas as pd

from linrep._lib import code
from linrep._lib.warning import collected
from linrep.figures.experiment import Experiment, data_folder
from linrep.sweeps import Run, Sweep, run
from linrep.sweeps.codes import code_of

#: Folder, beside the figures, of the runs that are not finished.
RUNS = ".runs"
#: Rooms and modules that numbers of networks do not depend on.
_NOT_OF_NETWORKS = (
    "algorithms", "claims", "kernels", "papers", "simulation", "testing", "theory",
    *(f"problems/{name}" for name in (
        "biases", "clients", "completion", "losses", "low_rank", "objectives", "personal",
        "regression", "samples", "subspace",
    )),
)  # fmt: skip
_GRACE = 5.0  # seconds for replicates that are nearly done, when an interrupt has come


class Failed(RuntimeError):
    """Replicates of an experiment raised exceptions, which are stored in ``run``.

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


def compute(
    experiment: Experiment,
    runs: Path,
    *,
    quick: bool = False,
    workers: int = 1,
    seed: int = 0,
) -> Run:
    """Run the missing replicates of a figure.

    Networks are trained in processes of one thread each, which an interrupt ends within seconds.

    Parameters
    ----------
    experiment : Experiment
    runs : Path
        The folder of all runs, see :func:`run_directory`: an interrupted one goes on from there.
    quick : bool
        The small grid and few replicates.
    workers : int
        Threads. The rows do not depend on it.
    seed : int
        Root of all streams.

    Returns
    -------
    Run

    Raises
    ------
    Failed
        If a replicate did.
    linrep.sweeps.Stopped
        If it was interrupted.
    """
    sweep = sweep_of(experiment, quick=quick, seed=seed)
    directory = run_directory(runs, experiment, sweep)
    networks = experiment.trains_networks
    with collected():  # what is worth saying of runs is in their rows, and in the manifest
        done = run(
            sweep, directory, workers=workers, processes=networks, retry_failed=directory.exists(),
            grace=_GRACE if networks else None,
        )  # fmt: skip
    failed = done.failures()
    if len(failed):
        raise Failed(experiment, done, failed)
    return done


def measured_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what a sweep has stored without its own columns.

    Parameters
    ----------
    rows : DataFrame
    """
    own = ["row", "status", "exception", "notes", "seconds", "versions", "cell"]
    return rows.drop(columns=own)


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
    fixed, sizes = experiment.at(quick), experiment.sizes_at(quick)
    return Sweep(
        experiment.replicate,
        fixed.cells(quick),
        fixed.replicates,
        seed=seed,
        name=experiment.id,
        paired=experiment.paired,
        settings={} if sizes is None else asdict(sizes),
    )


def run_directory(runs: Path, experiment: Experiment, sweep: Sweep) -> Path:
    """Return the folder of a figure's run, which depends on its settings and on the code.

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
    digest.update(code_of(experiment.replicate).encode())
    left_out = _NOT_OF_NETWORKS if experiment.trains_networks else ("claims", *code.statements())
    digest.update(code.state(*left_out).encode())
    digest.update(repr([import_module(each).__version__ for each in experiment.packages]).encode())
    if experiment.data and (data := data_folder()) is not None:
        digest.update(str(data.resolve()).encode())
    return runs / f"{experiment.id}-{digest.hexdigest()[:8]}"

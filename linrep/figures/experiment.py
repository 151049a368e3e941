"""What a script in ``experiments/`` is, and how it becomes a figure with its rows and manifest."""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib import import_module
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from linrep._lib import atomic as files
from linrep._lib import code
from linrep._lib import validation as check
from linrep._lib.extras import command, installed
from linrep._lib.provenance import surroundings
from linrep._lib.scripts import available, folder
from linrep._lib.suggest import unknown
from linrep._lib.warning import collected
from linrep.deep.readers import FOLDER_VARIABLE
from linrep.figures import record
from linrep.figures.sizes import Sizes, listed
from linrep.sweeps import Grid, Run, Sweep, open_run, run
from linrep.sweeps.targets import load_file

Cell = Mapping[str, Any]
#: Folder, beside the figures, of the runs that are not finished.
RUNS = ".runs"
#: Rooms and modules that numbers of networks do not depend on.
_NOT_OF_NETWORKS = (
    "algorithms", "claims", "kernels", "papers", "simulation", "testing", "theory",
    *(f"problems/{name}" for name in (
        "biases", "clients", "completion", "losses", "low_rank", "objectives", "personal",
        "preparation", "ratings", "reading", "regression", "samples", "splits", "subspace",
        "weights",
    )),
)  # fmt: skip
_GRACE = 5.0  # seconds for replicates that are nearly done, when an interrupt has come


def all_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows as they are.

    Parameters
    ----------
    rows : DataFrame
    """
    return rows


@dataclass(frozen=True)
class Experiment:
    """A figure: which cells to run, how to run one replicate of a cell, how to draw the rows.

    With `sizes`, its functions get them: `cells` in the place of `quick`, `replicate` as keyword
    arguments, which a stored run repeats, and the others as a last argument.

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
        and the manifest. Its index says what the numbers of a line belong to; counts of
        replicates are those of :mod:`linrep.figures.counts`. It is also called with half of the
        replicates, and with single ones.
    replicates, quick_replicates : int
        Per cell.
    packages : tuple of str
        Modules that linrep itself does not depend on.
    data : tuple of str
        Data sets, by their names for :func:`linrep.deep.load`, or files of the folder of
        ``--data``, that the full settings read from there; with ``--quick`` an experiment does
        with what comes along.
    signed : tuple of str
        Patterns of the labels or columns, such as ``"*exponent*"``, of numbers of the summary
        that can have either sign, though all that is seen may be positive.
    kept : callable or None
        ``kept(rows) -> DataFrame``: the rows that a record keeps, by default all. They have to give
        the same summary. None for none, where the figure is redrawn within a minute.
    sizes : Sizes or None
        What can be chosen, and by default is; None for nothing.
    paired : tuple of str
        Parameters of cells that change no random numbers: cells that differ only in these, such as
        methods, have the same problem and data in each replicate.
    order : callable or None
        ``order(cell, replicate)``: what is worth most has the smallest value and is run first.
    given : mapping
        What was chosen instead, see :meth:`with_sizes`.
    sources : tuple of str
        Files that rows depend on beside the script and linrep: with another content, runs are new.
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
    signed: tuple[str, ...] = ()
    kept: Callable[[pd.DataFrame], pd.DataFrame] | None = all_rows
    sizes: Sizes | None = None
    paired: tuple[str, ...] = ()
    order: Callable[[Cell, int], Any] | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    sources: tuple[str, ...] = ()

    def __post_init__(self):
        check.identifier("id", self.id)

    def with_sizes(self, given: Mapping[str, Any]) -> Experiment:
        """Return the figure with other sizes or another number of replicates.

        Parameters
        ----------
        given : mapping
            Sizes by name, and ``replicates``.

        Raises
        ------
        ValueError, TypeError
            If there cannot be so many replicates. Sizes are checked where they are asked for, as
            those of ``--quick`` may go with them and the default ones not.
        """
        given = {**self.given, **given}
        if "replicates" in given:
            given["replicates"] = check.integer("replicates", given["replicates"], minimum=1)
        return replace(self, given=given)

    def at(self, quick: bool = False) -> Experiment:
        """Return the figure with its sizes fixed: its functions take none.

        Parameters
        ----------
        quick : bool, default False
            Take the small ones, where others are not given.
        """
        replicates = self.quick_replicates if quick else self.replicates
        replicates = self.given.get("replicates", replicates)
        fixed = replace(
            self, given={}, sizes=None, replicates=replicates, quick_replicates=replicates
        )
        sizes = self.sizes_at(quick)
        if sizes is None:
            return fixed
        cells, draw, caption, summary = self.cells, self.draw, self.caption, self.summary
        return replace(
            fixed,
            cells=lambda quick: cells(sizes),  # type: ignore[arg-type]
            draw=lambda rows: draw(rows, sizes),  # type: ignore[call-arg]
            caption=lambda rows, count: caption(rows, count, sizes),  # type: ignore[call-arg]
            summary=lambda rows: summary(rows, sizes),  # type: ignore[call-arg]
        )

    def sizes_at(self, quick: bool = False) -> Sizes | None:
        """Return the sizes, None where there are none to choose.

        Parameters
        ----------
        quick : bool, default False
            Take the small ones, where others are not given.

        Raises
        ------
        ValueError, TypeError
            If the figure has no size that is given, or it cannot be; the message begins with the
            name.
        """
        given = {name: value for name, value in self.given.items() if name != "replicates"}
        if self.sizes is None:
            if given:
                raise ValueError(f"{next(iter(given))} is no size of this figure; it has none")
            return None
        return (self.sizes.quick() if quick else self.sizes).changed(given)

    def others(self, quick: bool = False) -> dict[str, Any]:
        """Return the sizes and the number of replicates that are not the default ones.

        Parameters
        ----------
        quick : bool, default False
            Whether those of ``--quick`` are meant.
        """
        sizes_given: dict[str, Any] = {}
        sizes, plain = self.sizes_at(quick), replace(self, given={}).sizes_at(quick)
        if sizes is not None and plain is not None:
            sizes_given |= sizes.other_than(plain)
        count = self.at(quick).replicates
        if count != replace(self, given={}).at(quick).replicates:
            sizes_given["replicates"] = count
        return sizes_given

    @property
    def trains_networks(self) -> bool:
        """Whether replicates take minutes, and keep checkpoints."""
        return "torch" in self.packages

    def missing(self, quick: bool = False) -> str | None:
        """Return what it needs and does not find, None if nothing is missing.

        Parameters
        ----------
        quick : bool, default False
            Whether the quick settings are meant, which do with the data that come along.
        """
        for package in self.packages:
            if not installed(package):
                return f"the package {package}: {command(package)}"
        if self.data and not quick and data_folder() is None:
            return f"--data FOLDER with {', '.join(self.data)} (or --quick)"
        return None


def data_folder() -> Path | None:
    """Return the folder of data sets that ``--data`` or the environment variable names."""
    folder = os.environ.get(FOLDER_VARIABLE)
    return Path(folder) if folder else None


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


def run_rows(
    experiment: Experiment,
    *,
    quick: bool = False,
    workers: int = 1,
    seed: int = 0,
    runs: Path | None = None,
) -> pd.DataFrame:
    """Run all replicates of all cells, with a progress bar on a terminal, or lines in a log.

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
    with TemporaryDirectory() as scratch:
        done = compute(
            experiment, Path(scratch) if runs is None else runs,
            quick=quick, workers=workers, seed=seed,
        )  # fmt: skip
        return _rows(done.read())


def compute(
    experiment: Experiment,
    runs: Path,
    *,
    quick: bool = False,
    workers: int = 1,
    seed: int = 0,
    chosen: Container[tuple[Any, ...]] | None = None,
    budget: float | None = None,
) -> Run:
    """Run the missing replicates of a figure, the most valuable first.

    Networks are trained in processes of one thread each, which an interrupt ends within seconds.

    Parameters
    ----------
    experiment, quick, workers, seed
        As for :func:`run_rows`.
    runs : Path
        The folder of all runs.
    chosen : container of tuple, optional
        Which runs to make, as :func:`run_of` names them; by default all.
    budget : float, optional
        Seconds after which the run is interrupted.

    Returns
    -------
    Run

    Raises
    ------
    Failed
        If a replicate did.
    linrep.sweeps.Stopped
        If it was interrupted, or its time is over.
    """
    sweep = sweep_of(experiment, quick=quick, seed=seed)
    directory = run_directory(runs, experiment, sweep)
    order = experiment.order
    if chosen is not None:
        first = order or (lambda cell, replicate: 0)

        def order(cell, replicate):
            is_chosen = run_of(cell, replicate, sweep) in chosen
            return first(cell, replicate) if is_chosen else None

    networks = experiment.trains_networks
    with collected():  # what is worth saying of runs is in their rows, and in the manifest
        done = run(
            sweep, directory, workers=workers, processes=networks, retry_failed=directory.exists(),
            order=order, budget=budget, grace=_GRACE if networks else None,
        )  # fmt: skip
    failed = done.failures()
    if len(failed):
        raise Failed(experiment, done, failed)
    return done


def _rows(rows):
    """Return what a sweep has stored without its own columns."""
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
    for source in map(Path, (experiment.replicate.__code__.co_filename, *experiment.sources)):
        digest.update(source.read_bytes() if source.is_file() else b"")
    left_out = _NOT_OF_NETWORKS if experiment.trains_networks else ("claims", *code.statements())
    digest.update(code.state(*left_out).encode())
    digest.update(repr([import_module(each).__version__ for each in experiment.packages]).encode())
    if experiment.data and (data := data_folder()) is not None:
        digest.update(str(data.resolve()).encode())
    return runs / f"{experiment.id}-{digest.hexdigest()[:8]}"


def is_finished(experiment: Experiment, runs: Path, *, seed: int = 0) -> bool:
    """Tell whether a folder of runs has all replicates of a figure, none failed, by this code.

    Parameters
    ----------
    experiment : Experiment
    runs : Path
        The folder of all runs.
    seed : int, default 0
        Root of all streams.
    """
    directory = run_directory(runs, experiment, sweep_of(experiment, seed=seed))
    with contextlib.suppress(ValueError, OSError):  # begun, and not yet a run directory
        stored = open_run(directory)
        return stored.count() == stored.total and not stored.failed()
    return False


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
    partial: bool = False,
    beside: pd.DataFrame | None = None,
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
        As in :func:`run_rows`.
    recorded : bool, default False
        Write a record, which other runs are compared with: the picture as SVG only (else as PNG,
        too), of the rows those that the experiment keeps, and in the manifest with each number of
        the summary what makes it comparable.
    runs : Path, optional
        Folder in which finished replicates are kept until all rows are there, so that an
        interrupted figure goes on where it was; by default ``.runs`` in `out`.
    keep : bool, default False
        Keep them afterwards, too: drawn again by the same code, the figure has the same rows.
    partial : bool, default False
        Run nothing: draw what has been run so far, say how much that is, and keep it.
    beside : DataFrame, optional
        With `partial`: rows of other runs of the figure, drawn and summarized, too, where this one
        has no replicate of theirs.
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
        ones, or nothing has been run that could be drawn.
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
    paths = {kind: out / f"{experiment.id}.{kind}" for kind in ("svg", "png", "parquet", "json")}
    lock = runs / f"{directory.name}.lock"
    with files.shared(lock) as alone:
        if partial:
            rows, absent = so_far(experiment, directory, sweep, beside)
            notes: dict[str, str] = {}
        else:
            done = compute(experiment, runs, quick=quick, workers=workers, seed=seed)
            rows, absent = _rows(done.read()), 0
            notes = {each: f"{count} of {done.total}" for each, count in done.notes().items()}
        elapsed = time.perf_counter() - began
        fixed = experiment.at(quick)
        kept = kept_rows(experiment, rows) if recorded else rows
        # What cannot be summarized, drawn or recorded says so before a file is replaced.
        result = _result(
            fixed, rows, kept if recorded else None, quick, seed, recorded, others, absent
        )
        kinds = ("svg",) if recorded else ("png", "svg")
        text = result["caption"] if caption else " ".join(_remarks(quick, others, absent))
        pictures = _pictures(fixed, rows, text, kinds)
        paths["json"].unlink(missing_ok=True)
        _write_rows(kept, paths["parquet"])
        # Another process may be at the same figure, and read what both have computed.
        if not (keep or partial) and alone():
            shutil.rmtree(directory, ignore_errors=True)
            lock.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        runs.rmdir()  # another figure may still be under way
    for kind, picture in pictures.items():
        files.write(paths[kind], picture)
    if recorded:
        paths["png"].unlink(missing_ok=True)
    manifest = {
        "id": experiment.id,
        "title": experiment.title,
        "result": result,
        "checksums": record.checksums(result),
        "provenance": {
            **surroundings(experiment.packages),
            **_data(experiment, rows, quick),
            **({"notes": notes} if notes else {}),
            "seconds": round(elapsed, 1),
            "workers": workers,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "files": {
                path.name: hashlib.sha256(path.read_bytes()).hexdigest()
                for path in paths.values()
                if path.exists()
            },
        },
    }
    files.write(paths["json"], _as_json(manifest).encode())
    return Drawn(paths[kinds[0]], fixed.summary(rows), manifest, rows)


def so_far(
    experiment: Experiment, directory: Path, sweep: Sweep, beside: pd.DataFrame | None = None
) -> tuple[pd.DataFrame, int]:
    """Return the rows that are stored of a run, and how many replicates are not.

    Parameters
    ----------
    experiment : Experiment
    directory : Path
        Of the run, see :func:`run_directory`.
    sweep : Sweep
        As :func:`sweep_of` makes it.
    beside : DataFrame, optional
        Rows of other runs, taken where these have no replicate. Those of other cells come first.

    Raises
    ------
    ValueError
        If there are none.
    """
    try:
        stored = open_run(directory).read(partial=True)
        rows = _rows(stored[stored["status"] == "ok"])
    except (ValueError, OSError):
        rows = pd.DataFrame()
    if beside is not None and len(beside):
        new = ~runs_of(beside, sweep).isin(set(runs_of(rows, sweep)))
        rows = pd.concat([each for each in (beside[new], rows) if len(each)], ignore_index=True)
    if rows.empty:
        raise ValueError(f"{experiment.id}: no run has ended yet")
    wanted = runs_in(sweep)
    place = runs_of(rows, sweep).map({run: place for place, run in enumerate(wanted)})
    rows = rows.iloc[np.argsort(place.fillna(-1.0).to_numpy(), kind="stable")]
    return rows.reset_index(drop=True), len(wanted) - place.nunique()


def run_of(cell: Cell, replicate: int, sweep: Sweep) -> tuple[Any, ...]:
    """Return what a run is named by: its cell's parameters and the replicate.

    Parameters
    ----------
    cell : mapping
    replicate : int
    sweep : Sweep
    """
    return (*(cell.get(name) for name in sweep.parameters), replicate)


def runs_in(sweep: Sweep, wanted: Callable[[Cell], bool] | None = None) -> list[tuple[Any, ...]]:
    """Return the runs of a sweep, as :func:`run_of` names them.

    Parameters
    ----------
    sweep : Sweep
    wanted : callable, optional
        ``wanted(cell)`` says of which cells; by default of all.
    """
    return [
        run_of(cell, replicate, sweep)
        for cell in filter(wanted or (lambda cell: True), sweep.grid)
        for replicate in range(sweep.replicates)
    ]


def runs_of(rows: pd.DataFrame, sweep: Sweep) -> pd.Series:
    """Return the run that each row is of, as :func:`run_of` names it.

    Parameters
    ----------
    rows : DataFrame
    sweep : Sweep
    """
    named = rows.reindex(columns=[*sweep.parameters, "replicate"]).astype(object)
    named = named.where(named.notna(), None)
    return pd.Series(list(named.itertuples(index=False, name=None)), rows.index, dtype=object)


def _data(experiment, rows, quick):
    """Return where the samples of a figure come from, as a manifest has it."""
    if quick or not experiment.data or "data" not in rows:
        return {}
    from linrep.deep import load

    sets = {name: load(name) for name in rows["data"].unique() if name != "digits"}
    return {"data": {name: {"sha256": each.digest, "about": each.about or None}
                     for name, each in sets.items()}}  # fmt: skip


def list_sizes(others: Mapping[str, Any]) -> str:
    """Return sizes as text, such as ``n = 50, 500; d = 20``.

    Parameters
    ----------
    others : mapping
        As :meth:`Experiment.others` returns it.
    """
    return "; ".join(f"{name} = {listed(value)}" for name, value in others.items())


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


def _write_rows(rows, path):
    if rows is None:
        path.unlink(missing_ok=True)
        return
    with files.whole(path) as draft:
        rows.to_parquet(draft, index=False)


def _result(experiment, rows, kept, quick, seed, comparable, others, absent):
    replicates = int(rows["replicate"].max()) + 1
    text = experiment.caption(rows, replicates)
    text = " ".join([*_remarks(quick, others, absent), *text.split()])
    settings = {
        "quick": quick,
        "seed": seed,
        "replicates": replicates,
        "cells": [dict(cell) for cell in experiment.cells(quick)],
        **({"others": json.loads(json.dumps(others))} if others else {}),
        **({"absent": absent} if absent else {}),
    }
    return record.result(
        rows,
        experiment.summary,
        caption=text,
        settings=settings,
        kept=kept,
        comparable=comparable,
        signed=experiment.signed,
    )


def _remarks(quick, others, absent):
    """Return sentences on what makes a figure another one than the default."""
    remarks = []
    if quick:
        remarks.append("QUICK RUN, reduced grid and replicates.")
    if absent:
        remarks.append(f"INCOMPLETE: {absent} runs are left out, which have not been run.")
    if others:
        remarks.append(f"OTHER SIZES than the default: {list_sizes(others)}.")
    return remarks


def _pictures(experiment, rows, text, kinds):
    """Return the picture, with a text under it, in each of the formats."""
    import matplotlib.pyplot as plt

    from linrep.figures import plotting

    contents = {}
    with plotting.style():
        figure = experiment.draw(rows)
        if text:
            plotting.caption(figure, text)
        for kind in kinds:
            metadata = {"Date": None} if kind == "svg" else None
            content = BytesIO()
            figure.savefig(content, format=kind, metadata=metadata)
            contents[kind] = content.getvalue()
        plt.close(figure)
    return contents


def _as_json(manifest):
    """Return a manifest as text, a line for each cell and each line of the summary."""
    marks: dict[str, str] = {}

    def flat(values):
        texts = [json.dumps(value, ensure_ascii=False) for value in values]
        places = [f"@{len(marks) + i}@" for i in range(len(texts))]
        marks.update(zip(places, texts, strict=True))
        return places

    result = manifest["result"]
    short = {
        **manifest,
        "result": {
            **result,
            "settings": {**result["settings"], "cells": flat(result["settings"]["cells"])},
            "summary": {**result["summary"], "lines": flat(result["summary"]["lines"])},
        },
    }
    text = json.dumps(short, indent=1, ensure_ascii=False)
    return re.sub(r'"(@\d+@)"', lambda mark: marks[mark[1]], text) + "\n"


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
    ids: list[str] = []
    for name in names:
        chosen = [name] if not set(name) & set("*?[") else fnmatch.filter(known, name)
        if not chosen:
            raise ValueError(unknown("unknown experiment", name, known))
        ids += chosen
    return list(dict.fromkeys(ids))


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
        raise ValueError(unknown("unknown experiment", name, available()))
    experiment = load_file(path).get("EXPERIMENT")
    if not isinstance(experiment, Experiment):
        raise ValueError(f"{path} must define EXPERIMENT, a linrep.figures.experiment.Experiment")
    return experiment

"""How much of a table of networks is done, and how long the rest takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from linrep import _trial
from linrep._progress import progress_bar
from linrep._threads import one_thread
from linrep.cli.estimate import duration
from linrep.cli.text import counted, echo, frame
from linrep.experiment import Experiment, run_directory, run_of, runs_of, sweep_of
from linrep.sweeps import open_run
from linrep.sweeps.chunks import FAILURES, describe

HERE, RECORD, TRIAL, SIMILAR = "runs here", "the record", "a trial", "other runs"
_NONE = pd.DataFrame({"cell": [], "replicate": [], "seconds": [], "device": []})


def plan(
    item: Experiment,
    runs: Path,
    seed: int,
    wanted: Callable,
    kept: pd.DataFrame | None,
    recorded: pd.DataFrame | None,
    device: str,
    workers: int,
    try_out: bool,
) -> None:
    """Say how much of a table is done, how long the rest takes, and what is judged from.

    Times are of runs on the device, those here before those of the record. Where a column has
    none, a run of it can be tried out for a few rounds. Of the other methods times are taken to be
    in the same ratio as in other columns.
    """
    sweep = sweep_of(item, seed=seed)
    try:
        here = open_run(run_directory(runs, item, sweep)).read(partial=True)
        here = here[here["status"] == "ok"]
    except (ValueError, OSError):
        here = _NONE
    names = {run_of(cell, 0, sweep)[:-1]: name
             for name, cell in zip(sweep.names, sweep.grid, strict=True)}  # fmt: skip
    recorded, kept = (_as_runs(rows, sweep, names) for rows in (recorded, kept))
    done = _each(pd.concat([here, kept]))["cell"].value_counts()
    keys = [name for name in sweep.parameters if name != "method"] or ["method"]
    table = pd.DataFrame(
        {
            "cell": name,
            "column": repr([cell.get(key) for key in keys]),
            "method": cell.get("method"),
            **{key: cell.get(key) for key in keys},
            "runs": sweep.replicates,
            "done": int(done.get(name, 0)),
        }
        for name, cell in zip(sweep.names, sweep.grid, strict=True)
        if wanted(cell)
    )
    tried = ", step sizes not tried" if "tried" in sweep.parameters else ""
    known = pd.concat([_times(here, HERE), _times(recorded, RECORD + tried)])
    table = table.merge(_on(known, device), on="cell", how="left")
    if try_out:
        _try_out(table, sweep, known)
    _fill(table, known, sweep, keys)
    table["left"] = (table["runs"] - table["done"]) * table["seconds"]
    open_ones = table["runs"] > table["done"]
    table["by"] = table["by"].where(open_ones)
    shown = table.groupby(keys, sort=False, dropna=False).agg(
        runs=("runs", "sum"), done=("done", "sum"),
        left=("left", lambda own: own.sum(skipna=False)),
        by=("by", lambda own: ", ".join(dict.fromkeys(own.dropna())) or "-"),
    )  # fmt: skip
    shown["left on one worker"] = shown.pop("left").map(duration)
    shown["judged from"] = shown.pop("by")
    echo(f"{item.id}: {item.title}; times on {device}")
    frame(shown.reset_index(), digits=6)
    left = table.loc[open_ones, "left"]
    if not left.empty and left.notna().any():
        about = "about" if left.notna().all() else "at least"
        time = duration(left.sum() / workers)
        echo(f"{about} {time} on {counted(workers, 'worker')}")
    if left.isna().any():
        echo("where nothing has been run, --trial runs a few rounds to judge from")


def _as_runs(rows, sweep, names):
    """Return recorded rows as a run's: with their cells and, where these are known, seconds."""
    if rows is None or rows.empty:
        return _NONE
    cells = runs_of(rows, sweep).map(lambda run: names.get(run[:-1]))
    unknown = {name: np.nan for name in ("device", "trained") if name not in rows}
    rows = rows.assign(cell=cells, **unknown)
    return rows.assign(seconds=rows["trained"]).dropna(subset="cell")


def _each(rows):
    """Return one row for each run: a curve has many."""
    return rows.drop_duplicates(["cell", "replicate"])


def _times(rows, source):
    """Return how long runs of a cell took on average, on each device."""
    rows = _each(rows)
    rows = rows.assign(
        device=rows.get("device", ""),
        tuned=rows["fine_tuned"].notna() if "fine_tuned" in rows else False,
    )
    found = rows.groupby(["cell", "device"])[["seconds", "tuned"]].mean()
    return found.dropna().reset_index().assign(by=source)


def _on(known, device):
    """Return the times of cells on a device, of runs here where there are some."""
    of = known[known["device"].isin([device, ""])]
    return of.drop_duplicates("cell")[["cell", "seconds", "by"]]


def _try_out(table, sweep, known):
    """Run a few rounds in each column without a time: of the method known to be fastest.

    Methods that are known to fine-tune after the last round come last: a trial does not see that.
    """
    typical = known.assign(method=known["cell"].map(_methods(sweep)))
    typical = typical.groupby("method")[["tuned", "seconds"]].median()
    fastest = list(typical.sort_values(["tuned", "seconds"]).index)
    missing = [own for _, own in table.groupby("column", sort=False)
               if own["seconds"].isna().all() and (own["runs"] > own["done"]).any()]  # fmt: skip
    cells = dict(zip(sweep.names, sweep.grid, strict=True))
    _one_thread()
    with progress_bar(None, total=len(missing), desc="trials", unit="column") as bar:
        for own in missing:
            rank = own["method"].map({name: place for place, name in enumerate(fastest)})
            place = own.index[rank.fillna(len(fastest)).argmin()]
            name = own["cell"][place]
            try:
                table.loc[place, ["seconds", "by"]] = _trial.seconds(sweep, cells[name]), TRIAL
            except FAILURES as error:
                echo(f"{name}: {describe(error)}", err=True)
            bar.update()


def _one_thread():
    """Take one thread, as each worker does."""
    import torch

    torch.set_num_threads(1)
    one_thread()


def _methods(sweep):
    return {name: cell.get("method") for name, cell in zip(sweep.names, sweep.grid, strict=True)}


def _fill(table, known, sweep, keys):
    """Fill in times of methods in a column that has some, by least squares of their logarithms.

    A time is a product of a factor of the column, on its device, and one of the method.
    """
    cells = dict(zip(sweep.names, sweep.grid, strict=True))
    timed = table.dropna(subset="seconds")
    places = [
        *timed["column"],
        *(
            f"{row.device} {row.by} {[cells[row.cell].get(key) for key in keys]}"
            for row in known.itertuples()
        ),
    ]
    methods = [*timed["method"], *known["cell"].map(_methods(sweep))]
    if not places:
        return
    design = pd.get_dummies(
        pd.DataFrame({"place": places, "method": list(map(str, methods))}), dtype=float
    )
    logs = np.log([*timed["seconds"], *known["seconds"]])
    factor = dict(zip(design, np.linalg.lstsq(design, logs, rcond=None)[0], strict=True))
    usual = np.mean([factor[name] for name in design if name.startswith("method_")])
    for row in table.index[table["seconds"].isna() & table["column"].isin(timed["column"])]:
        column, method = table.loc[row, ["column", "method"]]
        log = factor[f"place_{column}"] + factor.get(f"method_{method}", usual)
        table.loc[row, ["seconds", "by"]] = float(np.exp(log)), SIMILAR

"""Tables of networks: which cells are wanted, which are done, how long the others take."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from linrep import deep
from linrep._lib import scripts
from linrep.cli import figures
from linrep.cli.estimate import duration
from linrep.cli.group import BadInput, bad_input
from linrep.cli.text import counted, echo, frame
from linrep.deep.devices import DEVICE_VARIABLE, describe, read_device
from linrep.deep.readers import FOLDER_VARIABLE, probe
from linrep.figures import experiment
from linrep.figures.experiment import Experiment, data_folder, run_of, runs_in, runs_of, sweep_of
from linrep.figures.networks import own_method, with_method
from linrep.figures.reproduction import RECORD, RESULTS, read_record
from linrep.sweeps import Expression, label, load

RUNS = RESULTS / experiment.RUNS
_PATTERNS = ("deep.*table*", "deep.*figure*")


class Table(NamedTuple):
    """What is run: a table, or it with a method of the user's in the place of its own."""

    item: Experiment
    table: Experiment
    folder: Path


def matching(names):
    """Return the tables of some names or patterns, and the ids of those that are named in full."""
    with bad_input(ValueError):
        matches = experiment.matching(names or _PATTERNS)
        chosen = [experiment.load(name) for name in matches]
    for item in chosen:
        if not item.trains_networks:
            raise BadInput(f"{item.id} trains no networks; linrep figures draws it")
    return chosen, {item.id for name, item in zip(matches, chosen, strict=True) if name in names}


def use(chosen, device, data):
    """Refuse what cannot be run before the first run, set where it is, and name the device."""
    if data is not None:
        os.environ[FOLDER_VARIABLE] = str(data.resolve())
    for item in chosen:
        missing = item.missing(quick=True)  # but data, of which some will do
        if missing is None and item.data and data_folder() is None:
            missing = f"--data FOLDER with one of {', '.join(item.data)} at least"
        if missing is not None:
            raise BadInput(f"{item.id} needs {missing}")
    with bad_input(ValueError):
        here = read_device(device)
    os.environ[DEVICE_VARIABLE] = device
    return describe(here)


def sized(item, given, replicates, option, method):
    """Return a table with sizes, and with the user's method if there is one."""
    table, folder = figures.sized(item, given, replicates, False, option)
    if method is None:
        return Table(table, table, folder)
    with bad_input(ValueError, TypeError):
        load(method)
        name = label(method)  # by which processes find what has been loaded
        own_method(name, epochs=1)
        item = with_method(table, name)
    return Table(item, table, folder / f"method={name.replace(':', '.')}")


def absent_data(chosen):
    """Return the data sets that cannot be read, after saying which these are, and why."""
    absent, folder = set(), data_folder() or ""  # tables that read none need no folder
    for name in dict.fromkeys(name for table in chosen for name in table.item.data):
        try:
            probe(name, folder)
        except (ImportError, ValueError, OSError) as error:
            is_there = not isinstance(error, FileNotFoundError)
            reason = f"cannot be read: {name}" if is_there else f"not in {folder}"
            echo(f"left out, {reason}: {error}", err=True)
            absent.add(name)
    return absent


def selection(where, absent):
    """Return what tells which cells are wanted: of data that are there, where a condition holds."""
    expression = None if where is None else Expression(where)
    return lambda cell: (
        cell.get("data") not in absent and (expression is None or bool(expression.value(cell)))
    )


def with_cells(chosen, wanted, named, seed):
    """Return the tables that have a cell to run; a named one that has none is refused."""
    tables = []
    for table in chosen:
        try:
            if not any([wanted(cell) for cell in sweep_of(table.item, seed=seed).grid]):
                raise ValueError("no cell is left")
        except ValueError as error:
            reason = f"{table.item.id}: {error}"
            if table.item.id in named:
                raise BadInput(reason) from None
            echo(f"left out, {reason}", err=True)
        else:
            tables.append(table)
    if not tables:
        raise BadInput("no table has a cell that could be run")
    return tables


def missing(item, seed, wanted, rows):
    """Return which runs of the wanted cells have no rows."""
    sweep = sweep_of(item, seed=seed)
    return set(runs_in(sweep, wanted)) - (set() if rows is None else set(runs_of(rows, sweep)))


def in_turn(parts, seed):
    """Return tables and the runs to make of them, of all tables what is worth most first.

    Its worth is the first entry of what orders the runs of a table.
    """
    if len(parts) == 1:
        return parts
    steps: dict[tuple[int, int], set] = {}
    for number, (item, runs) in enumerate(parts):
        sweep = sweep_of(item, seed=seed)
        for cell in sweep.grid:
            for replicate in range(sweep.replicates):
                if (run := run_of(cell, replicate, sweep)) in runs:
                    worth = item.order(cell, replicate) if item.order else 0
                    first = worth[0] if isinstance(worth, tuple) else worth
                    steps.setdefault((int(first), number), set()).add(run)
        if not runs:
            steps[0, number] = runs
    return [(parts[number][0], runs) for (_, number), runs in sorted(steps.items())]


def plan(item, seed, wanted, records, device, workers):
    """Say what is done of a table and what is missing, and how long runs of it took here before.

    Times are means over a cell's stored runs on the device, here or in the record; a method that
    has none is taken to last as long as the others of its column.
    """
    sweep = sweep_of(item, seed=seed)
    done = set(runs_of(_stored(item, sweep, records), sweep))
    rows = _stored(item, sweep, records if records is not None else _comparable(item, seed))
    rows = rows.reindex(columns=[*rows.columns.union(["device", "trained"])])
    rows = rows[(rows["device"] == device) & (rows["trained"] > 0.0)]
    cells_of = runs_of(rows, sweep).map(lambda run: run[:-1])
    times = rows["trained"].groupby(cells_of).mean().to_dict()
    keys = [key for key in sweep.parameters if key != "method"] or ["method"]
    columns: dict[tuple, list] = {}
    for cell in filter(wanted, sweep.grid):
        settings = tuple(cell.get(key) for key in keys)
        columns.setdefault(settings, []).append(run_of(cell, 0, sweep)[:-1])
    lines, seconds = [], []
    for settings, cells in columns.items():
        usual = pd.Series([times[cell] for cell in cells if cell in times], dtype=float).mean()
        runs = [(*cell, replicate) for cell in cells for replicate in range(sweep.replicates)]
        each = [times.get(run[:-1], usual) for run in runs if run not in done]
        seconds += each
        lines.append(dict(zip(keys, settings, strict=True)) | {
            "runs": len(runs), "done": len(runs) - len(each),
            "time on one worker": duration(float(np.sum(each))),
        })  # fmt: skip
    shown = pd.DataFrame(lines)
    same = [key for key in keys if key != "data" and shown[key].astype(str).nunique() == 1]
    echo(f"{item.id}: {item.title}; times on {device}")
    frame(shown.drop(columns=same), 6)
    judged = [each for each in seconds if not np.isnan(each)]
    if judged:
        workers = workers if device == "cpu" else 1  # which share a GPU
        about = "about" if len(judged) == len(seconds) else "at least"
        time = duration(max(sum(judged) / workers, *judged))
        echo(f"{about} {time} on {counted(workers, 'worker')}")


def _stored(item, sweep, beside):
    """Return the rows of the runs made here, and of others beside them."""
    with suppress(ValueError):  # there are none
        rows, _ = experiment.so_far(
            item, experiment.run_directory(RUNS, item, sweep), sweep, beside
        )
        return rows
    return pd.DataFrame()


def beside(item, table, seed, wanted):
    """Return a figure of the user's method that says whose rows stand beside it, and these.

    They are those of the table in the same columns, run here, or else recorded of the same data.
    """
    sweep = sweep_of(table, seed=seed)
    names = [name for name in sweep.parameters if name != "method"]
    cells = list(filter(wanted, sweep_of(item).grid))
    columns = {tuple(cell.get(name) for name in names) for cell in cells}
    record = (
        None if table.others() else _comparable(table, seed, {cell.get("data") for cell in cells})
    )
    rows = _stored(table, sweep, record)
    runs = runs_of(rows, sweep)
    rows = rows[[
        tuple(value for name, value in zip(sweep.parameters, run, strict=False) if name in names)
        in columns for run in runs
    ]]  # fmt: skip
    runs = set(runs_of(rows, sweep))
    here = runs & set(runs_of(_stored(table, sweep, None), sweep))
    remark = f"uns of the other methods: {len(here)} run here, {len(runs - here)} of the record."
    echo(f"{item.id}: r{remark}", err=True)
    caption = item.caption
    item = replace(item, caption=lambda *given: f"R{remark} {caption(*given)}")
    return item, rows if runs else None


def _comparable(item, seed, data=()):
    """Return the recorded rows of a table of this seed, but of data sets that are others here."""
    try:
        manifest, rows = _record_of(item)
    except ValueError as error:
        echo(f"{item.id}: its record is left out: {error}", err=True)
        return None
    if rows is None or item.others().keys() - {"replicates"}:
        return None
    if seed != manifest["result"]["settings"]["seed"]:
        return None
    for name, about in manifest["provenance"].get("data", {}).items():
        if name in data and (difference := _difference(name, about["sha256"])):
            echo(f"{item.id}: its record, {difference}, is left out", err=True)
            rows = rows[rows["data"] != name]
    return rows


def check_record(item, seed):
    """Refuse to add to a record whose rows could not stand beside new ones.

    Those of cells that the table has no longer are left out, which is said.
    """
    with bad_input(ValueError):
        manifest, rows = _record_of(item)
    if manifest is None:
        return
    wrong = "" if rows is not None else "without its rows"
    if (its := manifest["result"]["settings"]["seed"]) != seed:
        wrong = f"of seed {its}"
    for name, about in manifest["provenance"].get("data", {}).items():
        wrong = wrong or _difference(name, about["sha256"])
    if wrong:
        raise BadInput(f"{item.id}: its record is {wrong}; move it away to begin another")
    gone = rows.drop(index=recorded(item, seed).index)
    if count := runs_of(gone, sweep_of(item, seed=seed)).nunique():
        echo(f"{item.id}: {count} recorded runs, of no cell of it, are left out", err=True)


def recorded(item, seed):
    """Return the rows that a new record of a table keeps of the old one, None for no record."""
    with bad_input(ValueError):
        _, rows = _record_of(item)
    if rows is None:
        return None
    sweep = sweep_of(item, seed=seed)
    return rows[runs_of(rows, sweep).isin(set(runs_in(sweep)))]


def _difference(name, digest):
    """Say what keeps recorded rows of a data set from standing beside new ones."""
    try:
        same = deep.load(name).digest == digest
    except (ImportError, ValueError, OSError):
        return f"of {name}, which cannot be read"
    return "" if same else f"of another {name} than is here"


def _record_of(item):
    """Return the manifest and the rows of a table's record, None where there is no record.

    A ValueError says that it is damaged.
    """
    for folder in filter(None, (RECORD, scripts.record())):
        files = [folder / "networks" / f"{item.id}.{kind}" for kind in ("json", "parquet")]
        if any(file.exists() for file in files):
            return read_record(folder / "networks", item.id)
    return None, None

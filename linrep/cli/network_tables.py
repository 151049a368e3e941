"""Tables of networks for the command line: which are chosen, their plans and their records."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from linrep.cli import figures
from linrep.cli.estimate import duration
from linrep.cli.group import BadInput, bad_input
from linrep.cli.text import echo, frame, say_count
from linrep.deep.devices import DEVICE_VARIABLE, describe, read_device
from linrep.deep.readers import FOLDER_VARIABLE, probe
from linrep.figures import experiment, network_runs
from linrep.figures.computing import runs_in
from linrep.figures.experiment import data_folder
from linrep.figures.network_runs import NETWORKS, Table, record_of
from linrep.figures.networks import own_method, with_method
from linrep.figures.record import KIND
from linrep.figures.reproduction import RECORD
from linrep.sweeps import Expression, label, load

_PATTERNS = ("deep.*table*", "deep.*figure*")


class Chosen(NamedTuple):
    """What is run, a table or it with a method of the user's, where it is drawn, and its record."""

    run: Table
    table: Table
    folder: Path
    recorded: pd.DataFrame | None = None


def load_matching(names):
    """Return the tables of some names or patterns, and the ids of those that are named in full."""
    with bad_input(ValueError):
        matches = experiment.matching(names or _PATTERNS)
        items = [experiment.load(name) for name in matches]
    for item in items:
        if not item.trains_networks:
            raise BadInput(f"{item.id} trains no networks; linrep figures draws it")
    return items, {item.id for name, item in zip(matches, items, strict=True) if name in names}


def use(items, device, data):
    """Refuse what cannot be run before the first run, set where it is, and name the device."""
    if data is not None:
        os.environ[FOLDER_VARIABLE] = str(data.resolve())
    for item in items:
        missing = item.missing(quick=True)  # but data, of which some will do
        if missing is None and item.data and data_folder() is None:
            missing = f"--data FOLDER with one of {', '.join(item.data)} at least"
        if missing is not None:
            raise BadInput(f"{item.id} needs {missing}")
    with bad_input(ValueError):
        here = read_device(device)
    os.environ[DEVICE_VARIABLE] = device
    return describe(here)


def apply_options(item, given, replicates, option, method):
    """Return a table with sizes, it with the user's method if there is one, and its folder."""
    table, folder = figures.apply_sizes(item, given, replicates, False, option)
    if method is None:
        return table, table, folder
    with bad_input(ValueError, TypeError):
        load(method)
        name = label(method)  # by which processes find what has been loaded
        own_method(name, epochs=1)
        return with_method(table, name), table, folder / f"method={name.replace(':', '.')}"


def _absent_data(items):
    """Return the data sets that cannot be read, after saying which these are, and why."""
    absent, folder = set(), data_folder() or ""  # tables that read none need no folder
    for name in dict.fromkeys(name for item in items for name in item.data):
        try:
            probe(name, folder)
        except (ImportError, ValueError, OSError) as error:
            is_there = not isinstance(error, FileNotFoundError)
            reason = f"cannot be read: {name}" if is_there else f"not in {folder}"
            echo(f"left out, {reason}: {error}", err=True)
            absent.add(name)
    return absent


def choose(tables, where, seed, named):
    """Return the tables that have a cell to run of data that are there and where a text holds.

    One that is named and has none is refused.
    """
    absent = _absent_data(item for item, _, _ in tables)
    expression = None if where is None else Expression(where)

    def wanted(cell):
        is_there = cell.get("data") not in absent
        return is_there and (expression is None or bool(expression.value(cell)))

    chosen = []
    for item, table, folder in tables:
        run = Table(item, seed, wanted)
        try:
            if not any([wanted(cell) for cell in run.sweep.grid]):
                raise ValueError("no cell is left")
        except ValueError as error:
            if item.id in named:
                raise BadInput(f"{item.id}: {error}") from None
            echo(f"left out, {item.id}: {error}", err=True)
        else:
            chosen.append(Chosen(run, Table(table, seed, wanted), folder))
    if not chosen:
        raise BadInput("no table has a cell that could be run")
    return chosen


def check_record(table):
    """Refuse to add to a record whose rows could not stand beside new ones.

    Those of cells that the table has no longer are left out, which is said.
    """
    with bad_input(OSError, ValueError):
        KIND.check(RECORD / NETWORKS / f"{table.item.id}.json")
        record = record_of(table.item)
    if record is None:
        return
    if conflict := record.conflict(table.seed):
        raise BadInput(f"{table.item.id}: its record is {conflict}; move it away to begin another")
    if count := len(table.runs(record.rows) - set(runs_in(table.sweep))):
        echo(f"{table.item.id}: {count} recorded runs, of no cell of it, are left out", err=True)


def read_recorded(table):
    """Return the rows that a new record of a table keeps of the old one, None for no record."""
    with bad_input(ValueError):
        record = record_of(table.item)
    return None if record is None or record.rows is None else table.kept(record.rows)


def _comparable(table, data=()):
    """Return the recorded rows of a table of this seed, but of data sets that are others here."""
    item = table.item
    try:
        record = record_of(item)
    except ValueError as error:
        echo(f"{item.id}: its record is left out: {error}", err=True)
        return None
    if record is None or record.rows is None or record.seed != table.seed:
        return None
    if item.others().keys() - {"replicates"}:
        return None
    rows = record.rows
    for name in record.digests:
        if name in data and (difference := record.difference(name)):
            echo(f"{item.id}: its record, {difference}, is left out", err=True)
            rows = rows[rows["data"] != name]
    return rows


def show_plan(chosen, device, workers):
    """Say what is done of a table and what is missing, and how long runs of it took here before.

    Recorded rows that a new record keeps are done; without it they tell times all the same.
    """
    table = chosen.run
    rows = table.rows(chosen.recorded)
    timed = rows if chosen.recorded is not None else table.rows(_comparable(table))
    lines, seconds = table.plan(table.runs(rows), timed, device)
    axes = lines.columns.difference(["data", "runs", "done", "seconds"])
    lines["time on one worker"] = lines.pop("seconds").map(duration)
    echo(f"{table.item.id}: {table.item.title}; times on {device}")
    frame(lines.drop(columns=[axis for axis in axes if lines[axis].astype(str).nunique() == 1]), 6)
    known = seconds.dropna()
    if len(known):
        workers = workers if device == "cpu" else 1  # which share a GPU
        about = "about" if len(known) == len(seconds) else "at least"
        time = duration(max(known.sum() / workers, known.max()))
        echo(f"{about} {time} on {say_count(workers, 'worker')}")


def beside(run, table):
    """Return a figure of the user's method that says whose rows stand beside it, and these.

    They are those of the table in the same columns, run here, or else recorded of the same data.
    """
    data = {cell.get("data") for cell in run.sweep.grid if run.wanted(cell)}
    record = None if table.item.others() else _comparable(table, data)
    rows, here = network_runs.beside(run, table, record)
    recorded = len(table.runs(rows)) - here
    remark = f"uns of the other methods: {here} run here, {recorded} of the record."
    echo(f"{run.item.id}: r{remark}", err=True)
    caption = run.item.caption
    item = replace(run.item, caption=lambda *given: f"R{remark} {caption(*given)}")
    return item, rows if len(rows) else None

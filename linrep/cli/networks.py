"""``linrep networks``: tables of networks, which take hours, what is worth most first."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import click

from linrep._lib.formulas import parse
from linrep._lib.scripts import available
from linrep.cli import completion
from linrep.cli import names as known
from linrep.cli.figures import show_drawn, sized
from linrep.cli.group import (
    SEED_OPTION,
    BadInput,
    Unfinished,
    bad_input,
    main,
    replay_command,
    workers_option,
)
from linrep.cli.text import echo, echo_error

_PATTERNS = ("deep.*table*", "deep.*figure*")


@main.command()
@click.argument("names", metavar="[ID]...", nargs=-1, shell_complete=completion.experiments)
@click.option(
    "--where", help="Only cells for which this holds: 'n == 100 and method == \"FedRep\"'."
)
@click.option(
    "--hours",
    type=click.FloatRange(min=0.0, min_open=True),
    help="Stop after so long, and draw what there is.  [default: when all is done]",
)
@click.option(
    "--replicates", type=click.IntRange(min=1), help="Seeds.  [default: those of the table]"
)
@click.option(
    "--rounds", type=click.IntRange(min=1), help="Of each run.  [default: those of the table]"
)
@click.option(
    "--method",
    help="Beside the table's methods one of your own, mine.py:MyMethod: only it is run, with the "
    "data, rounds, participation, step sizes and local epochs of each column.",
)
@click.option(
    "--device", default="auto", help="Of torch: cpu, cuda, cuda:1.  [default: cuda if any]"
)
@workers_option("Processes, of one thread each.")
@SEED_OPTION
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the data sets.  [default: $LINREP_DATA]",
)
@click.option("--plan", is_flag=True, help="Say what is done, missing, and how long it takes.")
@click.option(
    "--trial",
    is_flag=True,
    help="With --plan: run a few rounds in each column of which it is not known how long it takes.",
)
@click.option("--draw", is_flag=True, help="Draw what has been run, and run nothing.")
@click.option(
    "--record",
    is_flag=True,
    help="Draw into figures, what others compare with; runs that are recorded there stay, and are "
    "not made again.",
)
def networks(
    names, where, hours, replicates, rounds, method, device, workers, seed, data, plan, trial, draw,
    record,
):  # fmt: skip
    """Train the networks of the papers' tables and figures: all, some by id or pattern.

    A run is a method in a column with a seed. What is worth most is run first, the small columns of
    all tables before those of the papers' sizes; Ctrl-C or SIGTERM ends within seconds, and the
    same command goes on, each run from its last checkpoint. What has not been run is left out of
    pictures and tables, which say so.
    """
    if method is not None and record:
        raise BadInput("--method and --record: a record is of linrep's methods")
    if trial and not plan:
        raise BadInput("--trial needs --plan")
    names = known.spelled(names, available())
    with bad_input(ValueError):
        known.check_experiments(names, "*" if set(names) & set(available()) else "deep.*")
        known.check_reference(method or "")
        if where is not None:
            parse(where)
    from linrep.cli.network_times import plan as show_plan
    from linrep.figures import experiment
    from linrep.figures.experiment import data_folder
    from linrep.figures.reproduction import RECORD, RESULTS
    from linrep.sweeps import Stopped

    with bad_input(ValueError):
        found = experiment.matching(names or _PATTERNS)
        chosen = [experiment.load(name) for name in found]
        named = {item.id for name, item in zip(found, chosen, strict=True) if name in names}
        selected = _selection(where)
    for item in chosen:
        if not item.trains_networks:
            raise BadInput(f"{item.id} trains no networks; linrep figures draws it")
    here = _surroundings(chosen, device, data)
    given = {} if rounds is None else {"rounds": str(rounds)}
    option = "--record" if record else ""
    made = [sized(item, given, replicates, False, option) for item in chosen]
    tables = {item.id: item for item, _ in made}
    chosen, folders = [item for item, _ in made], [folder for _, folder in made]
    if method is not None:
        chosen, folders = _own(method, chosen, folders)
    runs = RESULTS / experiment.RUNS
    absent = _without(chosen, data_folder())

    def wanted(cell):
        return cell.get("data") not in absent and selected(cell)

    to_run = _with_cells(chosen, folders, wanted, named, seed)
    for item, _ in to_run if record else ():
        _check_record(item, seed)
    kept = {item.id: _kept(item, seed) if record else None for item, _ in to_run}
    if plan:
        for item, _ in to_run:
            times = kept[item.id] if record else _recorded_times(item, seed)
            show_plan(
                item, runs=runs, seed=seed, wanted=wanted, kept=kept[item.id], recorded=times,
                device=here, workers=workers, try_out=trial,
            )  # fmt: skip
        return
    until, failed = None if hours is None else time.monotonic() + 3600.0 * hours, False
    parts = [(item, _missing(item, seed, wanted, kept[item.id])) for item, _ in to_run]
    for item, missing in () if draw else _in_turn(parts, seed):
        left = None if until is None else until - time.monotonic()
        if left is not None and left <= 0.0:
            break
        try:
            with bad_input(OSError):
                experiment.compute(
                    item, runs, workers=workers, seed=seed, budget=left, chosen=missing
                )
        except Stopped as stopped:
            if until is None or time.monotonic() < until:
                raise Unfinished(stopped, at_once=stopped.at_once) from None
            echo(f"{stopped}; the same command goes on from there", err=True)
        except experiment.Failed as error:
            echo_error(error)
            echo(replay_command(error.run, error.first), err=True)
            failed = True  # the rest is run and drawn all the same
    for item, folder in to_run:
        began = time.perf_counter()
        others = None
        if method is not None:
            cells = list(filter(wanted, experiment.sweep_of(item).grid))
            others, remark = _others(tables[item.id], runs, seed, cells)
            echo(f"{item.id}: {remark}", err=True)
            item = _remarked(item, remark)
        elif record:  # once more: another process may have recorded, too
            others = _kept(item, seed)
        try:
            drawn = experiment.make_figure(
                item, out=RECORD / "networks" if record else folder, seed=seed, runs=runs,
                recorded=record, partial=True, beside=others,
            )  # fmt: skip
        except ValueError as error:
            echo(str(error), err=True)
            continue
        show_drawn(item, drawn, began)
        if missing := drawn.manifest["result"]["settings"].get("absent"):
            left = len(_missing(item, seed, wanted, drawn.rows))
            which = "them" if left == missing else f"{left} of them"
            again = "the same command" if not draw else "without --draw, the command"
            more = f"{again} goes on with {which}" if left else "none of those asked for"
            echo(f"{item.id}: {missing} runs are missing; {more}")
    if failed:
        raise click.exceptions.Exit(1)


def _in_turn(parts, seed):
    """Return tables and the runs to make of them, of all tables what is worth most first.

    Its worth is the first entry of what orders the runs of a table.
    """
    from linrep.figures.experiment import run_of, sweep_of

    if len(parts) == 1:
        return parts
    steps = []
    for item, missing in parts:
        sweep = sweep_of(item, seed=seed)
        worth: dict[int, set] = {}
        for cell in sweep.grid:
            for replicate in range(sweep.replicates):
                if (run := run_of(cell, replicate, sweep)) in missing:
                    rank = item.order(cell, replicate) if item.order else 0
                    first = rank[0] if isinstance(rank, tuple) else rank
                    worth.setdefault(int(first), set()).add(run)
        steps += [(first, item, runs) for first, runs in (worth or {0: set()}).items()]
    return [(item, runs) for _, item, runs in sorted(steps, key=lambda step: step[0])]


def _selection(where):
    """Return what tells which cells are wanted."""
    if where is None:
        return lambda cell: True
    from linrep.sweeps import Expression

    expression = Expression(where)
    return lambda cell: bool(expression.value(cell))


def _surroundings(chosen, device, data):
    """Refuse what cannot be run before the first run, set where it is, and name the device."""
    from linrep.deep.readers import FOLDER_VARIABLE
    from linrep.figures.experiment import data_folder

    if data is not None:
        os.environ[FOLDER_VARIABLE] = str(data.resolve())
    for item in chosen:
        missing = item.missing(quick=True)  # but data, of which some will do
        if missing is None and item.data and data_folder() is None:
            missing = f"--data FOLDER with one of {', '.join(item.data)} at least"
        if missing is not None:
            raise BadInput(f"{item.id} needs {missing}")
    from linrep.deep.devices import DEVICE_VARIABLE, describe, read_device

    with bad_input(ValueError):
        found = read_device(device)
    os.environ[DEVICE_VARIABLE] = device
    return describe(found)


def _without(chosen, folder):
    """Return the data sets that cannot be read, after saying which these are, and why."""
    from linrep.deep.readers import probe

    missing, unreadable = {}, {}
    for name in dict.fromkeys(name for item in chosen for name in item.data):
        try:
            probe(name, folder)
        except FileNotFoundError as error:
            missing[name] = str(error)
        except (ImportError, ValueError, OSError) as error:
            unreadable[name] = str(error)
    if missing:
        echo(f"left out, not in {folder}: {', '.join(missing.values())}", err=True)
    for name, reason in unreadable.items():
        echo(f"left out, cannot be read: {name}: {reason}", err=True)
    return {*missing, *unreadable}


def _with_cells(chosen, folders, wanted, named, seed):
    """Return the tables that have a cell to run; a named one that has none is refused."""
    from linrep.figures.experiment import sweep_of

    left = []
    for item, folder in zip(chosen, folders, strict=True):
        try:
            if not any([wanted(cell) for cell in sweep_of(item, seed=seed).grid]):
                raise ValueError("no cell is left")
        except ValueError as error:
            reason = f"{item.id}: {error}"
            if item.id in named:
                raise BadInput(reason) from None
            echo(f"left out, {reason}", err=True)
        else:
            left.append((item, folder))
    if not left:
        raise BadInput("no table has a cell that could be run")
    return left


def _own(method, chosen, folders):
    """Return the tables with a method of the user's in the place of theirs, and where they go."""
    from linrep.figures.networks import own_method, with_method
    from linrep.sweeps import label, load

    with bad_input(ValueError, TypeError):
        load(method)
        name = label(method)  # by which processes find what has been loaded
        own_method(name, epochs=1)
        found = [with_method(item, name) for item in chosen]
    return found, [folder / f"method={name.replace(':', '.')}" for folder in folders]


def _others(item, runs, seed, cells):
    """Return rows of a table's methods in the columns of some cells, and where they are from.

    What has been run here goes before what is recorded.
    """
    from linrep.figures.experiment import run_directory, runs_of, so_far, sweep_of

    sweep = sweep_of(item, seed=seed)
    directory = run_directory(runs, item, sweep)
    labels = [name for name in sweep.parameters if name != "method"]
    columns = {tuple(cell.get(name) for name in labels) for cell in cells}

    def is_wanted(run):
        named = zip(sweep.parameters, run, strict=False)  # the replicate comes last
        return tuple(value for name, value in named if name in labels) in columns

    data = {cell.get("data") for cell in cells}
    recorded = None if item.others() else _beside(item, seed, data)
    rows, here = None, set()
    with suppress(ValueError):  # there are none
        rows, _ = so_far(item, directory, sweep, recorded)
        rows = rows[runs_of(rows, sweep).map(is_wanted)]
    with suppress(ValueError):
        here = set(runs_of(so_far(item, directory, sweep)[0], sweep))
    known = set() if rows is None else set(runs_of(rows, sweep))
    counts = f"{len(known & here)} run here, {len(known - here)} of the record"
    return rows if known else None, f"runs of the other methods: {counts}."


def _remarked(item, remark):
    """Return a figure whose caption begins with a remark."""
    caption = item.caption
    return replace(item, caption=lambda *given: f"R{remark[1:]} {caption(*given)}")


def _beside(item, seed, data):
    """Return the recorded rows of a table of some data sets, where these are here as they were.

    None stands for no rows.
    """
    from linrep import deep

    try:
        manifest, rows = _record_of(item)
    except ValueError as error:
        echo(f"{item.id}: its record is left out: {error}", err=True)
        return None
    if rows is None or seed != manifest["result"]["settings"]["seed"]:
        return None
    for name, about in manifest["provenance"].get("data", {}).items():
        if name in data and deep.load(name).digest != about["sha256"]:
            echo(f"{item.id}: its record, of another {name} than is here, is left out", err=True)
            rows = rows[rows["data"] != name]
    return rows


def _check_record(item, seed):
    """Refuse to add to a record whose rows could not stand beside new ones.

    Those of cells that the table has no longer are left out, which is said.
    """
    from linrep.figures.experiment import runs_of, sweep_of

    with bad_input(ValueError):
        manifest, rows = _record_of(item)
    if manifest is None:
        return
    wrong = "" if rows is not None else "without its rows"
    if (its := manifest["result"]["settings"]["seed"]) != seed:
        wrong = f"of seed {its}"
    for name, about in manifest["provenance"].get("data", {}).items():
        wrong = wrong or _differs(name, about["sha256"])
    if wrong:
        raise BadInput(f"{item.id}: its record is {wrong}; move it away to begin another")
    left_out = rows.drop(index=_kept(item, seed).index)
    if count := runs_of(left_out, sweep_of(item, seed=seed)).nunique():
        echo(f"{item.id}: {count} recorded runs, of no cell of it, are left out", err=True)


def _kept(item, seed):
    """Return the rows that a new record of a table keeps of the old one, None for no record."""
    from linrep.figures.experiment import runs_in, runs_of, sweep_of

    with bad_input(ValueError):
        _, rows = _record_of(item)
    if rows is None:
        return None
    sweep = sweep_of(item, seed=seed)
    return rows[runs_of(rows, sweep).isin(set(runs_in(sweep)))]


def _recorded_times(item, seed):
    """Return the rows of a table's record for how long they took, None where there are none."""
    with suppress(BadInput):  # a damaged record is of no use here
        return None if item.others().keys() - {"replicates"} else _kept(item, seed)
    return None


def _differs(name, digest):
    """Say what keeps recorded rows of a data set from standing beside new ones."""
    from linrep import deep

    try:
        same = deep.load(name).digest == digest
    except (ImportError, ValueError, OSError):
        return f"of {name}, which cannot be read"
    return "" if same else f"of another {name} than is here"


def _record_of(item):
    """Return the manifest and the rows of a table's record, None where there is no record.

    A ValueError says that it is damaged.
    """
    from linrep._lib import scripts
    from linrep.figures.reproduction import RECORD, read_record

    for folder in filter(None, (RECORD, scripts.record())):
        place = folder / "networks"
        if any((place / f"{item.id}.{kind}").exists() for kind in ("json", "parquet")):
            return read_record(place, item.id)
    return None, None


def _missing(item, seed, wanted, rows):
    """Return which runs of the wanted cells have no rows."""
    from linrep.figures.experiment import runs_in, runs_of, sweep_of

    sweep = sweep_of(item, seed=seed)
    known = set() if rows is None else set(runs_of(rows, sweep))
    return set(runs_in(sweep, wanted)) - known

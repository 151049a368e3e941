"""``linrep sweep``: algorithms over a grid of parameters, and one replicate again, alone."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from pathlib import Path
from shlex import quote

import click

from linrep._lib.extras import need
from linrep._lib.warning import collected
from linrep.cli import completion
from linrep.cli.axes import CommandWithAxes, axis_section
from linrep.cli.group import (
    FILE,
    FOLDER,
    LIBRARIES,
    MOST_REPLICATES,
    BadInput,
    Unfinished,
    bad_input,
    interruptible,
    main,
    start_portable,
    workers_option,
)
from linrep.cli.specification import build, read_options, refuse
from linrep.cli.text import echo, say_count, width
from linrep.cli.values import read_shard
from linrep.simulation import families
from linrep.simulation.parameters import outlines

_PROBES = 8  # cells of which a dry run computes a replicate
_PROBE_SECONDS = 10.0
_ROW_BYTES = 40.0  # of a stored row besides its numbers, compressed


class _Sweep(CommandWithAxes):
    def others(self, ctx):
        """Return the axes of the algorithms on the command line."""
        return completion.axes(ctx)

    def sections(self, arguments):
        """Return the axes of the algorithms on the command line."""
        problem = None
        for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
            option, _, value = word.partition("=")
            if option == "--problem":
                problem = value or following
        for word in arguments:
            named = word.split(",")
            if all(name in outlines() or _names_one(name) for name in named):
                with bad_input(ValueError):
                    return [axis_section(named, problem)]
        return [("Axes", [("linrep sweep ALGORITHM --help", "The axes of an algorithm.")])]


def _names_one(name):
    """Tell whether a name is that of a method for networks, or of an algorithm of one's own."""
    return name.startswith("deep.") or ":" in name.strip(":")


@main.command(cls=_Sweep, context_settings={"ignore_unknown_options": True})
@click.argument(
    "arguments",
    metavar="[ALGORITHM[,ALGORITHM]...] [--AXIS VALUES]...",
    nargs=-1,
    type=click.UNPROCESSED,
    shell_complete=completion.algorithms_and_words,
)
@click.option("--function", help="Sweep any function(cell, rng): module:name or file.py:name.")
@click.option("--from", "source", type=FILE, help="Read a TOML file.")
@click.option(
    "--problem",
    type=click.Choice(families.names()),
    metavar="FAMILY",
    help="Family of problems, such as completion.  [default: that of the algorithm; regression "
    "for your own]",
)
@click.option(
    "--replicates",
    type=click.IntRange(1, MOST_REPLICATES),
    help="Independent runs at each point of the grid.  [default: 10]",
)
@click.option(
    "--seed", type=click.IntRange(min=0), help="Seed of all random numbers.  [default: 0]"
)
@click.option(
    "--keep",
    type=click.Choice(["final", "rate", "trace"]),
    help="What to store of a run: the metrics of the last round; the contraction rate, too; or the "
    "metrics of about 200 rounds.",
)
@click.option("--zip", multiple=True, help="Axes that vary together: n,m.")
@click.option("--derive", multiple=True, help="A parameter computed from others: 'm = 10 * k'.")
@click.option("--where", multiple=True, help="A condition on points of the grid: 'm >= 2 * k'.")
@click.option(
    "--paired", help="With --function: parameters that do not change the random numbers: a,b."
)
@click.option("--out", type=FOLDER, help="Run directory.  [default: runs/ALGORITHM]")
@click.option("--extend", is_flag=True, help="Add points or replicates to a run directory.")
@click.option("--retry-failed", is_flag=True, help="Compute failed replicates again.")
@click.option("--same-code", is_flag=True, help="Go on though other code made what is stored.")
@workers_option("Number of threads or processes; the results do not depend on it.")
@click.option("--processes", is_flag=True, help="Use processes instead of threads.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.0, min_open=True),
    help="Time limit of a replicate in seconds, after which it counts as failed; uses processes.",
)
@click.option("--dask", "address", help="Run on the Dask cluster with this scheduler address.")
@click.option("--shard", help="Compute the i-th of N shares only: i/N. linrep merge combines them.")
@click.option(
    "--allow",
    multiple=True,
    metavar="REFERENCE",
    help="Allow code that the TOML file names to be imported: module:name or file.py:name.",
)
@click.option(
    "--portable",
    is_flag=True,
    help="Compute the same digits on every x86-64 processor since 2013 with the same versions of "
    f"{LIBRARIES}.",
)
@click.option(
    "--only",
    type=(str, click.IntRange(min=0)),
    metavar="CELL REPLICATE",
    help="Run one replicate alone, such as n=10,m=5 3, and compare it with the stored one.",
)
@click.option(
    "--dry-run", is_flag=True, help="Estimate the time and the size of the sweep, and run nothing."
)
def sweep(arguments, function, source, allow, portable, only, dry_run, **flags):
    """Run algorithms over a grid of parameters.

    Each point of the grid has independent replicates. Every other option is an axis of the grid:
    --n 10,100,1000 --m 2:10 --d 10:1000:log5 --k 2. A range START:STOP[:STEP] includes its ends;
    logN or linN in place of the step gives N points. linrep sweep ALGORITHM --help lists the axes
    of an algorithm. After an interruption, the same command continues the sweep.
    """
    own = [option.name for option in click.get_current_context().command.params[1:]]
    with bad_input(ValueError, TypeError):
        options = read_options(source, arguments, function, flags, own)
        shard = read_shard(options["shard"]) if "shard" in options else None
    if options.get("address") is not None:
        need("cluster", "--dask")
    if portable:
        start_portable()
    from linrep.sweeps import Stopped, run

    with bad_input(ValueError, TypeError):
        specification, name = build(options, allow)
        out = Path(options.get("out") or Path("runs", name))
        if only is None and (flags["extend"] or not (out / "sweep.json").exists()):
            refuse(specification)
    if only is not None:
        _run_only(specification, out, *only)
        return
    if dry_run:
        _estimate(specification, out, flags)
        return
    with (
        bad_input(ValueError, TypeError, OSError),
        _executor(flags["address"]) as executor,
        interruptible(Stopped),
        collected() as notes,
    ):
        same = {name: flags[name] for name in ("timeout", "extend", "retry_failed", "same_code")}
        try:
            result = run(
                specification,
                out,
                executor=executor,
                shard=shard,
                **same,
                workers=flags["workers"] if executor is None else None,
                processes=flags["processes"] or None,
            )
        except OSError as error:
            if isinstance(error, PermissionError) or not (out / "sweep.json").exists():
                raise
            raise Unfinished(f"Error: {error}; what was finished is stored", 1) from None
    failed = result.failed()
    echo(f"{out}: {result.count()} of {result.total} replicates, {failed} failed")
    for line in notes:
        echo(line, err=True)
    for reason, count in specification.grid.left_out.items():
        echo(f"{say_count(count, 'cell')} left out: {reason}")
    if failed:
        first = result.failures().iloc[0]
        echo(f"the first failure: {first['exception']}")
        alone = f"--only {quote(first['cell'])} {first['replicate']}"
        echo(f"the same command with {alone} runs it alone")
        echo("--retry-failed computes those that failed again")
        raise click.exceptions.Exit(1)
    if width() is not None:  # somebody is there
        echo(f"linrep summary {quote(str(out))} lists its parameters and columns")


def _estimate(specification, out, flags):
    """Say how much a sweep is, from a few replicates run here and thrown away."""
    from linrep.sweeps.chunks import FAILURES, call, read_rows
    from linrep.sweeps.codes import Codes
    from linrep.sweeps.directories import check_directory

    with bad_input(ValueError, OSError):
        there = check_directory(out, specification, extend=flags["extend"])
        same = {name: flags[name] for name in ("retry_failed", "same_code")}
        if there is not None:
            Codes(specification).check(there, **same)
    cells, workers = list(specification.grid), flags["workers"]
    total = len(cells) * specification.replicates
    stored = there.count() if there is not None else 0
    seconds, rows, columns, error, failed = [], 0, 0, None, 0
    began = time.perf_counter()
    for index, cell in enumerate([cells[0], *cells[:: max(1, len(cells) // _PROBES)]]):
        before = time.perf_counter()
        try:
            keys = specification.keys(cell)
            result = call(specification.function, cell, keys, 0, specification.settings)
            new_rows = read_rows(result, specification.parameters)
        except FAILURES as failure:
            error, new_rows, failed = failure, [{}], failed + 1
        if index > 0:  # the first may compile
            seconds.append(time.perf_counter() - before)
            rows += len(new_rows)
            columns = max(columns, *map(len, new_rows)) if new_rows else columns
        if seconds and time.perf_counter() - began > _PROBE_SECONDS:
            break
    if failed == len(seconds) + 1:
        raise BadInput(f"all replicates that were tried fail: {type(error).__name__}: {error}")
    missing, count = total - stored, len(seconds)
    size = missing * rows / count * (_ROW_BYTES + 8.0 * columns)
    replicates = say_count(specification.replicates, "replicate")
    echo(f"{say_count(len(cells), 'cell')}, {replicates} each: {total}")
    for reason, without in specification.grid.left_out.items():
        echo(f"{say_count(without, 'cell')} left out: {reason}")
    if stored:
        echo(f"stored in {out} already: {stored}")
    echo(f"about {_bytes(size)} in {out}")
    left = _duration(missing * sum(seconds) / count / workers)
    where = f"{say_count(workers, 'worker')}, estimated from one replicate of"
    echo(f"about {left} on {where} {say_count(count, 'cell')}")
    if error is not None:
        echo(f"a replicate failed: {type(error).__name__}: {error}")


def _duration(seconds):
    if seconds < 90:
        return f"{seconds:.2g} s" if seconds < 9.5 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _bytes(size):
    units = ("bytes", "kB", "MB", "GB")
    place = next((place for place in range(3) if size < 1000 ** (place + 1)), 3)
    return f"{size / 1000**place:.{min(place, 1)}f} {units[place]}"


def _run_only(specification, out, text, replicate):
    """Run one replicate alone, print what it returned, and compare that with what is stored."""
    import traceback

    import pandas as pd

    from linrep.sweeps import cell_name, open_run
    from linrep.sweeps.chunks import FAILURES, describe
    from linrep.sweeps.directories import check_directory
    from linrep.sweeps.merging import deviation
    from linrep.sweeps.specification import RESERVED

    with bad_input(ValueError, TypeError, OSError):
        cell = specification.grid.find(text)
        if replicate >= specification.replicates:
            raise BadInput(f"--only: there are {specification.replicates} replicates, from 0")
        stored = pd.DataFrame()
        if (out / "sweep.json").exists():
            check_directory(out, specification, extend=True)
            stored = open_run(out).read(partial=True)
            mine = (stored["cell"] == cell_name(cell)) & (stored["replicate"] == replicate)
            stored = stored[mine].reset_index(drop=True)
    echo(f"{cell_name(cell)}, replicate {replicate}")
    difference = ""
    try:
        rows = specification.only(cell, replicate)
    except FAILURES as error:
        echo("".join(traceback.format_exception(error)).rstrip())
        before = None if stored.empty else stored["exception"].iloc[0]
        # An edit elsewhere in the file moves the line, which stands behind the last colon.
        places = [str(each).rpartition(":")[0] for each in (before, describe(error))]
        if places[0] != places[1]:
            difference = f"stored is {before or 'no exception'}"
    else:
        for name in rows if len(rows) == 1 else ():
            echo(f"{name:16} {rows[name].tolist()[0]!r}")
        if len(rows) != 1:
            echo(rows.to_string())
        if len(stored) != len(rows):
            difference = f"{say_count(len(rows), 'row')}, {len(stored)} stored"
        else:
            names = dict.fromkeys([*rows, *stored])
            own = [name for name in names if name not in (*RESERVED, *specification.parameters)]
            found = deviation(rows, stored, own)
            difference = str(found) if found.different else ""
    if stored.empty:
        echo("nothing is stored for it")
        return
    echo(f"NOT the same as stored: {difference}" if difference else "the same as stored")
    if difference:
        _say_why(specification, open_run(out))
        raise click.exceptions.Exit(1)


def _say_why(specification, run):
    """Say what may have made a replicate another than the stored one: code, or the machine."""
    from linrep.sweeps import machines
    from linrep.sweeps.chunks import this_machine
    from linrep.sweeps.codes import Codes

    if others := Codes(specification).others(run):
        echo(others)
    for machine in run.machines():
        for line in machines.differences(machine, this_machine()) if machine else ():
            echo(f"on the machine of the run, and on this one: {line}")


@contextmanager
def _executor(address):
    """Yield a Dask cluster's executor, None without an address."""
    if address is None:
        yield None
        return
    from distributed import Client

    # What it says of a scheduler that is gone, this command says in a line.
    for name in tuple(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)
    with Client(address, timeout=10) as client:
        yield client.get_executor()

"""The commands that compute and keep sweeps: sweep, runs, replay, merge."""

from __future__ import annotations

import json
import logging
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext
from pathlib import Path
from shlex import quote

import click

from linrep._lib.suggest import hint, unknown
from linrep._lib.warning import collected
from linrep.cli import completion
from linrep.cli.axes import CommandWithAxes, axis_section
from linrep.cli.estimate import duration, estimate, refuse
from linrep.cli.group import (
    LIBRARIES,
    MOST_REPLICATES,
    BadInput,
    Unfinished,
    allow_option,
    bad_input,
    check_run,
    interruptible,
    main,
    partial_option,
    replay_command,
    start_portable,
    tell_completeness,
    warnings_as_lines,
    workers_option,
)
from linrep.cli.names import PROBLEMS
from linrep.cli.specification import build, read_options
from linrep.cli.text import Painted, echo, echo_error, say_count, table, width
from linrep.cli.values import read_cell, read_shard


class _Sweep(CommandWithAxes):
    def sections(self, arguments):
        """Return the axes of the algorithms on the command line."""
        from linrep import simulation

        for word in arguments:
            names = word.removeprefix("--algorithm=").split(",")
            if all(name in simulation.ALGORITHMS or _names_one(name) for name in names):
                with bad_input(ValueError):
                    return [axis_section(names, _value_of("--problem", arguments))]
        return [("Axes", [("linrep sweep ALGORITHM --help", "The axes of an algorithm.")])]


def _value_of(option, arguments):
    """Return the value of an option on the command line, None where it is not given."""
    for index, word in enumerate(arguments):
        if word == option:
            return next(iter(arguments[index + 1 :]), None)
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
    return None


def _names_one(name):
    """Tell whether a name is that of a method for networks, or of an algorithm of one's own."""
    return name.startswith("deep.") or ":" in name.strip(":")


@main.command(cls=_Sweep, context_settings={"ignore_unknown_options": True})
@click.argument(
    "arguments",
    metavar="[ALGORITHM[,ALGORITHM]...] [--AXIS VALUES]...",
    nargs=-1,
    type=click.UNPROCESSED,
    shell_complete=completion.algorithms,
)
@click.option(
    "--algorithm",
    shell_complete=completion.algorithms,
    help="The same as an option, such as mymodule:myfunction.",
)
@click.option(
    "--function",
    help="Sweep any function(cell, rng) instead: module:name or file.py:name.",
)
@click.option(
    "--from", "source", type=click.Path(dir_okay=False, path_type=Path), help="A TOML file."
)
@click.option(
    "--problem",
    type=click.Choice(PROBLEMS),
    metavar="FAMILY",
    help="The family of problems, such as completion.  [default: that of the algorithm, "
    "regression for your own]",
)
@click.option(
    "--replicates", type=click.IntRange(1, MOST_REPLICATES), help="Per cell.  [default: 10]"
)
@click.option("--seed", type=click.IntRange(min=0), help="Root of all streams.  [default: 0]")
@click.option(
    "--keep",
    type=click.Choice(["final", "rate", "trace"]),
    help="What to store of a run: the last metrics, also the contraction, or about 200 rounds.",
)
@click.option("--zip", "zipped", multiple=True, help="Axes that vary together: n,m.")
@click.option("--derive", multiple=True, help="A parameter computed from others: 'm = 10 * k'.")
@click.option("--where", multiple=True, help="A condition on cells: 'm >= 2 * k'.")
@click.option("--paired", help="With --function: parameters that change no stream: a,b.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Run directory.  [default: runs/ALGORITHM]",
)
@click.option("--extend", is_flag=True, help="Add cells or replicates to a run directory.")
@click.option("--retry-failed", is_flag=True, help="Compute failed replicates again.")
@workers_option("Threads or processes; the rows do not depend on it.")
@click.option("--processes", is_flag=True, help="Use processes instead of threads.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.0, min_open=True),
    help="Seconds after which a replicate is given up, as a failed one; takes processes.",
)
@click.option("--dask", "address", help="Run on the Dask cluster with this scheduler address.")
@click.option("--shard", help="Only the i-th of N shares: i/N. See linrep merge.")
@allow_option("the TOML file")
@click.option(
    "--portable",
    is_flag=True,
    help="Compute with instructions that all x86-64 processors since 2013 have: the same digits on "
    f"all of them, given the same versions of {LIBRARIES}.",
)
@click.option("--dry-run", is_flag=True, help="Say how much it is, and write nothing.")
def sweep(arguments, algorithm, function, source, allow, portable, dry_run, **flags):
    """Run algorithms over a grid of parameters, with replicates.

    Every further option is an axis: --n 10,100,1000 --m 2:10 --d 10:1000:log5 --k 2. A range
    START:STOP[:STEP] includes its ends; logN and linN in place of the step give N points. With an
    algorithm, --help lists its axes. The same command again goes on where an interrupted one was.
    """
    names = [option.name for option in click.get_current_context().command.params[1:]]
    with bad_input(ValueError, TypeError):
        options = read_options(source, arguments, algorithm, function, flags, names)
        shard = read_shard(options["shard"]) if "shard" in options else None
    if portable:
        start_portable()
    from linrep.sweeps import Stopped, run

    with bad_input(ValueError, TypeError):
        specification, name = build(options, allow)
        out = Path(options.get("out") or Path("runs", name))
        if flags["extend"] or not (out / "sweep.json").exists():
            refuse(specification)
    if dry_run:
        estimate(specification, out, flags["workers"], extend=flags["extend"])
        return
    with (
        bad_input(ValueError, TypeError, OSError),
        _executor(flags["address"]) as executor,
        interruptible(Stopped),
        collected() as notes,
    ):
        try:
            with executor.connected() if executor else nullcontext():
                result = run(
                    specification,
                    out,
                    workers=flags["workers"] if executor is None else executor.cores,
                    processes=flags["processes"] or None,
                    executor=executor and executor.pool,
                    timeout=flags["timeout"],
                    shard=shard,
                    extend=flags["extend"],
                    retry_failed=flags["retry_failed"],
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
        echo(replay_command(result, first))
        raise click.exceptions.Exit(1)
    if width() is not None:  # somebody is there
        echo(f"linrep show {quote(str(out))} says what it holds, and how to look at it")


@main.command()
@click.argument(
    "directories",
    nargs=-1,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    shell_complete=completion.run_directories,
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="With those that checks and figures keep here.",
)
def runs(directories, everything):
    """List run directories: what is done, missing and failed, and the time left."""
    paths = []
    for directory in directories or (Path("runs"),):
        inside = sorted(path.parent for path in directory.glob("**/sweep.json"))
        if not inside and directories:
            raise BadInput(f"{directory} holds no run directory")
        paths += inside
    if not paths:
        raise BadInput("no run directory under runs; name a folder, or start with linrep sweep")
    paths = list(dict.fromkeys(paths))
    hidden = [] if directories else [path for path in paths if path.parts[1:2] in _KEPT]
    others = [path for path in paths if path not in hidden]
    status = 0
    lines: list[tuple] = []
    for path in [*others, *hidden] if everything else others:
        try:
            described, is_damaged = _describe(path)
        except (ValueError, OSError) as error:
            echo_error(error)
            status = 2
        else:
            lines += described
            status = max(status, int(is_damaged))
    if lines:
        table(("run", "cells", "done", "missing", "failed", "left on one core"), lines)
    if hidden and not everything:
        more, count = "more" if others else "there are", len(hidden)
        echo(f"{more}, of claims and figures: {count}; linrep runs --all lists them", err=True)
    if status:
        raise click.exceptions.Exit(status)


#: Folders of runs in which the other commands keep theirs.
_KEPT = (("verify",), ("figures",), ("reproduce",))


def _describe(path):
    """Return the lines of a run directory, and whether some of its parts are damaged."""
    from linrep.sweeps import open_run

    stored = open_run(path)
    done, failed = stored.count(), stored.failed()
    missing = stored.total - done
    remaining = _time_left(stored) if done and missing else "-"
    numbers: list[str | Painted] = [
        str(number) for number in (len(stored.cells), done, missing, failed)
    ]
    if missing:
        numbers[2] = Painted(str(missing), "note")
    if failed:
        numbers[3] = Painted(str(failed), "error")
    rows = [(str(path), *numbers, remaining)]
    damaged = stored.damaged()
    notes = [f"  damaged: {part.name} ({lost})" for part, lost in damaged.items()]
    notes += [f"  {line}" for line in _list_machines(stored)]
    return [*rows, *((note, "", "", "", "", "") for note in notes)], bool(damaged)


@main.command()
@click.argument("run", type=click.Path(path_type=Path), shell_complete=completion.run_directories)
@click.option(
    "--cell",
    "cell",
    default="",
    shell_complete=completion.parameters,
    help="Parameters that single out a cell: n=10,m=5.",
)
@click.option("--replicate", type=click.IntRange(min=0), required=True, help="Its number, from 0.")
@click.option("--function", help="Where it is now: module:name or file.py:name.")
@allow_option("the run")
@click.option("--pdb", "debug", is_flag=True, help="Open the debugger where it fails.")
def replay(run, cell, replicate, function, allow, debug):
    """Run one replicate of a sweep again, alone, and compare it with what is stored."""
    import traceback

    with bad_input(ValueError):
        check_run(run)
        selection = read_cell(cell) if cell else {}
        _check_cell(run, selection, replicate)
    from linrep.sweeps import cell_name, load, machines, open_run
    from linrep.sweeps import replay as replay_one

    with bad_input(ValueError, TypeError, OSError):
        opened = open_run(run)
        if all(machines.is_portable(each) for each in opened.machines() or [""]):
            start_portable()
        target = load(function) if function else None
        result = replay_one(opened, selection, replicate, function=target, allow=allow)
    echo(f"{cell_name(result.cell)}, replicate {replicate}")
    if result.error is not None:
        echo("".join(traceback.format_exception(result.error)).rstrip())
        if debug:
            import pdb

            pdb.post_mortem(result.error.__traceback__)
    elif len(result.rows) == 1:
        for name in result.rows:
            echo(f"{name:16} {result.rows[name].tolist()[0]!r}")
    else:
        echo(result.rows.to_string())
    if result.same is None:
        echo("nothing is stored for it")
    elif result.same:
        echo("the same as stored")
    else:
        how = f": {result.deviation}" if result.deviation else ""
        echo(f"NOT the same as stored{how}")
        stored, here = result.machines or ("", "")
        other = machines.differences(stored, here) if stored else []
        if not stored:
            echo("what computed it was not stored")
        elif other:
            echo("it was stored by another machine; there and here are")
            for line in other:
                echo(f"  {line}")
            echo(
                "linrep sweep --portable computes the same digits on both, given the same "
                f"versions of {LIBRARIES}"
            )
        else:
            echo("it was stored by a machine like this one")
        raise click.exceptions.Exit(1)


@main.command()
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
@click.argument(
    "directories",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
    shell_complete=completion.run_directories,
)
@partial_option
def merge(out, directories, partial):
    """Put the run directories of shards together in OUT; they stay as they are."""
    with bad_input(ValueError):
        for directory in directories:
            check_run(directory)
    from linrep.sweeps import Overlapping, open_run
    from linrep.sweeps import merge as merge_runs

    with bad_input(ValueError, OSError), warnings_as_lines(Overlapping):
        merged = merge_runs(out, directories)
        damaged = {
            path: lost
            for directory in directories
            for path, lost in open_run(directory).damaged().items()
        }
    for path, lost in damaged.items():
        echo(f"damaged: {path} ({lost})", err=True)
    echo(f"{out}: {merged.count()} of {merged.total} replicates")
    for line in _list_machines(merged):
        echo(line)
    tell_completeness(merged.completeness(), partial)


def _check_cell(run, selection, replicate):
    """Refuse a cell or a replicate that a run directory does not have; loads nothing heavy."""
    try:
        described = json.loads((run / "sweep.json").read_text("utf-8"))
        cells, replicates = described["cells"], described["replicates"]
        known = dict.fromkeys(name for cell in cells for name in cell)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return  # what opens it says what is wrong with it
    if not all(isinstance(cell, dict) for cell in cells):
        return
    for name, value in selection.items():
        if name not in known:
            raise ValueError(unknown("no parameter", name, known, of=f"in {run}"))
        if value != value:  # no value of a parameter: what reads cells says so
            continue
        values = dict.fromkeys(str(cell[name]) for cell in cells if name in cell)
        if not any(name in cell and cell[name] == value for cell in cells):
            raise ValueError(f"no cell with {name}={value} in {run}; {hint(str(value), values)}")
    if isinstance(replicates, int) and replicate >= replicates:
        raise ValueError(f"--replicate must be between 0 and {replicates - 1}, got {replicate}")


class _Dask:
    """A cluster's executor, and how many cores it has at the moment."""

    def __init__(self, client, address):
        self._client = client
        self._address = address
        self.pool = client.get_executor()

    def cores(self):
        if self._client.status != "running":
            raise self._gone()
        try:
            return sum(self._client.nthreads().values())
        except OSError as error:  # the scheduler ends while it is asked
            raise self._gone() from error

    @contextmanager
    def connected(self):
        """Say that the scheduler is gone, whatever ends for it."""
        from distributed.comm import CommClosedError

        try:
            yield
        except Exception as error:
            cut = isinstance(error, CancelledError | CommClosedError)
            if cut or self._client.status != "running":
                raise self._gone() from error
            raise

    def _gone(self):
        return ConnectionError(f"the scheduler {self._address} is gone")


@contextmanager
def _executor(address):
    """Yield a Dask cluster's executor, None without an address."""
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise ValueError("--dask needs the package distributed: pip install 'linrep[cluster]'") \
            from None  # fmt: skip
    # What it says of a scheduler that is gone, this command says in a line.
    for name in tuple(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)
    with Client(address, timeout=10) as client:
        yield _Dask(client, address)


def _list_machines(run):
    """Return lines that say how many replicates are of which machine, none if there is one."""
    from linrep.sweeps.machines import describe

    counts = run.machines()
    if len(counts) < 2:
        return []
    return [
        f"{say_count(count, 'replicate')} of {describe(machine, counts)}"
        for machine, count in counts.items()
    ]


def _time_left(run):
    """Return how long the missing replicates take by those of their cells, or else by all."""
    rows = run.read(["cell", "replicate", "row", "seconds"], partial=True)
    first = rows[rows["row"] == 0]
    cells = first.groupby("cell", observed=False)["seconds"].agg(["mean", "size"])
    done, count = run.done(), run.replicates  # some have no rows
    cells["left"] = [count - sum(map(len, done.within(name, count))) for name in cells.index]
    each = cells["mean"].fillna(first["seconds"].mean())
    about = "roughly " if (cells["left"][cells["size"] == 0] > 0).any() else ""
    return about + duration(float((each * cells["left"]).sum()))

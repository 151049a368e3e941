"""Commands for sweeps: sweep, runs, replay, merge, summary, plot."""

from __future__ import annotations

import math
import time
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

import click

from linrep.cli import DEFAULT_WORKERS, BadInput, bad_input, main
from linrep.cli.values import read_axis, read_cell, read_shard

#: Keys of a sweep file, and what each may be.
_FILE_KEYS: dict[str, tuple[type, ...]] = {
    "algorithm": (str, list),
    "function": (str,),
    "replicates": (int,),
    "seed": (int,),
    "out": (str,),
    "keep": (str,),
    "zip": (str, list),
    "derive": (str, list),
    "where": (str, list, dict),
    "paired": (str, list),
    "axes": (dict,),
}
_KINDS = {str: "a text", list: "a list of texts", int: "an integer", dict: "a table"}
_PROBES = 8
_PROBE_SECONDS = 10.0
_ROW_BYTES = 40.0  # of a stored row besides its numbers, compressed


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument(
    "arguments",
    metavar="[ALGORITHM[,ALGORITHM]...] [--AXIS VALUES]...",
    nargs=-1,
    type=click.UNPROCESSED,
)
@click.option("--algorithm", help="The same as an option, such as mymodule:myfunction.")
@click.option(
    "--function",
    help="Sweep any function(cell, rng) instead: module:name or file.py:name.",
)
@click.option(
    "--from", "source", type=click.Path(dir_okay=False, path_type=Path), help="A TOML file."
)
@click.option("--replicates", type=click.IntRange(min=1), help="Per cell.  [default: 10]")
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
@click.option(
    "--workers", type=click.IntRange(min=1), default=DEFAULT_WORKERS, show_default=True,
    help="Threads or processes; the rows do not depend on it.",
)  # fmt: skip
@click.option("--processes", is_flag=True, help="Use processes instead of threads.")
@click.option("--dask", "address", help="Run on the Dask cluster with this scheduler address.")
@click.option("--shard", help="Only the i-th of N shares: i/N. See linrep merge.")
@click.option("--dry-run", is_flag=True, help="Say how much it is, and write nothing.")
def sweep(arguments, algorithm, function, source, dry_run, **flags):
    """Run algorithms over a grid of parameters, with replicates.

    Every further option is an axis: --n 10,100,1000 --m 2:10 --d 10:1000:log5 --k 2. A range
    START:STOP[:STEP] includes its ends; logN and linN in place of the step give N points. The
    same command again goes on where an interrupted one was.
    """
    from linrep.sweeps import Stopped, run
    from linrep.sweeps.runner import read_shard as check_shard

    with bad_input(ValueError, TypeError):
        options = _read_file(source) | {
            name: value for name, value in flags.items() if value not in (None, ())
        }
        algorithms, axes = _read_arguments(arguments)
        options["axes"] = {**options.get("axes", {}), **axes}
        given = algorithm or algorithms
        if sum(map(bool, (algorithm, algorithms, function))) > 1:
            raise ValueError("give one of ALGORITHM, --algorithm and --function")
        if given or function:
            options.pop("algorithm", None), options.pop("function", None)
            options["algorithm" if given else "function"] = given or function
        specification, name = _build(options)
        shard = check_shard(read_shard(options["shard"])) if "shard" in options else None
    out = Path(options.get("out") or Path("runs", name))
    if dry_run:
        _dry_run(specification, out, flags)
        return
    with bad_input(ValueError, TypeError, OSError), _executor(flags["address"]) as executor:
        try:
            result = run(
                specification,
                out,
                workers=flags["workers"] if executor is None else executor.cores,
                processes=flags["processes"],
                executor=executor and executor.pool,
                shard=shard,
                extend=flags["extend"],
                retry_failed=flags["retry_failed"],
            )
        except Stopped as stopped:
            click.echo(f"{stopped}; the same command goes on from there", err=True)
            raise click.exceptions.Exit(130) from None
        except (OSError, BrokenExecutor) as error:
            if isinstance(error, PermissionError) or not (out / "sweep.json").exists():
                raise
            killed = "a worker process was killed, perhaps for lack of memory"
            reason = killed if isinstance(error, BrokenExecutor) else error
            click.echo(
                f"Error: {reason}; what was finished is stored, the same command goes on", err=True
            )
            raise click.exceptions.Exit(1) from None
    failed = result.failed()
    click.echo(f"{out}: {result.count()} of {result.total} replicates, {failed} failed")
    for reason, count in specification.grid.left_out.items():
        click.echo(f"{count} cells left out: {reason}")
    if failed:
        first = result.failures().iloc[0]
        click.echo(f"the first failure: {first['exception']}")
        click.echo(
            f"see it with: linrep replay {quote(str(out))} --cell {quote(first['cell'])} "
            f"--replicate {first['replicate']}"
        )
        raise click.exceptions.Exit(1)


@main.command()
@click.argument(
    "directories", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
def runs(directories):
    """List run directories: what is done, missing and failed, and the time left."""
    from linrep.sweeps import open_run

    found = []
    for directory in directories or (Path("runs"),):
        inside = sorted(path.parent for path in directory.glob("**/sweep.json"))
        if not inside and directories:
            raise BadInput(f"{directory} holds no run directory")
        found += inside
    if not found:
        raise BadInput("no run directory under runs; name a folder, or start with linrep sweep")
    unreadable = False
    lines: list[tuple] = [("run", "cells", "done", "missing", "failed", "left on one core")]
    for path in dict.fromkeys(found):
        try:
            stored = open_run(path)
            done = stored.count()
            failed = stored.failed()
            missing = stored.total - done
            left = _duration(missing * _mean_seconds(stored)) if done and missing else "-"
        except (ValueError, OSError) as error:
            click.echo(f"Error: {error}", err=True)
            unreadable = True
            continue
        lines.append((str(path), len(stored.cells), done, missing, failed, left))
        for broken in stored.damaged():
            lines.append((f"  damaged: {broken.name}", "", "", "", "", ""))
    widths = [max(len(str(line[place])) for line in lines) for place in range(6)]
    for first, *others in lines:
        cells = [str(item).rjust(width) for item, width in zip(others, widths[1:], strict=True)]
        click.echo("  ".join([first.ljust(widths[0]), *cells]).rstrip())
    if unreadable:
        raise click.exceptions.Exit(2)


@main.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--cell", "cell", default="", help="Parameters that single out a cell: n=10,m=5.")
@click.option("--replicate", type=int, required=True, help="Its number, from 0.")
@click.option("--function", help="Where it is now: module:name or file.py:name.")
@click.option("--pdb", "debug", is_flag=True, help="Open the debugger where it fails.")
def replay(run, cell, replicate, function, debug):
    """Run one replicate of a sweep again, alone, and compare it with what is stored."""
    import traceback

    from linrep.sweeps import cell_name, load, open_run
    from linrep.sweeps import replay as replay_one

    with bad_input(ValueError, TypeError, OSError):
        found = load(function) if function else None
        selection = read_cell(cell) if cell else {}
        result = replay_one(open_run(run), selection, replicate, function=found)
    click.echo(f"{cell_name(result.cell)}, replicate {replicate}")
    if result.error is not None:
        click.echo("".join(traceback.format_exception(result.error)).rstrip())
        if debug:
            import pdb

            pdb.post_mortem(result.error.__traceback__)
    elif len(result.rows) == 1:
        for name in result.rows:
            click.echo(f"{name:16} {result.rows[name].tolist()[0]!r}")
    else:
        click.echo(result.rows.to_string())
    if result.same is None:
        click.echo("nothing is stored for it")
    elif result.same:
        click.echo("the same as stored")
    else:
        click.echo("NOT the same as stored")
        raise click.exceptions.Exit(1)


@main.command()
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
@click.argument("directories", nargs=-1, required=True, type=click.Path(path_type=Path))
def merge(out, directories):
    """Put the run directories of shards together in OUT; they stay as they are."""
    from linrep.sweeps import merge as merge_runs
    from linrep.sweeps import open_run

    with bad_input(ValueError, OSError):
        merged = merge_runs(out, directories)
        damaged = [path for directory in directories for path in open_run(directory).damaged()]
    for path in damaged:
        click.echo(f"left out, as it cannot be read: {path}", err=True)
    click.echo(f"{out}: {merged.count()} of {merged.total} replicates")


@main.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("value")
@click.option("--by", default="", help="Columns to group by: n,m.  [default: all that vary]")
@click.option(
    "--statistic",
    type=click.Choice(["mean", "geometric", "median", "success"]),
    help="[default: success for a condition, else mean]",
)
@click.option("--threshold", metavar="X", help="Where along X the condition starts to hold.")
@click.option("--exponents", metavar="A,B", help="Fit a power law of the estimate in A and B.")
@click.option("--csv", type=click.Path(dir_okay=False, path_type=Path), help="Write a file, too.")
def summary(run, value, by, statistic, threshold, exponents, csv):
    """Summarize VALUE, a column or an expression such as 'distance < 1e-3', over replicates."""
    from linrep.stats import scaling_exponents
    from linrep.sweeps import open_run
    from linrep.sweeps.summary import evaluate, is_condition, summarize, thresholds

    with bad_input(ValueError, TypeError, OSError):
        stored = open_run(run)
        columns = _split(by) if by else [c for c in _varying(stored) if c != threshold]
        rows = stored.read() if "round" in columns else _last_rows(stored.read())
        statistic = statistic or ("success" if is_condition(evaluate(rows, value)) else "mean")
        if threshold is None:
            table = summarize(rows, value, columns, statistic=statistic)
        else:
            table = thresholds(rows, value, threshold, columns)
        pooled = [name for name in _varying(stored) if name not in (*columns, threshold)]
        if pooled:
            click.echo(f"taken together over {', '.join(pooled)}", err=True)
        fit = None
        if exponents is not None:
            usable = table.dropna(subset="estimate")
            for name in _split(exponents):
                if name not in usable:
                    raise ValueError(f"--exponents: no column {name!r} in the summary")
            fit = scaling_exponents(
                usable["estimate"], {name: usable[name] for name in _split(exponents)}
            )
        if csv is not None:
            table.to_csv(csv, index=False)
    click.echo(table.to_string(index=False, float_format="{:.5g}".format))
    if fit is not None:
        click.echo(f"power law of the estimate: {fit}")


@main.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("value")
@click.option("--x", required=True, help="Column along the horizontal axis; round for traces.")
@click.option("--by", help="Column that tells the lines apart.")
@click.option("--y", help="Second axis: draw a heat map of the mean of VALUE.")
@click.option("--boundary", help="Expression of x, drawn into a heat map: '4 + 10 / m'.")
@click.option(
    "--statistic", type=click.Choice(["mean", "geometric", "median"]),
    help="With its 95 % interval, the median with the middle 80 %.  [default: mean, geometric with "
    "--log y]",
)  # fmt: skip
@click.option("--log", "log", default="", help="Logarithmic axes of lines: x, y or xy.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="[default: RUN.png]")
def plot(run, value, x, by, y, boundary, statistic, log, out):
    """Draw VALUE, a column or a condition such as 'distance < 1e-3', of a run directory."""
    import pandas as pd
    from matplotlib.figure import Figure

    from linrep import plotting
    from linrep.sweeps import open_run
    from linrep.sweeps.summary import evaluate

    out = out or run.with_name(run.name + ".png")
    with bad_input(ValueError, TypeError, OSError), plotting.style():
        statistic = statistic or ("geometric" if "y" in log else "mean")
        if not set(log) <= {"x", "y"}:
            raise ValueError(f"--log must be x, y or xy, got {log!r}")
        if boundary is not None and y is None:
            raise ValueError("--boundary needs a heat map: give --y")
        stored = open_run(run)
        rows = stored.read()
        rows = rows[rows["status"] == "ok"]
        if x != "round":
            rows = _last_rows(rows)
        rows = rows.assign(_value=evaluate(rows, value).astype(float))
        shown = {x, by, y} - {None}
        for name in _varying(stored):
            if name not in shown:
                kept = rows[name].iloc[0]
                rows = rows[rows[name] == kept]
                click.echo(f"only {name} = {kept} is shown", err=True)
        figure = Figure(figsize=(plotting.COLUMN_WIDTH * 1.3, 2.9))
        ax = figure.subplots()
        if y is None:
            plotting.curves(
                ax, rows, x=x, y="_value", by=by, geometric=statistic == "geometric",
                quantiles=(0.1, 0.9) if statistic == "median" else None, markers=x != "round",
            )  # fmt: skip
            ax.set(xlabel=x, ylabel=value)
            ax.set(**{f"{axis}scale": "log" for axis in log})
            if by is not None:
                ax.legend(title=by)
        else:
            line = boundary and (
                lambda points: evaluate(pd.DataFrame({x: points}), boundary).to_numpy(float)
            )
            plotting.heat_map(
                ax, rows, x=x, y=y, value="_value", boundary=line, label=value,
                boundary_label=boundary or "",
            )  # fmt: skip
            ax.set(xlabel=x, ylabel=y)
            if line:
                figure.legend(loc="outside upper center")
        figure.savefig(out)
    click.echo(str(out))


def _last_rows(rows):
    """Return the rows; of stored traces the last of each replicate."""
    if "round" not in rows:
        return rows
    return rows.groupby(["cell", "replicate"], observed=True).tail(1)


def _varying(run):
    names = dict.fromkeys(name for cell in run.cells for name in cell)
    return [name for name in names if len({str(cell.get(name)) for cell in run.cells}) > 1]


def _read_arguments(arguments) -> tuple[str | None, dict[str, Any]]:
    """Return the algorithms, None without any, and the axes among the arguments."""
    algorithms: str | None = None
    axes: dict[str, Any] = {}
    waiting = list(arguments)
    while waiting:
        flag = waiting.pop(0)
        if not flag.startswith("-") and algorithms is None:
            algorithms = flag
            continue
        if not flag.startswith("--") or flag == "--":
            raise ValueError(f"unexpected argument {flag!r}; an axis is given as --n 10,100")
        name, equals, text = flag[2:].partition("=")
        name = name.replace("-", "_")
        if not equals:
            if not waiting or waiting[0].startswith("--"):
                raise ValueError(f"--{name} needs values, such as --{name} 10,100")
            text = waiting.pop(0)
        if name in axes:
            raise ValueError(f"--{name} is given twice")
        axes[name] = read_axis(name, text)
    return algorithms, axes


def _read_file(path) -> dict[str, Any]:
    """Return the options of a TOML file, none without one."""
    import tomllib

    if path is None:
        return {}
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    for name, value in content.items():
        if name not in _FILE_KEYS:
            raise ValueError(f"{path}: unknown key {name!r}; there are {', '.join(_FILE_KEYS)}")
        if not _is_of(value, *_FILE_KEYS[name]):
            kinds = " or ".join(_KINDS[kind] for kind in _FILE_KEYS[name])
            raise ValueError(f"{path}: {name} must be {kinds}, got {value!r}")
    if "algorithm" in content and "function" in content:
        raise ValueError(f"{path}: give algorithm or function, not both")
    axes = content.get("axes", {})
    content["axes"] = {
        name: read_axis(name, value) if isinstance(value, str) else value
        for name, value in axes.items()
    }
    for old, new in (("zip", "zipped"),):
        if old in content:
            content[new] = content.pop(old)
    for name in ("where", "derive", "zipped"):
        if isinstance(content.get(name), str):
            content[name] = [content[name]]
    return content


def _is_of(value, *kinds):
    if isinstance(value, list):
        return list in kinds and all(_is_of(item, str, list) for item in value)
    return isinstance(value, kinds) and not isinstance(value, bool)


def _split(names):
    """Return names given as a list, or in one text, separated by commas."""
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


def _build(options):
    """Return the sweep that the options describe, and a name for its directory."""
    from linrep import simulation
    from linrep.sweeps import Grid, Sweep, load

    axes = options["axes"]
    zipped = [tuple(_split(group)) for group in options.get("zipped", ())]
    derived = {}
    for text in options.get("derive", ()):
        name, equals, rule = text.partition("=")
        if not equals or not name.strip().isidentifier():
            raise ValueError(f"--derive must be NAME = EXPRESSION, got {text!r}")
        derived[name.strip()] = rule.strip()
    common = {"replicates": options.get("replicates", 10), "seed": options.get("seed", 0)}
    rules = {"zipped": zipped, "derived": derived, "constraints": options.get("where", ())}
    if "function" in options:
        if options.get("keep"):
            raise ValueError("--keep belongs to algorithms, not to --function")
        if not axes:
            raise ValueError("no axis is given; write --NAME VALUES")
        function = load(options["function"])
        paired = _split(options.get("paired", ()))
        name = options["function"].rpartition(":")[2]
        return Sweep(function, Grid.product(axes, **rules), paired=paired, **common), name
    if "algorithm" not in options:
        raise ValueError(f"no algorithm is given; there are {', '.join(simulation.ALGORITHMS)}")
    if options.get("paired"):
        raise ValueError("--paired belongs to --function; algorithms are compared in pairs")
    names = _split(options["algorithm"])
    keep = options.get("keep") or "final"
    specification = simulation.sweep(names, axes, keep=keep, **common, **rules)
    return specification, "-".join(name.rpartition(":")[2] for name in names)


def _dry_run(specification, out, flags):
    """Say how much a sweep is, from a few replicates run here and thrown away."""
    from linrep.sweeps.chunks import FAILURES, call, read_rows
    from linrep.sweeps.store import check_directory, open_run

    with bad_input(ValueError, OSError):
        check_directory(out, specification, extend=flags["extend"])
    cells = list(specification.grid)
    total = len(cells) * specification.replicates
    stored = open_run(out).count() if (out / "sweep.json").exists() else 0
    step = max(1, len(cells) // _PROBES)
    seconds, rows, columns, error = [], 0, 0, None
    began = time.perf_counter()
    for place, cell in enumerate([cells[0], *cells[::step]]):
        before = time.perf_counter()
        try:
            keys = specification.keys(cell)
            result = call(specification.function, cell, keys, 0, specification.settings)
            found = read_rows(result, specification.parameters)
        except FAILURES as failure:
            error, found = failure, [{}]
        if place > 0:  # the first may compile
            seconds.append(time.perf_counter() - before)
            rows += len(found)
            columns = max(columns, *map(len, found)) if found else columns
        if seconds and time.perf_counter() - began > _PROBE_SECONDS:
            break
    missing = total - stored
    each = sum(seconds) / len(seconds)
    size = missing * rows / len(seconds) * (_ROW_BYTES + 8.0 * columns)
    click.echo(f"{len(cells)} cells, {specification.replicates} replicates each: {total}")
    for reason, count in specification.grid.left_out.items():
        click.echo(f"{count} cells left out: {reason}")
    if stored:
        click.echo(f"stored in {out} already: {stored}")
    click.echo(f"about {_bytes(size)} in {out}")
    click.echo(
        f"about {_duration(missing * each / flags['workers'])} on {flags['workers']} worker(s), "
        f"judged from one replicate of {len(seconds)} cells"
    )
    if error is not None:
        click.echo(f"a replicate failed: {type(error).__name__}: {error}")


class _Dask:
    def __init__(self, client):
        self.pool = client.get_executor()
        self.cores = max(1, sum(client.nthreads().values()))


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
    with Client(address, timeout=10) as client:
        yield _Dask(client)


def _mean_seconds(run):
    rows = run.read(["cell", "replicate", "row", "seconds"])
    return float(rows.loc[rows["row"] == 0, "seconds"].mean())


def _duration(seconds):
    if math.isnan(seconds):
        return "-"
    if seconds < 90:
        return f"{seconds:.2g} s" if seconds < 9.5 else f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _bytes(size):
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError

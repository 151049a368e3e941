"""The commands that look at stored sweeps: summary, plot and merge."""

from __future__ import annotations

from pathlib import Path
from textwrap import shorten

import click

from linrep._lib.formulas import Expression
from linrep._lib.suggest import unknown
from linrep._lib.warning import collected
from linrep.cli import completion
from linrep.cli.group import FILE, FOLDER, BadInput, bad_input, main, refuse_others
from linrep.cli.output import check_output, write_figure, write_file
from linrep.cli.text import Painted, echo, for_spreadsheets, frame, say_count
from linrep.cli.text import table as print_table
from linrep.cli.values import read_names

_RUN = click.Path(path_type=Path)
_LONGEST = 90  # letters of a parameter's values
#: Folders of runs in which commands keep those of claims and figures.
_KEPT = (("verify",), ("figures",), ("reproduce",))
_where_option = click.option(
    "--where",
    multiple=True,
    metavar="CONDITION",
    help="Only rows that meet a condition: 'm >= 2 * k'. If it is repeated, all have to hold.",
)
_partial_option = click.option(
    "--partial",
    is_flag=True,
    help="Accept an incomplete run. Otherwise the exit status is 1 if replicates are missing, are "
    "damaged or have failed.",
)


@main.command()
@click.argument("run", type=_RUN, required=False, shell_complete=completion.run_directories)
@click.argument("value", required=False, shell_complete=completion.columns)
@click.option(
    "--by",
    shell_complete=completion.parameters,
    default="",
    help="Columns to group by: n,m.  [default: all parameters that vary]",
)
@click.option(
    "--statistic",
    type=click.Choice(["mean", "geometric", "median", "success"]),
    help="[default: success for a condition, else mean]",
)
@click.option(
    "--threshold",
    shell_complete=completion.parameters,
    metavar="X",
    help="Find where along X the condition starts to hold.",
)
@click.option(
    "--exponents",
    shell_complete=completion.parameters,
    metavar="A,B",
    help="Fit a power law of the estimate in A and B, one for each group of the other columns.",
)
@_where_option
@click.option("--csv", type=FILE, help="Write the table here, too.")
@_partial_option
def summary(run, value, by, statistic, threshold, exponents, where, csv, partial):
    """List your sweeps; or summarize a column or a condition of a run.

    VALUE is a column, or an expression such as 'distance < 1e-3', and is summarized over
    replicates. Without VALUE the run directories in a folder, by default runs, are listed: cells,
    and replicates done, missing and failed; of a run also its parameters and columns. The exit
    status is then 1 if a part is damaged.
    """
    if value is None:
        refuse_others(("run",), "needs VALUE")
        _list_runs(run)
        return
    _check_run(run)
    check_output("--csv", csv)
    from linrep.sweeps import power_laws
    from linrep.sweeps.summary import evaluate, is_condition, summarize, thresholds

    with bad_input(ValueError, TypeError, OSError):
        stored, completeness, varying = _open(run, partial)
        columns = read_names(by) if by else [c for c in varying if c != threshold]
        rows = _read(stored, value, [*columns, threshold, *(varying if where else ())], where)
        rows = rows if "round" in columns else _last_rows(rows)
        rows = _chosen(rows, where)
        statistic = statistic or ("success" if is_condition(evaluate(rows, value)) else "mean")
        if threshold is None:
            counted_run = stored if set(columns) <= set(stored.parameters) and not where else None
            table = summarize(rows, value, columns, statistic=statistic, run=counted_run)
        else:
            table = thresholds(rows, value, threshold, columns)
        pooled = [name for name in varying if name not in (*columns, threshold)]
        pooled = [name for name in pooled if name not in rows or _varies(rows, name)]
        laws = []
        if exponents is not None:
            names = read_names(exponents)
            others = [name for name in columns if name not in names and _varies(table, name)]
            laws = power_laws(table, names, others)
        if csv is not None:
            write_file(csv, for_spreadsheets(table).to_csv(index=False).encode())
    for note in (_describe_sampling(rows), pooled and f"taken together over {', '.join(pooled)}"):
        if note:
            echo(note, err=True)
    frame(table)
    if threshold is not None:
        _tell_missing(rows, value, threshold, columns, table)
    for law in laws:
        echo(str(law))
    _tell_mixture(stored)
    _tell_completeness(completeness, partial)
    if laws and all(law.fit is None for law in laws):
        raise click.exceptions.Exit(1)


@main.command()
@click.argument("run", type=_RUN, shell_complete=completion.run_directories)
@click.argument("value", shell_complete=completion.columns)
@click.option(
    "--x",
    shell_complete=completion.parameters,
    required=True,
    help="Column along the horizontal axis; round for traces.",
)
@click.option(
    "--by", shell_complete=completion.parameters, help="Column whose values have a line each."
)
@click.option(
    "--y",
    shell_complete=completion.parameters,
    help="Column along the vertical axis of a heat map, of the mean of VALUE.",
)
@click.option(
    "--facet",
    shell_complete=completion.parameters,
    help="Column whose values have a panel each.  [default: the parameter that is left]",
)
@_where_option
@click.option("--boundary", help="Draw a curve into a heat map, an expression of x: '4 + 10 / m'.")
@click.option(
    "--statistic",
    type=click.Choice(["mean", "geometric", "median"]),
    help="Statistic, with its 95 % interval (exact for a condition); the median with the middle "
    "80 %.  [default: mean, geometric with --log y]",
)
@click.option("--log", "log", default="", help="Logarithmic axes of lines: x, y or xy.")
@click.option("--out", type=FILE, help="File of the picture.  [default: RUN.png]")
@_partial_option
def plot(run, value, x, by, y, facet, where, boundary, statistic, log, out, partial):
    """Draw a column or a condition of a run.

    VALUE is a column, or a condition such as 'distance < 1e-3'. A parameter that varies and is on
    no axis gets a panel for each of its values. If several such parameters are left, --by, --facet
    or --where 'm == 10' have to say what happens to them. With --y a heat map is drawn; for a
    condition it is a phase diagram, one per algorithm.
    """
    if out is None:  # "." has a name once it is resolved
        named = run if run.name else run.resolve()
        out = named.parent / f"{named.name}.png"
    _check_run(run)
    check_output("--out", out)
    if not set(log) <= {"x", "y"}:
        raise ValueError(f"--log must be x, y or xy, got {log!r}")
    if boundary is not None and y is None:
        raise ValueError("--boundary needs a heat map: give --y")
    if y is not None and by is not None:
        raise ValueError("--by is for lines, which a heat map does not have: give --facet")
    import pandas as pd

    from linrep.figures import plotting
    from linrep.sweeps.codes import mixture
    from linrep.sweeps.summary import evaluate, is_condition

    with bad_input(ValueError, TypeError, OSError), plotting.style():
        statistic = statistic or ("geometric" if "y" in log else "mean")
        stored, completeness, varying = _open(run, partial)
        rows = _read(stored, value, [x, by, y, facet, *varying], where)
        rows = rows[rows["status"] == "ok"]
        if rows.empty:
            raise ValueError(f"no replicate of {run} has succeeded: there is nothing to draw")
        rows = _chosen(rows if x == "round" else _last_rows(rows), where)
        values, notes = evaluate(rows, value), []
        share = statistic == "mean" and is_condition(values)
        rows = rows.assign(_value=values.astype(float))
        if lacking := int(rows["_value"].isna().sum()):
            notes.append(f"{lacking} of {len(rows)} rows have no value of {value}")
        for name in (x, y, by, facet):
            if name is not None and name not in rows:
                raise ValueError(unknown("no column", name, stored.columns))
        facet = _facet(rows, facet, [c for c in varying if c not in (x, by, y)])
        line = boundary and (
            boundary,
            lambda points: evaluate(pd.DataFrame({x: points}), boundary).to_numpy(float),
        )
        figure, left_out = plotting.panels(
            rows, x=x, value="_value", label=value, by=by, y=y, facet=facet, statistic=statistic,
            shares=share, log=log, boundary=line,
        )  # fmt: skip
        if left_out:
            notes.append(f"{say_count(left_out, 'replicate')} left out, lacking some {x}")
        sampling = _describe_sampling(rows)
        incomplete = "" if completeness.whole else f"incomplete: {completeness.counts()}"
        if said := list(filter(None, [incomplete, mixture(stored), sampling])):
            figure.suptitle("\n".join(said), fontsize="x-small", x=0.01, ha="left")
        write_figure(out, figure)
    for note in filter(None, [*notes, sampling]):
        echo(note, err=True)
    echo(str(out))
    _tell_mixture(stored)
    _tell_completeness(completeness, partial)


@main.command()
@click.argument("out", type=FOLDER)
@click.argument(
    "directories", nargs=-1, required=True, type=_RUN, shell_complete=completion.run_directories
)
@click.option(
    "--same-code", is_flag=True, help="Merge them though they were made by several codes."
)
@_partial_option
def merge(out, directories, partial, same_code):
    """Combine the run directories of shards.

    They are put together in OUT, and are not changed.
    """
    for directory in directories:
        _check_run(directory)
    from linrep.sweeps import merge as merge_runs
    from linrep.sweeps import open_run

    with collected() as notes:
        merged = merge_runs(out, directories, same_code=same_code)
    for run in map(open_run, directories):
        notes += [f"damaged: {path} ({lost})" for path, lost in run.damaged().items()]
    for line in notes:
        echo(line, err=True)
    echo(f"{out}: {merged.count()} of {merged.total} replicates")
    for line in _list_machines(merged):
        echo(line)
    _tell_codes(merged)
    _tell_completeness(merged.completeness(), partial)


def _list_runs(folder):
    """List the run directories in a folder; of all runs the user's, and how many others."""
    paths = sorted(path.parent for path in (folder or Path("runs")).glob("**/sweep.json"))
    if not paths:
        there = folder or "runs: name a folder, or start with linrep sweep"
        raise BadInput(f"no run directory in {there}")
    others = [path for path in paths if folder is None and path.parts[1:2] in _KEPT]
    damaged, lines = False, []
    for path in (path for path in paths if path not in others):
        try:
            described, is_damaged = _describe(path)
        except (ValueError, OSError) as error:
            if paths == [folder]:
                raise BadInput(str(error)) from None
            described, is_damaged = [(f"{path}: {error}", "", "", "", "")], True
        lines += described
        damaged |= is_damaged
    if lines:
        print_table(("run", "cells", "done", "missing", "failed"), lines)
    if paths == [folder]:
        _list_contents(folder)
    if others:
        folders = " and ".join(sorted({str(Path(*path.parts[:2])) for path in others}))
        echo(f"{len(others)} of claims and figures are in {folders}", err=True)
    if damaged:
        raise click.exceptions.Exit(1)


def _describe(path):
    """Return the lines of a run directory, and whether some of its parts are damaged."""
    from linrep.sweeps import open_run
    from linrep.sweeps.codes import mixture

    run = open_run(path)
    done, failed, damaged = run.count(), run.failed(), run.damaged()
    missing = run.total - done
    lacking = Painted(str(missing), "note" if missing else "")
    numbers = [str(len(run.cells)), str(done), lacking]
    numbers.append(Painted(str(failed), "error" if failed else ""))
    notes = [f"  damaged: {part.name} ({lost})" for part, lost in damaged.items()]
    notes += [f"  {line}" for line in (*_list_machines(run), mixture(run)) if line]
    return [(str(path), *numbers), *((note, "", "", "", "") for note in notes)], bool(damaged)


def _list_contents(path):
    """List the parameters of a run with their values, and the columns that it has measured."""
    from linrep.sweeps import open_run

    run = open_run(path)
    for name in run.parameters:
        values = dict.fromkeys(str(cell.get(name)) for cell in run.cells)
        echo(f"  {name}: {shorten(', '.join(values), _LONGEST, placeholder=' …')}")
    hidden = {*run.parameters, *completion.ADDED}
    echo(f"  columns: {', '.join(name for name in run.columns if name not in hidden)}")


def _check_run(path):
    """Raise ValueError for what is no run directory, and say which ones are near."""
    if not (path / "sweep.json").exists():
        known = [str(file.parent) for file in Path("runs").glob("*/sweep.json")]
        otherwise = "linrep summary lists them" if known else "linrep sweep makes one"
        what = "not a run directory, which has a sweep.json:"
        raise ValueError(unknown(what, str(path), known, otherwise=otherwise))


def _open(path, partial):
    """Return a run, how complete it is, and the parameters that differ among cells with them."""
    from linrep.sweeps import open_run

    run = open_run(path)
    completeness = run.completeness()  # now: what others store meanwhile is not said
    if not completeness.stored:
        _tell_completeness(completeness, partial)
    varying = []
    for name in run.parameters:
        if len({str(cell[name]) for cell in run.cells if cell.get(name) is not None}) > 1:
            varying.append(name)
    return run, completeness, varying


def _tell_mixture(run):
    """Say in a line that the replicates of a run are of several machines or versions."""
    from linrep.sweeps.machines import mixture

    if mixed := mixture(run.machines()):
        text = f"{run.path} is of several machines or versions, and digits may differ: {mixed}"
        echo(Painted(text, "note"), err=True)
    _tell_codes(run)


def _tell_codes(run):
    """Say in a line that cells of a run were made by several codes."""
    from linrep.sweeps.codes import mixture

    if mixed := mixture(run):
        echo(Painted(f"{run.path}: {mixed}", "note"), err=True)


def _list_machines(run):
    """Return lines that say how many replicates are of which machine, none if there is one."""
    from linrep.sweeps.machines import describe

    counts = run.machines()
    lines = [
        f"{say_count(n, 'replicate')} of {describe(each, counts)}" for each, n in counts.items()
    ]
    return lines if len(lines) > 1 else []


def _tell_completeness(completeness, partial):
    """Say in a line that a run is not whole, and end with status 1 unless that is accepted."""
    if completeness.whole:
        return
    echo(Painted(f"{completeness.path} is incomplete: {completeness}", "note"), err=True)
    if not partial or not completeness.stored:
        raise click.exceptions.Exit(1)


def _tell_missing(rows, value, x, columns, table):
    """Say how many thresholds are not among the values that were tried, and on which side."""
    import numpy as np

    from linrep.figures.summaries import crossings

    if not table["estimate"].isna().any():
        return
    estimates, tried = crossings(rows, value, x, columns)["estimate"], rows[x]
    above, below = int(np.isposinf(estimates).sum()), int((estimates == 0.0).sum())
    echo(
        f"{above + below} of {len(table)} thresholds are missing: {above} above {x} = "
        f"{tried.max():g}, {below} below {x} = {tried.min():g}",
        err=True,
    )


def _describe_sampling(rows):
    """Return in a line how algorithms sampled, "" where all did the same."""
    if not {"algorithm", "sampling"} <= set(rows):
        return ""
    # Not known of what was stored before it was noted, and of mappings of metrics.
    rows = rows[rows["status"] == "ok"].dropna(subset="sampling")
    pairs = rows[["algorithm", "sampling"]].astype(str).drop_duplicates()
    if pairs["sampling"].nunique() < 2:
        return ""
    each = pairs.groupby("algorithm", sort=False)["sampling"].agg(" and ".join)
    kinds = "; ".join(f"{name}: {how}" for name, how in each.items())
    return f"samples were not drawn alike ({kinds})"


def _facet(rows, facet, others):
    """Return the column of the panels: the one that is asked for, or the only one that is left."""
    axes = [name for name in others if name != facet and _varies(rows, name)]
    if facet is None and len(axes) == 1:
        return axes[0]
    if axes:
        some = rows[axes[0]].dropna().iloc[0]
        some = f'"{some}"' if isinstance(some, str) else str(some)
        raise ValueError(
            f"{' and '.join(axes)} var{'y' if len(axes) > 1 else 'ies'}, too: choose with --where "
            f"'{axes[0]} == {some}', or give --by or --facet"
        )
    return facet


def _chosen(rows, where):
    """Return the rows for which all conditions hold."""
    from linrep.sweeps.summary import evaluate, is_condition

    for condition in where:
        holds = evaluate(rows, condition)
        if not is_condition(holds):
            raise ValueError(f"--where must be a condition, such as 'm >= 5', got {condition!r}")
        rows = rows[holds.fillna(False).astype(bool)]
        if rows.empty:
            raise ValueError(f"--where: no row is left for which {condition!r} holds")
    return rows


def _varies(rows, name):
    return rows[name].nunique() > 1


def _read(run, value, names, conditions=()):
    """Read the columns that a value and what has names need; all, if some are not there."""
    always = {"cell", "replicate", "row", "round", "status", "algorithm", "sampling"}
    wanted = always & set(run.columns)
    wanted |= {name for name in names if name is not None}
    for formula in (value, *conditions):
        wanted |= {formula} if formula in run.columns else set(Expression(formula).names)
    known = [name for name in run.columns if name in wanted]
    return run.read(known if wanted <= set(known) else None, partial=True)


def _last_rows(rows):
    """Return the rows; of stored traces the last of each replicate."""
    if "round" not in rows:
        return rows
    return rows.groupby(["cell", "replicate"], observed=True).tail(1)

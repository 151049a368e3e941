"""The commands that look at stored sweeps: summary and plot."""

from __future__ import annotations

from pathlib import Path

import click

from linrep._lib.formulas import Expression
from linrep._lib.suggest import unknown
from linrep.cli import completion
from linrep.cli.group import (
    bad_input,
    check_run,
    main,
    partial_option,
    tell_completeness,
    tell_mixture,
)
from linrep.cli.output import check_output, check_picture, write_figure, write_file
from linrep.cli.text import echo, for_spreadsheets, frame, say_count
from linrep.cli.values import read_names

_where_option = click.option(
    "--where",
    multiple=True,
    metavar="CONDITION",
    help="Only rows that meet a condition: 'm >= 2 * k'. If it is repeated, all have to hold.",
)


@main.command()
@click.argument("run", type=click.Path(path_type=Path), shell_complete=completion.run_directories)
@click.argument("value", shell_complete=completion.columns)
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
@click.option(
    "--csv", type=click.Path(dir_okay=False, path_type=Path), help="Write the table here, too."
)
@partial_option
def summary(run, value, by, statistic, threshold, exponents, where, csv, partial):
    """Summarize VALUE over replicates: a column, or an expression such as 'distance < 1e-3'."""
    with bad_input(ValueError, OSError):
        check_run(run)
        if csv is not None:
            check_output("--csv", csv)
        _check_formulas(run, value, where, [*read_names(by or ()), *read_names(threshold or ())])
    from linrep.sweeps import open_run, power_laws
    from linrep.sweeps.summary import evaluate, is_condition, summarize, thresholds

    with bad_input(ValueError, TypeError, OSError):
        stored = open_run(run)
        varying = _find_varying(stored)
        columns = read_names(by) if by else [c for c in varying if c != threshold]
        completeness = stored.completeness()  # before: what others store meanwhile is not said
        if not completeness.stored:
            tell_completeness(completeness, partial)
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
            try:
                laws = power_laws(table, names, others)
            except ValueError as error:
                raise ValueError(f"--exponents: {error}") from None
        sampling = _describe_sampling(rows)
        if csv is not None:
            write_file(csv, for_spreadsheets(table).to_csv(index=False).encode())
    if sampling:
        echo(sampling, err=True)
    if pooled:
        echo(f"taken together over {', '.join(pooled)}", err=True)
    frame(table)
    if threshold is not None:
        _tell_missing(rows, value, threshold, columns, table)
    for law in laws:
        echo(str(law))
    tell_mixture(stored)
    tell_completeness(completeness, partial)
    if laws and all(law.fit is None for law in laws):
        raise click.exceptions.Exit(1)


@main.command()
@click.argument("run", type=click.Path(path_type=Path), shell_complete=completion.run_directories)
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
    "--statistic", type=click.Choice(["mean", "geometric", "median"]),
    help="Statistic, with its 95 % interval (exact for a condition); the median with the middle "
    "80 %.  [default: mean, geometric with --log y]",
)  # fmt: skip
@click.option("--log", "log", default="", help="Logarithmic axes of lines: x, y or xy.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File of the picture.  [default: RUN.png]",
)
@partial_option
def plot(run, value, x, by, y, facet, where, boundary, statistic, log, out, partial):
    """Draw VALUE of a run directory: a column, or a condition such as 'distance < 1e-3'.

    A parameter that varies and is on no axis gets a panel for each of its values. If several such
    parameters are left, --by, --facet or --where 'm == 10' have to say what happens to them. With
    --y a heat map is drawn; for a condition it is a phase diagram, one per algorithm.
    """
    if out is None:  # "." has a name once it is resolved
        named = run if run.name else run.resolve()
        out = named.parent / f"{named.name}.png"
    with bad_input(ValueError, OSError):
        check_run(run)
        check_picture("--out", out)
        if not set(log) <= {"x", "y"}:
            raise ValueError(f"--log must be x, y or xy, got {log!r}")
        if boundary is not None:
            Expression(boundary)
        _check_formulas(run, value, where, filter(None, [x, by, y, facet]))
    import pandas as pd

    from linrep.figures import plotting
    from linrep.sweeps import open_run
    from linrep.sweeps.codes import mixture
    from linrep.sweeps.summary import evaluate, is_condition

    with bad_input(ValueError, TypeError, OSError), plotting.style():
        statistic = statistic or ("geometric" if "y" in log else "mean")
        if boundary is not None and y is None:
            raise ValueError("--boundary needs a heat map: give --y")
        if y is not None and by is not None:
            raise ValueError("--by is for lines, which a heat map does not have: give --facet")
        stored = open_run(run)
        completeness = stored.completeness()
        if not completeness.stored:
            tell_completeness(completeness, partial)
        varying = _find_varying(stored)
        rows = _read(stored, value, [x, by, y, facet, *varying], where)
        rows = rows[rows["status"] == "ok"]
        if rows.empty:
            raise ValueError(f"no replicate of {run} has succeeded: there is nothing to draw")
        if x != "round":
            rows = _last_rows(rows)
        rows = _chosen(rows, where)
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
        said = []
        if not completeness.whole:
            said.append(f"incomplete: {completeness.counts()}")
        if mixed := mixture(stored):
            said.append(mixed)
        if sampling := _describe_sampling(rows):
            said.append(sampling)
            notes.append(sampling)
        if said:
            figure.suptitle("\n".join(said), fontsize="x-small", x=0.01, ha="left")
        write_figure(out, figure)
    for note in notes:
        echo(note, err=True)
    echo(str(out))
    tell_mixture(stored)
    tell_completeness(completeness, partial)


def _check_formulas(run, value, conditions, columns):
    """Refuse what is no formula or no column, before anything heavy is loaded."""
    wanted = {name for condition in conditions for name in Expression(condition).names} | {*columns}
    parameters = completion.parameters_of(run)
    there = {*parameters, *completion.ADDED, *completion.columns_of(run, most=1)}
    if wanted <= there and value in there:
        return
    there |= {*completion.columns_of(run)}
    if not there - {*parameters, *completion.ADDED}:  # no part can be read
        return
    if value not in there:
        wanted |= {*Expression(value).names}
    for name in sorted(wanted - there):
        raise ValueError(unknown("no column", name, sorted(there), of=f"in {run}"))


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
        (facet,) = axes
        axes = []
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


def _find_varying(run):
    """Return the parameters that are not the same in all cells that have them."""

    def values(name):
        return {str(cell[name]) for cell in run.cells if cell.get(name) is not None}

    return [name for name in run.parameters if len(values(name)) > 1]

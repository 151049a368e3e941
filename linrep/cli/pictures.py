"""The commands that look at stored sweeps: summary and plot."""

from __future__ import annotations

from pathlib import Path

import click

from linrep.cli import completion
from linrep.cli.group import bad_input, main, partial_option, tell_completeness
from linrep.cli.output import write_figure, write_file
from linrep.cli.text import echo, for_spreadsheets
from linrep.cli.values import read_names


@main.command()
@click.argument("run", type=click.Path(path_type=Path), shell_complete=completion.run_directories)
@click.argument("value", shell_complete=completion.columns)
@click.option(
    "--by",
    shell_complete=completion.parameters,
    default="",
    help="Columns to group by: n,m.  [default: all that vary]",
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
    help="Where along X the condition starts to hold.",
)
@click.option(
    "--exponents",
    shell_complete=completion.parameters,
    metavar="A,B",
    help="Fit a power law of the estimate in A and B.",
)
@click.option("--csv", type=click.Path(dir_okay=False, path_type=Path), help="Write a file, too.")
@partial_option
def summary(run, value, by, statistic, threshold, exponents, csv, partial):
    """Summarize VALUE, a column or an expression such as 'distance < 1e-3', over replicates."""
    from linrep.stats import scaling_exponents
    from linrep.sweeps import open_run
    from linrep.sweeps.summary import evaluate, is_condition, summarize, thresholds

    with bad_input(ValueError, TypeError, OSError):
        stored = open_run(run)
        columns = read_names(by) if by else [c for c in _varying(stored) if c != threshold]
        completeness = stored.completeness()  # before: what others store meanwhile is not said
        if not completeness.stored:
            tell_completeness(completeness, partial)
        rows = _read(stored, value, [*columns, threshold])
        rows = rows if "round" in columns else _last_rows(rows)
        statistic = statistic or ("success" if is_condition(evaluate(rows, value)) else "mean")
        if threshold is None:
            whole = stored if set(columns) <= set(stored.parameters) else None
            table = summarize(rows, value, columns, statistic=statistic, run=whole)
        else:
            table = thresholds(rows, value, threshold, columns)
        pooled = [name for name in _varying(stored) if name not in (*columns, threshold)]
        fit = None
        if exponents is not None:
            usable = table.dropna(subset="estimate")
            for name in read_names(exponents):
                if name not in usable:
                    raise ValueError(f"--exponents: no column {name!r} in the summary")
            fit = scaling_exponents(
                usable["estimate"], {name: usable[name] for name in read_names(exponents)}
            )
        if csv is not None:
            write_file(csv, for_spreadsheets(table).to_csv(index=False).encode())
    if pooled:
        echo(f"taken together over {', '.join(pooled)}", err=True)
    echo(table.to_string(index=False, float_format="{:.5g}".format))
    if fit is not None:
        echo(f"power law of the estimate: {fit}")
    tell_completeness(completeness, partial)


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
    "--by", shell_complete=completion.parameters, help="Column that tells the lines apart."
)
@click.option(
    "--y",
    shell_complete=completion.parameters,
    help="Second axis: draw a heat map of the mean of VALUE.",
)
@click.option("--boundary", help="Expression of x, drawn into a heat map: '4 + 10 / m'.")
@click.option(
    "--statistic", type=click.Choice(["mean", "geometric", "median"]),
    help="With its 95 % interval, the median with the middle 80 %.  [default: mean, geometric with "
    "--log y]",
)  # fmt: skip
@click.option("--log", "log", default="", help="Logarithmic axes of lines: x, y or xy.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="[default: RUN.png]")
@partial_option
def plot(run, value, x, by, y, boundary, statistic, log, out, partial):
    """Draw VALUE, a column or a condition such as 'distance < 1e-3', of a run directory."""
    import pandas as pd
    from matplotlib.figure import Figure

    from linrep import plotting
    from linrep.sweeps import open_run
    from linrep.sweeps.summary import evaluate

    if out is None:  # "." has a name once it is resolved
        named = run if run.name else run.resolve()
        out = named.parent / f"{named.name}.png"
    with bad_input(ValueError, TypeError, OSError), plotting.style():
        statistic = statistic or ("geometric" if "y" in log else "mean")
        if not set(log) <= {"x", "y"}:
            raise ValueError(f"--log must be x, y or xy, got {log!r}")
        if boundary is not None and y is None:
            raise ValueError("--boundary needs a heat map: give --y")
        stored = open_run(run)
        completeness = stored.completeness()
        if not completeness.stored:
            tell_completeness(completeness, partial)
        rows = _read(stored, value, [x, by, y, *_varying(stored)])
        rows = rows[rows["status"] == "ok"]
        if rows.empty:
            raise ValueError(f"no replicate of {run} has succeeded: there is nothing to draw")
        if x != "round":
            rows = _last_rows(rows)
        rows = rows.assign(_value=evaluate(rows, value).astype(float))
        shown, notes = {x, by, y} - {None}, []
        if lacking := int(rows["_value"].isna().sum()):
            notes.append(f"{lacking} of {len(rows)} rows have no value of {value}")
        for name in _varying(stored):
            if name not in shown:
                kept = rows[name].iloc[0]
                rows = rows[rows[name] == kept]
                notes.append(f"only {name} = {kept} is shown")
        figure = Figure(figsize=(plotting.COLUMN_WIDTH * 1.3, 2.9))
        ax = figure.subplots()
        if y is None:
            left_out = plotting.curves(
                ax, rows, x=x, y="_value", by=by, geometric=statistic == "geometric",
                quantiles=(0.1, 0.9) if statistic == "median" else None, markers=x != "round",
                whole=x == "round",
            )  # fmt: skip
            if left_out:
                notes.append(f"{left_out} replicates are left out, as they lack some {x}")
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
        if not completeness.whole:
            what = str(completeness).partition(":")[0]  # without the names of damaged parts
            figure.axes[0].set_title(f"incomplete: {what}", loc="left", fontsize="x-small")
        write_figure(out, figure)
    for note in notes:
        echo(note, err=True)
    echo(str(out))
    tell_completeness(completeness, partial)


def _read(run, value, names):
    """Read the columns that a value and what has names need; all, if some are not there."""
    from linrep.sweeps import Expression

    wanted = {"cell", "replicate", "row", "round", "status"} & set(run.columns)
    wanted |= {name for name in names if name is not None}
    wanted |= {value} if value in run.columns else set(Expression(value).names)
    known = [name for name in run.columns if name in wanted]
    return run.read(known if wanted <= set(known) else None, partial=True)


def _last_rows(rows):
    """Return the rows; of stored traces the last of each replicate."""
    if "round" not in rows:
        return rows
    return rows.groupby(["cell", "replicate"], observed=True).tail(1)


def _varying(run):
    """Return the parameters that are not the same in all cells."""
    return [name for name in run.parameters if len({str(cell.get(name)) for cell in run.cells}) > 1]

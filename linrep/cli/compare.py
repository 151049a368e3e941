"""The command that sets algorithms side by side."""

from __future__ import annotations

from pathlib import Path

import click

from linrep.cli import completion
from linrep.cli import names as known
from linrep.cli.group import bad_input, main, workers_option
from linrep.cli.output import check_output, check_picture, write_figure, write_file
from linrep.cli.text import echo, for_spreadsheets, frame
from linrep.cli.values import check_ranges, read_axis, read_names, read_value, split_arguments


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument(
    "arguments",
    metavar="ALGORITHM[,ALGORITHM]... --n N --d N --k N --m N[,N]... [--SETTING VALUE]...",
    nargs=-1,
    type=click.UNPROCESSED,
    shell_complete=completion.algorithms_and_words,
)
@click.option(
    "--axis",
    type=click.Choice(["samples", "rounds", "floats", "seconds"]),
    default="samples",
    show_default=True,
    help="Horizontal axis of the comparison.",
)
@click.option(
    "--sampling",
    type=click.Choice(["fixed", "fresh", "own"]),
    default="fixed",
    show_default=True,
    help="The same stored samples for all; new samples in every round; or each one's default.",
)
@click.option(
    "--metric",
    type=click.Choice(["distance", "population_risk"]),
    help="What is compared.  [default: the first metric that all have]",
)
@click.option("--trials", type=click.IntRange(1, 10**6), default=10, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@workers_option("Number of threads; the numbers do not depend on it.")
@click.option(
    "--csv", type=click.Path(dir_okay=False, path_type=Path), help="Write the table here."
)
@click.option(
    "--rows", type=click.Path(dir_okay=False, path_type=Path), help="Write all runs here."
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Draw a picture here.")
def compare(arguments, axis, sampling, metric, trials, seed, workers, csv, rows, out):
    """Compare algorithms on the same problems, samples, participants and starts.

    Algorithms are given by name, or as module:name or file.py:name. --n, --d, --k, --noise and so
    on describe the problems, which are drawn anew in every trial. --m is the number of samples per
    client, or several numbers. All other options, such as --rounds, go to every algorithm that has
    such a setting. The last line says which algorithm is ahead at which number of samples.
    """
    own_options = [option.name for option in click.get_current_context().command.params[1:]]
    with bad_input(ValueError, TypeError):
        words, options = split_arguments(arguments)
        if len(words) != 1:
            together = ",".join(words) or "fedrep,alternating_least_squares"
            raise ValueError(f"write the algorithms as one word: {together}")
        names = read_names(words[0])
        known.check_algorithms(names)
        known.check_axes(names, options, own_options)
        axes = {name: read_axis(name, text) for name, text in options.items()}
        check_ranges(axes)
        known.check_words(names, axes)
        known.check_given(names, axes, sizes=("n", "d", "k"))
        known.check_rank(names, axes)
        for path, option in ((csv, "--csv"), (rows, "--rows")):
            if path is not None:
                check_output(option, path)
        if out is not None:
            check_picture("--out", out)
    from linrep.problems import SharedRepresentation
    from linrep.simulation.comparison import compare as run
    from linrep.simulation.families import find
    from linrep.sweeps import load

    with bad_input(ValueError, TypeError):
        family = find("regression")
        sizes = read_axis("m", options.pop("m", "")) if "m" in options else None
        values = {name: read_value(text) for name, text in options.items()}
        problem = {
            name: values.pop(name) for name in family.parameters
            if name in values and name != "models"
        }  # fmt: skip
        methods = {name.rpartition(":")[2]: load(name) if ":" in name else name for name in names}
        comparison = run(
            lambda rng: SharedRepresentation.random(**problem, rng=rng),
            methods, m=sizes, axis=axis, sampling=sampling, metric=metric, trials=trials,
            workers=workers, rng=seed, k=problem["k"], **values,
        )  # fmt: skip
    if csv is not None:
        write_file(
            csv, for_spreadsheets(comparison.table.reset_index()).to_csv(index=False).encode()
        )
    if rows is not None:
        comparison.to_parquet(rows)
    if out is not None:
        write_figure(out, comparison.plot().figure)
    table = comparison.table.reset_index()
    shown = table.rename(columns={"mean": comparison.metric})
    frame(shown, digits=4)
    echo(comparison.summary())

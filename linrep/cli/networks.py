"""``linrep networks``: tables of networks, which take hours, what is worth most first."""

from __future__ import annotations

import time
from pathlib import Path

import click

from linrep._lib.extras import need
from linrep._lib.formulas import Expression
from linrep._lib.scripts import available
from linrep.cli import completion
from linrep.cli import names as known
from linrep.cli.figures import show_drawn
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


@main.command()
@click.argument("names", metavar="[ID]...", nargs=-1, shell_complete=completion.experiments)
@click.option(
    "--where", help="Only runs that meet a condition: 'n == 100 and method == \"FedRep\"'."
)
@click.option(
    "--hours",
    type=click.FloatRange(min=0.0, min_open=True),
    help="Stop after so many hours, and draw what has been run.  [default: when all is done]",
)
@click.option(
    "--replicates",
    type=click.IntRange(min=1),
    help="Number of seeds.  [default: that of the table]",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    help="Rounds of each run.  [default: those of the table]",
)
@click.option(
    "--method",
    help="Run a method of your own, mine.py:MyMethod, to be drawn beside the table's methods: with "
    "the data, rounds, participation, step sizes and local epochs of each column.",
)
@click.option(
    "--device",
    default="auto",
    help="Device of PyTorch: cpu, cuda, cuda:1.  [default: cuda if there is one]",
)
@workers_option("Number of processes, of one thread each.")
@SEED_OPTION
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the data sets.  [default: $LINREP_DATA]",
)
@click.option(
    "--plan", is_flag=True, help="Print what is done, what is missing, and how long it will take."
)
@click.option("--draw", is_flag=True, help="Draw what has been run, and train nothing.")
@click.option(
    "--record",
    is_flag=True,
    help="Draw, and replace the record in the folder figures. Recorded runs are kept, and are not "
    "trained again.",
)
@click.option("--caption", is_flag=True, help="Draw captions under the pictures, too.")
def networks(
    names, where, hours, replicates, rounds, method, device, workers, seed, data, plan, draw,
    record, caption,
):  # fmt: skip
    """Train the neural networks of the papers' tables and figures: all, some by id or pattern.

    A run trains one method of one column with one seed. Small columns of all tables are trained
    before columns of the papers' sizes. Ctrl-C or SIGTERM ends the command within seconds, and the
    same command continues each run from its last checkpoint. Pictures and tables leave out what has
    not been run, and say so.
    """
    if method is not None and record:
        raise BadInput("--method and --record: only linrep's own methods are recorded")
    if record and caption:
        raise BadInput("--record: its pictures are drawn without --caption")
    names = known.match_spelling(names, available())
    with bad_input(ValueError):  # before anything heavy is loaded
        known.check_experiments(names, "*" if set(names) & set(available()) else "deep.*")
        known.check_reference(method or "")
        if where is not None:
            Expression(where)
    need("deep", "linrep networks")
    from linrep.cli import network_tables as tables

    items, named = tables.load_matching(names)
    device = tables.use(items, device, data)
    given, option = {} if rounds is None else {"rounds": str(rounds)}, "--record" if record else ""
    sized = [tables.apply_options(item, given, replicates, option, method) for item in items]
    chosen = tables.choose(sized, where, seed, named)
    if record:
        for each in chosen:
            tables.check_record(each.run)
        chosen = [each._replace(recorded=tables.read_recorded(each.run)) for each in chosen]
    if plan:
        for each in chosen:
            tables.show_plan(each, device, workers)
        return
    failed = False
    if not draw:
        parts = [(each.run, each.run.missing(each.recorded)) for each in chosen]
        failed = _train(parts, hours, workers)
    for each in chosen:
        _draw(each, has_own_method=method is not None, record=record, draw=draw, caption=caption)
    if failed:
        raise click.exceptions.Exit(1)


def _train(parts, hours, workers):
    """Make runs of tables until the time is up; return whether one of them has failed."""
    from linrep.figures import computing
    from linrep.figures.network_runs import RUNS, in_turn
    from linrep.sweeps import Stopped

    until, failed = None if hours is None else time.monotonic() + 3600.0 * hours, False
    for table, runs in in_turn(parts):
        budget = None if until is None else until - time.monotonic()
        if budget is not None and budget <= 0.0:
            break
        try:
            with bad_input(OSError):
                computing.compute(
                    table.item, RUNS, workers=workers, seed=table.seed, budget=budget, chosen=runs
                )
        except Stopped as stopped:
            if until is None or time.monotonic() < until:
                raise Unfinished(stopped, at_once=stopped.at_once) from None
            echo(f"{stopped}; the same command continues from there", err=True)
        except computing.Failed as error:
            echo_error(error)
            echo(replay_command(error.run, error.first), err=True)
            failed = True  # the others are run and drawn all the same
    return failed


def _draw(chosen, *, has_own_method, record, draw, caption):
    """Draw a table from the runs there are, and say how many are missing."""
    from linrep.cli import network_tables as tables
    from linrep.figures import drawing
    from linrep.figures.network_runs import NETWORKS, RUNS
    from linrep.figures.reproduction import RECORD

    run, item, rows = chosen.run, chosen.run.item, None
    began = time.perf_counter()
    if has_own_method:
        item, rows = tables.beside(run, chosen.table)
    elif record:  # once more: another process may have recorded, too
        rows = tables.read_recorded(run)
    out = RECORD / NETWORKS if record else chosen.folder
    try:
        drawn = drawing.make_figure(
            item, out=out, seed=run.seed, runs=RUNS, recorded=record, partial=True, beside=rows,
            caption=caption,
        )  # fmt: skip
    except ValueError as error:
        echo(str(error), err=True)
        return
    show_drawn(item, drawn, began)
    if absent := drawn.manifest["result"]["settings"].get("absent"):
        count = len(run.missing(drawn.rows))
        which = "them" if count == absent else f"{count} of them"
        again = "the same command" if not draw else "without --draw, the command"
        more = f"{again} goes on with {which}" if count else "none of those asked for"
        echo(f"{item.id}: {absent} runs are missing; {more}")

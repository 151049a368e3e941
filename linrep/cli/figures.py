"""``linrep figures``, and the same for one script."""

from __future__ import annotations

import os
import time
from hashlib import sha256
from pathlib import Path

import click

from linrep._lib.scripts import available, scripts, sizes_of, title
from linrep._lib.suggest import unknown
from linrep.cli import completion, names
from linrep.cli.axes import CommandWithAxes
from linrep.cli.group import (
    FOLDER,
    MOST_REPLICATES,
    SEED_OPTION,
    BadInput,
    OneLine,
    bad_input,
    interruptible,
    loading,
    main,
    mode_option,
    start_portable,
    workers_option,
)
from linrep.cli.output import write_file
from linrep.cli.text import (
    echo,
    echo_error,
    for_spreadsheets,
    frame,
    print_listing,
    say_count,
    width,
)
from linrep.cli.values import check_cells, read_axis, split_arguments

_LONGEST_NAME = 100
_WIDEST = 120  # letters of a line, up to which numbers are printed
_OPTIONS = (
    click.option(
        "--replicates",
        type=click.IntRange(1, MOST_REPLICATES),
        help="Independent runs at each point of the grid.  [default: those of the figure]",
    ),
    click.option(
        "--quick", is_flag=True, help="Use a small grid and few replicates; takes seconds."
    ),
    click.option(
        "--check",
        is_flag=True,
        help="Draw, and compare the numbers with the record in the folder figures; the exit status "
        "is 1 if they differ.",
    ),
    click.option(
        "--record", is_flag=True, help="Draw, and replace the record in the folder figures."
    ),
    click.option(
        "--caption",
        is_flag=True,
        help="Draw the caption under the picture. The manifest has it in any case.",
    ),
    mode_option("portable with --check and --record, native otherwise"),
    workers_option("Number of threads; the numbers do not depend on it."),
    SEED_OPTION,
    click.option(
        "--out",
        type=FOLDER,
        help="Folder for pictures, rows and manifests.  [default: runs/figures; a folder in it "
        "with --quick or other sizes; figures with --record]",
    ),
    click.option(
        "--data",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Folder of the data sets that some figures need.  [default: $LINREP_DATA]",
    ),
)


def _with_options(command):
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def size_lines(sizes):
    """Return the sizes of a figure with a line on each, as the help has them."""
    return [(f"--{name}", line) for name, line in sizes.items()]


class _Figures(CommandWithAxes):
    def others(self, ctx):
        """Return the sizes of the figures on the command line."""
        return completion.sizes(ctx)

    def sections(self, arguments):
        """Return the sizes of the figures on the command line."""
        known = {name: sizes_of(name) for name in dict.fromkeys(arguments)}
        sections = [(f"Sizes of {name}", size_lines(own)) for name, own in known.items() if own]
        lines = [("linrep figures ID --help", "The sizes of a figure, which are options, too.")]
        return sections or [("Sizes", lines)]


@main.command(cls=_Figures, context_settings={"ignore_unknown_options": True})
@click.argument(
    "arguments",
    metavar="[ID|SCRIPT.py]... [--SIZE VALUES]...",
    nargs=-1,
    type=click.UNPROCESSED,
    shell_complete=completion.experiments,
)
@click.option("--list", "list_only", is_flag=True, help="List the figures and stop.")
@_with_options
def figures(arguments, list_only, **options):
    """Draw the papers' figures, also for other problem sizes.

    All are drawn, some by id or pattern ('flute.*'), or a script of your own. Without a name, and
    with a pattern, a figure is left out if packages or data that it needs are missing. With
    --check, the papers' figures are drawn by default, and a pattern selects from the figures that
    have a record. Figures of synthetic data take their sizes as options: fedrep.figure3 --n 50,500
    --d 20. A figure with other sizes than the default is written to a folder of its own, and is not
    compared with the record.
    """
    wanted, given = split_arguments(arguments)
    wanted = names.match_spelling(wanted, available())
    names.check_experiments(wanted)
    for figure in wanted:
        if known := sizes_of(figure):
            for name in (each for each in given if each not in known):
                raise ValueError(f"{figure}: {unknown('no size', name, known, prefix='--')}")
    check_cells({name: read_axis(name, text) for name, text in given.items()})
    _start(**options)
    with loading("the figures"):
        from linrep.figures import experiment, reproduction

        there = reproduction.recorded() if options["check"] else experiment.available()
        patterns = wanted or (reproduction.PAPERS if options["check"] else experiment.available())
        matches = [
            name
            for name in experiment.matching(patterns)
            if name in there or name in wanted or name.endswith(".py")
        ]
        if list_only:
            paths = scripts()
            print_listing([(name, title(paths.get(name, Path(name)))) for name in matches])
            return
        chosen = [experiment.load(name) for name in matches]
    ready = []
    for item in chosen:
        missing = item.missing(options["quick"])
        if missing and not any(name == item.id or name.endswith(".py") for name in wanted):
            echo(f"{item.id} is left out, it needs {missing}", err=True)
        else:
            ready.append(item)
    if options["check"] and not ready:
        raise BadInput(f"--check: no such figure has a record in {reproduction.RECORD}")
    _make(ready, given, **options)


def run_script(experiment):
    """Run one experiment from the command line: what its script calls when run by itself."""

    class Command(OneLine, CommandWithAxes):  # type: ignore[misc]
        def sections(self, arguments):
            own = {} if experiment.sizes is None else experiment.sizes.lines()
            return [("Sizes of the figure", size_lines(own))] if own else []

    @click.command(
        cls=Command,
        help=f"{experiment.title} ({experiment.id}).",
        context_settings={
            "help_option_names": ["-h", "--help"],
            "ignore_unknown_options": True,
        },
    )
    @click.argument("arguments", metavar="[--SIZE VALUES]...", nargs=-1, type=click.UNPROCESSED)
    @_with_options
    def command(arguments, **options):
        words, given = split_arguments(arguments)
        if words:
            raise ValueError(f"unexpected argument {words[0]!r}")
        _start(**options)
        _make([experiment], given, **options)

    command()


def _start(check, record, quick, portable, data, caption, **_):
    """Refuse what does not go together, and choose the mode, before anything heavy is loaded."""
    if check and record:
        raise BadInput("give one of --check, which compares with the record, and --record")
    if check or record:
        option = "--check" if check else "--record"
        if caption or quick:
            raise BadInput(f"{option}: not of {'--caption' if caption else '--quick'}")
    if check or record if portable is None else portable:
        start_portable()
    if data is not None:
        from linrep.deep.readers import FOLDER_VARIABLE

        os.environ[FOLDER_VARIABLE] = str(data.resolve())


def _at_sizes(item, given, replicates, quick, option):
    """Return a figure with the sizes of the command line, and the folder in which it is drawn.

    Whatever is wrong with them is found here, before the first replicate of the first figure.
    """
    from linrep.figures.computing import sweep_of
    from linrep.figures.experiment import list_sizes
    from linrep.figures.reproduction import RESULTS

    with bad_input(ValueError, TypeError):
        sizes = {name: read_axis(name, text) for name, text in given.items()}
        try:
            more = {} if replicates is None else {"replicates": replicates}
            item = item.with_sizes({**sizes, **more})
            sweep_of(item, quick=quick)
            others = item.others(quick)
        except (ValueError, TypeError) as error:
            raise type(error)(f"{item.id}: {error}") from None
    folder = RESULTS / "quick" if quick else RESULTS
    if not others:
        return item, folder
    if option:
        kind = f"the default sizes of {item.id}, not {list_sizes(others)}"
        raise BadInput(f"{option}: the record has {kind}")
    echo(f"{item.id}: not the sizes of the record: {list_sizes(others)}", err=True)
    for remark in item.sizes_at(quick).remarks() if item.sizes is not None else ():
        echo(f"{item.id}: {remark}", err=True)
    return item, folder / _folder(others)


def _folder(others):
    """Return the name of the folder for other sizes."""
    values = (value if isinstance(value, tuple) else (value,) for value in others.values())
    texts = ("-".join(map(str, value)) for value in values)
    name = "_".join(f"{name}={text}" for name, text in zip(others, texts, strict=True))
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[:_LONGEST_NAME]}-{sha256(name.encode()).hexdigest()[:8]}"


def _make(chosen, given, quick, check, record, workers, seed, out, replicates, caption, **_):
    """Draw figures, and compare them with the record if asked to."""
    from linrep.figures.computing import RUNS, Failed
    from linrep.figures.drawing import make_figure
    from linrep.figures.record import KIND
    from linrep.figures.reproduction import RECORD, RESULTS, check_figures, read_record
    from linrep.sweeps import Stopped

    for item in chosen:
        if missing := item.missing(quick):
            raise BadInput(f"{item.id} needs {missing}")
    option = "--check" if check else "--record" if record else ""
    at_sizes = [_at_sizes(item, given, replicates, quick, option) for item in chosen]
    for item, _ in at_sizes if option else ():
        if item.trains_networks and item.data:
            raise BadInput(f"{option}: records of tables of networks stay as they are: {item.id}")
        if record and item.replicates < 2:
            raise BadInput(f"--record: {item.id} has one replicate, which shows no spread")
        if check:
            read_record(RECORD, item.id)
        else:
            KIND.check((out or RECORD) / f"{item.id}.json")
    began = time.perf_counter()
    reproduction = None
    asked = click.get_current_context().get_parameter_source("seed")

    def say_done(drawn):
        took = time.perf_counter() - began
        echo(f"{drawn.manifest['id']}: drawn after {took:.0f} s", err=True)

    try:
        with interruptible(Stopped):
            if check:
                reproduction = check_figures(
                    [item for item, _ in at_sizes],
                    out=out or RESULTS,
                    workers=workers,
                    seed=None if asked is click.core.ParameterSource.DEFAULT else seed,
                    done=say_done,
                )
            for item, results in at_sizes if not check else ():
                began = time.perf_counter()
                drawn = make_figure(
                    item,
                    out=out or (RECORD if record else results),
                    quick=quick,
                    workers=workers,
                    seed=seed,
                    recorded=record,
                    caption=caption,
                    runs=results / RUNS if record else None,
                )
                _show(item, drawn, began)
    except Failed as error:
        echo_error(error)
        raise click.exceptions.Exit(1) from None
    if reproduction is not None:
        echo(reproduction.text())
        if not reproduction.reproduced:
            raise click.exceptions.Exit(1)


def _show(item, drawn, began):
    """Show the numbers of a figure, and say where it is."""
    from linrep.figures.record import flat
    from linrep.figures.reproduction import RECORD

    echo(f"{item.id}: {item.title}")
    numbers = flat(drawn.summary)
    wide = max(map(len, numbers.to_string(index=False).splitlines()), default=0)
    if wide > max(_WIDEST, width() or 0) and not drawn.path.is_relative_to(RECORD):
        path = drawn.path.with_suffix(".csv")
        write_file(path, for_spreadsheets(numbers).to_csv(index=False).encode())
        echo(f"{item.id}: numbers in {path}, {say_count(len(numbers), 'line')}")
    else:
        frame(numbers.replace("inf", "not reached"), digits=4)
    if notes := drawn.manifest["provenance"].get("notes"):
        each = ", ".join(f"{note} ({count} replicates)" for note, count in notes.items())
        echo(f"{item.id}: notes on its runs: {each}", err=True)
    echo(f"{item.id}: {drawn.path} ({time.perf_counter() - began:.0f} s)")

"""``linrep figures``, and the same for one script."""

from __future__ import annotations

import os
import time
from hashlib import sha256
from pathlib import Path

import click

from linrep._lib.records import Damaged
from linrep._lib.scripts import available, scripts, title
from linrep.cli import completion
from linrep.cli import names as known
from linrep.cli.axes import CommandWithAxes, size_section
from linrep.cli.group import (
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
from linrep.cli.values import (
    check_cells,
    check_ranges,
    check_rounds,
    read_axis,
    split_arguments,
)

_LONGEST_NAME = 100
_WIDEST = 120  # letters of a line, up to which numbers are printed
#: Sizes that are counts in every figure.
_COUNTS = ("n", "m", "d", "k", "rounds")


def _run_options(command):
    for option in reversed(
        (
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
                help="Draw, and compare the numbers with the record in the folder figures; the "
                "exit status is 1 if they differ.",
            ),
            click.option(
                "--record",
                is_flag=True,
                help="Draw, and replace the record in the folder figures.",
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
                type=click.Path(file_okay=False, path_type=Path),
                default=None,
                help="Folder for pictures, rows and manifests.  [default: runs/figures; a "
                "folder in it with --quick or other sizes; figures with --record]",
            ),
            click.option(
                "--data",
                type=click.Path(exists=True, file_okay=False, path_type=Path),
                help="Folder of the data sets that some figures need.  [default: $LINREP_DATA]",
            ),
        )
    ):
        command = option(command)
    return command


class _Figures(CommandWithAxes):
    def others(self, ctx):
        """Return the sizes of the figures on the command line."""
        return completion.sizes(ctx)

    def sections(self, arguments):
        """Return the sizes of the figures on the command line."""
        from linrep.figures import experiment

        there = experiment.available()
        named = [word for word in arguments if word in there or word.endswith(".py")]
        with bad_input(ValueError):
            chosen = [experiment.load(name) for name in dict.fromkeys(named)]
        sections = [size_section(item.id, item.sizes) for item in chosen if item.sizes is not None]
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
@_run_options
def figures(arguments, list_only, **options):
    """Draw figures: all of them, some by id or pattern ('flute.*'), or a script of your own.

    Without a name, and with a pattern, a figure is left out if packages or data that it needs are
    missing. With --check, the papers' figures are drawn by default, and a pattern selects from the
    figures that have a record. Figures of synthetic data take their sizes as options:
    fedrep.figure3 --n 50,500 --d 20. A figure with other sizes than the default is written to a
    folder of its own, and is not compared with the record.
    """
    with bad_input(ValueError):
        names, given = split_arguments(arguments)
        names = known.match_spelling(names, available())
        known.check_experiments(names)
        known.check_sizes(names, given)
        read = {name: read_axis(name, text) for name, text in given.items()}
        check_cells(read)
        check_ranges({name: values for name, values in read.items() if name in _COUNTS})
        check_rounds(read)
    _start(**options)
    with loading("the figures"), bad_input(ValueError, OSError):
        from linrep.figures import experiment, reproduction

        there = reproduction.recorded() if options["check"] else experiment.available()
        patterns = names or (reproduction.PAPERS if options["check"] else experiment.available())
        matches = [
            name
            for name in experiment.matching(patterns)
            if name in there or name in names or name.endswith(".py")
        ]
        if list_only:
            paths = scripts()
            print_listing([(name, title(paths.get(name, Path(name)))) for name in matches])
            return
        chosen = [experiment.load(name) for name in matches]
    ready = []
    for item in chosen:
        missing = item.missing(options["quick"])
        if missing and not any(name == item.id or name.endswith(".py") for name in names):
            echo(f"{item.id} is left out, it needs {missing}", err=True)
        else:
            ready.append(item)
    if options["check"] and not ready:
        raise BadInput(f"--check: no such figure has a record in {reproduction.RECORD}")
    _make(ready, given, **options)


def _set_data(folder):
    from linrep.deep.readers import FOLDER_VARIABLE

    if folder is not None:
        os.environ[FOLDER_VARIABLE] = str(folder.resolve())


def run_script(experiment):
    """Run one experiment from the command line: what its script calls when run by itself."""

    class Command(OneLine, CommandWithAxes):  # type: ignore[misc]
        def sections(self, arguments):
            sizes = experiment.sizes
            return [] if sizes is None else [size_section("the figure", sizes)]

    @click.command(
        cls=Command,
        help=f"{experiment.title} ({experiment.id}).",
        context_settings={
            "help_option_names": ["-h", "--help"],
            "ignore_unknown_options": True,
        },
    )
    @click.argument("arguments", metavar="[--SIZE VALUES]...", nargs=-1, type=click.UNPROCESSED)
    @_run_options
    def command(arguments, **options):
        with bad_input(ValueError):
            words, given = split_arguments(arguments)
            if words:
                raise ValueError(f"unexpected argument {words[0]!r}")
        _start(**options)
        _make([experiment], given, **options)

    command()


def _start(check, record, quick, portable, data, caption, **_):
    """Refuse what does not go together, and choose the mode, before anything heavy is loaded."""
    if check and record:
        raise BadInput(
            "--check compares with the record and --record replaces it: give one of them"
        )
    if caption and (check or record):
        option = "--check" if check else "--record"
        raise BadInput(f"{option}: its pictures are drawn without --caption")
    if quick and (check or record):
        option = "--check" if check else "--record"
        raise BadInput(f"{option}: a record is of the full settings, not of --quick")
    if check or record if portable is None else portable:
        start_portable()
    _set_data(data)


def apply_sizes(item, given, replicates, quick, option):
    """Return a figure with the sizes of the command line, and the folder in which it is drawn.

    Whatever is wrong with them is found here, before the first replicate of the first figure.
    """
    from linrep.figures.computing import sweep_of
    from linrep.figures.experiment import list_sizes
    from linrep.figures.reproduction import RESULTS

    try:
        sizes = {name: read_axis(name, text) for name, text in given.items()}
        item = item.with_sizes(sizes if replicates is None else {**sizes, "replicates": replicates})
        _check_sizes(item, quick)
        sweep_of(item, quick=quick)
        others = item.others(quick)
    except (ValueError, TypeError) as error:
        raise BadInput(f"{item.id}: {error}") from None
    folder = RESULTS / "quick" if quick else RESULTS
    if not others:
        return item, folder
    if option:
        raise BadInput(f"{option}: the record has the default sizes of {item.id}, not "
                       f"{list_sizes(others)}")  # fmt: skip
    echo(f"{item.id}: not the sizes of the record, which is not compared: {list_sizes(others)}",
         err=True)  # fmt: skip
    for remark in item.sizes_at(quick).remarks() if item.sizes is not None else ():
        echo(f"{item.id}: {remark}", err=True)
    return item, folder / _folder(others)


def _check_sizes(item, quick):
    """Refuse sizes that cannot be, by the option that a message begins with the name of."""
    from linrep.figures.sizes import NoSuchSize

    try:
        item.sizes_at(quick)
    except NoSuchSize:
        raise
    except (ValueError, TypeError) as error:
        raise ValueError(f"--{error}") from None


def _folder(others):
    """Return the name of the folder for other sizes."""
    values = (value if isinstance(value, tuple) else (value,) for value in others.values())
    texts = ("-".join(map(str, value)) for value in values)
    name = "_".join(f"{name}={text}" for name, text in zip(others, texts, strict=True))
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[:_LONGEST_NAME]}-{sha256(name.encode()).hexdigest()[:8]}"


def _make(
    chosen, given, quick, check, record, workers, seed, out, replicates, caption, **_
):  # fmt: skip
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
    for item in chosen:
        if option and item.trains_networks and item.data:
            raise BadInput(f"{option}: records of tables of networks stay as they are: {item.id}")
    at_sizes = [apply_sizes(item, given, replicates, quick, option) for item in chosen]
    chosen = [item for item, _ in at_sizes]
    for item in chosen:
        if record and item.replicates < 2:
            raise BadInput(f"--record: {item.id} has one replicate, which shows no spread")
        with bad_input(OSError, ValueError):
            if check:
                read_record(RECORD, item.id)
            if record:
                KIND.check((out or RECORD) / f"{item.id}.json")
    began = time.perf_counter()
    try:
        if check:
            asked = click.get_current_context().get_parameter_source("seed")
            default = asked is click.core.ParameterSource.DEFAULT
            with bad_input(OSError, Damaged), interruptible(Stopped):
                reproduction = check_figures(
                    chosen,
                    out=out or RESULTS,
                    workers=workers,
                    seed=None if default else seed,
                    done=lambda drawn: _say_done(drawn, began),
                )
        else:
            for item, results in at_sizes:
                began = time.perf_counter()
                with bad_input(OSError, Damaged), interruptible(Stopped):
                    drawn = make_figure(
                        item,
                        out=out or (RECORD if record else results),
                        quick=quick,
                        workers=workers,
                        seed=seed,
                        recorded=record,
                        runs=results / RUNS if record else None,
                        caption=caption,
                    )
                show_drawn(item, drawn, began)
            return
    except Failed as error:
        echo_error(error)
        raise click.exceptions.Exit(1) from None
    echo(reproduction.text())
    if not reproduction.reproduced:
        raise click.exceptions.Exit(1)


def _say_done(drawn, began):
    name = drawn.manifest["id"]
    echo(f"{name}: drawn after {time.perf_counter() - began:.0f} s", err=True)


def show_drawn(item, drawn, began):
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

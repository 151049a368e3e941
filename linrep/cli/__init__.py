"""The command line."""

from __future__ import annotations

import os
import signal
import sys
import time
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO, TextIOWrapper
from pathlib import Path
from shlex import quote

import click

import linrep
from linrep.cli import completion
from linrep.cli.axes import CommandWithAxes, size_section
from linrep.cli.values import read_axis, split_arguments

_LONGEST_NAME = 100
DEFAULT_WORKERS = max(1, min(8, os.cpu_count() or 1))


class BadInput(click.ClickException):
    """Something the caller has to mend: one line, exit status 2."""

    exit_code = 2


class Unfinished(click.ClickException):
    """What stopped a command that goes on where it was when it is called again."""

    def __init__(self, message, status=130):
        super().__init__(f"{message}; the same command goes on from there")
        self.status = status


@contextmanager
def interruptible(*interrupts):
    """Say how to go on after an interrupt, or after a worker process was killed."""
    try:
        yield
    except interrupts as interrupt:
        raise Unfinished(interrupt) from None
    except BrokenExecutor:
        killed = "a worker process was killed, perhaps for lack of memory"
        raise Unfinished(f"Error: {killed}; what was finished is stored", 1) from None


@contextmanager
def bad_input(*errors):
    """Turn errors that are the caller's to mend into one line and exit status 2."""
    try:
        yield
    except errors as error:
        raise BadInput(_first_line(str(error)) or type(error).__name__) from None


def _first_line(text):
    """Return the first line that says something: names of files may begin with a line break."""
    return next(filter(str.strip, text.splitlines()), "")


class _OneLine:
    """Commands that answer bad input with one line, without the usage."""

    def main(self, args=None, prog_name=None, **extra):
        extra["standalone_mode"] = False
        extra.setdefault("obj", {"started by the shell": args is None})
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):  # where there is no Greek, a question mark
                stream.reconfigure(errors="replace")
        with _terminable() as signals:
            try:
                code = super().main(args, prog_name, **extra)  # type: ignore[misc]
            except Unfinished as error:
                click.echo(error.format_message(), err=True)
                code = 128 + signals[0] if signals else error.status
            except click.ClickException as error:
                if isinstance(error, _ONLY_HELP):
                    error.show()
                else:
                    click.echo(f"Error: {_first_line(error.format_message())}", err=True)
                code = error.exit_code
            except click.Abort:
                click.echo("stopped", err=True)
                code = 128 + (signals or [signal.SIGINT])[0]
            except OSError as error:  # that no command has foreseen: standard output's disk is full
                click.echo(f"Error: {error}", err=True)
                code = 2
        sys.exit(code if isinstance(code, int) else 0)


@contextmanager
def _terminable():
    """Let SIGTERM, which batch systems send before they kill, interrupt as Ctrl-C does."""
    received: list[int] = []

    def interrupt(number, frame):
        received.append(number)
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not in the main thread
        yield received
        return
    try:
        yield received
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


class _Group(_OneLine, click.Group):  # type: ignore[misc]
    pass


class _Command(_OneLine, click.Command):  # type: ignore[misc]
    pass


# What click raises where no command is given at all, since 8.2.
_ONLY_HELP: tuple = tuple(filter(None, [getattr(click.exceptions, "NoArgsIsHelpError", None)]))


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(linrep.__version__, prog_name="linrep")
def main():
    """Check the theory of federated representation learning by running it."""


def start_portable():
    """Start the command again in the portable mode, before anything heavy is loaded.

    Where there is no such mode, one line says so, and the command goes on natively. A command that
    another program calls as a function leaves that program's process alone.
    """
    from linrep import _portable as portable

    own = click.get_current_context().find_root().obj or {}
    if reason := portable.reason():
        click.echo(f"there is no portable mode here ({reason}): native numbers", err=True)
    elif own.get("started by the shell"):
        portable.enter()
        if portable.mode() != "portable":
            click.echo(
                "there is no portable mode here (linear algebra, NumPy or numba are not as their "
                "variables say): native numbers",
                err=True,
            )


SEED_OPTION = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Root of all random streams.",
)


def replay_command(directory, failure):
    """Say how to see a failed replicate, one of the rows of a run directory."""
    place = f"{quote(str(directory))} --cell {quote(failure['cell'])}"
    return f"see it with: linrep replay {place} --replicate {failure['replicate']}"


def check_output(option, path):
    """Refuse a file that cannot be written, before anything is computed for it."""
    if path.is_dir():
        raise BadInput(f"{option}: {path} is a folder")
    if not path.parent.is_dir():
        raise BadInput(f"{option}: there is no folder {path.parent}")
    # A file is replaced, which its folder has to allow as well; a device is written to.
    places = [path] if is_device(path) else [path.parent, path]
    if not all(os.access(place, os.W_OK) for place in places if place.exists()):
        raise BadInput(f"{option}: {path} cannot be written")


def is_device(path):
    """Tell whether a path is that of a device, such as /dev/stdout."""
    return path.is_absolute() and path.is_relative_to("/dev")


def write_file(path, content):
    """Write bytes, whole or not at all; to a device, such as /dev/stdout, as they come."""
    from linrep import _files as files

    if is_device(path):
        path.write_bytes(content)
    else:
        files.write(path.resolve(), content)


def write_figure(path, figure):
    """Write a picture in the format that the file's name says, PNG if it says none."""
    picture = BytesIO()
    figure.savefig(picture, format=path.suffix[1:] or None)
    write_file(path, picture.getvalue())


def workers_option(text):
    """Return the option --workers; the text says what they are."""
    return click.option(
        "--workers",
        type=click.IntRange(min=1),
        default=DEFAULT_WORKERS,
        show_default=True,
        help=text,
    )


def _run_options(command):
    for option in reversed(
        (
            click.option(
                "--replicates",
                type=click.IntRange(min=1),
                help="Per cell.  [default: those of the figure]",
            ),
            click.option(
                "--quick", is_flag=True, help="Small grid and few replicates, in seconds."
            ),
            click.option(
                "--check",
                is_flag=True,
                help="Draw, and compare with the record in figures; exit status 1 if the numbers "
                "are others.",
            ),
            click.option(
                "--record",
                is_flag=True,
                help="Draw into figures: make it what others compare with.",
            ),
            click.option(
                "--portable/--native",
                default=None,
                help="Compute with instructions that many processors have, so that they get the "
                "same bits, or with all of this one's.  [default: portable with --check and "
                "--record]",
            ),
            workers_option("Threads; the numbers do not depend on it."),
            SEED_OPTION,
            click.option(
                "--out",
                type=click.Path(file_okay=False, path_type=Path),
                default=None,
                help="Folder for pictures, rows and manifests.  [default: runs/figures, a "
                "folder in it with --quick or other sizes, figures with --record]",
            ),
            click.option(
                "--data",
                type=click.Path(exists=True, file_okay=False, path_type=Path),
                help="Folder of the data sets that some experiments read.  [default: $LINREP_DATA]",
            ),
        )
    ):
        command = option(command)
    return command


class _Figures(CommandWithAxes):
    def sections(self, arguments):
        """Return the sizes of the figures on the command line."""
        from linrep import experiment

        known = experiment.available()
        named = [word for word in arguments if word in known or word.endswith(".py")]
        with bad_input(ValueError):
            chosen = [experiment.load(name) for name in dict.fromkeys(named)]
        found = [size_section(item.id, item.sizes) for item in chosen if item.sizes is not None]
        lines = [("linrep figures ID --help", "The sizes of a figure, which are options, too.")]
        return found or [("Sizes", lines)]


@main.command(cls=_Figures, context_settings={"ignore_unknown_options": True})
@click.argument(
    "arguments",
    metavar="[ID|SCRIPT.py]... [--SIZE VALUES]...",
    nargs=-1,
    type=click.UNPROCESSED,
    shell_complete=completion.experiments,
)
@click.option("--list", "list_only", is_flag=True, help="List the experiments and stop.")
@_run_options
def figures(arguments, list_only, **options):
    """Regenerate figures: all of them, some by id or pattern ('flute.*'), or your own script.

    Without names, and of a pattern, those are left out whose packages or data are not there; with
    --check the papers' figures are meant, and of a pattern those that have a record. Figures of
    synthetic data take their sizes as options: fedrep.figure3 --n 50,500 --d 20. What is drawn with
    other sizes than the default has a folder of its own, and is not compared with the record.
    """
    with bad_input(ValueError):
        names, given = split_arguments(arguments)
    _start(**options)
    from linrep import experiment, reproduction

    there = reproduction.recorded() if options["check"] else experiment.available()
    with bad_input(ValueError, OSError):
        patterns = names or (reproduction.PAPERS if options["check"] else experiment.available())
        found = [
            name
            for name in experiment.matching(patterns)
            if name in there or name in names or name.endswith(".py")
        ]
        chosen = [experiment.load(name) for name in found]
    if list_only:
        for item in chosen:
            click.echo(f"{item.id:20} {item.title}")
        return
    ready = []
    for item in chosen:
        missing = item.missing(options["quick"])
        if missing and not any(name == item.id or name.endswith(".py") for name in names):
            click.echo(f"{item.id} is left out, it needs {missing}", err=True)
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

    class Command(_OneLine, CommandWithAxes):  # type: ignore[misc]
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


def _start(check, record, quick, portable, data, **_):
    """Refuse what does not go together, and choose the mode, before anything heavy is loaded."""
    if check and record:
        raise BadInput("--check and --record: compare with the record, or make it")
    if quick and (check or record):
        option = "--check" if check else "--record"
        raise BadInput(f"{option}: a record is of the full settings, not of --quick")
    if check or record if portable is None else portable:
        start_portable()
    _set_data(data)


def _sized(item, given, replicates, quick, option):
    """Return a figure with the sizes of the command line, and the folder in which it is drawn.

    Whatever is wrong with them is found here, before the first replicate of the first figure.
    """
    from linrep.experiment import list_sizes, sweep_of
    from linrep.reproduction import RESULTS

    try:
        sizes = {name: read_axis(name, text) for name, text in given.items()}
        item = item.with_sizes(sizes if replicates is None else {**sizes, "replicates": replicates})
        sweep_of(item, quick=quick)
        others = item.others(quick)
    except (ValueError, TypeError) as error:
        known = () if item.sizes is None else vars(item.sizes)
        named = str(error).partition(" ")[0] in {*given, *known}
        raise BadInput(f"{item.id}: {'--' if named else ''}{error}") from None
    folder = RESULTS / "quick" if quick else RESULTS
    if not others:
        return item, folder
    if option:
        raise BadInput(f"{option}: a record is of the default sizes, {item.id} is asked for with "
                       f"{list_sizes(others)}")  # fmt: skip
    click.echo(f"{item.id}: no record to compare with, of {list_sizes(others)}", err=True)
    for remark in item.sizes_at(quick).remarks() if item.sizes is not None else ():
        click.echo(f"{item.id}: {remark}", err=True)
    return item, folder / _folder(others)


def _folder(others):
    """Return the name of the folder for other sizes."""
    values = (value if isinstance(value, tuple) else (value,) for value in others.values())
    texts = ("-".join(map(str, value)) for value in values)
    name = "_".join(f"{name}={text}" for name, text in zip(others, texts, strict=True))
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[:_LONGEST_NAME]}-{sha256(name.encode()).hexdigest()[:8]}"


def _make(chosen, given, quick, check, record, workers, seed, out, replicates, **_):
    """Draw figures, and compare them with the record if asked to."""
    from linrep.experiment import RUNS, Failed, make_figure
    from linrep.reproduction import RECORD, RESULTS, check_figures, read_record
    from linrep.sweeps import Stopped

    for item in chosen:
        if missing := item.missing(quick):
            raise BadInput(f"{item.id} needs {missing}")
    option = "--check" if check else "--record" if record else ""
    sized = [_sized(item, given, replicates, quick, option) for item in chosen]
    chosen = [item for item, _ in sized]
    for item in chosen:
        if record and item.replicates < 2:
            raise BadInput(f"--record: {item.id} has one replicate, which shows no spread")
        if check:
            with bad_input(OSError, ValueError):
                read_record(RECORD, item.id)
    began = time.perf_counter()
    try:
        if check:
            asked = click.get_current_context().get_parameter_source("seed")
            default = asked is click.core.ParameterSource.DEFAULT
            with bad_input(OSError), interruptible(Stopped):
                found = check_figures(
                    chosen,
                    out=out or RESULTS,
                    workers=workers,
                    seed=None if default else seed,
                    done=lambda drawn: _say_done(drawn, began),
                )
        else:
            for item, results in sized:
                began = time.perf_counter()
                with bad_input(OSError), interruptible(Stopped):
                    drawn = make_figure(
                        item,
                        out=out or (RECORD if record else results),
                        quick=quick,
                        workers=workers,
                        seed=seed,
                        recorded=record,
                        runs=results / RUNS if record else None,
                    )
                _show(item, drawn, began)
            return
    except Failed as error:
        click.echo(f"Error: {error}", err=True)
        click.echo(replay_command(error.run.path, error.first), err=True)
        raise click.exceptions.Exit(1) from None
    click.echo(found.text())
    if not found.reproduced:
        raise click.exceptions.Exit(1)


def _say_done(drawn, began):
    name = drawn.manifest["id"]
    click.echo(f"{name}: drawn after {time.perf_counter() - began:.0f} s", err=True)


def _show(item, drawn, began):
    from linrep.record import flat

    click.echo(f"{item.id}: {item.title}")
    click.echo(flat(drawn.summary).to_string(index=False, float_format="{:.4g}".format))
    click.echo(f"{item.id}: {drawn.path} ({time.perf_counter() - began:.0f} s)")


from linrep.cli import (  # noqa: E402  they register their commands
    bench,  # noqa: F401
    info,  # noqa: F401
    new,  # noqa: F401
    pictures,  # noqa: F401
    report,  # noqa: F401
    reproduce,  # noqa: F401
    sweeps,  # noqa: F401
    verify,  # noqa: F401
)

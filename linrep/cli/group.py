"""The command ``linrep``: how it answers bad input and interrupts, options that commands share."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from textwrap import shorten

import click
from click.core import ParameterSource

import linrep
from linrep._lib import disregard, portable
from linrep._lib.extras import MissingPackage
from linrep._lib.progress import progress_bar, say_stopped
from linrep._lib.records import Unread
from linrep._lib.suggest import unknown
from linrep.cli.text import echo, echo_error

#: The commands in the groups of the help.
GROUPS = {
    "Check": ("verify", "certify", "show", "reproduce", "new"),
    "Run": ("figures", "sweep"),
    "Look": ("summary", "plot", "report", "merge"),
}
FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
#: What digits depend on in the portable mode beside code and seed.
LIBRARIES = "NumPy, SciPy, numba, llvmlite and the C library"
MOST_WORKERS = 1024
_LONGEST = 160  # characters of names
MOST_REPLICATES = 10**9  # of a cell
DEFAULT_WORKERS = max(1, min(8, os.cpu_count() or 1))


class BadInput(click.ClickException):
    """Something the caller has to correct: one line, exit status 2."""

    exit_code = 2


class Unfinished(click.ClickException):
    """What stopped a command that goes on where it was when it is called again."""

    def __init__(self, message, status=130, *, at_once=False):
        super().__init__(f"{message}; {self.then}" if self.then else message)
        self.status = status
        self.at_once = at_once  # threads may still be at work, for which Python would wait

    then = "the same command continues from there"


class Stopped(Unfinished):
    """What stopped a command that begins again when it is called again."""

    then = ""


@contextmanager
def interruptible(*interrupts):
    """Say how to go on after an interrupt, or after a worker process was killed."""
    try:
        yield
    except interrupts as interrupt:
        raise Unfinished(interrupt, at_once=getattr(interrupt, "at_once", False)) from None
    except BrokenExecutor:
        killed = "a worker process was killed, perhaps for lack of memory"
        raise Unfinished(f"Error: {killed}; what was finished is stored", 1) from None


class Batches:
    """Results by name that are written as they come, and all whatever ends the work.

    Several at a time where they are stored elsewhere, too: then writing takes a tenth of the time
    at most, and a killed process finds again what it has not written.
    """

    def __init__(self, write, stored=False):
        self._write, self._waiting, self._next = write, {}, 0.0
        self._pause = 9.0 if stored else 0.0  # times what writing took
        self.written = set()

    def add(self, name, result):
        """Take a result, which is written now or with one that comes later."""
        self._waiting[name] = result
        if time.monotonic() >= self._next:
            self.write()

    def write(self):
        """Write what waits, one by one where something is refused: it keeps nothing else back."""
        began = time.monotonic()
        try:
            self._write_these(self._waiting)
        except Exception:
            if len(self._waiting) == 1:
                raise
            self._write_one_by_one()
        finally:
            self._next = time.monotonic() + self._pause * (time.monotonic() - began)

    def _write_these(self, results):
        if results:
            self._write(results)
            self.written |= results.keys()
            self._waiting = {k: v for k, v in self._waiting.items() if k not in results}

    def _write_one_by_one(self):
        errors = []
        for name, result in self._waiting.items():
            try:
                self._write_these({name: result})
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.write()


@contextmanager
def recording(command, names, write, record):
    """Yield batches of results by name, which are written soon after they come, if asked to.

    Whatever ends the work. After an interrupt the claims of which results are left are said.
    """
    batches = Batches(write if record else lambda results: None)
    try:
        with batches:
            yield batches
    except KeyboardInterrupt:
        if not record:
            raise
        left = [name for name in names if name not in batches.written]
        said = f"{command}: {say_stopped(len(names) - len(left), len(names), 'claims')}"
        if left:
            some = shorten(" ".join(left), _LONGEST, placeholder=" …")
            said += f"; what was found is recorded, left are {some}"
        raise Stopped(said) from None


def loading(what):
    """Show on a terminal, as long as it takes, that something is loaded: libraries take seconds."""
    return progress_bar(None, desc=f"loading {what} ...", bar_format="{desc}", leave=False)


@contextmanager
def bad_input(*errors):
    """Turn errors into a line where they are the caller's to correct, as ValueError always is."""
    try:
        yield
    except BrokenPipeError:  # who reads the output has seen enough
        raise
    except errors as error:
        raise BadInput(_first_line(str(error)) or type(error).__name__) from None


def _first_line(text):
    """Return the first line that says something: names of files may begin with a line break."""
    return next(filter(str.strip, text.splitlines()), "")


@contextmanager
def _unread_in_lines():
    """Say which recorded files cannot be read as soon as that is met, in a line each, once."""
    said, before = set(), warnings.showwarning

    def show(message, category, *place, **more):
        if not issubclass(category, Unread):
            before(message, category, *place, **more)
        elif str(message) not in said:
            said.add(str(message))
            echo(str(message), err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", Unread)
        warnings.showwarning = show
        yield


class OneLine:
    """Commands that answer bad input with one line, without the usage."""

    def main(self, args=None, prog_name=None, **extra):
        """Run the command, and end the process with its exit status."""
        extra["standalone_mode"] = False
        extra.setdefault("obj", {"started by the shell": args is None})
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):  # where there is no Greek, a question mark
                stream.reconfigure(errors="replace")
        _disregard_folder()
        with _terminable() as signals, _unread_in_lines():
            try:
                code = super().main(args, prog_name, **extra)  # type: ignore[misc]
            except Unfinished as error:
                echo(error.format_message(), err=True)
                code = 128 + signals[0] if signals else error.status
                if error.at_once:
                    sys.stdout.flush()
                    sys.stderr.flush()
                    os._exit(code)
            except click.ClickException as error:
                if isinstance(error, _ONLY_HELP):  # the command alone: that is no mistake
                    click.echo(error.format_message())
                    code = 0
                else:
                    echo_error(_first_line(error.format_message()) + _options_of(error))
                    code = error.exit_code
            except MissingPackage as error:
                echo_error(error)
                code = 2
            except click.Abort:
                echo("stopped", err=True)
                code = 128 + (signals or [signal.SIGINT])[0]
            except MemoryError as error:
                echo_error(error or "there is not enough memory")
                code = 2
            except (ValueError, OSError) as error:  # which the library refuses, or the system
                echo_error(_first_line(str(error)) or type(error).__name__)
                code = 2
                _flush_output()
        sys.exit(code if isinstance(code, int) else 0)


def _disregard_folder():
    """Obey no settings of libraries in the current folder, and say where there are some."""
    files = disregard.found()
    for file in files if not portable.was_started() else ():  # then it has been said
        echo(f"{file} in this folder is not obeyed: commands take no settings from it", err=True)
    disregard.disregard(files)


def _options_of(error):
    """Say where the options are listed, for one that there is not and that is near none."""
    wrong = isinstance(error, click.NoSuchOption) and not error.possibilities
    return f" {error.ctx.command_path} --help lists the options" if wrong and error.ctx else ""


def _flush_output():
    """Write what standard output still holds, or drop it where its disk is full."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):  # it is no file
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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


class _Group(OneLine, click.Group):  # type: ignore[misc]
    def resolve_command(self, ctx, args):
        """Return the command that is named, or say which ones are near."""
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            otherwise = "linrep --help lists the commands"
            raise BadInput(unknown("no command", args[0], self.commands, otherwise=otherwise))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx, formatter):
        """Write the commands in their groups, a line each."""
        longest = max(map(len, self.commands))
        for title, names in GROUPS.items():
            lines = [
                (each.ljust(longest), self.commands[each].get_short_help_str(66)) for each in names
            ]
            with formatter.section(title):
                formatter.write_dl(lines)


class _Command(OneLine, click.Command):  # type: ignore[misc]
    pass


# What click raises where no command is given at all, since 8.2.
_ONLY_HELP: tuple = tuple(filter(None, [getattr(click.exceptions, "NoArgsIsHelpError", None)]))


def _print_version(ctx, parameter, asked):
    """Print the version, or with -v what is known of the surroundings, and end."""
    if not asked:
        return
    if ctx.params["verbose"]:
        from linrep.cli.surroundings import describe

        for name, lines in describe().items():
            for line in lines:
                echo(f"{name:13} {line}")
                name = ""
    else:
        echo(f"linrep, version {linrep.__version__}")
    ctx.exit()


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version; with -v also all that a bug report should say.",
)
@click.option("-v", "verbose", is_flag=True, is_eager=True, hidden=True)
def main(verbose):
    """Check the theory of federated representation learning by running it.

    A claim is a statement of a paper together with a check that can refute it. Begin with: linrep
    verify --list, linrep show fedrep.lemma5, linrep COMMAND --help.
    """
    if verbose:
        raise BadInput("-v goes with --version, or stands behind a command that has it")


def refuse_others(names, why):
    """Refuse options that are given and are none of some names, and say why."""
    context = click.get_current_context()
    for option in context.command.params:
        given = context.get_parameter_source(option.name) is not ParameterSource.DEFAULT
        if given and option.name not in names:
            raise BadInput(f"{option.opts[0]} {why}")


def start_portable():
    """Start the command again in the portable mode, before anything heavy is loaded.

    Where there is no such mode, one line says so, and the command goes on natively. A command that
    another program calls as a function leaves that program's process alone.
    """
    context = click.get_current_context().find_root().obj or {}
    if reason := portable.reason():
        echo(
            f"the portable mode is not available here ({reason}): digits may differ elsewhere",
            err=True,
        )
    elif context.get("started by the shell"):
        portable.enter()
        if portable.mode() != "portable":
            echo(
                "the portable mode is not available here (linear algebra, NumPy or numba do not "
                "follow their variables): digits may differ elsewhere",
                err=True,
            )


def mode_option(default):
    """Return the options --portable and --native; the text says which of them is the default."""
    return click.option(
        "--portable/--native",
        default=None,
        help="Compute the same digits on every x86-64-v3 processor with the same versions of the "
        f"libraries, or as fast as this processor can.  [default: {default}]",
    )


SEED_OPTION = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of all random numbers.",
)


def workers_option(text):
    """Return the option --workers; the text says what they are."""
    return click.option(
        "--workers",
        type=click.IntRange(min=1, max=MOST_WORKERS),
        default=DEFAULT_WORKERS,
        show_default=True,
        help=text,
    )

"""The command line."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import click

import linrep

DEFAULT_WORKERS = max(1, min(8, os.cpu_count() or 1))


class BadInput(click.ClickException):
    """Something the caller has to mend: one line, exit status 2."""

    exit_code = 2


@contextmanager
def bad_input(*errors):
    """Turn errors that are the caller's to mend into one line and exit status 2."""
    try:
        yield
    except errors as error:
        raise BadInput((str(error).splitlines() or [type(error).__name__])[0]) from None


class _OneLine:
    """Commands that answer bad input with one line, without the usage."""

    def main(self, args=None, prog_name=None, **extra):
        extra["standalone_mode"] = False
        try:
            code = super().main(args, prog_name, **extra)  # type: ignore[misc]
        except click.ClickException as error:
            if isinstance(error, _ONLY_HELP):
                error.show()
            else:
                click.echo(f"Error: {error.format_message().splitlines()[0]}", err=True)
            sys.exit(error.exit_code)
        except click.Abort:
            click.echo("stopped", err=True)
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)


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


SEED_OPTION = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Root of all random streams.",
)


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
                "--quick", is_flag=True, help="Small grid and few replicates, in seconds."
            ),
            workers_option("Threads; the numbers do not depend on it."),
            SEED_OPTION,
            click.option(
                "--out",
                type=click.Path(file_okay=False, path_type=Path),
                default=None,
                help="Folder for pictures, rows and manifests.  [default: figures, or "
                "figures/quick with --quick]",
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


@main.command()
@click.argument("names", metavar="[ID|SCRIPT.py]...", nargs=-1)
@click.option("--list", "list_only", is_flag=True, help="List the experiments and stop.")
@_run_options
def figures(names, list_only, quick, workers, seed, out, data):
    """Regenerate figures: all of them, some by id or pattern ('flute.*'), or your own script.

    Without names, and of a pattern, those are left out whose packages or data are not there.
    """
    from linrep import experiment

    _set_data(data)
    with bad_input(ValueError, OSError):
        chosen = [
            experiment.load(name) for name in experiment.matching(names or experiment.available())
        ]
    for item in chosen:
        missing = item.missing(quick)
        if list_only:
            click.echo(f"{item.id:20} {item.title}")
        elif missing and not any(name == item.id or name.endswith(".py") for name in names):
            click.echo(f"{item.id} is left out, it needs {missing}", err=True)
        else:
            _make(item, quick, workers, seed, out)


def _set_data(folder):
    from linrep.deep.readers import FOLDER_VARIABLE

    if folder is not None:
        os.environ[FOLDER_VARIABLE] = str(folder.resolve())


@main.command()
def info():
    """Print versions and the experiments found, for a bug report."""
    from linrep import experiment

    for name, value in experiment.versions().items():
        click.echo(f"{name:12} {value}")
    click.echo(f"{'processors':12} {os.cpu_count()}")
    click.echo(f"{'experiments':12} {', '.join(experiment.available())}")


@main.command()
@click.argument(
    "what",
    type=click.Choice(["deep", "fedrep", "flute", "gram", "imc", "pflmf", "sweeps"]),
    default="fedrep",
)
@click.option(
    "--sizes", default="S,S1000,M,L,T", show_default=True, help="Which sizes, comma-separated."
)
def bench(what, sizes):
    """Compare kernels with NumPy and JAX, simulated with sampled batches; measure the rest."""
    if what != "fedrep":
        try:
            module = import_module(f"linrep.bench.{what}")
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise BadInput(f"bench {what} needs torch: pip install 'linrep[deep]'") from None
        if module.run_benchmark(click.echo) is False:
            raise click.exceptions.Exit(1)
        return
    from linrep.bench import fedrep as benchmark

    with bad_input(ValueError):
        chosen = benchmark.parse_sizes(sizes)
    if not benchmark.run(chosen, click.echo):
        raise click.exceptions.Exit(1)


def run_script(experiment):
    """Run one experiment from the command line: what its script calls when run by itself."""

    @click.command(
        cls=_Command,
        help=f"{experiment.title} ({experiment.id}).",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    @_run_options
    def command(quick, workers, seed, out, data):
        _set_data(data)
        _make(experiment, quick, workers, seed, out)

    command()


def _make(item, quick, workers, seed, out):
    from linrep.experiment import make_figure
    from linrep.sweeps import Stopped

    if missing := item.missing(quick):
        raise BadInput(f"{item.id} needs {missing}")
    began = time.perf_counter()
    out = out or Path("figures", *(["quick"] if quick else []))
    try:
        with bad_input(OSError):
            path, summary = make_figure(item, out=out, quick=quick, workers=workers, seed=seed)
    except Stopped as stopped:
        click.echo(f"{stopped}; the same command goes on from there", err=True)
        raise click.exceptions.Exit(130) from None
    click.echo(summary.to_string(index=False, float_format="{:.4g}".format))
    click.echo(f"{item.id}: {path} ({time.perf_counter() - began:.0f} s)")


from linrep.cli import pictures, report, sweeps, verify  # noqa: E402, F401  they register their commands

"""linrep new: files to begin with."""

from __future__ import annotations

from pathlib import Path

import click

from linrep.cli.group import BadInput, bad_input, main
from linrep.cli.output import check_output, write_file
from linrep.cli.text import echo

#: The smallest file of claims, the first one of docs/claims.md.
CLAIM = """\
from linrep.claims import Cases, statement


@statement(
    "mine.means",
    plain="A geometric mean is at most the arithmetic one.",
    negative_control={"factor": 0.9},
)
def means(budget, rng, *, factor=1.0):
    pairs = rng.exponential(size=(budget(100, 10_000), 2))
    yield Cases([((a * b) ** 0.5, factor * (a + b) / 2, {"a": a, "b": b}) for a, b in pairs])
"""


@main.command()
@click.argument("what", metavar="claim")
@click.argument(
    "file", type=click.Path(dir_okay=False, path_type=Path), default=Path("my_claims.py")
)
def new(what, file):
    """Write a file with one small claim, by default my_claims.py, to be changed into yours."""
    if what != "claim":
        raise BadInput(f"no kind of file {what!r} to begin with; there is: linrep new claim")
    if file.suffix != ".py":
        raise BadInput(f"FILE must end in .py, got {file}")
    if file.exists():
        raise BadInput(f"{file} exists already, and is not overwritten")
    check_output("FILE", file)
    with bad_input(OSError):
        write_file(file, CLAIM.encode())
    echo(f"{file}: check it with: linrep verify {file}")

"""Which claims a command is about, and where their finished checks and recorded verdicts are."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from linrep._lib.papers import named
from linrep.cli import names as known_names
from linrep.cli.group import BadInput, bad_input, loading

STORE = Path("runs", "verify")
STORE_OPTION = click.option(
    "--store",
    type=click.Path(file_okay=False, path_type=Path),
    default=STORE,
    show_default=True,
    help="Folder of finished checks, which are not run again.",
)
#: Of what shows finished checks and makes none.
RUNS_OPTION = click.option(
    "--budget",
    type=click.Choice(["quick", "standard", "thorough"]),
    help="Which finished checks to show.  [default: those of the largest budget]",
)
LEDGER_OPTION = click.option(
    "--ledger",
    "book_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File of recorded verdicts of your own claims; linrep verify --record writes it.",
)


def check_store(store):
    """Refuse a store that is named and not there: nothing is computed where it is only shown."""
    if store != STORE and not store.is_dir():
        raise BadInput(f"--store: there is no folder {store}")


def read_ledger(file, path, made=False):
    """Return the recorded verdicts: linrep's, or of a file of claims those at a path, if any.

    A path has to be there, unless its ledger is about to be made.
    """
    if file is None and path is not None:
        raise BadInput("--ledger is for claims of your own: name their file, too")
    from linrep.claims import ledger as book

    with bad_input(OSError, ValueError):
        if path is not None and not made and not path.is_file():
            raise ValueError(
                f"--ledger: no such file: {path}; linrep verify {file} --ledger {path} --record "
                "makes it"
            )
        if file:
            return book.recorded(path) if path else {}
        return book.recorded()


def read_names(names):
    """Return the file of claims among names, or None, and the ids and patterns; runs nothing.

    A name that stands for nothing is refused, of linrep's claims at once.
    """
    patterns = [name for name in names if not name.endswith(".py")]
    files = [name for name in names if name.endswith(".py")]
    with bad_input(ValueError):
        if len(files) > 1:
            raise ValueError(f"give one file of claims at a time, got {' and '.join(files)}")
        for name in files:
            if not Path(name).is_file():
                raise ValueError(f"no such file: {name}")
        if not files:
            patterns = known_names.match_spelling(patterns, known_names.claims())
            known_names.check_claims(patterns)
    return files[0] if files else None, patterns


def choose(names, *, texts=False, papers=()):
    """Return the claims that ids, patterns or a file of claims name, and that file or None.

    Of papers that are not named nothing is imported; and nothing at all where only texts of
    papers' claims are wanted, but for claims that are not listed yet.
    """
    file, patterns = read_names(names)
    from linrep.claims.claim import claims, load_file, select
    from linrep.claims.stated import stated

    with bad_input(ValueError, TypeError, OSError):
        if file:
            return select(load_file(file), patterns), file
        papers = named(patterns) if patterns else papers
        if texts:
            with suppress(ValueError):
                return select(stated(papers), patterns), file
        with loading("the checks"):
            known = claims(papers)
        return select(known, patterns), file

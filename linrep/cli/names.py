"""The names that come with linrep, and which claims a command is about.

Names are read without loading what they stand for: a wrong one is answered at once.
"""

from __future__ import annotations

import re
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

import click

from linrep._lib import papers as known_papers
from linrep._lib import records
from linrep._lib.papers import named
from linrep._lib.scripts import available
from linrep._lib.suggest import unknown
from linrep.cli.group import FILE, FOLDER, SEED_OPTION, BadInput, bad_input, loading

STORE = Path("runs", "verify")
STORE_OPTION = click.option(
    "--store",
    type=FOLDER,
    default=STORE,
    show_default=True,
    help="Folder of finished checks, which are not run again.",
)
LEDGER_OPTION = click.option(
    "--ledger",
    "book_path",
    type=FILE,
    help="File of recorded verdicts of your own claims; linrep verify --record writes it.",
)
_BUDGET_OPTION = click.option(
    "--budget",
    type=click.Choice(["quick", "standard", "thorough"]),
    help="Which finished checks to show.  [default: those of the largest budget]",
)
#: A statement in a paper's sources.
_STATED = re.compile(r'\b(?:statement|law|corrected)\(\s*"([^"]+)"')


def runs_options(command):
    """Add the options of what shows finished checks and makes none."""
    for option in (LEDGER_OPTION, STORE_OPTION, SEED_OPTION, _BUDGET_OPTION):
        command = option(command)
    return command


def claims() -> list[str]:
    """Return the ids of the claims that the papers' ledgers record."""
    found: list[str] = []
    ledgers = [item.ledger for item in known_papers.papers().values()]
    for path in filter(records.is_there, ledgers):
        with suppress(ValueError, TypeError, LookupError, OSError):  # who reads it says so
            found += [entry["id"] for entry in records.content(path)["claims"]]
    return found


def is_claim(name) -> bool:
    """Tell whether a name is a claim's, recorded or not."""
    return name in claims() or ("." in name and name in _stated())


def papers() -> list[str]:
    """Return the names of the papers."""
    return list(known_papers.papers())


def check_claims(patterns, what="no claim", others=(), otherwise="linrep verify --list lists them"):
    """Raise ValueError for an id or a pattern that no claim matches.

    It is said to be none of `what`, which has `others` that may have been meant beside claims.
    """
    recorded = claims() if patterns else []
    for pattern in patterns:
        if any(fnmatchcase(name, pattern) for name in recorded):
            continue
        if pattern in papers():
            raise ValueError(f"{pattern!r} is a paper; '{pattern}.*' selects all of its claims")
        if not any(fnmatchcase(name, pattern) for name in _stated()):  # and not recorded yet
            known = [*recorded, *others, *(f"{paper}.*" for paper in papers())]
            raise ValueError(unknown(what, pattern, known, otherwise=otherwise))


def match_spelling(patterns, known) -> list[str]:
    """Return ids and patterns as the known names are spelled, whatever capitals they have.

    What matches nothing either way stays as it is.
    """
    spellings = []
    for pattern in patterns:
        low = pattern.casefold()
        matching = [name for name in known if fnmatchcase(name.casefold(), low)]
        is_spelled = any(fnmatchcase(name, pattern) for name in matching)
        spellings += [pattern] if is_spelled else matching or [pattern]
    return spellings


def check_papers(names) -> None:
    """Raise ValueError for a name that is no paper's."""
    for name in names:
        if name not in papers():
            raise ValueError(unknown("no paper", name, papers()))


def check_experiments(names) -> None:
    """Raise ValueError for an id or a pattern that no experiment matches, and for no file."""
    for name in names:
        if name.endswith(".py"):
            if not Path(name).is_file():
                raise ValueError(f"no such file: {name}")
        elif not any(fnmatchcase(each, name) for each in available()):
            groups = dict.fromkeys(f"{each.partition('.')[0]}.*" for each in available())
            raise ValueError(unknown("unknown experiment", name, [*available(), *groups]))


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

    if path is not None and path.suffix != ".json":
        raise BadInput(f"--ledger must name a file that ends with .json, got {path}")
    if path is not None and known_papers.owners(path):
        raise BadInput(
            f"--ledger is for claims of your own, and {path} is in the folder of a paper"
        )
    if path is not None and not made and not path.is_file():
        raise ValueError(
            f"--ledger: no such file: {path}; linrep verify {file} --ledger {path} --record "
            "makes it"
        )
    if file:
        return book.recorded(path, Path(file).resolve().parent) if path else {}
    return book.recorded()


def read_patterns(names):
    """Return the file of claims among names, or None, and the ids and patterns; runs nothing.

    A name that stands for nothing is refused, of linrep's claims at once.
    """
    patterns = [name for name in names if not name.endswith(".py")]
    files = [name for name in names if name.endswith(".py")]
    if len(files) > 1:
        raise ValueError(f"give one file of claims at a time, got {' and '.join(files)}")
    for name in files:
        if not Path(name).is_file():
            raise ValueError(f"no such file: {name}")
    if not files:
        patterns = match_spelling(patterns, claims())
        check_claims(patterns)
    return files[0] if files else None, patterns


def choose(names, *, texts=False, papers=()):
    """Return the claims that ids, patterns or a file of claims name, and that file or None.

    Of papers that are not named nothing is imported; and nothing at all where only texts of
    papers' claims are wanted, but for claims that are not listed yet.
    """
    file, patterns = read_patterns(names)
    from linrep.claims.claim import claims as loaded
    from linrep.claims.claim import load_file, select
    from linrep.claims.ledger import known as on_record
    from linrep.claims.ledger import of_code

    with bad_input(ValueError, TypeError, OSError):
        if file:
            return select(load_file(file), patterns), file
        papers = named(patterns) if patterns else papers
        if texts:
            with suppress(ValueError):
                return select(on_record(papers), patterns), file
        with loading("the checks"):
            known = loaded(papers)
        chosen = select(known, patterns)
        return [of_code(item) for item in chosen] if texts else chosen, file


def _stated():
    """Return the ids of the statements in the papers' sources, recorded or not."""
    return [
        name
        for path in known_papers.files("*.py")
        for name in _STATED.findall(path.read_text("utf-8", errors="replace"))
    ]

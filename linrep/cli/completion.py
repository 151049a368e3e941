"""What the shell is offered for an argument that is begun; loads no compiled kernels.

The shell calls the command at every press of the key, so names come from where they are stored.
"""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import islice
from pathlib import Path

from click.shell_completion import CompletionItem

from linrep._lib.scripts import available, sizes_of
from linrep.cli import names
from linrep.cli.axes import axes_of
from linrep.cli.values import split_arguments
from linrep.simulation.parameters import outlines

#: Columns that a run has beside its parameters and what the function returned.
ADDED = {"cell", "replicate", "row", "status", "exception", "notes", "stream", "versions"}


def _offering(*sources):
    """Return what offers names of some sources, or else files."""

    def offer(context, parameter, incomplete):
        known = (name for source in sources for name in source())
        return _beginning(known, incomplete) or [CompletionItem(incomplete, type="file")]

    return offer


experiments = _offering(available)
claims = _offering(names.claims)
shown = _offering(names.claims, available, outlines)


def algorithms_and_words(context, parameter, incomplete):
    """Offer algorithms where none is named yet, and behind an axis the words that it may be."""
    words, named = _words(context), _named(context)
    if words and words[-1].startswith("--"):
        known = axes_of(named, context.params.get("problem")).known if named else {}
        _, offered = known.get(words[-1].removeprefix("--").replace("-", "_"), (None, ()))
        return _after_comma(offered, incomplete)
    return [] if named else _after_comma(outlines(), incomplete)


def axes(context):
    """Return the axes of the algorithms on the line, but those that are given."""
    named = _named(context)
    known = axes_of(named, context.params.get("problem")).known if named else ()
    return [axis for axis in known if f"--{axis}" not in _words(context)]


def sizes(context):
    """Return the sizes of the figures on the line, but those that are given."""
    known = dict.fromkeys(size for word in _words(context) for size in sizes_of(word))
    return [size for size in known if f"--{size}" not in _words(context)]


def run_directories(context, parameter, incomplete):
    """Offer the run directories in runs, or else folders."""
    directories = sorted(
        str(path.parent)
        for depth in ("*", "*/*")
        for path in Path("runs").glob(f"{depth}/sweep.json")
    )
    return _beginning(directories, incomplete) or [CompletionItem(incomplete, type="dir")]


def parameters(context, parameter, incomplete):
    """Offer the parameters of the run directory that stands on the line, also after a comma."""
    return _after_comma(parameters_of(_run(context)), incomplete)


def parameters_of(run):
    """Return the parameters of a run directory, none of what cannot be read."""
    try:
        cells = json.loads((run / "sweep.json").read_text("utf-8"))["cells"]
        return list(dict.fromkeys(name for cell in cells for name in dict(cell)))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []


def columns(context, parameter, incomplete):
    """Offer what the function of the run directory that stands on the line returned."""
    from pyarrow import ArrowException
    from pyarrow.parquet import read_schema

    run = _run(context)
    hidden = {*parameters_of(run), *ADDED}
    for part in islice((run / "parts").glob("[!.]*.parquet"), 1):
        with suppress(OSError, ArrowException):
            there = [name for name in read_schema(part).names if name not in hidden]
            return _beginning(there, incomplete)
    return []


def _beginning(known, incomplete):
    return [name for name in known if name.startswith(incomplete)]


def _after_comma(known, incomplete):
    """Offer names also after others and a comma."""
    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in _beginning(known, last)]


def _words(context):
    """Return the arguments on the line, the axes among them, without the = that bash splits off."""
    return [word for word in context.params.get("arguments") or () if word != "="]


def _named(context):
    """Return the algorithms on the line, none unless all of them are linrep's."""
    given = _words(context)
    begun = given[-1:] if given and given[-1].startswith("--") else []  # it waits for its value
    with suppress(ValueError):
        words, _ = split_arguments(given[: len(given) - len(begun)])
        found = next(iter(words), "").split(",")
        if all(name in outlines() for name in found):
            return found
    return []


def _run(context):
    # An option that waits for its value leaves the arguments unread.
    return context.params.get("run") or Path(*context.args[:1])

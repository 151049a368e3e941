"""What the shell is offered for an argument that is begun; loads no compiled kernels.

The shell calls the command at every press of the key, so names come from where they are stored.
"""

from __future__ import annotations

import json
from pathlib import Path

from click.shell_completion import CompletionItem

import linrep
from linrep._scripts import available

#: `linrep.simulation.ALGORITHMS` and the methods for networks, whose modules take a second to load.
ALGORITHMS = (
    "fedrep", "fedsgd", "fedavg", "local_only", "flute", "anil", "maml", "pflmf",
    "altgdmin", "alternating_least_squares", "altmin_gd", "cross_moments", "linear_factorization",
    "method_of_moments", "pooled", "ridge",
    "perfedsi", "gauss_newton", "alternating", "balanced_gradient", "nuclear_norm",
    "least_squares",
)  # fmt: skip


def experiments(context, parameter, incomplete):
    """Offer the ids of experiments, or else files."""
    return _ids(available(), incomplete)


def claims(context, parameter, incomplete):
    """Offer the ids of claims, or else files."""
    return _ids(_claims(), incomplete)


def papers(context, parameter, incomplete):
    """Offer the names of papers."""
    return _beginning(dict.fromkeys(name.partition(".")[0] for name in _claims()), incomplete)


def algorithms(context, parameter, incomplete):
    """Offer algorithms, also after others and a comma."""
    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in _beginning(ALGORITHMS, last)]


def run_directories(context, parameter, incomplete):
    """Offer the run directories in runs, or else folders."""
    found = sorted(
        str(path.parent)
        for depth in ("*", "*/*")
        for path in Path("runs").glob(f"{depth}/sweep.json")
    )
    return _beginning(found, incomplete) or [CompletionItem(incomplete, type="dir")]


def parameters(context, parameter, incomplete):
    """Offer the parameters of the run directory that stands on the line, also after a comma."""
    before, comma, last = incomplete.rpartition(",")
    names = dict.fromkeys(name for cell in _specification(context)["cells"] for name in cell)
    return [before + comma + name for name in _beginning(names, last)]


def columns(context, parameter, incomplete):
    """Offer what the function of the run directory that stands on the line returned."""
    from pyarrow import ArrowException
    from pyarrow.parquet import read_schema

    known = {name for cell in _specification(context)["cells"] for name in cell}
    first = next((_run(context) / "parts").glob("[!.]*.parquet"), None)
    try:
        names = read_schema(first).names if first else ()
    except (OSError, ArrowException):
        names = ()
    hidden = known | {"cell", "replicate", "row", "status", "exception", "stream", "versions"}
    return _beginning((name for name in names if name not in hidden), incomplete)


def _ids(names, incomplete):
    return _beginning(names, incomplete) or [CompletionItem(incomplete, type="file")]


def _beginning(names, incomplete):
    return [name for name in names if name.startswith(incomplete)]


def _claims():
    path = Path(linrep.__file__).parent / "claims" / "ledger.json"
    return [entry["id"] for entry in json.loads(path.read_text("utf-8"))]


def _run(context):
    # An option that waits for its value leaves the arguments unread.
    return context.params.get("run") or Path(*context.args[:1])


def _specification(context):
    """Return what the run directory on the line holds, no cells if it is none."""
    try:
        found = json.loads((_run(context) / "sweep.json").read_text("utf-8"))
        return {"cells": [cell for cell in found["cells"] if isinstance(cell, dict)]}
    except (OSError, ValueError, KeyError, TypeError):
        return {"cells": []}

"""One replicate again, alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from math import copysign
from typing import Any

import pandas as pd

from linrep._lib import display as show
from linrep._lib import validation as check
from linrep._lib.threads import one_thread
from linrep.sweeps.chunks import FAILURES, call, describe, read_rows
from linrep.sweeps.codes import code_of, difference, used
from linrep.sweeps.columns import as_text
from linrep.sweeps.comparison import Deviation, deviation
from linrep.sweeps.coverage import Segment
from linrep.sweeps.grid import Cell, cell_name
from linrep.sweeps.machines import this_machine
from linrep.sweeps.specification import RESERVED
from linrep.sweeps.store import Run
from linrep.sweeps.targets import Untrusted, load, loading_only

#: The function of sweeps of linrep's algorithms; it loads others as `load` does.
ALGORITHMS = "linrep.simulation:simulate"


@dataclass(frozen=True, eq=False)
class Replay:
    """The result of a replicate that was computed again.

    Attributes
    ----------
    cell : dict
        Its parameters.
    replicate : int
        Its number.
    rows : DataFrame
        What the function returned; empty if it raised.
    error : BaseException or None
        What it raised.
    stored : DataFrame
        The rows of the run directory for this replicate; empty if it has not been computed.
    same : bool or None
        Whether both are the same, bit for bit; None if nothing is stored.
    deviation : Deviation or None
        By how much they differ; None if nothing is stored, or an exception stands against rows.
    machines : tuple of str or None
        What computed the stored rows, and what computed these; None if nothing is stored. See
        :meth:`Run.machines`.
    code : str
        How the code that made the stored rows differs, in words; empty if in nothing.
    """

    cell: Cell
    replicate: int
    rows: pd.DataFrame
    error: BaseException | None
    stored: pd.DataFrame
    same: bool | None
    deviation: Deviation | None
    machines: tuple[str, str] | None
    code: str

    def __repr__(self):
        return show.line(self)


def replay(
    run: Run,
    selection: Mapping[str, Any],
    replicate: int,
    *,
    function: Callable[..., Any] | None = None,
    allow: Collection[str] = (),
) -> Replay:
    """Compute one replicate of a stored sweep again.

    Parameters
    ----------
    run : Run
        An opened run directory.
    selection : mapping
        Parameters that single out a cell.
    replicate : int
        Its number, from 0.
    function : callable, optional
        The sweep's function; by default it is found as the run directory says.
    allow : collection of str
        What the run directory may name beside linrep's algorithms, such as ``mine.py:measure``: it
        is imported and called, and so can do anything. Modules are imported from where Python
        finds them, from the folders of these files, and from the current one; never from a folder
        that only the run names.

    Returns
    -------
    Replay

    Raises
    ------
    ValueError
        If there is no such cell, replicate or function, or the function may not be loaded.
    """
    cell = run.find(selection)
    replicate = check.integer("replicate", replicate, minimum=0, maximum=run.replicates - 1)
    allowed = (ALGORITHMS, *allow)
    if function is None:
        if run.target is None:
            raise ValueError(f"{run.path} does not say where its function is; hand it over")
        with loading_only(allowed):
            function = load(run.target)
    with loading_only(allowed):
        code = code_of(*used(function, cell, run.description["settings"]))
    stored = run.rows_of(cell_name(cell), replicate)
    error: BaseException | None = None
    rows: list[dict[str, Any]] = []
    try:
        with loading_only(allowed), one_thread():  # as in the sweep
            result = call(function, cell, run.keys(cell), replicate, run.description["settings"])
        rows = read_rows(result, run.parameters)
    except Untrusted:
        raise
    except FAILURES as exception:
        error = exception
    results = [name for name in stored if name not in RESERVED and name not in run.parameters]
    known = not any(run.done().missing(Segment(cell_name(cell), replicate, replicate + 1)))
    same = _same(rows, error, stored, results) if known else None
    table = pd.DataFrame(rows)
    comparable = known and error is None and 0 < len(rows) == len(stored)
    with one_thread():
        here = this_machine()
    before = run.machine_of(cell_name(cell), replicate)
    return Replay(
        cell,
        replicate,
        table,
        error,
        stored,
        same,
        deviation(table, stored, results) if comparable else None,
        None if before is None else (before, here),
        difference(run.code_of(cell_name(cell), replicate) or "", code) if known else "",
    )


def _same(rows, error, stored, columns):
    if stored.empty:  # it returned no rows
        return error is None and not rows
    if error is not None or stored["status"].iloc[0] == "failed":
        before = stored["exception"].iloc[0]
        return error is not None and isinstance(before, str) and describe(error).is_same(before)
    if len(rows) != len(stored) or any(name not in stored for row in rows for name in row):
        return False
    return all(
        _equal(row.get(name), value)
        for name in columns
        for row, value in zip(rows, stored[name], strict=True)
    )


def _equal(value, stored):
    """Compare bit for bit what was returned with what was stored, in a column of another type."""
    if pd.isna(value) or pd.isna(stored):
        return bool(pd.isna(value) and pd.isna(stored))
    if isinstance(stored, str):
        return as_text(value) == stored
    return value == stored and (value != 0 or copysign(1.0, value) == copysign(1.0, stored))

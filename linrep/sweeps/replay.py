"""One replicate again, alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from linrep import _validation as check
from linrep.sweeps.chunks import call, describe, read_rows
from linrep.sweeps.grid import Cell, cell_name
from linrep.sweeps.store import Run
from linrep.sweeps.targets import load


@dataclass(frozen=True, eq=False)
class Replay:
    """What a replicate came to the second time.

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
    """

    cell: Cell
    replicate: int
    rows: pd.DataFrame
    error: BaseException | None
    stored: pd.DataFrame
    same: bool | None


def replay(
    run: Run,
    selection: Mapping[str, Any],
    replicate: int,
    *,
    function: Callable[..., Any] | None = None,
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

    Returns
    -------
    Replay

    Raises
    ------
    ValueError
        If there is no such cell, replicate or function.
    """
    cell = run.find(selection)
    replicate = check.integer("replicate", replicate, minimum=0, maximum=run.replicates - 1)
    if function is None:
        if run.target is None:
            raise ValueError(f"{run.path} does not say where its function is; hand it over")
        function = load(run.target)
    stored = run.read()
    if len(stored):
        mine = (stored["cell"] == cell_name(cell)) & (stored["replicate"] == replicate)
        stored = stored[mine].reset_index(drop=True)
    error: BaseException | None = None
    rows: list[dict[str, Any]] = []
    try:
        rows = read_rows(
            call(function, cell, run.keys(cell), replicate, run.description["settings"]), cell
        )
    except Exception as exception:  # whatever a user's function raises
        error = exception
    frame = pd.DataFrame(rows)
    return Replay(cell, replicate, frame, error, stored, _same(frame, error, stored))


def _same(rows, error, stored):
    if stored.empty:
        return None
    if error is not None or stored["status"].iloc[0] == "failed":
        before = stored["exception"].iloc[0]
        return (
            error is not None and before is not None and _where(describe(error)) == _where(before)
        )
    if len(rows) != len(stored):
        return False
    for name in rows:
        if name not in stored:
            return False
        for one, other in zip(rows[name], stored[name], strict=True):
            if not (one == other or (pd.isna(one) and pd.isna(other))):
                return False
    return True


def _where(text):
    """Return an error without its place, which an edit of a comment moves."""
    return text.rpartition(" (")[0] or text

"""Putting together what was computed apart: run directories of one sweep, and small parts.

Replicates that were computed twice are compared.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_string_dtype

from linrep._lib import atomic as files
from linrep._lib.arguments import checked
from linrep._lib.warning import warn
from linrep.sweeps.codes import OtherCode, conflict
from linrep.sweeps.columns import as_text, together
from linrep.sweeps.directories import SPECIFICATION, identity, make_directory, open_run
from linrep.sweeps.parts import PARTS, Coverage, Damaged, Part, rank, rows_within, shared_out
from linrep.sweeps.specification import differences
from linrep.sweeps.store import LAST, Run

_LARGE = 2**23  # values in a part, rows times columns, that is not put together with others


@dataclass(frozen=True)
class Deviation:
    """The largest difference between two tables of the same rows.

    Attributes
    ----------
    rows, different : int
        Rows that were compared; those that differ in some column.
    largest : float
        The largest relative difference of two numbers, that is their distance over the larger of
        their sizes; infinite where a number stands against none.
    column : str or None
        Where it is; None if there is no difference.
    """

    rows: int
    different: int
    largest: float
    column: str | None

    def __str__(self):
        if not self.different:
            return f"all of {self.rows} row(s) the same"
        of = f"{self.different} of {self.rows} row(s) differ"
        if np.isinf(self.largest):
            return f"{of}, column {self.column} in more than digits"
        return f"{of}, by at most {self.largest:.2g} relative (column {self.column})"


def deviation(rows: pd.DataFrame, others: pd.DataFrame, columns: Iterable[str]) -> Deviation:
    """Compare some columns of two tables of the same length, row by row.

    A table without one of the columns has gaps there.
    """
    different = np.zeros(len(rows), dtype=bool)
    largest, column = 0.0, None
    for name in columns:
        one, other = (
            frame[name] if name in frame else pd.Series(np.nan, frame.index)
            for frame in (rows, others)
        )
        if is_string_dtype(one) != is_string_dtype(other):
            # Numbers are text where other replicates have text.
            one, other = (frame.map(as_text, na_action="ignore") for frame in (one, other))
        gaps = one.isna().to_numpy() & other.isna().to_numpy()
        unequal = ~gaps & ~(one.to_numpy(object) == other.to_numpy(object)).astype(bool)
        if not unequal.any():
            continue
        different |= unequal
        difference = _relative(one[unequal], other[unequal])
        if column is None or difference > largest:
            largest, column = difference, name
    return Deviation(len(rows), int(different.sum()), largest, column)


class Overlapping(UserWarning):
    """Several run directories have different rows for the same replicates.

    Parameters
    ----------
    path : Path
        Where they have been put together. Of each replicate the rows of the machine count whose
        description comes first in the alphabet.
    found : Deviation
    """

    def __init__(self, path: Path, found: Deviation):
        self.found = found
        super().__init__(f"{path}: replicates were computed twice, and {found}")


def merge(path: str | Path, sources: Iterable[str | Path], *, same_code: bool = False) -> Run:
    """Merge run directories of the same sweep, such as those of shards.

    Parameters
    ----------
    path : path
        A run directory of that sweep, or a new one.
    sources : iterable of paths
        Run directories; they stay as they are.
    same_code : bool, default False
        Take replicates for those of one sweep though they were made by several codes.

    Returns
    -------
    Run

    Raises
    ------
    ValueError
        If a source is no run directory or computes something else; an :class:`OtherCode` if it
        was made by other code.

    Warns
    -----
    Overlapping
        If replicates are in several of them with different rows.
    """
    path = Path(path)
    sources = list(sources)
    runs = [open_run(source) for source in sources]
    if not runs:
        raise ValueError("sources must hold at least one run directory")
    first = runs[0]
    into = [open_run(path)] if (path / SPECIFICATION).exists() else []
    for run in (*into, *runs[1:]):
        different = differences(identity(first.description), identity(run.description))
        if different:
            raise ValueError(f"{run.path} is not of the sweep of {first.path}: {different[0]}")
    if not same_code and (said := conflict((*into, *runs))):
        raise OtherCode(said)
    if not into and not make_directory(path, first.description):
        return merge(path, sources, same_code=same_code)  # another process was first
    merged = open_run(path)
    merged.tidy()  # a damaged part is in the way of a good one
    for run in runs:
        run.again(partial(_adopt, merged, run))
    twice = overlap(merged)
    if twice is not None and twice.different:
        warn(Overlapping(merged.path, twice))
    compact(merged)
    return merged


def _adopt(merged, run):
    """Take over the parts of a run that are not here."""
    for part in run.parts():
        copy = merged.path / PARTS / part.path.name
        if not copy.exists():
            files.write(copy, part.path.read_bytes(), drafts=merged.path)


def overlap(run: Run) -> Deviation | None:
    """Compare the rows of replicates that are stored more than once; None if there are none.

    Those that were computed again after a failure are not compared.
    """
    again = []
    for part, owned in shared_out(run.parts(), Coverage()):
        coverage = Coverage(owned)
        others = [piece for segment in part.segments for piece in coverage.missing(segment)]
        if others and part.generation == 0:
            again.append(rows_within(part, others, None, run.parameters))
    if not again:
        return None
    keys = ["cell", "replicate", "row"]
    table = together(again)
    second = table.to_pandas(use_threads=False)
    second = second.astype({"cell": str}).drop_duplicates()
    first = run.read(partial=True).astype({"cell": str})
    both = first[keys].merge(second, on=keys, how="inner")
    counted = both[keys].merge(first, on=keys, how="left")
    returned = [name for name in second if name not in {*LAST, *keys}]
    return deviation(counted, both, [*returned, "status"])


def compact(run: Run, parts: Sequence[Part] | None = None) -> None:
    """Merge small parts, some or all, so that there are not too many files.

    Nothing is lost whatever ends it: the new part is on the disk before the old ones go, and
    replicates that two parts cover count once. Only parts of one machine, code and generation go
    together.
    """
    kinds: dict[tuple, list[Part]] = {}
    some = (part for part in (run.parts() if parts is None else parts) if _size(part) < _LARGE)
    for part in sorted(some, key=lambda part: run.position(part.segments[0])):
        kind = part.generation, part.failed > 0, part.machine, part.code
        kinds.setdefault(kind, []).append(part)
    for group in chain.from_iterable(map(_groups, kinds.values())):
        with contextlib.suppress(FileNotFoundError, Damaged):  # others are at it, too
            _put_together(run, group)
    run.unify()  # others may have stored further columns


def _put_together(run, group):
    taken = Coverage()
    owned = [pair for pair in shared_out(sorted(group, key=rank), taken) if pair[1]]
    owned.sort(key=lambda pair: run.position(pair[1][0]))
    rows = [rows_within(part, segments) for part, segments in owned]
    # In one order, whoever came first: the same rows make the same file.
    segments = sorted(taken.segments(), key=run.position)
    returned = list(dict.fromkeys(name for part, _ in owned for name in part.returned))
    first = group[0]
    table = together(rows, run.parameters)
    written = run.write(table, segments, first.generation, first.machine, first.code, returned)
    names = {part.path.name for part in written}
    for part in group:
        if part.path.name not in names:
            run.remove(part)


def _groups(parts):
    """Yield parts that together are large, and at last those that are left; none alone."""
    group: list[Part] = []
    size = 0
    for part in parts:
        group.append(part)
        size += _size(part)
        if size >= _LARGE:
            yield group
            group, size = [], 0
    if len(group) > 1:
        yield group


def _size(part):
    return part.rows * len(part.columns)


def _relative(one, other):
    a, b = (pd.to_numeric(values, errors="coerce").to_numpy(float) for values in (one, other))
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = np.abs(a - b) / np.maximum(np.abs(a), np.abs(b))
    return float(np.where(np.isnan(relative), np.inf, relative).max())


checked(globals())

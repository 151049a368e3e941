"""The run directory: a specification and immutable Parquet parts, safe against any interruption.

``sweep.json`` says what is computed. Each file in ``parts/`` holds the rows of one finished chunk
and, in its footer, which replicates of which cells it covers. Files are written under a temporary
name, flushed to the disk and renamed; a part is there whole or not at all. Several processes may
write to one directory: replicates that two parts cover are counted once.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.types import is_numeric_dtype

from linrep._lib import atomic as files
from linrep._lib.arguments import checked
from linrep._lib.extras import need
from linrep._lib.labelled import attributes, described
from linrep._lib.suggest import unknown
from linrep._lib.warning import warn
from linrep.sweeps.chunks import BETWEEN_NOTES
from linrep.sweeps.codes import MixedCode, mixture
from linrep.sweeps.columns import (
    common_kinds,
    kinds_of,
    parameter_column,
    parameter_type,
    together,
    with_kinds,
)
from linrep.sweeps.grid import Cell, cell_name
from linrep.sweeps.parts import (
    PARTS,
    Coverage,
    Damaged,
    Part,
    Segment,
    by_outcome,
    rank,
    read_part,
    read_rows,
    rows_within,
    shared_out,
    write_part,
)
from linrep.sweeps.specification import RESERVED

if TYPE_CHECKING:
    import xarray as xr

_MOST_TRIES = 100
_SET_ASIDE = ".damaged"  # where damaged parts go
#: The columns after those that a function returned.
LAST = ("status", "exception", "notes", "seconds", "stream", "versions", "cell")


@dataclass(frozen=True)
class Completeness:
    """How complete a run directory is.

    Attributes
    ----------
    path : Path
    expected, stored, failed : int
        Replicates of all cells; those of them that are stored; those of these that failed.
    damaged : mapping of Path to str
        Files of parts that do not count, as they are damaged or foreign, and why.
    """

    path: Path
    expected: int
    stored: int
    failed: int
    damaged: Mapping[Path, str]

    @property
    def whole(self) -> bool:
        """Whether nothing is missing, has failed or is damaged."""
        return self.stored == self.expected and not self.failed and not self.damaged

    def counts(self) -> str:
        """Say how many replicates and damaged parts there are, without naming these."""
        parts = [f"{self.stored} of {self.expected} replicates"]
        if self.failed:
            parts.append(f"{self.failed} failed")
        if self.damaged:
            parts.append(f"{len(self.damaged)} damaged part(s)")
        return "; ".join(parts)

    def __str__(self):
        each = ", ".join(f"{path.name} ({why})" for path, why in self.damaged.items())
        return ": ".join(filter(None, [self.counts(), each]))


class Incomplete(UserWarning):
    """The rows that were read are not all of the sweep's rows.

    Parameters
    ----------
    completeness : Completeness
        Of the run directory.
    """

    def __init__(self, completeness: Completeness):
        self.completeness = completeness
        super().__init__(f"{completeness.path} is incomplete: {completeness}")


class Run:
    """A run directory, open for reading; see :func:`open_run`.

    Parameters
    ----------
    path : Path
    description : mapping
        What its ``sweep.json`` holds.
    """

    def __init__(self, path: Path, description: Mapping[str, Any]):
        self.path = path
        self.description = description
        self._parts: dict[str, Part] = {}
        self._known: dict[str, str] | None = None  # columns of all these parts

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The cells, in order."""
        return tuple(self.description["cells"])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the cells, in the same order."""
        return tuple(map(cell_name, self.cells))

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Names of all parameters, in order of first occurrence."""
        return tuple(dict.fromkeys(name for cell in self.cells for name in cell))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that `read` returns; without rows only what all runs have."""
        first = (*self.parameters, "replicate", "row")
        parts = sorted(self.parts(), key=lambda part: self.position(part.segments[0]))
        returned = dict.fromkeys(name for part in parts for name in part.returned)
        middle = [name for name in returned if name not in {*first, *LAST}]
        return (*first, *middle, *LAST)

    @property
    def replicates(self) -> int:
        """Replicates per cell."""
        return self.description["replicates"]

    @property
    def total(self) -> int:
        """Replicates of all cells together."""
        return self.replicates * len(self.description["cells"])

    @property
    def target(self) -> str | None:
        """How to find the function again."""
        return self.description.get("target")

    def position(self, segment: Segment) -> tuple[int, int]:
        """Return where in the order of rows a segment begins: place of its cell, replicate.

        Parameters
        ----------
        segment : Segment
        """
        return self._places.get(segment.cell, len(self.names)), segment.start

    def parts(self) -> list[Part]:
        """Return the parts that can be read, later generations first; looks for new ones."""
        self.again(self._look)
        return sorted((part for part in self._parts.values() if not part.damage), key=rank)

    def damaged(self) -> dict[Path, str]:
        """Return the files of parts that do not count, as they are damaged or foreign, and why."""
        self.parts()
        damaged = sorted((name, part) for name, part in self._parts.items() if part.damage)
        return {self.path / PARTS / name: part.damage for name, part in damaged}

    def done(self) -> Coverage:
        """Return which replicates are stored."""
        return Coverage(segment for part in self.parts() for segment in part.segments)

    def count(self) -> int:
        """Return how many replicates are stored, each counted once."""
        done = self.done()
        return sum(
            len(segment) for name in self.names for segment in done.within(name, self.replicates)
        )

    def failed(self) -> int:
        """Return how many of the stored replicates failed, those computed again not counted."""
        if not any(part.failed for part in self.parts()):
            return 0
        return self.again(lambda: sum(starmap(self._count_failed, self._owned())))

    def machines(self) -> dict[str, int]:
        """Return how many of the stored replicates each machine computed, the most first.

        A machine is what digits may depend on beside code and seed, as JSON: processor,
        instructions, kernels and threads of linear algebra, versions.
        """
        counts: Counter[str] = Counter()
        for part, owned in self._owned():
            counts[part.machine] += sum(map(len, owned))
        return {name: count for name, count in counts.most_common() if count}

    def codes(self, *, failed: bool = True) -> dict[str, list[Segment]]:
        """Return which of the stored replicates each code made.

        A code is what of a user's own they were computed with, as JSON: digests by name, and the
        version of Python. It is empty where that has not been stored.

        Parameters
        ----------
        failed : bool, default True
            With those that failed.
        """
        codes: dict[str, list[Segment]] = {}
        for part, owned in self._owned():
            if owned and (failed or part.failed < part.replicates):
                codes.setdefault(part.code, []).extend(owned)
        return codes

    def completeness(self) -> Completeness:
        """Return how many replicates there should be, are stored, have failed or are damaged."""
        return Completeness(self.path, self.total, self.count(), self.failed(), self.damaged())

    def read(self, columns: Iterable[str] | None = None, *, partial: bool = False) -> pd.DataFrame:
        """Return all stored rows, by cell, replicate and row, each replicate once.

        Parameters
        ----------
        columns : iterable of str, optional
            Only these columns, in this order.
        partial : bool, default False
            Say nothing if replicates are missing, or are of several codes; by default that is an
            :class:`Incomplete` or a :class:`MixedCode` warning.

        Returns
        -------
        DataFrame
            Parameters, ``replicate``, ``row``, what the function returned, ``status`` ("ok" or
            "failed"), ``exception``, ``notes`` (what linrep would have warned of, in a few words),
            ``seconds``, ``stream``, ``versions`` and ``cell``.
        """
        if not partial and self.count() < self.total:
            warn(Incomplete(self.completeness()))
        if not partial and (mixed := mixture(self)):
            warn(MixedCode(f"{self.path}: {mixed}"))
        return self._frame(columns)

    def parameter_table(self) -> pd.DataFrame:
        """Return the parameters of the cells, of the types that they have in rows."""
        values = {name: [cell.get(name) for cell in self.cells] for name in self.parameters}
        columns = {
            name: parameter_column(some, parameter_type(some)).to_pandas()
            for name, some in values.items()
        }
        return pd.DataFrame(columns, index=range(len(self.cells)))

    def to_xarray(self, columns: Iterable[str] | None = None) -> xr.Dataset:
        """Return all stored rows as a dataset of xarray, which can be written to NetCDF.

        Parameters
        ----------
        columns : iterable of str, optional
            Only these columns; by default what the function returned, ``status`` and ``seconds``.

        Returns
        -------
        xarray.Dataset
            A dimension for each parameter that takes several values in a full grid, then
            ``replicate``, and ``row`` where a replicate has several; of a grid that is not full one
            dimension ``cell``, with the parameters along it. NaN where nothing is stored, or an
            empty text. Its attributes are the settings, name and seed.

        Raises
        ------
        ModuleNotFoundError
            Without xarray, which ``linrep[xarray]`` brings.
        ValueError
            If there is no such column.
        """
        need("xarray", "to_xarray")
        left_out = {*self.parameters, *RESERVED} - {"seconds", "status"}
        wanted = [name for name in self.columns if name not in left_out]
        if columns is not None:
            wanted = list(columns)
            for name in {"cell", "replicate", "row", *self.parameters} & set(wanted):
                raise ValueError(f"no column {name!r} of results")
        table, places = self.parameter_table(), {"replicate": range(self.replicates)}
        axes = {name: column.unique() for name, column in table.items()}
        is_full = not table.isna().any(axis=None)
        is_full &= np.prod([len(axis) for axis in axes.values()]) == len(table)
        if not is_full:
            axes = {"cell": self.names}
        names = [*axes, "replicate", "row"]
        rows = self.read(list(dict.fromkeys([*names, *wanted])))
        texts = [name for name in rows if not is_numeric_dtype(rows[name])]
        rows = rows.astype(dict.fromkeys(texts, object))
        data = rows.set_index(names)[wanted].to_xarray().reindex(axes | places)
        for name in data:
            if name in texts:
                data[name] = data[name].fillna("")
            elif data[name].dtype == object:  # truth values, with gaps
                data[name] = data[name].astype(float)
            data[name].attrs |= described(name)
        if not is_full:
            data = data.assign_coords({name: ("cell", table[name]) for name in table})
        of_run = {name: self.description[name] for name in ("name", "seed", "replicates")}
        settings = self.description["settings"]
        data.attrs |= attributes({**settings, **of_run, "target": self.target})
        single = [name for name, axis in axes.items() if len(axis) == 1 and name != "cell"]
        return data.squeeze([*single, *(["row"] if data.sizes["row"] == 1 else [])])

    def failures(self) -> pd.DataFrame:
        """Return the rows of the replicates that raised an exception."""
        rows = self._frame(only_failures=True)
        return rows[rows["status"] == "failed"]

    def notes(self) -> dict[str, int]:
        """Return how many of the stored replicates have which note on their runs, most first."""
        columns = ["cell", "replicate", "notes"]
        rows = self._frame(columns).dropna(subset="notes").drop_duplicates(columns[:2])
        each = rows["notes"].astype(str).str.split(BETWEEN_NOTES).explode()
        return {note: int(count) for note, count in each.value_counts().items()}

    def again(self, read: Callable[[], Any]) -> Any:
        """Return what a function reads here; it is called again if files vanish meanwhile.

        Parameters
        ----------
        read : callable
            Without arguments. Another process may have put parts together.
        """
        for _ in range(_MOST_TRIES):
            with contextlib.suppress(FileNotFoundError):
                return read()
        return read()

    def write(
        self,
        table: pa.Table,
        segments: Iterable[Segment],
        generation: int,
        machine: str = "",
        code: str = "",
        returned: Sequence[str] | None = None,
    ) -> list[Part]:
        """Store the rows of a finished chunk.

        Failures are a part of their own: of a replicate that two parts have, one that succeeded
        counts, whatever else is in its part. All parts get the columns of all: other readers take
        those of one part for those of the run.

        Parameters
        ----------
        table : pyarrow.Table
        segments : iterable of Segment
            Which replicates of which cells the rows are of.
        generation : int
            Rows of a later generation replace those of earlier ones.
        machine, code : str
            What computed them, and by what code, as JSON.
        returned : sequence of str, optional
            The columns that the function returned; by default all that not every row has.
        """
        if returned is None:
            known = {*self.parameters, *RESERVED}
            returned = [name for name in table.column_names if name not in known]
        kinds = self._kinds(table)
        if kinds != self._kinds():  # first, so that at no time a reader overlooks a column
            self.unify(kinds)
        return [
            self._write(rows, kinds, pieces, generation, machine, code, returned)
            for rows, pieces in by_outcome(table, list(segments))
        ]

    def unify(self, kinds: Mapping[str, str] | None = None) -> None:
        """Give all parts the same columns, of the same types.

        Parameters
        ----------
        kinds : mapping of str to str, optional
            The types of the columns by name; by default what parts have in common.
        """
        if kinds is None:
            self.parts()
            self._known = None
            kinds = self._kinds()
        for part in list(self._parts.values()):
            if part.columns != kinds and not part.damage:
                with contextlib.suppress(FileNotFoundError, Damaged):  # others are at it, too
                    self._write(
                        read_rows(part), kinds, part.segments, part.generation, part.machine,
                        part.code, part.returned,
                    )  # fmt: skip
                    self.remove(part)
        self._known = dict(kinds)

    def remove(self, part: Part) -> None:
        """Remove a part whose rows are in another one.

        Parameters
        ----------
        part : Part
        """
        self._parts.pop(part.path.name, None)
        part.path.unlink(missing_ok=True)

    def tidy(self) -> None:
        """Remove leftovers of interrupted writes, and set damaged parts aside."""
        for path in self.damaged():
            with contextlib.suppress(FileNotFoundError):  # others are at it, too
                (self.path / _SET_ASIDE).mkdir(exist_ok=True)
                path.rename(self.path / _SET_ASIDE / path.name)
            self._parts.pop(path.name, None)  # a good one may come
        files.remove_leftovers(self.path)
        self.unify()

    @cached_property
    def _places(self):
        return {name: position for position, name in enumerate(self.names)}

    def _look(self):
        """Read the footers of parts that are new, and forget those that are gone."""
        files = self._listing()
        while files != (later := self._listing()):  # files came and went meanwhile
            files = later
        self._parts = {name: part for name, part in self._parts.items() if name in files}
        for name, path in files.items():
            # A good one may have come in place of a damaged one.
            if name not in self._parts or self._parts[name].damage:
                self._parts[name] = read_part(path)
                self._known = None

    def _listing(self):
        return {path.name: path for path in (self.path / PARTS).glob("*.parquet")}

    def _kinds(self, *tables):
        """Return the types that columns have in common in all parts that are known, and tables."""
        if self._known is None:
            whole = (part for part in self._parts.values() if not part.damage)
            self._known = self._common(part.columns for part in whole)
        if not tables:
            return self._known
        return self._common([self._known, *(kinds_of(table.schema) for table in tables)])

    def _common(self, schemas):
        stated = {
            name: parameter_type(cell.get(name) for cell in self.cells) for name in self.parameters
        }
        return common_kinds([*schemas, stated], self.parameters)

    def _write(self, table, kinds, segments, generation, machine, code, returned):
        """Write a part with columns of these types, and return it."""
        first = [*self.parameters, "replicate", "row"]
        returned = [name for name in returned if name not in first]
        others = sorted(kinds.keys() - {*first, *returned, *LAST})
        table = with_kinds(table, kinds, self.parameters).select(
            [*first, *returned, *others, *LAST]
        )
        folder = self.path / PARTS
        part = write_part(folder, table, segments, generation, machine, code, returned)
        self._parts[part.path.name] = part
        return part

    def _owned(self):
        """Yield parts and what of their segments counts: what no part before has.

        Only of this sweep's cells and replicates: another process may have extended it.
        """
        for part, pieces in shared_out(self.parts(), Coverage()):
            segments = [
                Segment(piece.cell, piece.start, min(piece.stop, self.replicates))
                for piece in pieces
                if piece.cell in self._places and piece.start < self.replicates
            ]
            yield part, segments

    def _count_failed(self, part, owned):
        if not part.failed:
            return 0
        rows = rows_within(part, owned, ("status", "cell", "replicate"))
        return pc.sum(pc.equal(rows["status"], "failed")).as_py() or 0

    def _frame(self, columns=None, *, only_failures=False):
        """Return columns of the rows of all parts, or of those with failures, in order."""
        wanted = None if columns is None else list(columns)
        known = self.columns
        absent = [name for name in wanted or () if name not in known]
        if absent and self.parts():
            raise ValueError(unknown("no column", absent[0], known, of=f"in {self.path}"))
        needed = None if wanted is None else [*wanted, "cell", "replicate", "row"]
        tables = self.again(lambda: self._tables(needed, only_failures))
        if not tables:
            return pd.DataFrame(columns=list(known) if wanted is None else wanted)
        frame = together(tables).to_pandas(use_threads=False)
        positions = frame["cell"].map(self._places).to_numpy(np.int64)
        if not _sorted_by(positions, frame["replicate"], frame["row"]):
            order = np.lexsort((frame["row"], frame["replicate"], positions))
            frame = frame.iloc[order].reset_index(drop=True)
            positions = positions[order]
        frame["cell"] = pd.Categorical.from_codes(positions, list(self.names))
        for name in {"stream", "versions"} & set(frame):
            column = frame[name].astype("category").cat.remove_unused_categories()
            frame[name] = column.cat.reorder_categories(sorted(column.cat.categories))
        for name, column in self.parameter_table().items():
            if wanted is None or name in wanted:
                frame[name] = column.take(positions).array  # of the same type for any rows
        return frame.reindex(columns=self.columns if wanted is None else wanted)

    def _tables(self, columns, only_failures):
        tables = [
            (segments[0], rows_within(part, segments, columns, self.parameters))
            for part, segments in self._owned()
            if segments and (part.failed or not only_failures)
        ]
        tables.sort(key=lambda pair: self.position(pair[0]))
        return [table for _, table in tables if table.num_rows]

    def __repr__(self):
        return (
            f"Run({str(self.path)!r}: {self.description['name']}, {self.count()} of {self.total})"
        )


def _sorted_by(*keys):
    """Tell whether rows are sorted by the first key, those that have the same by the next."""
    same: Any = True
    for key in map(np.asarray, keys):
        if (same & (key[1:] < key[:-1])).any():
            return False
        same = same & (key[1:] == key[:-1])
    return True


checked(globals())

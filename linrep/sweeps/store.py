"""The run directory: a specification and immutable Parquet parts, safe against any interruption.

``sweep.json`` says what is computed. Each file in ``parts/`` holds the rows of one finished chunk
and, in its footer, which replicates of which cells it covers. Files are written under a temporary
name, flushed to the disk and renamed; a part is there whole or not at all. Several processes may
write to one directory: replicates that two parts cover are counted once.
"""

from __future__ import annotations

import contextlib
import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from linrep import _atomic as files
from linrep import _display as show
from linrep._suggest import unknown
from linrep.sweeps.chunks import BETWEEN_NOTES
from linrep.sweeps.columns import (
    alike,
    parameter_column,
    parameter_type,
    with_large_integers,
)
from linrep.sweeps.coverage import Coverage, Segment
from linrep.sweeps.grid import Cell, Grid, canonical, cell_name
from linrep.sweeps.parts import (
    Part,
    by_outcome,
    digest,
    rank,
    read_part,
    rows_within,
    shared_out,
    write_part,
)
from linrep.sweeps.specification import FORMAT

_MOST_SHOWN = 12  # values of a parameter, where a run shows itself
SPECIFICATION = "sweep.json"
PARTS = "parts"
_MOST_TRIES = 100
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
    damaged : tuple of Path
        Files in place of parts whose content is not what was written.
    """

    path: Path
    expected: int
    stored: int
    failed: int
    damaged: tuple[Path, ...]

    @property
    def whole(self) -> bool:
        """Whether nothing is missing, has failed or is damaged."""
        return self.stored == self.expected and not self.failed and not self.damaged

    def __str__(self):
        parts = [f"{self.stored} of {self.expected} replicates"]
        if self.failed:
            parts.append(f"{self.failed} failed")
        if self.damaged:
            names = ", ".join(path.name for path in self.damaged)
            parts.append(f"{len(self.damaged)} damaged part(s) left out: {names}")
        return "; ".join(parts)


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
    """A run directory, open for reading; see :func:`open_run` and :func:`create_run`.

    Parameters
    ----------
    path : Path
    description : mapping
        What its ``sweep.json`` holds.
    """

    def __init__(self, path: Path, description: Mapping[str, Any]):
        self.path = path
        self.description = description
        self._parts: dict[str, Part | None] = {}

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The cells, in order."""
        return tuple(self.description["cells"])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Their names."""
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
        returned = dict.fromkeys(name for part in parts for name in part.columns)
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

    def keys(self, cell: Cell) -> dict[str, int]:
        """Return the stream keys of one of the cells, by purpose.

        Parameters
        ----------
        cell : mapping of str to plain values
            One of `cells`.
        """
        texts = self.description["streams"][self.names.index(cell_name(cell))]
        return {purpose: int(text, 16) for purpose, text in texts.items()}

    def parts(self) -> list[Part]:
        """Return the parts that can be read, later generations first; looks for new ones."""
        self.again(self._look)
        readable = [part for part in self._parts.values() if part is not None]
        return sorted(readable, key=rank)

    def damaged(self) -> list[Path]:
        """Return the files of parts whose content is not what was written."""
        self.parts()
        return sorted(
            self.path / PARTS / name for name, part in self._parts.items() if part is None
        )

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
        found: Counter[str] = Counter()
        for part, owned in self._owned():
            found[part.machine] += sum(map(len, owned))
        return {name: count for name, count in found.most_common() if count}

    def machine_of(self, cell: str, replicate: int) -> str | None:
        """Return what computed a replicate, None if it is not stored.

        Parameters
        ----------
        cell : str
            The cell's name.
        replicate : int

        Returns
        -------
        str or None
            As in `machines`; empty where it has not been stored with the rows.
        """
        wanted = Segment(cell, replicate, replicate + 1)
        for part in self.parts():
            if not any(Coverage(part.segments).missing(wanted)):
                return part.machine
        return None

    def completeness(self) -> Completeness:
        """Return how many replicates there should be, are stored, have failed or are damaged."""
        return Completeness(
            self.path, self.total, self.count(), self.failed(), tuple(self.damaged())
        )

    def read(self, columns: Iterable[str] | None = None, *, partial: bool = False) -> pd.DataFrame:
        """Return all stored rows, by cell, replicate and row, each replicate once.

        Parameters
        ----------
        columns : iterable of str, optional
            Only these columns, in this order.
        partial : bool, default False
            Say nothing if replicates are missing; by default that is an :class:`Incomplete`
            warning.

        Returns
        -------
        DataFrame
            Parameters, ``replicate``, ``row``, what the function returned, ``status`` ("ok" or
            "failed"), ``exception``, ``notes`` (what linrep would have warned of, in a few words),
            ``seconds``, ``stream``, ``versions`` and ``cell``.
        """
        if not partial and self.count() < self.total:
            warnings.warn(Incomplete(self.completeness()), stacklevel=2)
        return self._frame(self._owned, columns)

    def rows_of(self, cell: str, replicate: int) -> pd.DataFrame:
        """Return the rows of one replicate, none if it is not stored.

        As `read` does, but that a column of numbers is no text because other replicates have text.

        Parameters
        ----------
        cell : str
            The cell's name.
        replicate : int
        """
        one = Segment(cell, replicate, replicate + 1)

        def owned():
            for part, own in self._owned():
                if not any(Coverage(own).missing(one)):
                    yield part, [one]

        return self._frame(owned)

    def failures(self) -> pd.DataFrame:
        """Return the rows of the replicates that raised an exception."""
        rows = self._frame(lambda: (pair for pair in self._owned() if pair[0].failed))
        return rows[rows["status"] == "failed"]

    def notes(self) -> dict[str, int]:
        """Return how many of the stored replicates have which note on their runs, most first."""
        columns = ["cell", "replicate", "notes"]
        rows = self._frame(self._owned, columns).dropna(subset="notes").drop_duplicates(columns[:2])
        each = rows["notes"].astype(str).str.split(BETWEEN_NOTES).explode()
        return {note: int(count) for note, count in each.value_counts().items()}

    def find(self, selection: Mapping[str, Any]) -> Cell:
        """Return the one cell whose parameters have the given values.

        Parameters
        ----------
        selection : mapping of str to plain values
            Some of a cell's parameters.

        Raises
        ------
        ValueError
            If there is none, or more than one.
        """
        selection = Grid.of([selection]).cells[0]
        wanted = {name: canonical({name: value}) for name, value in selection.items()}
        matches = [
            cell
            for cell in self.cells
            if all(
                name in cell and canonical({name: cell[name]}) == text
                for name, text in wanted.items()
            )
        ]
        if len(matches) == 1:
            return matches[0]
        text = cell_name(selection) or "no parameters"
        if not matches:
            raise ValueError(f"no cell with {text}; the first is {self.names[0]}")
        raise ValueError(
            f"{len(matches)} cells have {text}, among them {cell_name(matches[0])} and "
            f"{cell_name(matches[1])}; give more parameters"
        )

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
        self, table: pa.Table, segments: Iterable[Segment], generation: int, machine: str = ""
    ) -> list[Part]:
        """Store the rows of a finished chunk.

        Failures are a part of their own: of a replicate that two parts have, one that succeeded
        counts, whatever else is in its part.

        Parameters
        ----------
        table : pyarrow.Table
        segments : iterable of Segment
            Which replicates of which cells the rows are of.
        generation : int
            Rows of a later generation replace those of earlier ones.
        machine : str
            What computed them, as JSON.
        """
        stored = [
            write_part(self.path / PARTS, rows, pieces, generation, machine)
            for rows, pieces in by_outcome(table, list(segments))
        ]
        self._parts |= {part.path.name: part for part in stored}
        return stored

    def adopt(self, part: Part) -> None:
        """Copy a part of another directory, unless it is here.

        Parameters
        ----------
        part : Part
        """
        copy = self.path / PARTS / part.path.name
        if not copy.exists():
            content = part.path.read_bytes()
            if part.path.stem == digest(content):  # or it has been damaged meanwhile
                files.write(copy, content)
                self._parts[copy.name] = replace(part, path=copy)

    def remove(self, part: Part) -> None:
        """Remove a part whose rows are in another one.

        Parameters
        ----------
        part : Part
        """
        self._parts.pop(part.path.name, None)
        part.path.unlink(missing_ok=True)

    def tidy(self) -> None:
        """Remove leftovers of interrupted writes; set damaged parts aside, to be computed again."""
        for path in self.damaged():
            with contextlib.suppress(FileNotFoundError):
                path.rename(path.with_name(f".damaged-{path.name}"))  # readers skip the dot
            self._parts.pop(path.name, None)  # a good one may come
        files.remove_leftovers(self.path / PARTS)

    @cached_property
    def _places(self):
        return {name: place for place, name in enumerate(self.names)}

    def _look(self):
        """Read the footers of parts that are new, and forget those that are gone."""
        found = self._listing()
        while found != (later := self._listing()):  # files came and went meanwhile
            found = later
        self._parts = {name: part for name, part in self._parts.items() if name in found}
        for name, path in found.items():
            if self._parts.get(name) is None:  # a good one may have come in place of a damaged one
                self._parts[name] = read_part(path)

    def _listing(self):
        return {
            path.name: path
            for path in (self.path / PARTS).glob("*.parquet")
            if not path.name.startswith(".")  # being written, or set aside
        }

    def _owned(self):
        """Yield parts and what of their segments counts: what no part before has.

        Only of this sweep's cells and replicates: another process may have extended it.
        """
        for part, pieces in shared_out(self.parts(), Coverage()):
            own = [
                Segment(piece.cell, piece.start, min(piece.stop, self.replicates))
                for piece in pieces
                if piece.cell in self._places and piece.start < self.replicates
            ]
            yield part, own

    def _count_failed(self, part, owned):
        if not part.failed:
            return 0
        rows = rows_within(part, owned, ("status", "cell", "replicate"))
        return pc.sum(pc.equal(rows["status"], "failed")).as_py() or 0

    def _frame(self, owned, columns=None):
        """Return columns of the rows that some parts have of some segments, in order."""
        wanted = None if columns is None else list(columns)
        known = self.columns
        absent = [name for name in wanted or () if name not in known]
        if absent and self.parts():
            raise ValueError(unknown("no column", absent[0], known, of=f"in {self.path}"))
        needed = None if wanted is None else [*wanted, "cell", "replicate", "row"]
        tables = self.again(lambda: self._tables(owned(), needed))
        if not tables:
            return pd.DataFrame(columns=list(known) if wanted is None else wanted)
        table = pa.concat_tables(alike(tables), promote_options="permissive")
        frame = with_large_integers(table).to_pandas(use_threads=False)
        place = frame["cell"].map(self._places).to_numpy(np.int64)
        if not _sorted_by(place, frame["replicate"], frame["row"]):
            order = np.lexsort((frame["row"], frame["replicate"], place))
            frame = frame.iloc[order].reset_index(drop=True)
            place = place[order]
        frame["cell"] = pd.Categorical.from_codes(place, list(self.names))
        for name in {"stream", "versions"} & set(frame):
            column = frame[name].astype("category").cat.remove_unused_categories()
            frame[name] = column.cat.reorder_categories(sorted(column.cat.categories))
        for name in self.parameters:
            if wanted is None or name in wanted:
                values = [cell.get(name) for cell in self.cells]
                column = parameter_column(values, parameter_type(values)).to_pandas()
                frame[name] = column.take(place).array  # of the same type for any rows
        return frame.reindex(columns=self.columns if wanted is None else wanted)

    def _tables(self, owned, columns):
        found = [
            (segments[0], rows_within(part, segments, columns, self.parameters))
            for part, segments in owned
            if segments
        ]
        found.sort(key=lambda pair: self.position(pair[0]))
        return [table for _, table in found if table.num_rows]

    def __repr__(self):
        return (
            f"Run({str(self.path)!r}: {self.description['name']}, {self.count()} of {self.total})"
        )

    def _repr_html_(self):
        values = {
            name: list(dict.fromkeys(cell[name] for cell in self.cells if name in cell))
            for name in self.parameters
        }
        shown = show.table(
            (
                name,
                ", ".join(map(str, several[:_MOST_SHOWN])) + ", …" * (len(several) > _MOST_SHOWN),
            )
            for name, several in values.items()
        )
        failed = self.failed()
        return f"<p>{escape(repr(self))}{f', {failed} failed' if failed else ''}</p>{shown}"


def open_run(path: str | Path) -> Run:
    """Open a run directory for reading.

    Parameters
    ----------
    path : path

    Raises
    ------
    ValueError
        If it is not one.
    """
    path = Path(path)
    try:
        description = json.loads((path / SPECIFICATION).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(f"{path} is not a run directory: it has no {SPECIFICATION}") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{path / SPECIFICATION} cannot be read: {error}") from None
    if not _is_description(description):
        raise ValueError(f"{path / SPECIFICATION} is not the specification of a sweep (format 1)")
    return Run(path, description)


def _is_description(content):
    """Tell whether a file's content can be the description of a sweep."""
    return (
        isinstance(content, dict)
        and content.get("format") == FORMAT
        and isinstance(content.get("replicates"), int)
        and isinstance(content.get("settings"), dict)
        and "name" in content
        and all(
            isinstance(content.get(name), list)
            and all(isinstance(item, dict) for item in content[name])
            for name in ("cells", "streams")
        )
        and len(content["cells"]) == len(content["streams"]) > 0
    )


def _sorted_by(*keys):
    """Tell whether rows are sorted by the first key, those that have the same by the next."""
    same: Any = True
    for key in map(np.asarray, keys):
        if (same & (key[1:] < key[:-1])).any():
            return False
        same = same & (key[1:] == key[:-1])
    return True

"""The run directory: a specification and immutable Parquet parts, safe against any interruption.

``sweep.json`` says what is computed. Each file in ``parts/`` holds the rows of one finished chunk
and, in its footer, which replicates of which cells it covers. Files are written under a temporary
name, flushed to the disk and renamed; a part is there whole or not at all. Several processes may
write to one directory: replicates that two parts cover are counted once.
"""

from __future__ import annotations

import contextlib
import errno
import json
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from linrep.sweeps.columns import (
    alike,
    parameter_column,
    parameter_type,
    with_large_integers,
)
from linrep.sweeps.comparison import Deviation, deviation
from linrep.sweeps.coverage import Coverage, Segment
from linrep.sweeps.grid import Cell, Grid, canonical, cell_name
from linrep.sweeps.parts import Damaged, Part, digest, read_part, read_rows, rows_of, write_part
from linrep.sweeps.specification import FORMAT, Specification, differences, extends
from linrep.sweeps.targets import own_folders

_MOST_SHOWN = 12  # values of a parameter, where a run shows itself
SPECIFICATION = "sweep.json"
_PARTS = "parts"
_LARGE = 2**23  # values in a part, rows times columns, that is not put together with others
_MOST_TRIES = 100
_LAST = ("status", "exception", "seconds", "stream", "versions", "cell")  # columns of a row


@dataclass(frozen=True)
class Completeness:
    """How much of a run directory there is.

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
    """Rows that are read are not all that the sweep has.

    Parameters
    ----------
    completeness : Completeness
        Of the run directory.
    """

    def __init__(self, completeness: Completeness):
        self.completeness = completeness
        super().__init__(f"{completeness.path} is incomplete: {completeness}")


class Overlapping(UserWarning):
    """Replicates that several run directories hold have different rows.

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
        found = {
            path.name: path
            for path in (self.path / _PARTS).glob("*.parquet")
            if not path.name.startswith(".")  # being written, or set aside
        }
        for name in self._parts.keys() - found.keys():
            del self._parts[name]
        for name in found.keys() - self._parts.keys():
            self._parts[name] = read_part(found[name])
        readable = [part for part in self._parts.values() if part is not None]
        return sorted(readable, key=_rank)

    def damaged(self) -> list[Path]:
        """Return the files in place of parts whose content is not what was written."""
        self.parts()
        return sorted(
            self.path / _PARTS / name for name, part in self._parts.items() if part is None
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
        return self._again(lambda: sum(starmap(self._count_failed, self._owned())))

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
            "failed"), ``exception``, ``seconds``, ``stream``, ``versions`` and ``cell``.
        """
        if not partial and self.count() < self.total:
            warnings.warn(Incomplete(self.completeness()), stacklevel=2)
        wanted = None if columns is None else list(columns)
        needed = None if wanted is None else [*wanted, "cell", "replicate", "row"]
        tables = self._again(
            lambda: [
                table
                for part, owned in self._owned()
                if (table := self._rows(part, owned, needed, self.parameters)).num_rows
            ]
        )
        if not tables:
            names = [*self.parameters, "replicate", "row", *_LAST]
            return pd.DataFrame(columns=names if wanted is None else wanted)
        table = pa.concat_tables(alike(tables), promote_options="permissive")
        frame = with_large_integers(table).to_pandas()
        places = {name: index for index, name in enumerate(self.names)}
        place = frame["cell"].map(places).to_numpy(float)
        order = np.lexsort((frame["row"], frame["replicate"], place))
        # Another process may have extended the sweep since this run was opened.
        inside = ~np.isnan(place) & (frame["replicate"].to_numpy() < self.replicates)
        order = order[inside[order]]
        frame = frame.iloc[order].reset_index(drop=True)
        place = place[order].astype(np.int64)
        frame["cell"] = pd.Categorical.from_codes(place, list(self.names))
        for name in {"stream", "versions"} & set(frame):
            column = frame[name].astype("category").cat.remove_unused_categories()
            frame[name] = column.cat.reorder_categories(sorted(column.cat.categories))
        for name in self.parameters:
            if wanted is None or name in wanted:
                values = [cell.get(name) for cell in self.cells]
                column = parameter_column(values, parameter_type(values))
                frame[name] = column.take(pa.array(place)).to_pandas()
        if wanted is not None:
            absent = [name for name in wanted if name not in frame]
            if absent:
                there = ", ".join(self.read(partial=True))
                raise ValueError(f"no column {absent[0]!r} in {self.path}; there are {there}")
            return frame[wanted]
        first = list(self.parameters)
        middle = [name for name in frame if name not in {*first, *_LAST, "replicate", "row"}]
        return frame[[*first, "replicate", "row", *middle, *_LAST]]

    def overlap(self) -> Deviation | None:
        """Compare the rows of replicates that are stored more than once; None if there are none.

        Those that were computed again after a failure are not compared.
        """
        taken = Coverage()
        twice: list[pa.Table] = []
        for part, owned in _shared_out(self.parts(), taken):
            own = Coverage(owned)
            again = [piece for segment in part.segments for piece in own.missing(segment)]
            if again and part.generation == 0:
                twice.append(self._rows(part, again, None, self.parameters))
        if not twice:
            return None
        keys = ["cell", "replicate", "row"]
        others = pa.concat_tables(alike(twice), promote_options="permissive").to_pandas()
        others = others.astype({"cell": str}).drop_duplicates()
        rows = self.read(partial=True).astype({"cell": str})
        both = rows[keys].merge(others, on=keys, how="inner")
        counted = both[keys].merge(rows, on=keys, how="left")
        own_columns = [name for name in others if name not in {*_LAST, *keys}]
        return deviation(counted, both, [*own_columns, "status"])

    def failures(self) -> pd.DataFrame:
        """Return the rows of the replicates that raised an exception."""
        rows = self.read(partial=True)
        return rows[rows["status"] == "failed"] if len(rows) else rows

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

    def write(
        self, table: pa.Table, segments: Iterable[Segment], generation: int, machine: str = ""
    ) -> Part:
        """Store the rows of a finished chunk.

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
        stored = write_part(self.path / _PARTS, table, segments, generation, machine)
        self._parts[stored.path.name] = stored
        return stored

    def adopt(self, part: Part) -> None:
        """Copy a part of another directory, unless it is here.

        Parameters
        ----------
        part : Part
        """
        copy = self.path / _PARTS / part.path.name
        if not copy.exists():
            content = part.path.read_bytes()
            if part.path.stem == digest(content):  # or it has been damaged meanwhile
                files.write(copy, content)
                self._parts[copy.name] = replace(part, path=copy)

    def compact(self, parts: Sequence[Part] | None = None) -> None:
        """Put small parts together, so that there are not too many files.

        Nothing is lost whatever ends it: the new part is on the disk before the old ones go, and
        replicates that two parts cover count once.

        Parameters
        ----------
        parts : sequence of Part, optional
            Which ones; by default all. Only parts of one machine and generation go together.
        """
        kinds: dict[tuple, list[Part]] = {}
        for part in self.parts() if parts is None else parts:
            if part.rows * part.columns < _LARGE:
                # With successes before failures: which of two equal replicates counts stays.
                kinds.setdefault((part.generation, part.failed > 0, part.machine), []).append(part)
        for some in kinds.values():
            for group in _groups(some):
                with contextlib.suppress(FileNotFoundError, Damaged):  # others are at it, too
                    self._put_together(group)

    def _put_together(self, group):
        taken = Coverage()
        tables = []
        for part, owned in _shared_out(sorted(group, key=_rank), taken):
            tables.append(self._rows(part, owned, None, ()))
        if any(_types(table, self.parameters) != _types(tables[0], self.parameters)
               for table in tables):  # fmt: skip
            return  # of before and after an extension
        table = pa.concat_tables(alike(tables), promote_options="permissive")
        first = group[0]
        whole = self.write(table, taken.segments(), first.generation, first.machine)
        for part in group:
            if part.path.name != whole.path.name:
                self._parts.pop(part.path.name, None)
                part.path.unlink(missing_ok=True)

    def _owned(self):
        """Yield parts and what of their segments counts: what no part before has."""
        return _shared_out(self.parts(), Coverage())

    def _rows(self, part, owned, columns, without):
        table = read_rows(part.path, columns, without)
        whole = sum(map(len, owned)) == part.replicates
        return table if whole else rows_of(table, owned)

    def _count_failed(self, part, owned):
        if not part.failed:
            return 0
        rows = self._rows(part, owned, ("status", "cell", "replicate"), ())
        return pc.sum(pc.equal(rows["status"], "failed")).as_py() or 0

    def _again(self, read):
        """Read, once more if another process has put parts together meanwhile."""
        for _ in range(_MOST_TRIES):
            with contextlib.suppress(FileNotFoundError):
                return read()
        return read()

    def tidy(self) -> None:
        """Remove what interrupted writes left; set damaged parts aside, to be computed again."""
        for path in self.damaged():
            with contextlib.suppress(FileNotFoundError):
                path.rename(path.with_name(f".damaged-{path.name}"))  # readers skip the dot
            self._parts.pop(path.name, None)  # a good one may come
        files.remove_leftovers(self.path / _PARTS)

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


def create_run(path: str | Path, sweep: Specification, *, extend: bool = False) -> Run:
    """Make a run directory for a sweep, or open the one that has been made for it.

    Parameters
    ----------
    path : path
        A new, an empty, or a run directory.
    sweep : Sweep
        What is to be computed.
    extend : bool, default False
        Allow the sweep to have more cells or replicates than the directory's.

    Raises
    ------
    ValueError
        If the directory holds something else; the message names the differences.
    OSError
        If it cannot be written.
    """
    path = Path(path)
    described = {**sweep.describe(), "target": sweep.target, "path": own_folders()}
    if (path / SPECIFICATION).exists():
        return _reopen(path, sweep.describe(), described, extend)
    _check_free(path)
    (path / _PARTS).mkdir(parents=True, exist_ok=True)
    if not files.create(path / SPECIFICATION, _text(described)):  # another process was first
        return _reopen(path, sweep.describe(), described, extend)
    return Run(path, described)


def check_directory(path: str | Path, sweep: Specification, *, extend: bool = False) -> None:
    """Raise what `create_run` would raise, writing nothing."""
    path = Path(path)
    if (path / SPECIFICATION).exists():
        _compare(open_run(path), sweep.describe(), extend)
    else:
        _check_free(path)


def merge(path: str | Path, sources: Iterable[str | Path]) -> Run:
    """Put run directories of the same sweep together, such as those of shards.

    Parameters
    ----------
    path : path
        A run directory of that sweep, or a new one.
    sources : iterable of paths
        Run directories; they stay as they are.

    Returns
    -------
    Run

    Raises
    ------
    ValueError
        If a source is no run directory or computes something else.

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
        different = differences(_identity(first.description), _identity(run.description))
        if different:
            raise ValueError(f"{run.path} is not of the sweep of {first.path}: {different[0]}")
    if not into:
        _check_free(path)
        (path / _PARTS).mkdir(parents=True, exist_ok=True)
        if not files.create(path / SPECIFICATION, _text(first.description)):
            return merge(path, sources)  # another process was first
    merged = open_run(path)
    merged.tidy()  # a damaged part is in the way of a good one
    for run in runs:
        for part in run.parts():
            merged.adopt(part)
    twice = merged.overlap()
    if twice is not None and twice.different:
        warnings.warn(Overlapping(merged.path, twice), stacklevel=2)
    merged.compact()
    return merged


@contextlib.contextmanager
def presence(path: Path) -> Iterator[bool]:
    """Yield whether this process is alone in a run directory, as far as the file system knows.

    In a directory that cannot be written it is taken not to be: a finished run needs no writing.
    """
    with contextlib.ExitStack() as held:
        try:
            file = held.enter_context(open(path / ".lock", "a"))
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
            yield False
            return
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        except (ImportError, OSError):
            yield True  # no locks here
        else:
            yield True


def _check_free(path):
    """Raise unless a run directory can be made of path, of which an attempt may be left."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path} is a file, not a directory")
    for entry in path.iterdir() if path.is_dir() else ():
        empty = entry.name == _PARTS and entry.is_dir() and not any(entry.iterdir())
        others = not empty and not files.is_attempt(entry)
        if others and not (path / SPECIFICATION).exists():  # another process may have made one
            raise ValueError(f"{path} is not empty and is not a run directory")


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


def _reopen(path, identity, described, extend):
    run = open_run(path)
    if _compare(run, identity, extend):
        files.write(path / SPECIFICATION, _text(described))
        return Run(path, described)
    return run


def _compare(run, identity, extend) -> bool:
    """Tell whether a sweep differs from a run's as an extension; raise if in any other way."""
    stored = _identity(run.description)
    lines = differences(stored, identity)
    if not lines:
        return False
    difference = "; ".join(lines)
    if not extends(stored, identity):
        raise ValueError(f"{run.path} holds another sweep ({difference}); take another folder")
    if not extend:
        raise ValueError(f"{run.path} holds a smaller sweep ({difference}); extend it explicitly")
    return True


def _identity(description):
    return {name: value for name, value in description.items() if name not in ("target", "path")}


def _rank(part):
    """Return what parts are sorted by: those that come first count where two have the same."""
    # By machine before name: putting parts together changes names alone.
    return -part.generation, part.failed > 0, part.machine, part.path.name


def _shared_out(parts, taken):
    """Yield parts and what of their segments is not taken, and take it."""
    for part in parts:
        owned = [piece for segment in part.segments for piece in taken.missing(segment)]
        taken.update(part.segments)
        yield part, owned


def _groups(parts):
    """Yield parts that together are large, and at last those that are left; none alone."""
    group: list[Part] = []
    size = 0
    for part in parts:
        group.append(part)
        size += part.rows * part.columns
        if size >= _LARGE:
            yield group
            group, size = [], 0
    if len(group) > 1:
        yield group


def _types(table, names):
    return [table.schema.field(name).type for name in names if name in table.column_names]


def _text(description):
    text = json.dumps(description, indent=1, ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"

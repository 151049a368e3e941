"""Parts: rows of finished chunks in files, which replicates they are of, what computed them.

A part is plain Parquet, named after a digest of its bytes. The footer says which replicates the
rows are of, and what computed them by what code. A file whose bytes are not those that its name
says does not count, and its replicates are computed again.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from linrep._lib import atomic as files
from linrep.sweeps.columns import kinds_of

PARTS = "parts"  # the folder of a run directory
_SAID = b"linrep.coverage"
_REPEATED = ("stream", "versions", "cell")  # long texts that few distinct values make up
#: What reading raises of a file that linrep has not written.
_FOREIGN = (ValueError, TypeError, LookupError, OSError, RuntimeError)


@dataclass(frozen=True)
class Segment:
    """Replicates start to stop - 1 of a cell, given by its name."""

    cell: str
    start: int
    stop: int

    def __len__(self):
        return self.stop - self.start


class Coverage:
    """A set of replicates of cells, as disjoint sorted intervals."""

    def __init__(self, segments: Iterable[Segment] = ()):
        self._intervals: dict[str, list[tuple[int, int]]] = {}
        self.update(segments)

    def update(self, segments: Iterable[Segment]) -> None:
        """Add the replicates of some segments."""
        for segment in sorted(segments, key=lambda segment: segment.start):
            self.add(segment)  # at the end, in no time

    def segments(self) -> Iterator[Segment]:
        """Yield all that is in the set."""
        for cell, intervals in self._intervals.items():
            for low, high in intervals:
                yield Segment(cell, low, high)

    def add(self, segment: Segment) -> None:
        """Add the replicates of a segment."""
        intervals = self._intervals.setdefault(segment.cell, [])
        start, stop = segment.start, segment.stop
        first = bisect_left(intervals, start, key=lambda interval: interval[1])
        last = bisect_right(intervals, stop, key=lambda interval: interval[0])
        if first < last:  # it touches some
            start, stop = min(start, intervals[first][0]), max(stop, intervals[last - 1][1])
        intervals[first:last] = [(start, stop)]

    def missing(self, segment: Segment) -> Iterator[Segment]:
        """Yield what is not in the set of a segment."""
        position = segment.start
        intervals = self._intervals.get(segment.cell, [])
        first = bisect_right(intervals, position, key=lambda interval: interval[1])
        for low, high in intervals[first:]:
            if low >= segment.stop:
                break
            if low > position:
                yield Segment(segment.cell, position, low)
            position = high
        if position < segment.stop:
            yield Segment(segment.cell, position, segment.stop)

    def within(self, cell: str, replicates: int) -> Iterator[Segment]:
        """Yield what is in the set of a cell's first replicates."""
        for low, high in self._intervals.get(cell, ()):
            if low < replicates:
                yield Segment(cell, low, min(high, replicates))


def in_order(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """Return segments joined and in order, of each cell together, cells as they come."""
    places: dict[str, int] = {}
    for segment in segments:
        places.setdefault(segment.cell, len(places))
    joined = Coverage(segments).segments()
    return tuple(sorted(joined, key=lambda piece: (places[piece.cell], piece.start)))


@dataclass(frozen=True)
class Part:
    """A part's file and what it holds; of a damaged one it is only why it does not count."""

    path: Path
    segments: tuple[Segment, ...]  # the replicates that its rows are of
    generation: int = 0  # rows of a later one replace those of earlier ones
    rows: int = 0
    failed: int = 0  # how many of the rows
    columns: Mapping[str, str] = field(default_factory=dict)  # types by name, in order
    returned: tuple[str, ...] = ()  # by the function: other columns are gaps, or of every row
    machine: str = ""  # what computed them, as JSON; empty where that has not been stored
    code: str = ""  # by what code, as JSON; empty where that has not been stored
    damage: str = ""  # why it does not count, in a few words; empty for a whole part

    @property
    def replicates(self) -> int:
        """How many replicates it covers."""
        return sum(map(len, self.segments))


class Damaged(ValueError):
    """A part's content is not what was written."""


def write_part(
    folder: Path,
    table: pa.Table,
    segments: Sequence[Segment],
    generation: int,
    machine: str,
    code: str,
    returned: Sequence[str],
) -> Part:
    """Write rows as a part of a folder of parts, and return it."""
    pieces = in_order(segments)
    failed = pc.sum(pc.equal(table["status"].cast(pa.string()), "failed")).as_py() or 0
    returned = () if failed and failed == table.num_rows else tuple(returned)
    table = _in_rows(table.replace_schema_metadata(None), pieces)
    said = {
        "segments": [[piece.cell, piece.start, piece.stop] for piece in pieces],
        "generation": generation,
        "failed": failed,
        "returned": returned,
        "machine": machine,
        "code": code,
    }
    texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(  # numbers seldom repeat: finding that out takes longer than writing
        sink, table.schema, compression="zstd", use_dictionary=texts,
        write_statistics=False, store_schema=False,
    ) as writer:  # fmt: skip
        writer.write_table(table)
        writer.add_key_value_metadata({_SAID: json.dumps(said, ensure_ascii=False).encode()})
    content = sink.getvalue().to_pybytes()
    path = folder / f"{digest(content)}.parquet"
    # Drafts stand elsewhere: other readers take all that lies in the folder for parts.
    files.write(path, content, drafts=folder.parent)
    return Part(
        path, pieces, generation, table.num_rows, failed, kinds_of(table.schema), returned,
        machine, code,
    )  # fmt: skip


def _in_rows(table, pieces):
    """Return a table by cell, replicate and row, with texts that other readers know as such."""
    for index, name in enumerate(table.column_names):
        if pa.types.is_dictionary(table[name].type):
            table = table.set_column(index, name, table[name].cast(pa.string()))
    cells = pa.array(dict.fromkeys(piece.cell for piece in pieces), pa.string())
    places = pc.index_in(table["cell"], cells)
    order = np.lexsort((table["row"], table["replicate"], places))
    return table if (np.diff(order) == 1).all() else table.take(order)


def digest(content: bytes) -> str:
    """Return the digest of bytes: names of parts, so whoever else writes here takes another."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def read_part(path: Path) -> Part:
    """Return what a part holds; of a damaged one nothing but why it does not count."""
    content = path.read_bytes()
    if digest(content) != path.stem:
        return Part(path, (), damage="its content is not what was written")
    try:
        metadata = pq.read_metadata(pa.BufferReader(content))
        said = json.loads(metadata.metadata[_SAID])
        pieces = [Segment(str(cell), int(a), int(b)) for cell, a, b in said["segments"]]
        return Part(
            path, in_order(pieces), int(said["generation"]), metadata.num_rows,
            int(said["failed"]), kinds_of(metadata.schema.to_arrow_schema()),
            tuple(said["returned"]), str(said["machine"]), str(said["code"]),
        )  # fmt: skip
    except _FOREIGN:
        return Part(path, (), damage="it is none that linrep has written")


def read_rows(
    part: Part, columns: Collection[str] | None = None, without: Sequence[str] = ()
) -> pa.Table:
    """Return some columns of a part's rows, or all, but for some.

    Damaged says that they are not what was written, FileNotFoundError that the part has been put
    into another one meanwhile.
    """
    names = [
        name
        for name in part.columns
        if name not in without and (columns is None or name in columns)
    ]
    repeated = [name for name in _REPEATED if name in names]
    content = part.path.read_bytes()
    if digest(content) != part.path.stem:
        raise Damaged(f"{part.path} has been damaged since; the sweep computes it again")
    # Arrow's own buffer: an interrupt in a call of Python's could end the process in Arrow.
    with pq.ParquetFile(pa.BufferReader(content), read_dictionary=repeated) as file:
        # Arrow's threads may be at work when the process ends, and abort it then.
        return file.read(columns=names, use_threads=False).replace_schema_metadata(None)


def rows_within(
    part: Part,
    segments: Sequence[Segment],
    columns: Collection[str] | None = None,
    without: Sequence[str] = (),
) -> pa.Table:
    """Return some columns of those rows of a part that are of some of its segments' replicates."""
    table = read_rows(part, columns, without)
    has_all = sum(map(len, segments)) == part.replicates
    return table if has_all else select_rows(table, segments)


def rank(part: Part) -> tuple:
    """Return what parts are sorted by: those that come first count where two have the same."""
    # By machine and code before name: putting parts together changes names alone.
    return -part.generation, part.failed > 0, part.machine, part.code, part.path.name


def shared_out(parts: Iterable[Part], taken: Coverage) -> Iterator[tuple[Part, list[Segment]]]:
    """Yield parts and what of their segments is not taken, and take it."""
    for part in parts:
        owned = [piece for segment in part.segments for piece in taken.missing(segment)]
        taken.update(part.segments)
        yield part, owned


def select_rows(table: pa.Table, segments: Iterable[Segment]) -> pa.Table:
    """Return the rows of a table that are of the segments' replicates."""
    cell = table["cell"]
    if not pa.types.is_dictionary(cell.type):
        cell = cell.dictionary_encode()
    cell = cell.unify_dictionaries().combine_chunks()  # each name once: then it has one code
    codes = {name: code for code, name in enumerate(cell.dictionary.to_pylist())}
    code = np.asarray(cell.indices)
    replicate = np.asarray(table["replicate"])
    inside = np.zeros(table.num_rows, dtype=bool)
    for segment in segments:
        if segment.cell in codes:
            here = (replicate >= segment.start) & (replicate < segment.stop)
            inside |= here & (code == codes[segment.cell])
    return table.filter(pa.array(inside))


def by_outcome(
    table: pa.Table, segments: Sequence[Segment]
) -> Iterator[tuple[pa.Table, Sequence[Segment]]]:
    """Yield the rows and the segments of replicates that succeeded, then of those that failed."""
    failed = table.filter(pc.equal(table["status"].cast(pa.string()), "failed"))
    if not failed.num_rows:
        yield table, segments
        return
    replicates = zip(failed["cell"].to_pylist(), failed["replicate"].to_pylist(), strict=True)
    bad = Coverage(Segment(cell, number, number + 1) for cell, number in replicates)
    good = [piece for segment in segments for piece in bad.missing(segment)]
    if good:
        yield select_rows(table, good), good
    pieces = list(bad.segments())
    yield select_rows(table, pieces), pieces

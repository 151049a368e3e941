"""Files of parts: Parquet, in row groups that have digests of their own.

The footer says which replicates the rows of each group are of and what the digests of the groups'
bytes are, and the file is named after a digest of the footer, of which there is a copy before it.
So a file that has been damaged loses the groups that are damaged, and no others. Parts of earlier
versions are named after a digest of their whole content, and have one group.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from linrep._lib import atomic as files
from linrep._lib import memory
from linrep._lib.validation import integer
from linrep.sweeps.columns import kinds_of
from linrep.sweeps.coverage import Coverage, Segment
from linrep.sweeps.parts import Damaged, Part, cells_of, select_rows
from linrep.sweeps.specification import MOST_REPLICATES, RESERVED

_COVERAGE = b"linrep.coverage"
_COPY = b"\xfflinrep.footer"  # before the copy of the footer and its length; in no text
_MAGIC = b"PAR1"
_MOST_GROUPS = 32
_GROUP = 2**12  # values that a row group has at least: a column of it takes a kilobyte by itself
_GROUP_SECONDS = 60.0  # or as much of computing, which is not to be lost with a bit
_MOST_BYTES = 2**31 - 1  # in an array of texts
_MOST_ROWS = 10  # per byte: counting rows takes about one byte for each
_REPEATED = ("stream", "versions", "cell")  # long texts that few distinct values make up
_KINDS = {"null", "bool", "int64", "double", "string"}
_FIXED = {name: "string" for name in RESERVED} | {
    "replicate": "int64", "row": "int64", "seconds": "double",
}  # fmt: skip
_NEVER_EMPTY = ("cell", "replicate", "row", "status", "seconds")
#: What reading a file raises that linrep has not written.
_FOREIGN = (
    ValueError, TypeError, KeyError, OverflowError, RecursionError, OSError, pa.ArrowException,
)  # fmt: skip


# --- writing ---


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
    cells = list(dict.fromkeys(piece.cell for piece in pieces))
    failed = pc.sum(pc.equal(table["status"].cast(pa.string()), "failed")).as_py() or 0
    returned = () if failed and failed == table.num_rows else tuple(returned)
    texts = []
    for positions, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):  # plain for other readers
            table = table.set_column(positions, field.name, table[field.name].cast(pa.string()))
        if pa.types.is_string(table.schema.field(positions).type):
            texts.append(field.name)
    table, positions = _sort_rows(table.replace_schema_metadata(None), cells)
    present = Coverage(_replicates_of(cells, positions, np.asarray(table["replicate"])))
    cuts = _cuts(table, positions)
    stops = [*cuts[1:], table.num_rows]
    sink, ends = pa.BufferOutputStream(), [0]
    with pq.ParquetWriter(  # numbers seldom repeat: finding that out takes longer than writing
        sink, table.schema, compression="zstd", use_dictionary=texts,
        write_statistics=False, store_schema=False,
    ) as writer:  # fmt: skip
        for start, stop in zip(cuts, stops, strict=True):
            writer.write_table(
                table.slice(start, stop - start), row_group_size=max(1, stop - start)
            )
            ends.append(sink.tell())
    content = sink.getvalue().to_pybytes()
    body = content[: ends[-1]]
    firsts = [(cells[positions[row]], int(table["replicate"][row].as_py())) for row in cuts[1:]]
    coverage = {
        "generation": generation,
        "failed": failed,
        "machine": machine,
        "code": code,
        "returned": returned,
        "groups": [
            [stop, digest(body[start:stop]), [[s.cell, s.start, s.stop] for s in some]]
            for (start, stop), some in zip(pairwise(ends), _divide(pieces, firsts), strict=True)
        ],
        "without rows": [
            [s.cell, s.start, s.stop] for piece in pieces for s in present.missing(piece)
        ],
    }
    footer = _footer_with(content, json.dumps(coverage, ensure_ascii=False).encode())
    path = folder / f"{digest(footer)}.parquet"
    # Drafts stand elsewhere: other readers take all that lies in the folder for parts.
    files.write(path, body + _tail(footer), drafts=folder.parent)
    return Part(
        path, pieces, generation, table.num_rows, failed, kinds_of(table.schema), returned,
        machine, code, tuple(range(len(cuts))),
    )  # fmt: skip


def _sort_rows(table, cells):
    """Return a table by cell, replicate and row, and for every row the place of its cell."""
    positions = np.asarray(pc.index_in(table["cell"], pa.array(cells, pa.string())))
    keys = [np.asarray(table["row"]), np.asarray(table["replicate"]), positions]
    order = np.lexsort(keys)
    if (np.diff(order) == 1).all():
        return table, positions
    return table.take(order), positions[order]


def _cuts(table, positions):
    """Return the rows with which row groups begin, always with those of another replicate."""
    count = table.num_rows
    begins = np.diff(positions).astype(bool) | np.diff(np.asarray(table["replicate"])).astype(bool)
    firsts = np.flatnonzero(np.r_[True, begins]) if count else np.zeros(1, dtype=int)
    seconds = np.asarray(table["seconds"])[firsts].sum() if count else 0.0
    groups = max(count * table.num_columns // _GROUP, int(seconds / _GROUP_SECONDS))
    groups = min(max(groups, 1), _MOST_GROUPS)
    wanted = np.arange(groups) * count // groups
    places = np.searchsorted(firsts, wanted)
    return np.unique(firsts[places[places < len(firsts)]]).tolist()


def _divide(segments, firsts) -> Iterator[list[Segment]]:
    """Yield the segments of each row group; firsts are the replicates that further ones begin."""
    ahead = list(reversed(firsts))
    some: list[Segment] = []
    for segment in segments:
        start = segment.start
        while ahead and ahead[-1][0] == segment.cell and start <= ahead[-1][1] < segment.stop:
            _, stop = ahead.pop()
            yield [*some, Segment(segment.cell, start, stop)] if stop > start else some
            some, start = [], stop
        some.append(Segment(segment.cell, start, segment.stop))
    yield some


def _footer_with(content, coverage) -> bytes:
    """Return the footer of a file, with what a part's says beside that."""
    written = pq.read_metadata(pa.BufferReader(content))
    empty, appended = pa.BufferOutputStream(), pa.BufferOutputStream()
    with pq.ParquetWriter(empty, written.schema.to_arrow_schema(), store_schema=False) as writer:
        writer.add_key_value_metadata({_COVERAGE: coverage})
    metadata = pq.read_metadata(pa.BufferReader(empty.getvalue()))
    metadata.append_row_groups(written)
    metadata.write_metadata_file(appended)
    return _footer_of(appended.getvalue().to_pybytes())


def _footer_of(content):
    """Return the footer with which a Parquet file ends."""
    size = int.from_bytes(content[-8:-4], "little")
    return content[-8 - size : -8]


def _tail(footer):
    """Return what stands behind the row groups."""
    size = len(footer).to_bytes(4, "little")
    return _COPY + size + footer + footer + size + _MAGIC


def digest(content: bytes) -> str:
    """Return the digest of bytes: names of parts, so whoever else writes here takes another."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


# --- reading ---


def read_part(path: Path) -> Part:
    """Return what a part holds; of a damaged one what can be read, and what cannot.

    A ValueError says that there is no memory for it.
    """
    return _read(path, lambda file: file.part(path), lambda reason: Part(path, (), damage=reason))


def read_rows(
    part: Part, columns: Collection[str] | None = None, without: Sequence[str] = ()
) -> pa.Table:
    """Return some columns of a part's rows, or all, but for some.

    Damaged says that they are not what was written, FileNotFoundError that the part has been put
    into another one meanwhile, and ValueError that there is no memory for them.
    """

    def rows(file):
        if set(part.groups) - set(file.intact):
            raise Damaged("its content has changed")
        names = [
            name
            for name in file.kinds
            if name not in without and (columns is None or name in columns)
        ]
        table = file.rows(part.groups, names)
        for index, name in enumerate(table.column_names):
            if file.kinds[name] == "string" and name not in _REPEATED:
                table = table.set_column(index, name, file.texts(table[name]))
        return table

    def refuse(_):
        raise Damaged(f"{part.path} has been damaged since; the sweep computes it again")

    return _read(part.path, rows, refuse)


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


class _TooLarge(Exception):
    """There is no memory for it."""


def _read(path, read, refuse):
    """Return what read makes of an open file, or refuse of why it is none of linrep's."""
    try:
        return read(_File(path))
    except _TooLarge as error:
        raise ValueError(str(error)) from None
    except MemoryError:
        raise ValueError(f"there is no memory to read {path}") from None
    except Damaged as error:
        reason = str(error)
    except _FOREIGN as error:
        if getattr(error, "errno", None) is not None:  # what the system says, not the file
            raise
        reason = "it is none that linrep has written"
    return refuse(f"nothing of it can be read: {reason}")


@dataclass(frozen=True)
class _Group:
    """Row groups with one digest, where their bytes end, and the replicates that they cover."""

    places: tuple[int, ...]
    stop: int
    digest: str  # empty where all of the file has been looked at
    segments: tuple[Segment, ...]


class _File:
    """The content of a part's file, of which the footer is right."""

    def __init__(self, path: Path):
        self._name = path.name
        self._require(path.stat().st_size // 8)
        self._content, self._is_whole = _with_footer(path.read_bytes(), path.stem)
        self._metadata = pq.read_metadata(pa.BufferReader(self._content))
        self.kinds = kinds_of(self._metadata.schema.to_arrow_schema())
        known = set(self.kinds.values()) <= _KINDS and all(map(_text, self.kinds))
        if not known or len(self.kinds) < self._metadata.num_columns:
            raise Damaged("it has columns that linrep does not write")
        if any(self.kinds.get(name) != kind for name, kind in _FIXED.items()):
            raise Damaged("it lacks columns that all parts have")
        groups = [self._metadata.row_group(each) for each in range(self._metadata.num_row_groups)]
        self._rows = [integer("rows", group.num_rows, minimum=0) for group in groups]
        rows = sum(self._rows)
        if rows > _MOST_ROWS * len(self._content):
            raise Damaged(f"its footer counts {rows} rows in {len(self._content)} bytes")
        self._require(max(rows * len(self.kinds), sum(g.total_byte_size for g in groups) // 8))
        said = json.loads(self._metadata.metadata[_COVERAGE])
        if not isinstance(said, dict):
            raise Damaged("its footer is none that linrep writes")
        self._generation = integer("generation", said["generation"], minimum=0)
        self._failed = integer("failed", said["failed"], minimum=0, maximum=rows)
        self._machine = _machine(said.get("machine", ""))
        self._code = _text(said.get("code", ""))
        self._is_old = "groups" not in said
        if self._is_old:
            every = tuple(range(len(groups)))
            self._groups = [_Group(every, len(self._content), "", _segments(said["segments"]))]
            self._returned = tuple(name for name in self.kinds if name not in RESERVED)
            self._without: tuple[Segment, ...] = ()
        else:
            self._groups = [
                _Group((index,), integer("stop", stop, minimum=0), _text(name), _segments(some))
                for index, (stop, name, some) in enumerate(said["groups"])
            ]
            self._returned = tuple(map(_text, said["returned"]))
            self._without = _segments(said["without rows"])
        fits = len(self._groups) == (1 if self._is_old else len(groups))
        if not fits or not set(self._returned) <= set(self.kinds):
            raise Damaged("its footer does not fit its rows")

    def part(self, path: Path) -> Part:
        """Return what can be read of it."""
        intact = self.intact
        if not intact:
            raise Damaged("its content is not what was written")
        keys = self.rows(intact, _NEVER_EMPTY)
        names, code = cells_of(keys)
        replicate, row = np.asarray(keys["replicate"]), np.asarray(keys["row"])
        outcomes = set(pc.unique(keys["status"]).to_pylist())
        gaps = None in names or any(column.null_count for column in keys.columns)
        same = (np.diff(code) == 0) & (np.diff(replicate) == 0)
        if (
            gaps
            or not outcomes <= {"ok", "failed"}
            or not np.isfinite(np.asarray(keys["seconds"])).all()
            or (row < 0).any()
            or (same & (np.diff(row) <= 0)).any()
        ):
            raise Damaged("its rows are none that linrep writes")
        every = [piece for group in self._groups for piece in group.segments]
        total = sum(map(len, every))
        if sum(map(len, Coverage(every).segments())) != total:
            raise Damaged("its footer names replicates twice")
        covered: list[Segment] = []
        start = 0
        for index in intact:
            stop = start + sum(self._rows[each] for each in self._groups[index].places)
            there = list(_replicates_of(names, code[start:stop], replicate[start:stop]))
            covered += self._covered(self._groups[index].segments, there)
            start = stop
        is_whole = self._is_whole and len(intact) == len(self._groups)
        lost = total - sum(map(len, covered))
        return Part(
            path, in_order(covered), self._generation, start, min(self._failed, start), self.kinds,
            self._returned, self._machine, self._code, tuple(intact),
            damage="" if is_whole else f"{lost} of its {total} replicates lost",
        )  # fmt: skip

    def _covered(self, segments, there):
        """Return the replicates that count of a row group: those of which there are rows."""
        declared, present = Coverage(segments), Coverage(there)
        if sum(map(len, there)) != sum(map(len, present.segments())):
            raise Damaged("its rows are none that linrep writes")
        if any(True for piece in present.segments() for _ in declared.missing(piece)):
            raise Damaged("it has rows of replicates that its footer does not name")
        present.update(self._without)
        absent = [gap for piece in segments for gap in present.missing(piece)]
        if absent and not self._is_old:  # which did not say who returned no rows
            raise Damaged("its footer names replicates of which it has no rows")
        without = Coverage(absent)
        return [piece for segment in segments for piece in without.missing(segment)]

    @cached_property
    def intact(self) -> list[int]:
        """The groups whose bytes are what was written."""
        starts = [0, *(group.stop for group in self._groups)]
        return [
            index
            for index, group in enumerate(self._groups)
            if group.digest in ("", digest(self._content[starts[index] : group.stop]))
        ]

    def rows(self, groups: Iterable[int], columns: Iterable[str]) -> pa.Table:
        """Return some columns of the rows of some groups; texts as dictionaries."""
        columns = list(columns)
        texts = [name for name in columns if self.kinds[name] == "string"]
        places = [index for group in groups for index in self._groups[group].places]
        # Arrow's own buffer: an interrupt in a call of Python's could end the process in Arrow.
        buffer = pa.BufferReader(self._content)
        with pq.ParquetFile(buffer, metadata=self._metadata, read_dictionary=texts) as file:
            # Arrow's threads may be at work when the process ends, and abort it then.
            table = file.read_row_groups(places, columns=columns, use_threads=False)
        return table.replace_schema_metadata(None)

    def texts(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return a column of texts of which `rows` has each once: few bytes may be many texts."""
        lengths = [
            np.asarray(pc.binary_length(chunk.dictionary).fill_null(0), dtype=np.int64)
            for chunk in column.chunks
        ]
        each = zip(lengths, column.chunks, strict=True)
        total = sum(int(some[np.asarray(chunk.indices.drop_null())].sum()) for some, chunk in each)
        self._require(total // 8)
        # Arrow has no array of more bytes.
        steps = [max(1, _MOST_BYTES // max(1, int(some.max(initial=0)))) for some in lengths]
        pieces = [
            chunk.slice(start, step).cast(pa.string())
            for step, chunk in zip(steps, column.chunks, strict=True)
            for start in range(0, len(chunk), step)
        ]
        return pa.chunked_array(pieces, pa.string())

    def _require(self, numbers):
        try:
            memory.require(
                "its rows", numbers, instead="read it where there is more", part=self._name
            )
        except ValueError as error:
            raise _TooLarge(str(error)) from None


def _with_footer(content, name):
    """Return a file's content with the right footer, and whether that was in its place."""
    footer = _footer_of(content)
    before = content[: -8 - len(footer)]
    if digest(footer) != name:
        before, _, copy = content.rpartition(_COPY)
        footer = copy[4 : 4 + int.from_bytes(copy[:4], "little")]
    if digest(footer) == name:
        tail = _tail(footer)
        return (content, True) if content.endswith(tail) else (before + tail, False)
    if digest(content) == name:  # of an earlier version
        return content, True
    raise Damaged("its footer is not what was written")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("must be a text")
    value.encode()  # half a surrogate pair is none
    return value


def _machine(text) -> str:
    """Return what computed the rows: of linrep's making, or no JSON."""
    try:
        said = json.loads(_text(text))
    except ValueError:
        return text
    if isinstance(said, dict):
        listed = [each for value in said.values() if isinstance(value, list) for each in value]
        inner = [*listed, *(value for value in said.values() if isinstance(value, dict))]
        kinds = said.get("BLAS", []), said.get("versions", {})
        if list(map(type, kinds)) != [list, dict] or not all(
            isinstance(each, dict) and not any(isinstance(v, dict | list) for v in each.values())
            for each in inner
        ):
            raise Damaged("its footer names no machine that linrep writes")
    return text


def _segments(listed) -> tuple[Segment, ...]:
    """Return segments as a footer has them, checked."""
    return tuple(
        Segment(
            _text(cell),
            integer("start", start, minimum=0, maximum=MOST_REPLICATES),
            integer("stop", stop, minimum=start + 1, maximum=MOST_REPLICATES),
        )
        for cell, start, stop in listed
    )


def in_order(segments: Iterable[Segment]) -> tuple[Segment, ...]:
    """Return segments joined and in order, of each cell together, cells as they come."""
    places: dict[str, int] = {}
    for segment in segments:
        places.setdefault(segment.cell, len(places))
    joined = Coverage(segments).segments()
    return tuple(sorted(joined, key=lambda piece: (places[piece.cell], piece.start)))


def _replicates_of(cells, positions, replicate) -> Iterator[Segment]:
    """Yield the replicates that rows are of, in as many segments as the rows are in."""
    if not len(positions):
        return
    steps = np.diff(replicate)
    begins = np.diff(positions).astype(bool) | ((steps != 0) & (steps != 1))
    starts = np.flatnonzero(np.r_[True, begins])
    for start, stop in zip(starts, [*starts[1:], len(positions)], strict=True):
        yield Segment(cells[positions[start]], int(replicate[start]), int(replicate[stop - 1]) + 1)

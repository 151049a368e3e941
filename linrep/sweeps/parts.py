"""Part files: the rows of finished chunks as Parquet, named by a digest of their content.

The footer says which replicates of which cells the rows are of, and which machine computed them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from linrep import _atomic as files
from linrep.sweeps.coverage import Coverage, Segment

_COVERAGE = b"linrep.coverage"
_REPEATED = ("stream", "versions", "cell")  # long texts that few distinct values make up


@dataclass(frozen=True)
class Part:
    """A part's file and what it holds.

    Attributes
    ----------
    path : Path
    segments : tuple of Segment
        The replicates that its rows are of.
    generation : int
        Rows of a later generation replace those of earlier ones.
    rows, failed : int
        How many rows, and how many of them failed.
    columns : mapping of str to str
        Types of the columns by name, in order.
    machine : str
        What computed them, as JSON; empty where that has not been stored.
    """

    path: Path
    segments: tuple[Segment, ...]
    generation: int
    rows: int
    failed: int
    columns: Mapping[str, str]
    machine: str

    @property
    def replicates(self) -> int:
        """How many replicates it covers."""
        return sum(map(len, self.segments))


class Damaged(ValueError):
    """A part's content is not what was written."""


def write_part(
    folder: Path, table: pa.Table, segments: Iterable[Segment], generation: int, machine: str
) -> Part:
    """Write rows as a part of a folder, and return it."""
    segments = tuple(segments)
    failed = pc.sum(pc.equal(table["status"].cast(pa.string()), "failed")).as_py() or 0
    coverage = {
        "segments": [[s.cell, s.start, s.stop] for s in segments],
        "generation": generation,
        "failed": failed,
        "machine": machine,
    }
    metadata = {_COVERAGE: json.dumps(coverage, ensure_ascii=False).encode()}
    texts = []
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):  # plain for other readers
            table = table.set_column(place, field.name, table[field.name].cast(pa.string()))
        if pa.types.is_string(table.schema.field(place).type):
            texts.append(field.name)
    buffer = pa.BufferOutputStream()
    pq.write_table(  # numbers seldom repeat: finding that out takes longer than writing them
        table.replace_schema_metadata(metadata), buffer, compression="zstd", use_dictionary=texts
    )
    content = buffer.getvalue().to_pybytes()
    path = folder / f"{digest(content)}.parquet"
    files.write(path, content)
    columns = _types(table.schema)
    return Part(path, segments, generation, table.num_rows, failed, columns, machine)


def read_part(path: Path) -> Part | None:
    """Return what a part's footer says; None if the file is damaged."""
    try:
        content = path.read_bytes()
        if path.stem != digest(content):
            return None
        metadata = pq.read_metadata(pa.BufferReader(content))
        coverage = json.loads(metadata.metadata[_COVERAGE])
        segments = tuple(Segment(*segment) for segment in coverage["segments"])
        return Part(
            path, segments, coverage["generation"], metadata.num_rows, coverage["failed"],
            _types(metadata.schema.to_arrow_schema()), coverage.get("machine", ""),
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError) as error:  # what a damaged file gives
        if getattr(error, "errno", None) is not None:  # what the system says, not the file
            raise
        return None


def read_rows(
    path: Path, columns: Collection[str] | None = None, without: Sequence[str] = ()
) -> pa.Table:
    """Return some columns of a part, or all, but for some.

    Raises
    ------
    Damaged
        If the content is not what was written.
    FileNotFoundError
        If the part has been put into another one meanwhile.
    """
    content = path.read_bytes()
    if path.stem != digest(content):
        raise Damaged(f"{path} has been damaged since; the sweep computes it again")
    # Arrow's own buffer: an interrupt in a call of Python's could end the process in Arrow.
    with pq.ParquetFile(pa.BufferReader(content), read_dictionary=_REPEATED) as file:
        columns = [
            name
            for name in file.schema_arrow.names
            if name not in without and (columns is None or name in columns)
        ]
        # Arrow's threads may be at work when the process ends, and abort it then.
        table = file.read(columns=columns, use_threads=False)
        return table.replace_schema_metadata(None)


def _types(schema):
    return {field.name: str(field.type) for field in schema}


def rank(part: Part) -> tuple:
    """Return what parts are sorted by: those that come first count where two have the same."""
    # By machine before name: putting parts together changes names alone.
    return -part.generation, part.failed > 0, part.machine, part.path.name


def shared_out(parts: Iterable[Part], taken: Coverage) -> Iterator[tuple[Part, list[Segment]]]:
    """Yield parts and what of their segments is not taken, and take it."""
    for part in parts:
        owned = [piece for segment in part.segments for piece in taken.missing(segment)]
        taken.update(part.segments)
        yield part, owned


def rows_within(
    part: Part,
    segments: Sequence[Segment],
    columns: Collection[str] | None = None,
    without: Sequence[str] = (),
) -> pa.Table:
    """Return some columns of those rows of a part that are of some of its segments' replicates."""
    table = read_rows(part.path, columns, without)
    whole = sum(map(len, segments)) == part.replicates
    return table if whole else select_rows(table, segments)


def digest(content: bytes) -> str:
    """Return the name of a part with this content: whoever else writes here finds another."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


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

"""Parts: rows of finished chunks, which replicates they are of, what computed them by what code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linrep.sweeps.coverage import Coverage, Segment


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
    returned : tuple of str
        Those of them that the function returned; the others are gaps, or of every row.
    machine : str
        What computed them, as JSON; empty where that has not been stored.
    code : str
        By what code, as JSON; empty where that has not been stored.
    damage : str
        Why it does not count, in a few words; empty for a whole part.
    """

    path: Path
    segments: tuple[Segment, ...]
    generation: int = 0
    rows: int = 0
    failed: int = 0
    columns: Mapping[str, str] = field(default_factory=dict)
    returned: tuple[str, ...] = ()
    machine: str = ""
    code: str = ""
    damage: str = ""

    @property
    def replicates(self) -> int:
        """How many replicates it covers."""
        return sum(map(len, self.segments))


class Damaged(ValueError):
    """A part's content is not what was written."""


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

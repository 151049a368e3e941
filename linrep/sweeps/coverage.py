"""Which replicates of which cells: segments, and sets of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


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

"""What a sweep has left to compute, cut into chunks of about the right length."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator

from linrep.sweeps.chunks import Chunk
from linrep.sweeps.parts import Coverage, Segment

_FIRST = 1  # replicates in a chunk before anything is known of their length
_MOST_SEGMENTS = 2_000  # cells in a chunk


class Todo:
    """What is to be computed, cut into chunks of about the right length."""

    def __init__(self, sweep, stored, index, shards, seconds, *, reverse, retry_failed):
        self._stored = stored
        self._seconds = seconds
        shares = list(_shares(sweep, index, shards, reverse))
        self.total = sum(map(len, shares))
        self.generation = 0
        self._done = stored.done()
        if retry_failed:
            self._done = _without_failures(stored, shares)
            self.generation = 1 + max((part.generation for part in stored.parts()), default=0)
        self._retrying = retry_failed
        missing = [piece for each in shares for piece in self._done.missing(each)]
        self._queue = deque(_from_the_middle(missing) if reverse else missing)
        self.left = sum(map(len, self._queue))
        self.machines = tuple(filter(None, stored.machines())) if self.left else ()
        self._seen = {part.path.name for part in stored.parts()}
        self._looked = time.monotonic()
        self._rate = _FIRST / seconds  # replicates per second

    @property
    def counts(self) -> tuple[int, int]:
        """How many replicates are done of how many that were asked for."""
        return self.total - self.left, self.total

    def next(self, workers) -> list[Segment]:
        """Return the next chunk's segments, empty if there are none."""
        self._look_for_others()
        size = max(_FIRST, min(int(self._rate * self._seconds), self.left // (2 * workers)))
        chosen: list[Segment] = []
        while self._queue and size > 0 and len(chosen) < _MOST_SEGMENTS:
            segment = self._queue.popleft()
            pieces = list(self._done.missing(segment))
            if not pieces:
                self.left -= len(segment)
                continue
            self.left -= len(segment) - sum(map(len, pieces))
            first, *others = pieces
            if len(first) > size:
                others.insert(0, Segment(first.cell, first.start + size, first.stop))
                first = Segment(first.cell, first.start, first.start + size)
            self._queue.extendleft(reversed(others))
            chosen.append(first)
            size -= len(first)
        return chosen

    def finish(self, segments: list[Segment], chunk: Chunk) -> None:
        """Take note of a finished chunk, and of what it left undone."""
        covered = Coverage()
        for segment in chunk.segments:
            covered.add(segment)
            self._done.add(segment)
        remaining = [piece for segment in segments for piece in covered.missing(segment)]
        self._queue.extendleft(reversed(remaining))
        count = sum(map(len, chunk.segments))
        self.left -= count
        self._rate = count / max(chunk.seconds, 1e-9)

    def _look_for_others(self):
        """Once a second, find out what another process has stored here."""
        if self._retrying or time.monotonic() - self._looked < 1.0:
            return
        for part in self._stored.parts():
            if part.path.name not in self._seen:
                self._seen.add(part.path.name)
                self._done.update(part.segments)
        self._looked = time.monotonic()


def _shares(sweep, index, shards, reverse) -> Iterator[Segment]:
    """Yield a shard's share of every cell: blocks of replicates, dealt out in turn."""
    # Dealt out by name: shards that list the cells in different orders have different shares, too.
    places = {name: position for position, name in enumerate(sorted(sweep.names))}
    for name in reversed(sweep.names) if reverse else sweep.names:
        block = (index - 1 + places[name]) % shards
        start, stop = (sweep.replicates * edge // shards for edge in (block, block + 1))
        if stop > start:
            yield Segment(name, start, stop)


def _from_the_middle(segments):
    """Yield the far half of each segment before the near one, which another process is at."""
    for segment in segments:
        middle = (segment.start + segment.stop) // 2
        for start, stop in ((middle, segment.stop), (segment.start, middle)):
            if start < stop:
                yield Segment(segment.cell, start, stop)


def _without_failures(stored, shares):
    """Return which replicates of the shares are stored and have not failed."""
    done, failed = stored.done(), stored.failures()
    replicates = zip(failed["cell"], map(int, failed["replicate"]), strict=True)
    again = Coverage(Segment(cell, number, number + 1) for cell, number in replicates)
    pieces = (piece for share in shares for piece in done.within(share.cell, share.stop))
    return Coverage(fine for piece in pieces for fine in again.missing(piece))

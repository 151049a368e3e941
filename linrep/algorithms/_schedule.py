"""Who takes part in each round."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linrep.algorithms.resumable import Resumable
from linrep.kernels import designs

AHEAD = 256  # rounds drawn at a time, since a call costs more than one
AT_MOST = 2**20  # participants drawn at a time


class Schedule(Resumable):
    """Participants of the rounds to come, of which some are drawn ahead.

    The generator is used for nothing else, as more rounds may be drawn than are run.
    """

    def __init__(self, rng: np.random.Generator, n: int, participants: int):
        ahead = max(1, min(AHEAD, AT_MOST // participants))
        self.participants = participants
        self._rng, self._order = rng, np.arange(n)
        self._drawn = np.empty((ahead, participants), dtype=np.int64)
        self._draw()

    def next(self, rounds: int) -> NDArray[np.int64]:
        """Return the participants of at most so many further rounds, a row for each."""
        if self._used == len(self._drawn):
            self._draw()
        rows = self._drawn[self._used : self._used + rounds]
        self._used += len(rows)
        return rows

    def give_back(self, schedule: NDArray[np.int64], completed: int) -> None:
        """Take back what `next` returned, but for these rounds: a run ended after them."""
        self._used -= len(schedule) - completed

    def save(self) -> tuple:
        """Return what `restore` needs to go on from here."""
        return *self._before, self._used

    def restore(self, saved: tuple) -> None:
        """Go to where `save` was called."""
        self._rng.bit_generator.state, self._order[:], used = saved
        self._draw()
        self._used = used

    def _draw(self):
        self._before = self._rng.bit_generator.state, self._order.copy()
        designs.draw_participants(self._rng, self._order, self._drawn)
        self._used = 0


class InTurn(Resumable):
    """Disjoint groups of clients, shuffled, one for each round, of which no client is in two."""

    buffers = ("_groups",)
    kept = ("_used",)

    def __init__(self, rng: np.random.Generator, n: int, participants: int):
        groups = n // participants
        order = rng.permutation(n)[: groups * participants]
        self._groups, self._used = order.reshape(groups, participants), 0

    def next(self, rounds: int) -> NDArray[np.int64]:
        """Return the groups of at most so many further rounds, a row for each."""
        groups = self._groups[self._used : self._used + rounds]
        self._used += len(groups)
        return groups

    def give_back(self, schedule: NDArray[np.int64], completed: int) -> None:
        """Take back what `next` returned, but for these rounds: a run ended after them."""
        self._used -= len(schedule) - completed

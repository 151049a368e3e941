"""Who takes part in each round."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linrep.algorithms.resumable import Resumable
from linrep.kernels import designs

AT_MOST = 2**20  # participants drawn at a time


class Schedule(Resumable):
    """Participants of the rounds to come, drawn many rounds at a time: a call costs more than one.

    Parameters
    ----------
    rng : numpy.random.Generator
        Used for nothing else, as more rounds may be drawn than are run.
    n, participants : int
        Clients, and how many of them a round has.
    ahead : int
        Rounds to draw at a time; fewer where their participants would fill more than 8 MB.
    """

    def __init__(self, rng: np.random.Generator, n: int, participants: int, ahead: int):
        ahead = max(1, min(ahead, AT_MOST // participants))
        self._rng, self._order = rng, np.arange(n)
        self._drawn = np.empty((ahead, participants), dtype=np.int64)
        self._used = ahead
        self._note()

    @property
    def participants(self) -> int:
        """Clients of a round."""
        return self._drawn.shape[1]

    @property
    def ahead(self) -> int:
        """Rounds that are drawn at a time."""
        return len(self._drawn)

    def next(self, rounds: int) -> NDArray[np.int64]:
        """Return the participants of at most so many further rounds, a row for each."""
        if self._used == len(self._drawn):
            self._note()
            designs.draw_participants(self._rng, self._order, self._drawn)
            self._used = 0
        rows = self._drawn[self._used : self._used + rounds]
        self._used += len(rows)
        self._taken += len(rows)
        return rows

    def give_back(self, rounds: int) -> None:
        """Take back the last rows of what `next` returned: a run ended before them."""
        self._used -= rounds
        self._taken -= rounds

    def save(self) -> tuple:
        """Return what `restore` needs to go on from here."""
        return *self._before, self._taken

    def restore(self, saved: tuple) -> None:
        """Go to where `save` was called, on a schedule that may draw other numbers ahead."""
        self._rng.bit_generator.state, self._order[:], taken = saved
        skipped = np.empty((taken, self.participants), dtype=np.int64)
        designs.draw_participants(self._rng, self._order, skipped)
        self._used = len(self._drawn)
        self._note()

    def _note(self):
        """Note where rows are drawn from next; from there, `save` counts those taken."""
        self._before, self._taken = (self._rng.bit_generator.state, self._order.copy()), 0


class InTurn(Resumable):
    """Disjoint groups of clients, one for each round, of which no client is in two.

    Parameters
    ----------
    rng : numpy.random.Generator
        Shuffles the clients.
    n, participants : int
        Clients, and how many of them a group has.
    """

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

    def give_back(self, rounds: int) -> None:
        """Take back the last rows of what `next` returned: a run ended before them."""
        self._used -= rounds

"""How long a run of networks takes, from a few of its rounds."""

from __future__ import annotations

import time
from contextvars import ContextVar
from typing import Any

from linrep.sweeps.chunks import call
from linrep.sweeps.grid import Cell
from linrep.sweeps.specification import Specification

#: Rounds that are run: the first takes longer than others, the second is not evaluated.
ROUNDS = 3
_current: ContextVar[Trial | None] = ContextVar("_current", default=None)


class Trial:
    """What is measured of a run: its rounds, and how long those take that are run of them."""

    def __init__(self):
        self.rounds = self.evaluations = 0
        self._clock: list[float] = []

    def count(self, rounds: int, evaluations: int) -> None:
        """Add rounds that the whole run has, and after how many of them it is evaluated."""
        self.rounds += rounds
        self.evaluations += evaluations

    def settings(self, rounds: int, evaluations: int) -> dict[str, Any]:
        """Count a run, and return what of it is run: few rounds, evaluated after two of them.

        The start is always evaluated, too.
        """
        self.count(rounds, evaluations)
        self._clock = []
        return {"rounds": ROUNDS, "record": [1, ROUNDS], "callback": self._note}

    def whole(self, elapsed: float) -> float:
        """Return how long the whole run takes, if so long has passed with the rounds of a trial."""
        if not self._clock:  # nothing was left out
            return elapsed
        _, first, second, third = self._clock
        each = second - first
        evaluation = max(0.0, third - second - each)
        rest = (self.rounds - ROUNDS) * each + (self.evaluations - 3) * evaluation
        return max(0.0, elapsed + rest)

    def _note(self, round, metrics):
        self._clock.append(time.perf_counter())
        if round == ROUNDS:
            raise Ended


class Ended(Exception):
    """A trial has seen what it needs of a run."""


def current() -> Trial | None:
    """Return the trial that is under way, if one is."""
    return _current.get()


def seconds(sweep: Specification, cell: Cell) -> float:
    """Return about how long a run of a cell takes, from a few rounds of it run now.

    What follows the last round is not seen, such as fine-tuning.

    Parameters
    ----------
    sweep : Specification
        Its function calls :func:`linrep.figures.networks.train`, or what it does is run as a whole.
    cell : mapping
        One of its cells.
    """
    trial = Trial()
    token = _current.set(trial)
    began = time.perf_counter()
    try:
        call(sweep.function, cell, sweep.keys(cell), 0, sweep.settings)
    except Ended:
        pass
    finally:
        _current.reset(token)
    return trial.whole(time.perf_counter() - began)

"""pFL^MF's planar figure: sizes, and how its solutions are found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import linrep as lr
from linrep.algorithms import personalized
from linrep.figures.sizes import Sizes, size
from linrep.problems.personal import Planar

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Figure1(Sizes):
    """Figure 1: personalized models in the plane, four ways to relate them."""

    shift: tuple[float, ...] = size(
        (0.0, 2.0), "Means of the points, in both coordinates: a panel each.", most=3, minimum=0.0
    )
    n: int = size(12, "Points, one for each client.", minimum=2)
    deltas: int = size(11, "Bounds on the distances, from 0 to the diameter.", quick=6, minimum=2)
    rounds: int = size(20_000, "Rounds of pFL^MF, at most.")

    def line(self, picture: Planar, **run: Any) -> Array:
        """Return the models of rank 1 that pFL^MF finds from random factors.

        Parameters
        ----------
        picture : Planar
        **run
            ``rng`` and ``record``.
        """
        n, s = len(picture.local), float(np.linalg.norm(picture.local, 2))
        # Both blocks of the Hessian have norm 2 s/n at the balanced optimum.
        state = lr.pflmf(
            picture.problem,
            k=1,
            step_size=0.2 * n / s,
            scale=0.3 * np.sqrt(s),
            rounds=self.rounds,
            tolerance=1e-9 * s**1.5 / n,
            stationarity=False,
            **run,
        ).state
        return state["V"] @ state["U"].T


def diameter(points: Array) -> float:
    """Return the largest distance of two points."""
    return float(np.linalg.norm(points[:, None] - points, axis=2).max())


def constrained(picture: Planar, share: float) -> Array:
    """Return the models whose distances are bounded by a share of the points' diameter."""
    # A step of 1/L leads to the points themselves, so that one projection solves it.
    trace = personalized.constrained(
        picture.problem, delta=share * diameter(picture.local), rounds=1
    )
    return trace.state["theta"]

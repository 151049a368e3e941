"""States of rank 1 on 16 items, in floating point, that counterexamples have in fractions."""

import numpy as np

from linrep.problems import SideInformationCompletion
from linrep.theory.perfedsi_rounds import Limits, State

ITEMS = 16
FRAME = np.full(ITEMS, 0.25)
ACROSS = 0.25 * np.resize([1.0, -1.0], ITEMS)  # orthogonal to FRAME, of length 1
ROOM = 1.0 + 1e-13


def state(star_U, U, V, *, star_V=(1.0,), Z=((1.0,),), clients=1) -> State:
    """Return a state of rank 1; every row of Z stands for so many clients."""
    star_U, star_V, U, V = (np.array(part, float)[:, None] for part in (star_U, star_V, U, V))
    return State(SideInformationCompletion(star_U, star_V, np.repeat(Z, clients, axis=0)), U, V)


def of_sides(c, *, error=0.01) -> State:
    """Return V at c times its length in the truth; the error is along the truth."""
    return state(FRAME, (1.0 + error) / c * FRAME, [c])


def of_items(c, *, error=0.01) -> State:
    """Return U at c times its length, V at 1/c; the error in U is orthogonal to the truth."""
    return state(FRAME, c * FRAME + error * ACROSS, [1.0 / c])


def edge(clients=1, t=0.01) -> tuple[State, Limits]:
    """Return V at its limit, c = 1: every other item leads out of the event; the error is 2 t."""
    size, error = (1.0 - t**2) / (1.0 + t**2), 2.0 * t / (1.0 + t**2)
    star = size * FRAME - error * ACROSS
    return state(star, size * FRAME, [1.0], clients=clients), Limits(ROOM, 1.1, 1.1)


def fitting(d, w) -> State:
    """Return V with w along the second client's z, whose ratings are 0.

    A step of size d fits all of them, whatever its item.
    """
    star = np.full(d, d**-0.5)
    return state(star, star, [1.0, w], star_V=(1.0, 0.0), Z=np.eye(2), clients=2)

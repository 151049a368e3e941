"""Rounds in which the loss falls as slowly as the event of Definition 3.1 allows."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from linrep.claims import Cases
from linrep.theory import perfedsi as theory

_CLIENTS = ((1, 1, 1), (1, -1, 1), (1, 1, -1), (1, -1, -1))  # orthogonal columns
_ERROR = Fraction(1, 1000)


class Slow(NamedTuple):
    """How unbalanced factors are, sigma_1/sigma_r, and c_z, a square."""

    c: int
    condition: int
    c_z: int


#: Where powers show: at 1.05 times the rate that is possible, or less.
CORNERS = (
    Slow(1, 1, 1),
    Slow(2**40, 1, 1),
    Slow(1, 2**80, 1),
    Slow(1, 1, 2**20),
    Slow(2**40, 2**80, 2**10),
)


def _start(at: Slow) -> tuple[list, list]:
    """Return U (2, 2) and V (3, 2), M* having the diagonal 1, 1/condition.

    V's second column has the norm c; its error is outside of the first two directions, and so small
    that it moves U by less.
    """
    weak = Fraction(1, at.condition)
    U = [[Fraction(1), Fraction(0)], [Fraction(0), weak / at.c]]
    V = [
        [Fraction(1), Fraction(0)],
        [Fraction(0), Fraction(at.c)],
        [Fraction(0), weak * _ERROR / at.c],
    ]
    return U, V


def _loss(U, V, Z, weak) -> Fraction:
    """Return the mean of the clients' losses."""
    total = Fraction(0)
    for z in Z:
        v = [sum(V[j][a] * z[j] for j in range(3)) for a in range(2)]
        for i, star in enumerate((z[0], weak * z[1])):
            total += (U[i][0] * v[0] + U[i][1] * v[1] - star) ** 2
    return total / 2 / len(Z)


def _ends(U, V, Z, weak, eta) -> Iterator[tuple[list, list]]:
    """Yield factors after a step of each client on each item."""
    for z in Z:
        v = [sum(V[j][a] * z[j] for j in range(3)) for a in range(2)]
        for i, star in enumerate((z[0], weak * z[1])):
            x = eta * (U[i][0] * v[0] + U[i][1] * v[1] - star)
            rows = [[u - x * v[a] * (row == i) for a, u in enumerate(U[row])] for row in range(2)]
            yield rows, [[w - x * z[j] * U[i][a] for a, w in enumerate(V[j])] for j in range(3)]


def falls(at: Slow, promise, *, rounds: int = 1) -> tuple[float, float, dict]:
    """Return the promised fall of L over the one that comes, at the largest step size, and 1.

    ``promise(setting)`` returns that step size and the fall in a round; T rounds have T - 1 of
    them. Nothing leaves the event, as steps are short: norms are those of V, c or a little more.
    """
    weak, root = Fraction(1, at.condition), round(at.c_z**0.5)
    Z = [(*z[:2], Fraction(z[2], root)) for z in _CLIENTS]
    setting = theory.Setting(
        d=2, p=3, k=2, smallest=float(weak), c=1.001 * at.c, mu=2.1, c_z=float(at.c_z)
    )
    step_size, promised = promise(setting)
    ends = [_start(at)]
    first = _loss(*ends[0], Z, weak)
    for _ in range(rounds):
        ends = [after for end in ends for after in _ends(*end, Z, weak, Fraction(step_size))]
    last = sum((_loss(*end, Z, weak) for end in ends), Fraction(0)) / len(ends)
    promised *= max(1, rounds - 1)
    instance = {**at._asdict(), "d": 2, "k": 3, "r": 2, "M": 4, "mu": 2.1, "T": rounds}
    fall = float(1 - last / first)
    return promised / fall if fall > 0.0 else np.inf, 1.0, instance


def corners(promise, *, rounds: int = 1, name: str, strength: str) -> Cases:
    """Compare at all corners."""
    cases = [falls(at, promise, rounds=rounds) for at in CORNERS]
    return Cases(cases, quantity="promised over measured fall of L", name=name, strength=strength)


def many_rounds(promise, rounds: int = 16) -> tuple[float, float, dict]:
    """Return the promised fall over the one that comes after many rounds, and 1.

    d = r = sigma_1 = c_z = 1, k = M = 2, z = (1, 1) and (1, -1): every sequence of participants is
    enumerated from U = 1, V = (1, 1/1000). Steps are a thousandth of the largest, so that c = 1.001
    is enough.
    """
    setting = theory.Setting(d=1, p=2, k=1, c=1.001, mu=1.001)
    step_size, promised = (share / 1000.0 for share in promise(setting))
    U, V = np.ones(1), np.array([[1.0, 1e-3]])
    first = _mean_loss(U, V)[0]
    for _ in range(rounds):
        after = []
        for sign in (1.0, -1.0):
            v = V[:, 0] + sign * V[:, 1]
            x = step_size * (U * v - 1.0)
            after.append((U - x * v, V - np.outer(x * U, [1.0, 1.0]) * [1.0, sign]))
        U, V = (np.concatenate(parts) for parts in zip(*after, strict=True))
    fall = 1.0 - _mean_loss(U, V).mean() / first
    return (rounds - 1) * promised / fall, 1.0, {"c": 1.001, "d": 1, "k": 2, "M": 2, "T": rounds}


def _mean_loss(U, V):
    return 0.5 * ((U * V[:, 0] - 1.0) ** 2 + (U * V[:, 1]) ** 2)

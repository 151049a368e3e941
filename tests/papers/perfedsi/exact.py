"""A round enumerated without rounding, for rank 1: what counterexamples are compared with.

Largest and least singular value of M* are 1. Items are a square number, so that frames of equal
entries are rational; rank 1 is small against items and clients.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import hadamard

Vector = Any  # an array of fractions
ITEMS, CLIENTS = 16, 100
_ROOT = 4  # of ITEMS


def fractions(values) -> Vector:
    """Return an array of fractions with the values of an array."""
    found = np.array(values, dtype=object)
    return np.vectorize(Fraction, otypes=[object])(found)


FRAME = fractions(np.ones(ITEMS, int)) / _ROOT
ACROSS = fractions(np.resize([1, -1], ITEMS)) / _ROOT  # orthogonal to FRAME, of length 1


class Limits(NamedTuple):
    """Constants of Definition 3.1."""

    c: Fraction
    mu: Fraction
    c_0: Fraction = Fraction(1)


@dataclass(frozen=True)
class Exact:
    """A truth of rank 1 and an iterate; every row of Z stands for so many clients."""

    star_U: Vector
    star_V: Vector
    Z: Vector
    U: Vector
    V: Vector
    copies: int = CLIENTS

    @property
    def clients(self) -> int:
        """Number of clients."""
        return self.copies * len(self.Z)

    def errors(self, U: Vector, V: Vector) -> Vector:
        """Return E z of the clients."""
        return np.outer(self.Z @ V, U) - np.outer(self.Z @ self.star_V, self.star_U)

    def losses(self, U: Vector, V: Vector) -> Vector:
        """Return the losses of the clients."""
        return (self.errors(U, V) ** 2).sum(axis=1) / 2

    def loss(self, U: Vector | None = None, V: Vector | None = None) -> Fraction:
        """Return L, of the iterate by default."""
        found = self.losses(self.U if U is None else U, self.V if V is None else V)
        return found.sum() / len(self.Z)

    def gradients(self, client: int, U: Vector, V: Vector) -> tuple[Vector, Vector]:
        """Return the gradients of a client's loss."""
        x, z = self.errors(U, V)[client], self.Z[client]
        return x * (z @ V), z * (x @ U)

    def gradient(self) -> tuple[Vector, Vector]:
        """Return the gradients of L at the iterate."""
        found = [self.gradients(m, self.U, self.V) for m in range(len(self.Z))]
        return tuple(sum(part) / len(self.Z) for part in zip(*found, strict=True))

    def step(self, client: int, item: int, eta: Fraction, U=None, V=None) -> tuple[Vector, Vector]:
        """Return the factors after (11) and (12), the residual of (12) transposed."""
        U, V = self.U if U is None else U, self.V if V is None else V
        z, after = self.Z[client], U.copy()
        residual = U[item] * (z @ V) - self.star_U[item] * (z @ self.star_V)
        after[item] -= eta * residual * (z @ V)
        return after, V - eta * residual * U[item] * z

    def regular(self, client: int, U: Vector, V: Vector, at: Limits, level: Fraction) -> bool:
        """Tell whether a client's factors are in A_{t,s}; level is L at the round's start."""
        x, d = self.errors(U, V)[client], len(U)
        square = x @ x
        return bool(
            max(U @ U, V @ V) <= at.c**2
            and d * max(U**2) <= at.mu
            and d * max(x**2) <= at.mu * square
            and square / 2 <= at.c * min(level, at.c_0)
        )

    def round(self, eta: Fraction, at: Limits) -> Iterator[list[tuple[Vector, Vector, bool]]]:
        """Yield for each row of Z its factors after a step on each item, and if they are regular.

        Regular from the start on: A_{t,0} and A_{t,1}.
        """
        level = self.loss()
        for client in range(len(self.Z)):
            before = self.regular(client, self.U, self.V, at, level)
            found = []
            for item in range(len(self.U)):
                U, V = self.step(client, item, eta)
                found.append((U, V, before and self.regular(client, U, V, at, level)))
            yield found

    def plain(self) -> dict[str, Any]:
        """Return plain values of the state."""
        parts = {"U": self.U, "V": self.V, "U*": self.star_U, "V*": self.star_V, "z": self.Z[0]}
        return {
            **{name: [str(value) for value in part] for name, part in parts.items()},
            "d": len(self.U), "M": self.clients, "k": len(self.V), "r": 1,
        }  # fmt: skip


ONE = fractions([1])
SMALL = Fraction(1, 100)


def of_sides(c: Fraction, *, error: Fraction = SMALL) -> Exact:
    """Return V at c times its length in the truth; the error is along the truth."""
    return Exact(FRAME, ONE, fractions([[1]]), (1 + error) / c * FRAME, c * ONE)


def of_items(c: Fraction, *, error: Fraction = SMALL, z: Fraction = Fraction(1)) -> Exact:
    """Return U at c times its length, V at 1/c; the error in U is orthogonal to the truth."""
    Z = z * fractions([[1]])
    return Exact(FRAME, ONE, Z, c * FRAME + error * ACROSS, ONE / c)


def edge(copies: int = 1, t: Fraction = SMALL) -> Exact:
    """Return V at its limit, c = 1: every other item leads out of the event; the error is 2 t."""
    size, error = (1 - t**2) / (1 + t**2), 2 * t / (1 + t**2)  # of squares that sum to 1
    star = size * FRAME - error * ACROSS
    return Exact(star, ONE, fractions([[1]]), size * FRAME, ONE.copy(), copies)


def many_sides(k: int = ITEMS, *, error: Fraction = SMALL) -> Exact:
    """Return a Hadamard matrix as side information, c_z = mu_z = 1, the error along the truth."""
    first = fractions(np.eye(k, dtype=int)[0])
    return Exact(FRAME, first, fractions(hadamard(k)), (1 + error) * FRAME, first.copy(), 7)


def fitting(d: int, c_0: Fraction) -> tuple[Exact, Limits]:
    """Return V with more along the second client's z, whose ratings are 0, and the event's limits.

    A step of size d fits all of them, whatever its item.
    """
    star = fractions(np.ones(d, int)) / round(d**0.5)
    Z = fractions(np.eye(2, dtype=int))
    V = fractions([1, min(Fraction(1, d), c_0)])
    limits = Limits(Fraction(2), Fraction(1), c_0)
    return Exact(star, fractions([1, 0]), Z, star.copy(), V, CLIENTS // 2), limits


def stuck() -> tuple[Exact, Limits]:
    """Return a state with V at its limit from which items do not move, or lead out of the event.

    Half of the items have no error; the others have one that makes V larger.
    """
    low, high, size = 39599, 40399, 40001  # low^2 + high^2 = 2 size^2: M* has norm 1
    star = fractions([low, high] * (ITEMS // 2)) / (4 * size)
    U = Fraction(low, size) * FRAME
    return Exact(star, ONE, fractions([[1]]), U, ONE, 20), Limits(Fraction(1), Fraction(3))

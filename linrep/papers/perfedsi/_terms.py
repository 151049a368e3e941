"""Iterates of a round at which the terms of a step's drift, (44) to (51), are evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from linrep.claims.measurements import Array
from linrep.papers.perfedsi._states import drawn
from linrep.theory import perfedsi as theory
from linrep.theory.perfedsi_rounds import Walks

_OTHERS = 1e-9  # share of the clients that see other directions than the first


class Iterate(NamedTuple):
    """Factors that all clients have, in a round that started with a loss L."""

    star: Array  # M*
    U: Array
    V: Array
    Z: Array  # a row for each kind of client
    shares: Array  # of the clients, by kind
    loss: float  # L
    c: float
    mu_z: float
    mu_U: float
    mu_E: float

    @property
    def sizes(self) -> tuple[int, int, int]:
        """d, k and r."""
        return len(self.U), *self.V.shape

    @property
    def mu(self) -> float:
        """The largest of the incoherences."""
        return max(self.mu_z, self.mu_U, self.mu_E)

    @property
    def clients(self) -> Iterator[tuple[float, Array, Array, Array]]:
        """Share, z, E z and V'z of each kind."""
        E = self.U @ self.V.T - self.star
        for share, z in zip(self.shares, self.Z, strict=True):
            yield float(share), z, E @ z, self.V.T @ z

    def plain(self) -> dict[str, float]:
        """Return its numbers."""
        d, k, r = self.sizes
        return {"c": self.c, "k": k, "d": d, "r": r, "mu_z": self.mu_z, "mu_U": self.mu_U}


def drawn_iterates(budget, rng) -> Iterator[Iterate]:
    """Yield random iterates of the server, with the least constants."""
    for _ in range(budget(60, 1000)):
        p, d = int(rng.integers(1, 5)), int(rng.choice([2, 4, 8]))
        state = drawn(
            rng,
            n=p + int(rng.integers(0, 4)),
            d=d,
            p=p,
            k=int(rng.integers(1, min(d, p) + 1)),
            error=10.0 ** rng.uniform(-3, 0),
            tilt=2.0 ** rng.uniform(-2, 2),
        )
        truth = state.truth
        limits = Walks(state, np.zeros((1, 0), dtype=int), 0.0).limits()
        mu_z = theory.scaling(truth.Z).mu_z
        shares = np.full(truth.n, 1.0 / truth.n)
        yield Iterate(
            truth.M, state.U, state.V, truth.Z, shares, state.loss, limits.c, mu_z, *limits[1:]
        )


def after_a_step(c, k, mu_z, side) -> Iterate:
    """Return an iterate after a step that makes the loss c times larger, d = r = sigma_1 = 1.

    U, V or both have the norm c then. z is the first direction, of squared norm mu_z k, but for
    very few clients, which see the k - 1 others and no error.
    """
    square = mu_z * k
    if side == "both":  # of one sign before, of the other after
        before = after = np.sqrt(1.0 + (c**2 - 1.0) / np.sqrt(c))
        u = v = c
    else:
        before, after = (c, 1.001 / c) if side == "U" else (1.001 / c, c)
        step = (1.0 + np.sqrt(c)) / (before**2 + after**2) * (before * after - 1.0)
        u, v = before - step * after, after - step * before
    start, end = before * after - 1.0, u * v - 1.0
    others = _OTHERS if k > 1 else 0.0
    loss = 0.5 * square * start**2 * (1.0 - others)
    needed = max(before, after, abs(u), abs(v), 0.5 * square * end**2 / loss, 1.0)
    shares = np.full(k, others / max(1, k - 1))
    shares[0] = 1.0 - others
    return Iterate(
        np.eye(1, k),
        np.array([[u]]),
        v * np.eye(k, 1),
        np.sqrt(square) * np.eye(k),
        shares,
        loss,
        needed,
        mu_z,
        u**2,
        1.0,
    )


def sharp_iterates() -> Iterator[Iterate]:
    """Yield iterates at which the bounds are attained, one or the other of them."""
    for side, c, k in product(("U", "V", "both"), (1.1, 2.0, 4.0, 16.0), (1, 4, 16, 64)):
        for mu_z in (1.0, c**2, 64.0 * c**2):
            yield after_a_step(c, k, mu_z, side)


def rounded(value: float) -> float:
    """Return a left side less what rounding may have added."""
    return value * (1.0 - 1e-9)

"""Rounds of many runs at once, with the local iterates of every client, and what they need."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep.claims.measurements import Array
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory

Places = NDArray[np.int64]

STARTS = ("near", "unbalanced", "random")
NEAR = 0.3  # size of the error in each factor, relative to the truth's


class Runs(NamedTuple):
    """What several runs are about, one after another along the first axis."""

    star_U: Array  # (R, d, k), a factor of the truth
    star_V: Array  # (R, p, k), the other one
    Z: Array  # (R, n, p)
    values: Array  # (R, k), singular values of M*
    U: Array  # (R, d, k), the server's iterate
    V: Array  # (R, p, k)

    @classmethod
    def of(cls, truths: list[SideInformationCompletion], starts: list[tuple[Array, Array]]) -> Runs:
        """Put truths and their starts together."""
        U, V = zip(*starts, strict=True)
        parts = zip(*((t.U, t.V, t.Z, t.singular_values) for t in truths), strict=True)
        return cls(*map(np.stack, (*parts, U, V)))

    def losses(self) -> Array:
        """Return L of every run, shape (R,)."""
        return 0.5 * np.sum(self.errors() ** 2, axis=(1, 2)) / self.Z.shape[1]

    def errors(self) -> Array:
        """Return the vectors E z of every client, shape (R, n, d)."""
        both = np.concatenate([self.Z @ self.V, -(self.Z @ self.star_V)], axis=-1)
        return both @ np.concatenate([self.U, self.star_U], axis=-1).swapaxes(1, 2)


def draw(
    rng: np.random.Generator, runs: Runs, participants: int, local_steps: int
) -> tuple[Places, Places]:
    """Draw a round: who walks, shape (R, n + C), and on which items, shape (R, n + C, tau).

    The first n walkers are the clients in turn, the others the participants, drawn independently
    (Assumption C.1). A participant walks as the client does; one that was drawn before walks anew.
    """
    count, n, _ = runs.Z.shape
    chosen = rng.integers(n, size=(count, participants))
    items = rng.integers(runs.U.shape[1], size=(count, n + participants, local_steps))
    own = np.take_along_axis(items[:, :n], chosen[:, :, None], axis=1)
    twice = np.zeros_like(chosen, dtype=bool)
    for j in range(1, participants):
        twice[:, j] = np.any(chosen[:, :j] == chosen[:, j : j + 1], axis=1)
    items[:, n:] = np.where(twice[:, :, None], items[:, n:], own)
    everyone = np.broadcast_to(np.arange(n), (count, n))
    return np.concatenate([everyone, chosen], axis=1), items


def walk(runs: Runs, who: Places, items: Places, step_size: float) -> Iterator[tuple[Array, Array]]:
    """Yield the walkers' U (R, q, d, k) and V (R, q, p, k) before and after every local step.

    Clients `who` (R, q) walk on `items` (R, q, tau) by equations (11) and (12), the residual of
    (12) transposed. The arrays change in place.
    """
    q = who.shape[1]
    U, V = (np.repeat(A[:, None], q, axis=1) for A in (runs.U, runs.V))
    Z = np.take_along_axis(runs.Z, who[:, :, None], axis=1)
    stars = Z @ runs.star_V
    run, walker = np.ogrid[: len(who), :q]
    yield U, V
    for item in np.moveaxis(items, -1, 0):
        u, v = U[run, walker, item], (Z[:, :, None] @ V)[:, :, 0]
        residual = np.sum(u * v, -1) - np.sum(runs.star_U[run, item] * stars, -1)
        along = step_size * residual[:, :, None]
        U[run, walker, item] = u - along * v
        V -= Z[..., None] * (along * u)[:, :, None]
        yield U, V


def start(kind: str, truth: SideInformationCompletion, rng: np.random.Generator):
    """Return U and V: random ones of scale 0.3, or ones near the truth, balanced or not."""
    shapes = (truth.d, truth.k), (truth.p, truth.k)
    if kind == "random":
        U, V = (0.3 * rng.standard_normal(shape) for shape in shapes)
        return U, V
    U, V = (
        star + NEAR * rng.standard_normal(shape) / np.sqrt(shape[0])
        for star, shape in zip((truth.U, truth.V), shapes, strict=True)
    )
    return (2.0 * U, V / 2.0) if kind == "unbalanced" else (U, V)


def play(
    runs: Runs,
    rng: np.random.Generator,
    *,
    rounds: int,
    step_size: float,
    participants: int,
    local_steps: int,
    every: int = 1,
) -> tuple[Runs, theory.Regularity]:
    """Run so many rounds; return where they end, and what all local iterates need, c_0 infinite.

    Needs are those of every so many rounds, the largest over the clients, of shape (rounds, tau +
    1, R); in the other rounds only participants walk.
    """
    n, needs = runs.Z.shape[1], []
    for place in range(rounds):
        who, items = draw(rng, runs, participants, local_steps)
        if place % every:
            *_, (U, V) = walk(runs, who[:, n:], items[:, n:], step_size)
            runs = runs._replace(U=U.mean(axis=1), V=V.mean(axis=1))
            continue
        level = runs.losses()
        Z = np.take_along_axis(runs.Z, who[:, :, None], axis=1)
        found = []
        for U, V in walk(runs, who, items, step_size):
            about = runs.star_U, runs.star_V, Z, runs.values, U, V
            found.append(theory.local_regularity(*about, loss=level, c_0=np.inf).worst())
        needs.append(found)
        runs = runs._replace(U=U[:, n:].mean(axis=1), V=V[:, n:].mean(axis=1))
    return runs, theory.Regularity(*np.moveaxis(np.array(needs), 2, 0))


# Runs, and the constants of Definition 3.1 that they need.

STEPS = {"one-hot": 0.3, "unit": 0.3, "gaussian": 0.05, "isometric": 0.05}
P, K, PARTICIPANTS = 4, 2, 4
DECAY, LONGEST = 1e-6, 6000  # L over its start, which runs are followed to; most rounds


def constants(needs: theory.Regularity, steps: int):
    """Return the c and mu that every run needs up to each round looked at, shape (rounds, R).

    Rows of U are bounded by the larger one of tau and r.
    """
    c = np.maximum(needs.norms, needs.loss)
    mu = np.maximum(needs.rows * K / max(K, steps), needs.errors)
    return [np.maximum.accumulate(each.max(axis=1)) for each in (c, mu)]


def drawn_runs(side, d, n, kind, count, rng):
    """Return truths of a design, and runs from a kind of start on each."""
    p = n if side == "one-hot" else P
    truths = [
        SideInformationCompletion.random(n=n, d=d, p=p, k=K, side=side, rng=rng)
        for _ in range(count)
    ]
    return truths, Runs.of(truths, [start(kind, truth, rng) for truth in truths])


def designs(budget):
    """Yield design, start, d, M, tau, rounds (0: until L is a millionth), runs, and rounds a look.

    Looking at some rounds only makes G larger.
    """
    runs = budget(16, 30, 100)
    if budget.name == "quick":
        yield from (("unit", "near", d, 20, 5, 20, runs, 1) for d in (16, 64))
        yield "gaussian", "random", 16, 20, 5, 20, runs, 1
        yield from ((side, "near", 16, 20, 5, 0, runs, 10) for side in ("unit", "gaussian"))
        return
    for side, d, n, tau in product(("unit", "gaussian"), (16, 64), (20, 100), (1, 5)):
        yield side, "near", d, n, tau, 60, runs, 1
    for side, kind in (("unit", "unbalanced"), ("gaussian", "random"), ("unit", "random")):
        yield from ((side, kind, d, 20, 5, 60, runs, 1) for d in (16, 64))
    yield from (("isometric", kind, 16, 100, 5, 60, runs, 1) for kind in ("near", "random"))
    yield "one-hot", "near", 16, 20, 5, 60, runs, 1
    for side in ("unit", "gaussian"):
        yield side, "near", 16, 20, 5, 0, runs, 4
        yield side, "near", 64, 20, 5, 0, runs, 20


def followed(runs, rng, *, rounds, every, **settings):
    """Return what the iterates of so many rounds need, or of all until most have L <= DECAY L_0."""
    if rounds:
        return play(runs, rng, rounds=rounds, every=every, **settings)[1], rounds
    first, found, count = runs.losses(), [], 0
    while np.median(runs.losses() / first) > DECAY and count < LONGEST:
        runs, needs = play(runs, rng, rounds=2 * every, every=every, **settings)
        found.append(needs)
        count += 2 * every
    return theory.Regularity(*map(np.concatenate, zip(*found, strict=True))), count


def played(budget, rng):
    """Return a row per design: its name, the c and mu that its runs need, and those over rounds."""
    rows = []
    for side, kind, d, n, tau, rounds, count, every in designs(budget):
        truths, runs = drawn_runs(side, d, n, kind, count, rng)
        needs, count = followed(
            runs, rng, rounds=rounds, every=every, step_size=STEPS[side],
            participants=PARTICIPANTS, local_steps=tau,
        )  # fmt: skip
        running = constants(needs, tau)
        far = "" if rounds else f", to L = {DECAY:g} L_0"
        rows.append({
            "group": f"{side}, {kind}{far}",
            "cell": f"d = {d}, M = {n}, tau = {tau}, {count} rounds{far}",
            "c": running[0][-1], "mu": running[1][-1], "truths": truths, "tau": tau,
            "over rounds": (every, running) if far else None,
        })  # fmt: skip
    return rows

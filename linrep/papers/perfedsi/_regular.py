"""Runs, and the constants of Definition 3.1 that they need."""

from __future__ import annotations

from itertools import product

import numpy as np

from linrep.papers.perfedsi._rounds import Needs, Runs, flow, play, start
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory

_STEPS = {"one-hot": 0.3, "unit": 0.3, "gaussian": 0.05, "isometric": 0.05}
P, K, _PARTICIPANTS = 4, 2, 4
DECAY, _LONGEST = 1e-6, 6000  # L over its start, which runs are followed to; most rounds


def _constants(needs: Needs, *, literal: bool, steps: int, c_0=None):
    """Return the c and mu that every run needs, for s up to tau in all rounds.

    Literally Definition 3.1 leaves out the first round, and s = 0 in all but the last. Rows of U
    are bounded by the larger one of tau and r.
    """
    loss = needs.loss
    if c_0 is not None:
        loss = loss * np.maximum(1.0, needs.level / c_0)
    c = np.maximum(needs.norms, loss)
    mu = np.maximum(needs.rows * K / max(K, steps), needs.errors)
    if not literal:
        return c.max(axis=(0, 1)), mu.max(axis=(0, 1))
    return tuple(np.maximum(x[1:, 1:].max(axis=(0, 1)), x[-1].max(axis=0)) for x in (c, mu))


def drawn_runs(side, d, n, kind, count, rng):
    """Return truths of a design, and runs from a kind of start on each."""
    p = n if side == "one-hot" else P
    truths = [
        SideInformationCompletion.random(n=n, d=d, p=p, k=K, side=side, rng=rng)
        for _ in range(count)
    ]
    return truths, Runs.of(truths, [start(kind, truth, rng) for truth in truths])


def _cells(budget):
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


def _followed(runs, rng, *, rounds, every, **settings):
    """Return what the iterates of so many rounds need, or of all until most have L <= DECAY L_0.

    The needs of a round are arrays with one row.
    """
    if rounds:
        return play(runs, rng, rounds=rounds, every=every, **settings)[1], rounds
    first, found, played = runs.losses(), [], 0
    while np.median(runs.losses() / first) > DECAY and played < _LONGEST:
        runs, needs = play(runs, rng, rounds=2 * every, every=every, **settings)
        found.append(needs)
        played += 2 * every
    return Needs(*map(np.concatenate, zip(*found, strict=True))), played


def played(budget, rng):
    """Return a row per cell: its name, the c and mu that its runs need, literally and not."""
    rows = []
    for side, kind, d, n, tau, rounds, count, every in _cells(budget):
        truths, runs = drawn_runs(side, d, n, kind, count, rng)
        first = runs.losses()
        needs, count = _followed(
            runs,
            rng,
            rounds=rounds,
            every=every,
            step_size=_STEPS[side],
            participants=_PARTICIPANTS,
            local_steps=tau,
        )
        wide = _constants(needs, literal=False, steps=tau)
        horizon = f"{count} rounds" + ("" if rounds else f", to L = {DECAY:g} L_0")
        rows.append(
            {
                "group": f"{side}, {kind}" + ("" if rounds else f", to L = {DECAY:g} L_0"),
                "cell": f"d = {d}, M = {n}, tau = {tau}, {horizon}",
                "whole": not rounds,
                "c": wide[0],
                "mu": wide[1],
                "truths": truths,
                "tau": tau,
                "literal": _constants(needs, literal=True, steps=tau),
                "tight": _constants(needs, literal=False, steps=tau, c_0=first),
                "over rounds": None if rounds else (every, _running(needs, tau)),
            }
        )
    return rows


def _running(needs, steps):
    """Return the c and mu that every run needs up to each round looked at, shape (rounds, R)."""
    rounds = (Needs(*(part[place : place + 1] for part in needs)) for place in range(len(needs[0])))
    found = [_constants(one, literal=False, steps=steps) for one in rounds]
    return [np.maximum.accumulate(np.array(parts)) for parts in zip(*found, strict=True)]


def flown(budget, rng):
    """Return the constants that runs need as step sizes go to 0, which Theorem C.4 asks for."""
    rows = []
    for side, d, n in product(("unit", "gaussian"), budget((16,), (16, 64)), (20, 100)):
        truths, runs = drawn_runs(side, d, n, "near", budget(60, 100, 400), rng)
        first, c, mu = runs.losses(), np.zeros(len(truths)), np.zeros(len(truths))
        for step, now in enumerate(flow(runs, 0.5 if side == "unit" else 0.1, 5000)):
            if step % 5:
                continue
            loss = now.losses()
            going = loss > DECAY * first
            if not going.any():
                break
            # Of the server's iterate, which all clients share: one walker is enough for U, V.
            found = theory.local_regularity(
                now.star_U,
                now.star_V,
                now.Z,
                now.values,
                *(np.repeat(A[:, None], n, axis=1) for A in (now.U, now.V)),
                loss=loss,
                c_0=np.inf,
            ).worst()
            c = np.where(going, np.maximum(c, np.maximum(found.norms, found.loss)), c)
            mu = np.where(going, np.maximum(mu, np.maximum(found.rows, found.errors)), mu)
        rows.append(
            {
                "group": f"small steps, {side}, to L = {DECAY:g} L_0",
                "cell": f"d = {d}, M = {n}",
                "c": c,
                "mu": mu,
                "whole": True,
                "truths": truths,
                "tau": 1,
            }
        )
    return rows

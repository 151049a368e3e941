"""Lemma C.11 and the induction of Theorem C.4: rounds enumerated at the step size of the theorem.

Steps are tiny there: what a round gains is computed from what it changes.
"""

from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np

from linrep.claims import Cases, Fact, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Region, at_most, lines
from linrep.papers.perfedsi import model
from linrep.papers.perfedsi.counterexamples.lemmac11_and_theoremc4 import sides
from linrep.theory import perfedsi as theory
from linrep.theory.perfedsi_rounds import (
    Limits,
    State,
    Walks,
    progress,
    progress_of_rounds,
    sequences,
)


@lines(
    "perfedsi.lemmaC11.corrected",
    Region(c_z=(1, None), g=lambda *, limit=Fraction(132): (0, 1 / limit)),
    steps=["a round: (f) less (d) and (e)"],
)
def a_round(c_z, g, *, rate=Fraction(1, 2)):
    """In units of (eta tau/d) X L; g is eta tau k^(3/2) r mu^2 c^5 c_z^4 sigma_1^2/X."""
    left = Fraction(9, 8) / c_z - 25 * g / c_z**3
    return {"a round: (f) less (d) and (e)": at_most(rate / c_z**3, left)}


# What is promised, and how it compares with rounds.

CORRECTED = {"c_power": 2.0, "condition_power": 1.0, "limit_power": 7.0}
#: Which way these say more.
STRONGER = {**dict.fromkeys(CORRECTED, -1), "c_z_power": -1, "rate": 1, "limit": -1}


def promise(setting, steps, powers, share=1.0):
    """Return a share of the largest step size, and the fall of L that is promised in a round."""
    powers = {"rate": 0.5, "limit": 132.0} | dict(powers)
    rate, limit, c_power = (powers.pop(name) for name in ("rate", "limit", "limit_power"))
    condition_power = powers["condition_power"]
    longest = theory.step_size_limit(
        setting, steps, c_power=c_power, condition_power=condition_power
    )
    step_size = share * longest * (132.0 / float(limit))
    fall = theory.decrease(setting, step_size=step_size, local_steps=steps, **powers)
    return step_size, 2.0 * float(rate) * fall


def needs_of(state: State) -> Limits:
    """Return the least limits that a state keeps, with a little room for the steps."""
    limits = model.start_of(state).limits()
    return Limits(1.001 * limits.c, 1.001 * limits.rows, 1.01 * limits.errors)


def compared(promised, measured, state, limits, **further):
    """Return promised over measured progress, 1 and the instance."""
    setting = state.setting(limits)
    at = {**model.plain(state), "c": limits.c, "mu": setting.mu, "c_z": setting.c_z, **further}
    at |= {"measured": measured, "promised": promised}
    return promised / measured if measured > 0.0 else np.inf, 1.0, at


def one_round(state, items, participants, share, powers, limits=None):
    """Yield promised over measured progress at a share of the step size, where it is exact.

    The event's constants are the least that the start keeps, unless they are given. Means are not
    exact where the event asks less than all clients' walks.
    """
    limits, steps = limits or needs_of(state), items.shape[1]
    step_size, promised = promise(state.setting(limits), steps, powers, share)
    measured, chance = progress(Walks(state, items, step_size), limits, participants)
    if chance == 1.0 or participants == state.truth.n == 1:
        at = {"step_size": step_size, "tau": steps, "C": participants, "P(G)": chance}
        yield compared(promised, measured, state, limits, **at)


def some_rounds(state, steps, rounds, powers):
    """Return promised over measured progress of some rounds, as (15) has it."""
    limits = needs_of(state)
    step_size, promised = promise(state.setting(limits), steps, powers)
    items = sequences(state.truth.d, steps)
    measured, chance = progress_of_rounds(state, limits, items, step_size, rounds)
    at = {"step_size": step_size, "tau": steps, "T": rounds, "P(G)": chance}
    return compared((rounds - 1) * promised, measured, state, limits, **at)


def in_fractions(rounds: int) -> Cases:
    """Compare the promised fall of the loss with that of rounds enumerated without rounding.

    They start from U = c U*, V = V*/c, with an error orthogonal to U*; singular values, c_z, k and
    r are 1, and with c = 32 nothing leaves the event.
    """
    promised, actual = sides(rounds=rounds)
    at = {"d": 16, "k": 1, "r": 1, "c": 32.032, "mu": 2048, "T": rounds, "C": 1, "tau": 1}
    quantity = "promised fall of the loss over the actual one"
    name, case = f"{rounds} round(s) in fractions, c = 32", (promised / actual, 1, at)
    return Cases([case], quantity=quantity, name=name)


# Rounds in which the loss falls as slowly as the event of Definition 3.1 allows, in fractions.

CLIENTS = ((1, 1, 1), (1, -1, 1), (1, 1, -1), (1, -1, -1))  # orthogonal columns


class Slow(NamedTuple):
    """How unbalanced factors are, sigma_1/sigma_r, and c_z, a square."""

    c: int
    condition: int
    c_z: int


#: Where powers show: at 1.05 times the rate that is possible, or less.
CORNERS = (
    Slow(1, 1, 1), Slow(2**40, 1, 1), Slow(1, 2**80, 1), Slow(1, 1, 2**20),
    Slow(2**40, 2**80, 2**10),
)  # fmt: skip


def slow_start(at: Slow) -> tuple[list, list]:
    """Return U (2, 2) and V (3, 2), M* having the diagonal 1, 1/condition.

    V's second column has the norm c; its error is outside of the first two directions, and so small
    that it moves U by less.
    """
    weak, one, zero = Fraction(1, at.condition), Fraction(1), Fraction(0)
    U = [[one, zero], [zero, weak / at.c]]
    return U, [[one, zero], [zero, Fraction(at.c)], [zero, weak / (1000 * at.c)]]


def residuals(U, V, z, weak):
    """Return a client's V'z and its E z."""
    v = [sum(V[j][a] * z[j] for j in range(3)) for a in range(2)]
    stars = z[0], weak * z[1]
    return v, [U[i][0] * v[0] + U[i][1] * v[1] - star for i, star in enumerate(stars)]


def loss_of(U, V, Z, weak) -> Fraction:
    """Return the mean of the clients' losses."""
    return sum((x**2 for z in Z for x in residuals(U, V, z, weak)[1]), Fraction(0)) / 2 / len(Z)


def ends(U, V, Z, weak, eta):
    """Yield factors after a step of each client on each item."""
    for z in Z:
        v, errors = residuals(U, V, z, weak)
        for item, error in enumerate(errors):
            x, u = eta * error, U[item]
            row = [entry - x * v[a] for a, entry in enumerate(u)]
            rows = [row if place == item else each for place, each in enumerate(U)]
            yield rows, [[w - x * z[j] * u[a] for a, w in enumerate(V[j])] for j in range(3)]


def slow_falls(at: Slow, powers, *, rounds: int = 1):
    """Return the promised fall of L over the one that comes, at the largest step size, and 1.

    T rounds are promised T - 1 times the fall of one. Nothing leaves the event, as steps are short:
    norms are those of V, c or a little more.
    """
    weak, root = Fraction(1, at.condition), round(at.c_z**0.5)
    Z = [(*z[:2], Fraction(z[2], root)) for z in CLIENTS]
    setting = theory.Setting(
        d=2, p=3, k=2, smallest=float(weak), c=1.001 * at.c, mu=2.1, c_z=float(at.c_z)
    )
    step_size, promised = promise(setting, 1, powers)
    found = [slow_start(at)]
    first = loss_of(*found[0], Z, weak)
    for _ in range(rounds):
        found = [after for end in found for after in ends(*end, Z, weak, Fraction(step_size))]
    last = sum((loss_of(*end, Z, weak) for end in found), Fraction(0)) / len(found)
    fall = float(1 - last / first)
    ratio = max(1, rounds - 1) * promised / fall if fall > 0.0 else np.inf
    instance = {**at._asdict(), "d": 2, "k": 3, "r": 2, "M": 4, "mu": 2.1, "T": rounds}
    return ratio, 1.0, instance


def slowest(powers, *, name: str, rounds: int = 1) -> Cases:
    """Compare at all corners."""
    cases = [slow_falls(at, powers, rounds=rounds) for at in CORNERS]
    quantity = "promised over measured fall of L"
    return Cases(cases, quantity=quantity, name=name, strength=PROVED)


# The lemma.


def near_the_truth(budget, rng, powers, near):
    """Yield cases at random states with L <= sigma_r^2/(near c_z^2)."""
    for _ in range(budget(120, 1500, 6000)):
        p, d = int(rng.integers(1, 4)), int(rng.choice([2, 3, 4]))
        state = model.drawn(
            rng, n=p + int(rng.integers(0, 3)), d=d, p=p, k=int(rng.integers(1, min(d, p) + 1)),
            side=rng.choice(["gaussian", "unit", "isometric"]),
            error=10.0 ** rng.uniform(-3, -0.5), tilt=2.0 ** rng.uniform(-4, 4),
            condition=10.0 ** rng.uniform(0, 1.5),
        )  # fmt: skip
        c_z, least = theory.scaling(state.truth.Z).c_z, state.truth.singular_values[-1]
        if np.isfinite(c_z) and state.loss <= (least / c_z) ** 2 / near:
            items, share = sequences(d, int(rng.integers(1, 4))), 10.0 ** rng.uniform(-2, 0)
            yield from one_round(state, items, int(rng.integers(1, 3)), share, powers)


def at_the_edge(powers):
    """Yield cases at states from which every other item leads out of the event."""
    for c, d in product((1.0, 2.0, 8.0), (2, 8)):
        state, limits = model.edge(d, c=c)
        yield from one_round(state, sequences(d, 1), 1, 1.0, powers, limits)


@statement(
    "perfedsi.lemmaC11",
    place="Lemma C.11, (56)-(62)",
    hypotheses=model.ROUNDS,
    latex=r"\eta \le \frac{\sigma_r}{132k^{3/2}r\tau\mu^2\sigma_1^2c^5c_z^4} \Rightarrow"
    r" E_t[\mathcal L(U_{t+1}, V_{t+1})1_{\mathcal G_{t,\tau}}] \le \Big(1 -"
    r" \frac{\eta\tau\sigma_r}{2cc_z^3d}\Big)\mathcal L(U_t, V_t)1_{\mathcal G_{t,0}}",
    plain="In each round the loss decreases in expectation by a factor set by sigma_r/c.",
    negative_control={"c_z_power": 0.0},
)
def lemma_c11(
    budget, rng, *, c_power=2.0, condition_power=1.0, limit_power=7.0, c_z_power=3.0, rate=0.5,
    limit=132.0, near=32.0, printed=True,
):  # fmt: skip
    """Enumerate a round in fractions, or, as corrected, many.

    Powers are those of 1/c and sigma_r/sigma_1, and of 1/c in eta. 132 stands in eta, 32 in how
    near random states are to the truth.
    """
    if printed:
        yield in_fractions(1)
        return
    powers = {
        "c_power": c_power, "condition_power": condition_power, "limit_power": limit_power,
        "c_z_power": c_z_power, "rate": rate, "limit": limit,
    }  # fmt: skip
    for name, cases in (
        ("random states near the truth", near_the_truth(budget, rng, powers, near)),
        ("edge of the event", at_the_edge(powers)),
    ):
        yield Cases(cases, quantity="lhs/rhs", name=name, strength=PROVED)
    yield slowest(powers, name="slowest rounds, in fractions")
    enough = (
        power
        for power in (0, 1, 2, 3)
        if all(slow_falls(at, powers | {"c_z_power": power})[0] <= 1.0 for at in CORNERS)
    )
    yield Fact("least power of c_z that suffices", next(enough, "none"))


lemma_c11.corrected(
    "perfedsi.lemmaC11.corrected",
    latex=r"\eta \le \frac{\sigma_r^2}{132k^{3/2}r\tau\mu^2\sigma_1^3c^7c_z^4},\ "
    r"\mathcal L(U_t, V_t) \le \frac{\sigma_r^2}{32c_z^2} \Rightarrow"
    r" E_t[\mathcal L(U_{t+1}, V_{t+1})1_{\mathcal G_{t,\tau}}] \le \Big(1 -"
    r" \frac{\eta\tau\sigma_r^2}{2c^2\sigma_1c_z^3d}\Big)\mathcal L(U_t, V_t)1_{\mathcal G_{t,0}}",
    plain="In each round near the truth, the loss decreases in expectation by a factor set by "
    "sigma_r^2/(c^2 sigma_1).",
    constants={"printed": False},
    negative_control={"c_z_power": 0.0},
    stronger=STRONGER | {"near": -1},
)


# The induction.


def starts_of_runs(budget):
    """Yield states, and numbers of steps and rounds: c, condition, rank, c_z, d, tau, and c_0."""
    for c in (32.0, 16.0, 4.0, 1.0):
        yield model.unbalanced(c, 1.0, d=2, k=1, p=2), 1, budget(4, 5)
        yield model.alike(1, 2, size=c), 1, budget(4, 5)
    for c in (16.0, 4.0, 1.0):
        for condition, c_z in ((1.0, 1.0), (16.0, 1.0), (1.0, 16.0), (4.0, 4.0)):
            yield model.unbalanced(c, condition, d=2, p=4, c_z=c_z), 1, budget(3, 4)
            yield model.unbalanced(c, condition, d=4, k=1, p=2, c_z=c_z), 1, budget(2, 4)
            yield model.unbalanced(c, condition, d=4, p=4, c_z=c_z), budget(1, 2), 2
            # L near c_0 sigma_r^2, c_0 = 1/(32 c c_z^2), c at least 1
            error = c**2 / np.sqrt(16.0 * c * c_z)
            yield model.unbalanced(c, condition, d=2, p=4, c_z=c_z, error=0.9 * error), 1, 3
        yield model.alike(1, 2, size=c, error=0.9 / np.sqrt(16.0 * c)), 1, 4


def enumerated_rounds(budget, powers, name) -> Cases:
    """Compare the bound with T after a few rounds from states near the truth."""
    cases = [
        some_rounds(state, steps, rounds, powers) for state, steps, rounds in starts_of_runs(budget)
    ]
    return Cases(cases, quantity="lhs/rhs", name=name, strength=PROVED)

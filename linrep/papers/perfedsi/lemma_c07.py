"""Lemma C.7: how far a round moves the server's factors, in the mean square."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from linrep.claims import Cases, Exponent, Fact, Search, statement
from linrep.claims.evidence import PROVED
from linrep.claims.instances import search_instances
from linrep.papers.perfedsi import _enumeration
from linrep.papers.perfedsi._hypotheses import ROUNDS
from linrep.papers.perfedsi._states import SHAPES, alike, drawn, plain, read
from linrep.papers.perfedsi.counterexamples.lemmac7 import sides
from linrep.theory import perfedsi as theory
from linrep.theory.perfedsi_rounds import State, Walks, sequences

_STEP = 1e-4
_DIMENSIONS = (4, 8, 16, 32, 64)
_SIZES = (1.0, 1.5, 2.0, 3.0, 4.0)
_CLIENTS = (1, 2, 4, 8)


def _ratios(state: State, items, step_size, participants, quantile=1.0, **powers):
    """Return lhs over rhs for U and V, and the setting.

    None if the start is not regular, or walks diverge beyond all numbers.
    """
    walks = Walks(state, items, step_size)
    limits = walks.limits(quantile)
    if not limits.c < _enumeration.OVERFLOW or walks.kept(limits, 0).min() == 0.0:
        return None
    *found, chance = walks.moments(limits, participants)
    bounds = theory.second_moments(
        state.setting(limits),
        step_size=step_size,
        local_steps=items.shape[1],
        participants=participants,
        loss=state.loss,
        mu_z=theory.scaling(state.truth.Z).mu_z,
        mu_U=limits.rows,
        **powers,
    )
    at = {
        **plain(state),
        "step_size": step_size,
        "C": participants,
        "c": limits.c,
        "mu_U": limits.rows,
        "P(G)": chance,
        "tau": items.shape[1],
    }
    return [float(left / right) for left, right in zip(found, bounds, strict=True)], at


def _at_limits(place, powers, strength) -> Cases:
    """Compare lhs and rhs with one factor at its norm limit, k = r = 1."""
    cases = []
    for d, size, participants, on_side in product(_DIMENSIONS, _SIZES, _CLIENTS, (True, False)):
        state = alike(1, d, size=size, error=1e-3, on_side=on_side)
        ratio, at = _ratios(state, sequences(d, 1), _STEP, participants, **powers)
        cases.append((ratio[place], 1.0, at))
    name = f"{'UV'[place]}, factors at their limits"
    return Cases(cases, quantity="lhs/rhs", name=name, strength=strength)


def _at_random(budget, rng, powers) -> list:
    """Compare lhs and rhs at random states, for one to five steps, the event not always sure."""
    cases = []
    for _ in range(budget(60, 1000, 5000)):
        n, d, p = int(rng.integers(1, 5)), int(rng.integers(2, 6)), int(rng.integers(1, 4))
        state = drawn(
            rng,
            n=max(n, p),
            d=d,
            p=p,
            k=int(rng.integers(1, min(d, p) + 1)),
            error=10.0 ** rng.uniform(-3, 0.5),
            tilt=2.0 ** rng.uniform(-3, 3),
        )
        items = _enumeration.items_for(d, int(rng.integers(1, 6)), 300, rng)
        participants = int(rng.integers(1, 9))
        found = _ratios(
            state,
            items,
            10.0 ** rng.uniform(-4, 0),
            participants,
            rng.choice([1.0, 0.9, 0.7]),
            **powers,
        )
        if found is not None:
            alone = state.truth.n == participants == 1
            sure = len(items) == d ** items.shape[1] and (alone or found[1]["P(G)"] == 1.0)
            cases.append((max(found[0]), 1.0, found[1], sure))
    return cases


def _searched(budget, rng, powers, strength) -> Search:
    """Search all states of small shapes, tau = 1."""

    def sides_of(state):
        found = _ratios(state, sequences(state.truth.d, 1), _STEP, 2, **powers)
        return None if found is None else (max(found[0]), 1.0)

    shapes = SHAPES[: budget(2, 3)]
    return search_instances(sides_of, shapes, read, budget, rng, name="search", strength=strength)


def _slope(place, variable, sizes, predicted, state_of, strength) -> Exponent:
    """Follow the left side over L and k mu_z, C = 1, along a variable."""
    values = []
    for size in sizes:
        state = state_of(size)
        walks = Walks(state, sequences(state.truth.d, 1), _STEP)
        values.append(walks.moments(walks.limits(), 1)[place] / (_STEP**2 * state.loss))
    name = f"E|{'UV'[place]}+ - {'UV'[place]}|^2"
    return _enumeration.power_of(
        name, variable, sizes, values, predicted, at_most=variable == "c", strength=strength
    )


def _inside(rng, strength, factor, norm_power, loss_power):
    """Yield the three steps of the proof that turn the event into the bound."""
    state = alike(1, 8, size=3.0)
    limits = Walks(state, sequences(8, 1), _STEP).limits()
    square = float(np.linalg.norm(state.V, 2) ** 2)
    at = {"c": limits.c, "|V|^2": square, "sigma_1": 1.0}
    yield Cases(
        [(square, limits.c**norm_power, at)],
        quantity="|V|^2",
        strength=strength,
        name=f"|V|^2 <= c^{norm_power:g} sigma_1",
    )
    mixed = drawn(rng, n=4, d=4, p=2, k=1)
    walks = Walks(mixed, sequences(4, 1), _STEP)
    losses, c = walks.regularity[0].loss[:, 0] * mixed.loss, walks.limits().c
    errors = mixed.truth.Z @ (mixed.U @ mixed.V.T - mixed.truth.M).T
    squares = np.sum(errors**2, axis=1)
    yield Cases(
        [
            (square, factor * loss * (1.0 + 1e-9), {"|E z|^2": square, "L_m": loss})
            for square, loss in zip(squares, losses, strict=True)
        ],
        quantity="|E z_m|^2",
        strength=strength,
        name=f"|E z_m|^2 <= {factor:g} L_m",
    )
    yield Cases(
        [(loss, c**loss_power * mixed.loss, {"L_m": loss, "L": mixed.loss}) for loss in losses],
        quantity="L_m",
        strength=strength,
        name=f"L_m <= c^{loss_power:g} L",
    )


def _in_fractions(strength, factor, norm_power, loss_power) -> Cases:
    """Enumerate a step with V at its limit, C = tau = k = r = 1, in which nothing leaves the event.

    c is a power of 4: its powers that are halves of whole ones are rational.
    """
    at = {"d": 16, "k": 1, "r": 1, "c": 4, "mu": 2, "eta": "1/1000", "P(G)": 1}
    bound = sides(Fraction(factor), Fraction(norm_power + loss_power))
    return Cases(
        [(*bound, at)],
        quantity="E|U+ - U|^2",
        name="U, in fractions, c = 4",
        strength=strength,
    )


def _needed(on_side) -> tuple[float, float]:
    """Return the factor of c^2 (1/(Cd) + 1/d^2) that U needs, of r (c^2 + mu_U)/d^2 that V does."""
    state = alike(1, 64, size=4.0, error=1e-3, on_side=on_side)
    ratio, _ = _ratios(state, sequences(64, 1), _STEP, 1, norm_power=2.0)
    return ratio[0], ratio[1]


@statement(
    "perfedsi.lemmaC7",
    place="Lemma C.7, (25)-(38)",
    hypotheses=ROUNDS,
    latex=r"E_t\|U_{t+1} - U_t\|_F^2 1_{\mathcal G_{t,\tau}} \le \eta^2\tau^2 k"
    r"\Big(\frac1{Cd} + \frac1{d^2}\Big) c\mu_z\sigma_1 \mathcal L 1_{\mathcal G_{t,0}},\quad"
    r" E_t\|V_{t+1} - V_t\|_F^2 1_{\mathcal G_{t,\tau}} \le \frac{\eta^2\tau^2 kr}{d^2}"
    r"(c + \mu_U)\mu_z\sigma_1 \mathcal L 1_{\mathcal G_{t,0}}",
    plain="The mean squared moves of U and V in a round are at most of the order of c and c + "
    "mu_U, times eta^2 tau^2 k L.",
    negative_control={"norm_power": 0.0},
)
def lemma_c7(budget, rng, *, factor=1.0, norm_power=1.0, loss_power=0.0):
    """Enumerate a round; powers are those of c, factor is ||E z||^2 over a client's loss."""
    powers = {"factor": factor, "norm_power": norm_power, "loss_power": loss_power}
    # What the derivation has; it covers all that is measured then.
    strength = PROVED if (factor, norm_power, loss_power) == (2.0, 2.0, 1.0) else ""
    yield _at_limits(0, powers, strength)
    yield _at_limits(1, powers, strength)
    yield _in_fractions(strength, **powers)
    random = _at_random(budget, rng, powers)
    yield _enumeration.exact_cases(random, name="random states, tau from 1 to 5", strength=strength)
    yield _searched(budget, rng, powers, strength)
    yield _slope(0, "d", _DIMENSIONS, -1.0, lambda d: alike(1, d), strength)
    yield _slope(1, "d", _DIMENSIONS, -2.0, lambda d: alike(1, d), strength)
    yield _slope(0, "c", _SIZES, norm_power, lambda c: alike(1, 8, size=c), strength)
    yield _slope(1, "c", _SIZES, norm_power, lambda c: alike(1, 8, size=c, on_side=False), strength)
    yield from _inside(rng, strength, **powers)
    needed = np.max([_needed(on_side) for on_side in (True, False)], axis=0)
    yield Fact("what U needs at the norms' limits in place of c, over c^2", needed[0])
    yield Fact("what V needs at the norms' limits in place of c + mu_U, over c^2 + mu_U", needed[1])
    yield _enumeration.largest_inexact(random)


lemma_c7.corrected(
    "perfedsi.lemmaC7.corrected",
    latex=r"E_t\|U_{t+1} - U_t\|_F^2 1_{\mathcal G} \le 2\eta^2\tau^2 k\Big(\frac1{Cd} +"
    r" \frac1{d^2}\Big) c^3\mu_z\sigma_1 \mathcal L,\quad E_t\|V_{t+1} - V_t\|_F^2 1_{\mathcal G}"
    r" \le \frac{2\eta^2\tau^2 kr}{d^2} c(c^2 + \mu_U)\mu_z\sigma_1 \mathcal L",
    plain="The mean squared moves of U and V in a round are at most of the order of 2 c^3 and 2 c "
    "(c^2 + mu_U), times eta^2 tau^2 k L.",
    constants={"factor": 2.0, "norm_power": 2.0, "loss_power": 1.0},
    negative_control={"norm_power": 0.0},
    stronger={"factor": -1, "norm_power": -1, "loss_power": -1},
)

"""Lemma C.7: how far a round moves the server's factors, in the mean square."""

from itertools import product

import numpy as np

from linrep.claims import Cases, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Region, at_most, lines, measured
from linrep.claims.search import search_instances
from linrep.papers.perfedsi import model
from linrep.papers.perfedsi.counterexamples.lemmac7 import sides
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory
from linrep.theory.perfedsi_rounds import State, Walks, sequences

STEP = 1e-4


@lines(
    "perfedsi.lemmaC7.corrected",
    Region(C=(1, None), first=(0, None), second=lambda first: (0, first)),
    steps=["the mean of C steps"],
)
def participants(C, first, second):
    """For E||y||^2 and ||E y||^2."""
    return {"the mean of C steps": at_most(first / C + (1 - 1 / C) * second, first / C + second)}


def ratios(state: State, items, step_size, participants, quantile=1.0, **powers):
    """Return lhs over rhs for U and V, and the setting.

    None if the start is not regular, or walks diverge beyond all numbers.
    """
    walks = Walks(state, items, step_size)
    limits = walks.limits(quantile)
    if not limits.c < model.OVERFLOW or walks.kept(limits, 0).min() == 0.0:
        return None
    *found, chance = walks.moments(limits, participants)
    steps = items.shape[1]
    bounds = theory.second_moments(
        state.setting(limits), step_size=step_size, local_steps=steps, participants=participants,
        loss=state.loss, mu_z=theory.scaling(state.truth.Z).mu_z, mu_U=limits.rows, **powers,
    )  # fmt: skip
    at = {"step_size": step_size, "C": participants, "c": limits.c, "mu_U": limits.rows}
    at = {**model.plain(state), **at, "P(G)": chance, "tau": steps}
    return [float(left / right) for left, right in zip(found, bounds, strict=True)], at


def at_limits(powers):
    """Yield the larger lhs over rhs of U and V, with one factor at its norm limit, k = r = 1."""
    dimensions, sizes = (4, 8, 16, 32, 64), (1.0, 1.5, 2.0, 3.0, 4.0)
    for d, size, C, on_side in product(dimensions, sizes, (1, 2, 4, 8), (True, False)):
        state = model.alike(1, d, size=size, error=1e-3, on_side=on_side)
        found, at = ratios(state, sequences(d, 1), STEP, C, **powers)
        yield max(found), 1.0, at


def at_random(budget, rng, powers):
    """Yield lhs over rhs at random states, one to five steps, where means are exact.

    They are not over balanced sequences in place of all, and under events that ask less than all
    clients' walks.
    """
    for _ in range(budget(60, 1000, 5000)):
        n, d, p = int(rng.integers(1, 5)), int(rng.integers(2, 6)), int(rng.integers(1, 4))
        state = model.drawn(
            rng, n=max(n, p), d=d, p=p, k=int(rng.integers(1, min(d, p) + 1)),
            error=10.0 ** rng.uniform(-3, 0.5), tilt=2.0 ** rng.uniform(-3, 3),
        )  # fmt: skip
        items, C = model.items_for(d, int(rng.integers(1, 6)), 300, rng), int(rng.integers(1, 9))
        step_size, quantile = 10.0 ** rng.uniform(-4, 0), rng.choice([1.0, 0.9, 0.7])
        found = ratios(state, items, step_size, C, quantile, **powers)
        every = len(items) == d ** items.shape[1]
        if found and every and (state.truth.n == C == 1 or found[1]["P(G)"] == 1.0):
            yield max(found[0]), 1.0, found[1]


def from_the_event(norm_power, loss_power):
    """Yield what turns the event into the bound, as powers of c."""
    state = model.alike(1, 8, size=3.0)
    c, square = model.start_of(state).limits().c, float(np.linalg.norm(state.V, 2) ** 2)
    yield "|V|^2 over sigma_1", at_most(square, c**norm_power), {"c": c, "sigma_1": 1.0}
    # One client's loss is all there is.
    Z = np.diag([2.0, 1e-3])
    truth = SideInformationCompletion(np.ones((1, 1)), np.eye(2, 1), Z)
    state = State(truth, np.full((1, 1), 1.01), truth.V)
    limits = model.start_of(state).limits()
    for loss in Walks(state, sequences(1, 1), 0.0).regularity[0].loss[:, 0]:
        yield "L_m over L", at_most(loss, limits.c**loss_power), {"c": limits.c}


@statement(
    "perfedsi.lemmaC7",
    place="Lemma C.7, (25)-(38)",
    hypotheses=model.ROUNDS,
    latex=r"E_t\|U_{t+1} - U_t\|_F^2 1_{\mathcal G_{t,\tau}} \le \eta^2\tau^2 k"
    r"\Big(\frac1{Cd} + \frac1{d^2}\Big) c\mu_z\sigma_1 \mathcal L 1_{\mathcal G_{t,0}},\quad"
    r" E_t\|V_{t+1} - V_t\|_F^2 1_{\mathcal G_{t,\tau}} \le \frac{\eta^2\tau^2 kr}{d^2}"
    r"(c + \mu_U)\mu_z\sigma_1 \mathcal L 1_{\mathcal G_{t,0}}",
    plain="The mean squared moves of U and V in a round are at most of the order of c and c + "
    "mu_U, times eta^2 tau^2 k L.",
    negative_control={"norm_power": 0.0},
)
def lemma_c7(budget, rng, *, factor=2.0, norm_power=2.0, loss_power=1.0, printed=True):
    """Enumerate a round in fractions, in which nothing leaves the event; or, as corrected, many.

    Powers are those of c, factor is ||E z||^2 over a client's loss.
    """
    if printed:
        # c is a power of 4, so that its root is rational.
        at = {"d": 16, "k": 1, "r": 1, "c": 4, "mu": 2, "eta": "1/1000", "P(G)": 1}
        case = (*sides(), at)
        yield Cases([case], quantity="E|U+ - U|^2", name="U, in fractions, c = 4")
        return
    powers = {"factor": factor, "norm_power": norm_power, "loss_power": loss_power}

    def of_state(state):
        found = ratios(state, sequences(state.truth.d, 1), STEP, 2, **powers)
        return None if found is None else (max(found[0]), 1.0)

    for name, cases in (
        ("factors at their limits", at_limits(powers)),
        ("random states, tau from 1 to 5", at_random(budget, rng, powers)),
    ):
        yield Cases(cases, quantity="lhs/rhs", name=name, strength=PROVED)
    yield from measured(from_the_event(norm_power, loss_power), strength=PROVED).values()
    shapes, read = model.STATES[: budget(2, 3)], model.read_state
    yield search_instances(of_state, shapes, read, budget, rng, name="search", strength=PROVED)


lemma_c7.corrected(
    "perfedsi.lemmaC7.corrected",
    latex=r"E_t\|U_{t+1} - U_t\|_F^2 1_{\mathcal G} \le 2\eta^2\tau^2 k\Big(\frac1{Cd} +"
    r" \frac1{d^2}\Big) c^3\mu_z\sigma_1 \mathcal L,\quad E_t\|V_{t+1} - V_t\|_F^2 1_{\mathcal G}"
    r" \le \frac{2\eta^2\tau^2 kr}{d^2} c(c^2 + \mu_U)\mu_z\sigma_1 \mathcal L",
    plain="The mean squared moves of U and V in a round are at most of the order of 2 c^3 and 2 c "
    "(c^2 + mu_U), times eta^2 tau^2 k L.",
    constants={"printed": False},
    negative_control={"norm_power": 0.0},
    stronger={"factor": -1, "norm_power": -1, "loss_power": -1},
)

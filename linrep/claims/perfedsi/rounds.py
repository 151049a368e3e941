"""Lemma C.11 and the induction of Theorem C.4: rounds enumerated at the step size of the theorem.

Steps are tiny there: what a round gains is computed from what it changes.
"""

from __future__ import annotations

import numpy as np

from linrep.claims import Evidence, claim, combine
from linrep.claims._parts import at_most
from linrep.claims.perfedsi._enumeration import (
    Walks,
    items_for,
    power_of,
    progress,
    sequences,
    start_of,
)
from linrep.claims.perfedsi._states import (
    ASSUMPTION_3_2,
    Limits,
    State,
    alike,
    drawn,
    edge,
    gain,
    unbalanced,
)
from linrep.theory import perfedsi as theory

_NORMS = (1.0, 2.0, 4.0, 8.0, 16.0)
_CONDITIONS = (1.0, 2.0, 4.0, 8.0)
_DIMENSIONS = (8, 16, 32, 64)


def _room(limits: Limits) -> Limits:
    """Return limits with a little room for the steps."""
    return Limits(1.001 * limits.c, 1.001 * limits.rows, 1.01 * limits.errors)


def _start(state: State) -> Limits:
    return _room(start_of(state).limits())


def _one_round(state, items, participants, share, powers, limits=None):
    """Return the promised over the measured progress at a share of the step size, and the case.

    The event's constants are the least that the start keeps, unless they are given.
    """
    limits, steps = limits or _start(state), items.shape[1]
    limit_power = powers["limit_power"]
    rates = {key: value for key, value in powers.items() if key != "limit_power"}
    setting = state.setting(limits)
    step_size = share * theory.step_size_limit(
        setting, steps, c_power=limit_power, condition_power=powers["condition_power"]
    )
    measured, chance = progress(Walks(state, items, step_size), limits, participants)
    promised = theory.decrease(setting, step_size=step_size, local_steps=steps, **rates)
    told = {**state.told(), "step_size": step_size, "tau": steps, "C": participants, "c": limits.c,
            "mu": setting.mu, "c_z": setting.c_z, "P(G)": chance, "1 - E[L+]/L": measured,
            "promised": promised}  # fmt: skip
    return promised / measured if measured > 0.0 else np.inf, 1.0, told


def _at_limits(powers, budget) -> Evidence:
    """Compare at factors as unbalanced as their norms allow."""
    cases = []
    for c in _NORMS[::-1]:
        for condition in _CONDITIONS:
            state = unbalanced(c, condition)
            for steps in budget((1,), (1, 2)):
                cases.append(_one_round(state, sequences(8, steps), 1, 1.0, powers))
    return at_most(cases, name="V at its norm limit, U as weak as that allows")


def _near(state: State) -> bool:
    """Tell whether L <= sigma_r^2/(32 c_z^2)."""
    scale = theory.scaling(state.truth.Z).c_z
    return state.loss <= (state.truth.singular_values[-1] / scale) ** 2 / 32.0


def _at_random(budget, rng, powers) -> Evidence:
    """Compare at random states near the truth, up to three steps and two participants."""
    cases = []
    for _ in range(budget(120, 1500, 6000)):
        p = int(rng.integers(1, 4))
        d = int(rng.choice([2, 3, 4]))
        state = drawn(
            rng, n=p + int(rng.integers(0, 3)), d=d, p=p, k=int(rng.integers(1, min(d, p) + 1)),
            side=rng.choice(["gaussian", "unit", "isometric"]), error=10.0 ** rng.uniform(-3, -0.5),
            tilt=2.0 ** rng.uniform(-4, 4), condition=10.0 ** rng.uniform(0, 1.5),
        )  # fmt: skip
        if np.isfinite(theory.scaling(state.truth.Z).c_z) and _near(state):
            items = items_for(d, int(rng.integers(1, 4)), 16, rng)
            share = 10.0 ** rng.uniform(-2, 0)
            cases.append(_one_round(state, items, int(rng.integers(1, 3)), share, powers))
    return at_most(cases, name="random states near the truth")


def _at_the_edge(powers) -> Evidence:
    """Compare at states from which every other item leads out of the event."""
    cases = []
    for c in (1.0, 2.0, 8.0):
        for d in (2, 8):
            state, limits = edge(d, c=c)
            cases.append(_one_round(state, sequences(d, 1), 1, 1.0, powers, limits))
    return at_most(cases, name="edge of the event")


def _measured(state, step_size, steps) -> float:
    """Return the progress of a round whose event asks for as little as it needs."""
    walks = Walks(state, sequences(state.truth.d, steps), step_size)
    return progress(walks, walks.limits())[0]


def _largest_useful(state) -> float:
    """Return the step size up to which a round makes progress, tau = 1."""
    sizes = np.geomspace(1e-3, 1e2, 200)
    useful = [_measured(state, size, 1) > 0.0 for size in sizes]
    return float(sizes[np.argmin(useful) - 1])


PRINTED = {"c_power": 1.0, "condition_power": 0.0, "limit_power": 5.0}
MENDED = {"c_power": 2.0, "condition_power": 1.0, "limit_power": 7.0}
_C11: dict = {
    "place": "Lemma C.11, (56)-(62)",
    "kind": "rate or exponent",
    "hypotheses": [ASSUMPTION_3_2],
}


def _lemma_c11(budget, rng, **powers) -> Evidence:
    """Check the unbalanced limit, random states, exponents; tell of saddles and of large steps."""
    state, steps, taus = alike(4, 8), (1e-6, 1e-5, 1e-4, 1e-3), (1, 2, 3)
    along_d = [_measured(alike(4, d), 1e-4, 1) for d in _DIMENSIONS]
    parts = [
        _at_limits(powers, budget),
        _at_random(budget, rng, powers),
        _at_the_edge(powers),
        power_of("progress", "d", _DIMENSIONS, along_d, -1.0),
        power_of("progress", "eta", steps, [_measured(state, size, 1) for size in steps], 1.0),
        power_of("progress", "tau", taus, [_measured(state, 1e-4, tau) for tau in taus], 1.0),
    ]
    rate = along_d[0] * _DIMENSIONS[0] / 1e-4
    saddle = State(state.truth, 0.0 * state.U, 0.0 * state.V)
    limit = theory.step_size_limit(state.setting(_start(state)), 1)
    squared = _at_random(budget, rng.spawn(1)[0], powers | {"c_z_power": 2})
    return combine(
        parts,
        f"{combine(parts).sentence}. Balanced, L falls by {rate:.3g} eta tau/d a round; progress "
        f"ends at {_largest_useful(state) / limit:.2g} times the largest step size stated. With "
        f"c_z^2 for c_z^3: {squared.sentence}. At U = 0, V = 0 the loss, "
        f"{saddle.loss:.2g} sigma_r^2, falls by {_measured(saddle, 1e-3, 1):.2g}: c_0 has to be "
        "smaller than that",
    )


@claim(
    "perfedsi.lemmaC11",
    latex=r"\eta \le \frac{\sigma_r}{132k^{3/2}r\tau\mu^2\sigma_1^2c^5c_z^4} \Rightarrow"
    r" E_t[\mathcal L(U_{t+1}, V_{t+1})1_{\mathcal G_{t,\tau}}] \le \Big(1 -"
    r" \frac{\eta\tau\sigma_r}{2cc_z^3d}\Big)\mathcal L(U_t, V_t)1_{\mathcal G_{t,0}}",
    plain="In each round the loss falls, in the mean, by a factor set by sigma_r/c.",
    broken={"c_power": 0.0},
    mended=MENDED,
    **_C11,
)
def lemma_c11(
    budget, rng, *, c_power=1.0, condition_power=0.0, limit_power=5.0, c_z_power=3
) -> Evidence:
    """Enumerate a round; powers are those of 1/c and sigma_r/sigma_1, and of 1/c in eta."""
    return _lemma_c11(
        budget, rng, c_power=c_power, condition_power=condition_power, limit_power=limit_power,
        c_z_power=c_z_power,
    )  # fmt: skip


_LIMIT = r"\eta \le \frac{\sigma_r^2}{132k^{3/2}r\tau\mu^2\sigma_1^3c^7c_z^4},\ "
_NEAR = r"\mathcal L(U_t, V_t) \le \frac{\sigma_r^2}{32c_z^2}"


@claim(
    "perfedsi.lemmaC11.corrected",
    latex=_LIMIT + _NEAR + r" \Rightarrow"
    r" E_t[\mathcal L(U_{t+1}, V_{t+1})1_{\mathcal G_{t,\tau}}] \le \Big(1 -"
    r" \frac{\eta\tau\sigma_r^2}{2c^2\sigma_1c_z^3d}\Big)\mathcal L(U_t, V_t)1_{\mathcal G_{t,0}}",
    plain="In each round near the truth the loss falls, in the mean, by a factor set by "
    "sigma_r^2/(c^2 sigma_1).",
    broken={"c_power": 0.0},
    corrects="perfedsi.lemmaC11",
    **_C11,
)
def lemma_c11_corrected(
    budget, rng, *, c_power=2.0, condition_power=1.0, limit_power=7.0
) -> Evidence:
    """Check it in the same way."""
    return _lemma_c11(
        budget, rng, c_power=c_power, condition_power=condition_power, limit_power=limit_power
    )


def _after(state, limits, items, step_size, rounds) -> tuple[float, float]:
    """Return 1 - E[L_T 1_G]/L_0 and P(G) after T rounds of one participant, all enumerated.

    G asks of every client, in each round, that its walk is regular.
    """
    states = [(np.zeros_like(state.U), np.zeros_like(state.V), 1.0)]
    for _ in range(rounds):
        following = []
        for *shift, weight in states:
            walks = Walks(state, items, step_size, shift)
            kept = walks.kept(limits, walks.steps)
            share = kept.mean(axis=1)
            in_U, in_V = walks.shifts[-1]
            for client in range(len(share)):
                each = weight * np.prod(np.delete(share, client)) / kept.size
                following += [
                    (in_U[client, walk], in_V[client, walk], each)
                    for walk in np.flatnonzero(kept[client])
                ]
        states = following
    in_U, in_V, weights = (np.array(part) for part in zip(*states, strict=True))
    chance = float(weights.sum())
    return max(0.0, 1.0 - chance) + float(gain(state, in_U, in_V) @ weights) / state.loss, chance


def enumerated_rounds(budget, powers) -> Evidence:
    """Compare (15) after a few rounds, from states as unbalanced as the norms allow, with T."""
    cases = []
    rounds = budget(4, 5)
    for c in (32.0, 16.0, 4.0, 1.0):
        for p in (2, 1):
            state = unbalanced(c, 1.0, d=2, k=1, p=2) if p == 2 else alike(1, 2, size=c)
            limits = _start(state)
            setting = state.setting(limits)
            step_size = theory.step_size_limit(
                setting, 1, c_power=powers["limit_power"],
                condition_power=powers["condition_power"],
            )  # fmt: skip
            measured, chance = _after(state, limits, sequences(2, 1), step_size, rounds)
            promised = (rounds - 1) * theory.decrease(
                setting, step_size=step_size, local_steps=1, with_p=powers.get("with_p", True),
                c_power=powers["c_power"], condition_power=powers["condition_power"],
            )  # fmt: skip
            told = {**state.told(), "step_size": step_size, "c": limits.c, "mu": setting.mu,
                    "T": rounds, "P(G)": chance, "1 - E[L_T]/L_0": measured,
                    "promised": promised}  # fmt: skip
            cases.append((promised / measured if measured > 0.0 else np.inf, 1.0, told))
    return at_most(cases, name=f"{rounds} rounds enumerated")

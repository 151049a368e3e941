"""Lemma C.11 and the induction of Theorem C.4: rounds enumerated at the step size of the theorem.

Steps are tiny there: what a round gains is computed from what it changes.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from linrep.claims import Cases, Exponent, Fact, Readings, statement
from linrep.claims.evidence import PROVED
from linrep.claims.quantities import LOWER
from linrep.papers.perfedsi import _slowest, _states
from linrep.papers.perfedsi._enumeration import exact_cases, power_of, start_of, whole
from linrep.papers.perfedsi._hypotheses import ROUNDS
from linrep.papers.perfedsi._states import plain
from linrep.papers.perfedsi.counterexamples.lemmac11 import sides
from linrep.theory import perfedsi as theory
from linrep.theory.perfedsi_rounds import (
    Limits,
    State,
    Walks,
    progress,
    progress_of_rounds,
    sequences,
)

_NORMS = (1.0, 2.0, 4.0, 8.0, 16.0)
_CONDITIONS = (1.0, 2.0, 4.0, 8.0)
_DIMENSIONS = (8, 16, 32, 64)
_SCALES = (1.0, 4.0, 16.0, 64.0)  # c_z


def _start(state: State) -> Limits:
    """Return the least limits that a state keeps, with a little room for the steps."""
    limits = start_of(state).limits()
    return Limits(1.001 * limits.c, 1.001 * limits.rows, 1.01 * limits.errors)


def promise(setting, steps, powers, share=1.0):
    """Return a share of the largest step size, and the fall of L that is promised in a round."""
    powers = {"rate": 0.5, "limit": 132.0} | dict(powers)
    rate, limit = powers.pop("rate"), powers.pop("limit")
    step_size = share * theory.step_size_limit(
        setting,
        steps,
        c_power=powers.pop("limit_power"),
        condition_power=powers["condition_power"],
    )
    step_size *= 132.0 / float(limit)
    fall = theory.decrease(setting, step_size=step_size, local_steps=steps, **powers)
    return step_size, 2.0 * float(rate) * fall


def _one_round(state, items, participants, share, powers, limits=None):
    """Return a case for `exact_cases`: promised over measured progress at a share of the step size.

    The event's constants are the least that the start keeps, unless they are given.
    """
    limits, steps = limits or _start(state), items.shape[1]
    setting = state.setting(limits)
    step_size, promised = promise(setting, steps, powers, share)
    measured, chance = progress(Walks(state, items, step_size), limits, participants)
    at = {
        **plain(state),
        "step_size": step_size,
        "tau": steps,
        "C": participants,
        "c": limits.c,
        "mu": setting.mu,
        "c_z": setting.c_z,
        "P(G)": chance,
        "1 - E[L+]/L": measured,
        "promised": promised,
    }
    exact = chance == 1.0 or participants == state.truth.n == 1
    return promised / measured if measured > 0.0 else np.inf, 1.0, at, exact


def _at_limits(powers, budget) -> list:
    """Compare at factors as unbalanced as their norms allow, and the weakest side information."""
    grid = product(_NORMS[::-1], _CONDITIONS, _SCALES, budget((1,), (1, 2)))
    return [
        _one_round(_states.unbalanced(c, condition, c_z=c_z), sequences(8, steps), 1, 1.0, powers)
        for c, condition, c_z, steps in grid
    ]


def _at_the_saddle(powers) -> list:
    """Compare one round from U = 0, V = 0: inside the event with c = mu = 1 and c_0 = r/2."""
    cases = []
    for k in (1, 2):
        state = _states.saddle(k)
        case = _one_round(state, sequences(8, 1), 1, 1.0, powers, limits=_start(state))
        case[2]["c_0"] = state.loss
        cases.append(case)
    return cases


def start_readings(small, any_start, name, strength="") -> Readings:
    """Put cases for the two readings of "for some constants c_0, c" together."""
    return Readings(
        [
            exact_cases(small, name="c_0 small enough", strength=strength),
            exact_cases(any_start, name="any c_0 (c_0 = r/2 allows U = 0, V = 0)"),
        ],
        name=name,
        phrase="for some constants c_0, c",
    )


def _near(state: State, near: float) -> bool:
    """Return whether L <= sigma_r^2/(near c_z^2)."""
    scale = theory.scaling(state.truth.Z).c_z
    return state.loss <= (state.truth.singular_values[-1] / scale) ** 2 / near


def _at_random(budget, rng, powers, near) -> Cases:
    """Compare at random states near the truth, up to three steps and two participants."""
    cases = []
    for _ in range(budget(120, 1500, 6000)):
        p = int(rng.integers(1, 4))
        d = int(rng.choice([2, 3, 4]))
        state = _states.drawn(
            rng,
            n=p + int(rng.integers(0, 3)),
            d=d,
            p=p,
            k=int(rng.integers(1, min(d, p) + 1)),
            side=rng.choice(["gaussian", "unit", "isometric"]),
            error=10.0 ** rng.uniform(-3, -0.5),
            tilt=2.0 ** rng.uniform(-4, 4),
            condition=10.0 ** rng.uniform(0, 1.5),
        )
        if np.isfinite(theory.scaling(state.truth.Z).c_z) and _near(state, near):
            items = sequences(d, int(rng.integers(1, 4)))
            share = 10.0 ** rng.uniform(-2, 0)
            cases.append(_one_round(state, items, int(rng.integers(1, 3)), share, powers))
    return exact_cases(cases, name="random states near the truth", strength=proof_of(powers))


def _at_the_edge(powers) -> Cases:
    """Compare at states from which every other item leads out of the event."""
    cases = []
    for c in (1.0, 2.0, 8.0):
        for d in (2, 8):
            state, limits = _states.edge(d, c=c)
            cases.append(_one_round(state, sequences(d, 1), 1, 1.0, powers, limits))
    return exact_cases(cases, name="edge of the event", strength=proof_of(powers))


def _measured(state, step_size, steps) -> float:
    """Return the progress of a round whose event asks for as little as it needs."""
    walks = Walks(state, sequences(state.truth.d, steps), step_size)
    return progress(walks, walks.limits())[0]


def _largest_useful(state) -> float:
    """Return the step size up to which a round makes progress, tau = 1; 0 if none does."""
    useful = 0.0
    for size in np.geomspace(1e-3, 1e2, 200):
        if _measured(state, size, 1) <= 0.0:
            break
        useful = float(size)
    return useful


def _along_scales(power) -> Exponent:
    """Follow the slowest progress along c_z: it falls at most like the claimed power."""
    states = [_states.unbalanced(4.0, 1.0, c_z=c_z) for c_z in _SCALES]
    slow = [1.0 / _measured(state, 1e-6, 1) for state in states]
    return power_of("1/progress", "c_z", _SCALES, slow, power, at_most=True)


def _least_power(powers):
    """Return the least power of c_z that suffices at the norms' limits, of those up to 3."""
    for power in (0, 1, 2, 3):
        cases = _at_limits(powers | {"c_z_power": power}, lambda *sizes: sizes[0])
        if all(ratio <= 1.0 for ratio, _, _, exact in cases if exact):
            return power
    return "none"


def _double_sum(state, tau) -> float:
    """Return (58)'s sum over s of |E[d grad L_s] - tau grad L|, over tau |grad L|, as printed."""
    walks = Walks(state, sequences(state.truth.d, tau), 1e-6)
    limits = walks.limits()
    total = sum(
        np.linalg.norm([np.linalg.norm(part) for part in walks.drift(limits, s, tau)[:2]])
        for s in range(tau)
    )
    return float(total / (tau * np.linalg.norm([np.linalg.norm(part) for part in state.gradients])))


def in_fractions(sides, powers, *, rounds=1) -> Cases:
    """Compare the promised fall of the loss with that of rounds enumerated without rounding.

    They start from U = c U*, V = V*/c, with an error orthogonal to U*; singular values, c_z, k and
    r are 1, and with c = 32 nothing leaves the event.
    """
    used = {name: whole(powers[name]) for name in ("c_power", "limit_power")}
    promised, actual = sides(**used)
    at = {"d": 16, "k": 1, "r": 1, "c": 32.032, "mu": 2048, "T": rounds, "C": 1, "tau": 1}
    return Cases(
        [(promised / actual, 1, at)],
        quantity="promised fall of the loss over the actual one",
        name=f"{rounds} round(s) in fractions, c = 32",
        strength=proof_of(powers),
    )


CORRECTED = {"c_power": 2.0, "condition_power": 1.0, "limit_power": 7.0}
#: Which way these say more.
STRONGER = {
    "c_power": -1,
    "condition_power": -1,
    "limit_power": -1,
    "c_z_power": -1,
    "rate": 1,
    "limit": -1,
}


def proof_of(powers) -> str:
    """Return "proved" for the powers that the derivation has, also without k in the rate."""
    own = powers.get("c_z_power", 3) == 3 and not powers.get("with_p", False)
    return PROVED if own and CORRECTED.items() <= powers.items() else ""


@statement(
    "perfedsi.lemmaC11",
    place="Lemma C.11, (56)-(62)",
    hypotheses=ROUNDS,
    latex=r"\eta \le \frac{\sigma_r}{132k^{3/2}r\tau\mu^2\sigma_1^2c^5c_z^4} \Rightarrow"
    r" E_t[\mathcal L(U_{t+1}, V_{t+1})1_{\mathcal G_{t,\tau}}] \le \Big(1 -"
    r" \frac{\eta\tau\sigma_r}{2cc_z^3d}\Big)\mathcal L(U_t, V_t)1_{\mathcal G_{t,0}}",
    plain="In each round the loss decreases in expectation by a factor set by sigma_r/c.",
    negative_control={"c_power": 0.0},
)
def lemma_c11(
    budget,
    rng,
    *,
    c_power=1.0,
    condition_power=0.0,
    limit_power=5.0,
    c_z_power=3.0,
    rate=0.5,
    limit=132.0,
    near=32.0,
    orders=True,
):
    """Enumerate a round; powers are those of 1/c and sigma_r/sigma_1, and of 1/c in eta.

    132 stands in eta, 32 in how near random states are to the truth. With orders also how progress
    goes with c_z, d, eta and tau, of which (56) is a bound.
    """
    powers = {
        "c_power": c_power,
        "condition_power": condition_power,
        "limit_power": limit_power,
        "c_z_power": c_z_power,
        "rate": rate,
        "limit": limit,
    }
    limits = _at_limits(powers, budget)
    yield start_readings(limits, _at_the_saddle(powers), "c_0", proof_of(powers))
    yield in_fractions(sides, powers)
    yield _at_random(budget, rng, powers, near)
    yield _at_the_edge(powers)
    yield _slowest.corners(
        lambda setting: promise(setting, 1, powers),
        name="slowest rounds, in fractions",
        strength=proof_of(powers),
    )
    state, steps, taus = _states.alike(4, 8), (1e-6, 1e-5, 1e-4, 1e-3), (1, 2, 3)
    along_d = [_measured(_states.alike(4, d), 1e-4, 1) for d in _DIMENSIONS]
    if orders:
        yield _along_scales(c_z_power)
        yield power_of("progress", "d", _DIMENSIONS, along_d, -1.0)
        along_eta = [_measured(state, size, 1) for size in steps]
        yield power_of("progress", "eta", steps, along_eta, 1.0)
        yield power_of("progress", "tau", taus, [_measured(state, 1e-4, tau) for tau in taus], 1.0)
    limit = theory.step_size_limit(state.setting(_start(state)), 1)
    yield Fact("fall of L in a round over eta tau/d, balanced", along_d[0] * _DIMENSIONS[0] / 1e-4)
    yield Fact(
        "step size where progress ends, over the largest stated",
        _largest_useful(state) / limit,
        value_is=LOWER,
    )
    yield Fact("least power of c_z that suffices", _least_power(powers))
    yield Fact("(58)'s sum over s over tau |grad L|, tau = 3", _double_sum(state, 3))


_LIMIT = r"\eta \le \frac{\sigma_r^2}{132k^{3/2}r\tau\mu^2\sigma_1^3c^7c_z^4},\ "
_NEAR = r"\mathcal L(U_t, V_t) \le \frac{\sigma_r^2}{32c_z^2}"


lemma_c11.corrected(
    "perfedsi.lemmaC11.corrected",
    latex=_LIMIT + _NEAR + r" \Rightarrow"
    r" E_t[\mathcal L(U_{t+1}, V_{t+1})1_{\mathcal G_{t,\tau}}] \le \Big(1 -"
    r" \frac{\eta\tau\sigma_r^2}{2c^2\sigma_1c_z^3d}\Big)\mathcal L(U_t, V_t)1_{\mathcal G_{t,0}}",
    plain="In each round near the truth, the loss decreases in expectation by a factor set by "
    "sigma_r^2/(c^2 sigma_1).",
    constants=CORRECTED | {"orders": False},
    negative_control={"c_z_power": 0.0},
    stronger=STRONGER | {"near": -1},
)


def _starts_of_runs(budget):
    """Yield states, and numbers of steps and rounds: c, condition, rank, c_z, d, tau, and c_0."""
    for c in (32.0, 16.0, 4.0, 1.0):
        yield _states.unbalanced(c, 1.0, d=2, k=1, p=2), 1, budget(4, 5)
        yield _states.alike(1, 2, size=c), 1, budget(4, 5)
    for c in (16.0, 4.0, 1.0):
        for condition, c_z in ((1.0, 1.0), (16.0, 1.0), (1.0, 16.0), (4.0, 4.0)):
            yield _states.unbalanced(c, condition, d=2, p=4, c_z=c_z), 1, budget(3, 4)
            yield _states.unbalanced(c, condition, d=4, k=1, p=2, c_z=c_z), 1, budget(2, 4)
            yield _states.unbalanced(c, condition, d=4, p=4, c_z=c_z), budget(1, 2), 2
            # L near c_0 sigma_r^2, c_0 = 1/(32 c c_z^2), c at least 1
            error = c**2 / np.sqrt(16.0 * c * c_z)
            yield _states.unbalanced(c, condition, d=2, p=4, c_z=c_z, error=0.9 * error), 1, 3
        yield _states.alike(1, 2, size=c, error=0.9 / np.sqrt(16.0 * c)), 1, 4


def _some_rounds(state, steps, rounds, powers):
    """Return a case for `exact_cases` on (15): promised over measured progress of some rounds."""
    limits = _start(state)
    setting = state.setting(limits)
    step_size, promised = promise(setting, steps, powers)
    promised *= rounds - 1
    measured, chance = progress_of_rounds(
        state, limits, sequences(state.truth.d, steps), step_size, rounds
    )
    at = {
        **plain(state),
        "step_size": step_size,
        "tau": steps,
        "c": limits.c,
        "mu": setting.mu,
        "c_z": setting.c_z,
        "L_0/sigma_r^2": state.loss / setting.smallest**2,
        "T": rounds,
        "P(G)": chance,
        "1 - E[L_T]/L_0": measured,
        "promised": promised,
    }
    return promised / measured if measured > 0.0 else np.inf, 1.0, at, True


def enumerated_rounds(budget, powers, display="(15)") -> Readings:
    """Compare (15) or (6), with T, after a few rounds from states near the truth and the saddle."""
    near = [
        _some_rounds(state, steps, rounds, powers)
        for state, steps, rounds in _starts_of_runs(budget)
    ]
    far = [_some_rounds(_states.saddle(k), 1, 2, powers) for k in (1, 2)]
    return start_readings(near, far, f"{display} after some rounds", proof_of(powers))

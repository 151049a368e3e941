"""Theorems C.4 and 3.3: rates of whole runs, and which step sizes they stand."""

from __future__ import annotations

import numpy as np

from linrep.claims import Cases, Fact, statement
from linrep.papers.perfedsi import _runs, _slowest
from linrep.papers.perfedsi._hypotheses import FRESH, RUNS
from linrep.papers.perfedsi.counterexamples.theoremc4 import sides
from linrep.papers.perfedsi.lemma_c11 import (
    CORRECTED,
    STRONGER,
    enumerated_rounds,
    in_fractions,
    promise,
    proof_of,
)


def _implied(rng, powers):
    """Yield what the limit of the step size allows at the constants of small steps, and runs do."""
    setting = _runs.cell()
    state = _runs.state_of(setting, rng)
    largest = _runs.largest_step(state, setting, rng)
    numbers = state.setting(_runs.measured_limits(state, setting, 0.01 * largest, rng))
    limit, fall = promise(numbers, setting["tau"], powers)
    yield Fact("step size allowed at the constants of small steps", limit)
    yield Fact("largest stable step size", largest)
    yield Fact(
        f"rounds to {_runs.TARGET:g} that the bound implies", np.log(1.0 / _runs.TARGET) / fall
    )
    yield Fact(
        f"rounds to {_runs.TARGET:g} at tuned steps", _runs.tuned_rounds(state, setting, rng)
    )


def _fixed(state, setting, rng) -> float:
    """Return the rate at eta tau = 0.1, or what the setting has."""
    return _runs.decay(state, setting, setting.get("eta tau", 0.1) / setting["tau"], rng)


def _runs_of_c4(budget, rng, d_power):
    """Yield runs' rates, and largest step sizes, in all variables."""
    many, few = budget(24, 120, 240), budget(4, 32, 60)
    # What is measured, along which key of settings, the letter for it, values, and the power.
    lines: list[tuple[str, str, str, tuple, float]] = [
        ("rate", "d", "d", (8, 16, 32, 64), -d_power),
        ("rate", "tau", "tau at fixed eta tau", (5, 20, 100), 0.0),
        ("rate", "C", "C", (1, 2, 4, 8), 0.0),
        ("rate", "eta tau", "eta tau", (0.025, 0.05, 0.1, 0.2), 1.0),
        ("1/rate", "p", "k", (2, 8, 32), 1.0),
        ("1/rate", "k", "r", (1, 2, 4), 0.0),
        ("1/largest step", "p", "k", budget((2, 8, 32), (2, 4, 8, 16, 32)), 1.5),
        ("1/largest step", "tau", "tau", budget((1, 5, 30), (1, 3, 5, 10, 30)), 1.0),
        ("1/largest step", "C", "C", budget((1, 4, 8), (1, 2, 4, 8)), 0.0),
        ("1/largest step", "k", "r", budget((1, 3, 4), (1, 2, 3, 4)), 1.0),
        ("1/largest step", "d", "d", budget((8, 32, 64), (8, 16, 32, 64)), 0.0),
    ]
    measures = {
        "rate": _fixed,
        "1/rate": lambda *of: 1.0 / _fixed(*of),
        "1/largest step": lambda *of: 1.0 / _runs.largest_step(*of),
    }
    for name, key, variable, values, power in lines:
        stable = name == "1/largest step"
        side = "gaussian" if stable else "isometric"
        yield _runs.along(
            name,
            values,
            measures[name],
            power,
            few if stable else many,
            rng,
            variable=variable,
            at_most=name.startswith("1/"),
            settings=[_runs.cell(side=side, **{key: value}) for value in values],
        )


@statement(
    "perfedsi.theoremC4",
    place="Theorem C.4, (15)",
    hypotheses=RUNS,
    latex=r"\eta \le \frac{\sigma_r}{132k^{3/2}r\tau\mu^2\sigma_1^2c^5c_z^4} \Rightarrow"
    r" E[\mathcal L(U_T, V_T)1_{\mathcal G_{T-1,\tau}}] \le \Big(1 -"
    r" \frac{\eta\tau\sigma_r}{2cc_z^3dk}\Big)^{T-1}\mathcal L(U_0, V_0)",
    plain="PerFedSI converges linearly in expectation where its iterates stay regular.",
    negative_control={"d_power": 2.0, "orders": True},
)
def theorem_c4(
    budget,
    rng,
    *,
    c_power=1.0,
    condition_power=0.0,
    limit_power=5.0,
    c_z_power=3.0,
    rate=0.5,
    limit=132.0,
    with_p=True,
    d_power=1.0,
    orders=True,
):
    """Check it from unbalanced states by enumeration, and with orders its exponents by runs.

    Powers are those of 1/c and sigma_r/sigma_1, and of 1/c in eta; with_p has k in the rate.
    """
    powers = {
        "c_power": c_power,
        "condition_power": condition_power,
        "limit_power": limit_power,
        "c_z_power": c_z_power,
        "rate": rate,
        "limit": limit,
        "with_p": with_p,
    }
    yield enumerated_rounds(budget, powers)
    yield in_fractions(sides, powers, rounds=2)

    def one_step(setting):
        return promise(setting, 1, powers)

    proof = proof_of(powers)
    yield _slowest.corners(one_step, rounds=2, name="slowest rounds, T = 2", strength=proof)
    yield Cases(
        [_slowest.many_rounds(one_step)],
        quantity="promised over measured fall of L",
        name="T = 16",
        strength=proof,
    )
    if orders:
        yield from _runs_of_c4(budget, rng, d_power)
    yield from _implied(rng, powers)


theorem_c4.corrected(
    "perfedsi.theoremC4.corrected",
    latex=r"\eta \le \frac{\sigma_r^2}{132k^{3/2}r\tau\mu^2\sigma_1^3c^7c_z^4},\ "
    r"c_0 \le \frac1{32cc_z^2} \Rightarrow E[\mathcal L(U_T, V_T)1_{\mathcal G_{T-1,\tau}}]"
    r" \le \Big(1 - \frac{\eta\tau\sigma_r^2}{2c^2\sigma_1c_z^3d}\Big)^{T-1}\mathcal L(U_0, V_0)",
    plain="PerFedSI converges linearly near the truth, at a rate like sigma_r^2/(c^2 sigma_1).",
    constants=CORRECTED | {"with_p": False, "orders": False},
    negative_control={"c_power": 1.0, "condition_power": 0.0},
    stronger=STRONGER,
)


def _rounds_scaled(state, setting, rng) -> float:
    """Return the rounds at a step size as Theorem 3.3 has it, stable at all sizes."""
    step_size = 2.0 / (setting["p"] ** 1.5 * setting["k"] * setting["tau"])
    return float(np.log(1.0 / _runs.TARGET) / _runs.decay(state, setting, step_size, rng))


@statement(
    "perfedsi.theorem3.3",
    place="Theorem 3.3, (6); the rounds: the paragraph after it",
    latex=r"\eta = O\Big(\frac1{k^{3/2}r\tau}\Big) \Rightarrow E[\mathcal L(U_T, V_T)"
    r"1_{\mathcal G_{T-1,\tau}}] \le \Big(1 - \frac{c'\eta\tau}{d}\Big)^{T-1}\mathcal L(U_0, V_0);"
    r"\quad \text{after it: } T = O\big(dk^{3/2}r\log\tfrac1\epsilon\big)",
    plain="At steps of order 1/(k^(3/2) r tau), d k^(3/2) r log(1/eps) rounds suffice, from starts "
    "near the truth (c_0 small).",
    hypotheses=(*RUNS, FRESH),
    negative_control={"d_power": 0.5},
    stronger={"d_power": 0, "p_power": -1},
)
def theorem_3_3(budget, rng, *, d_power=1.0, p_power=1.5):
    """Enumerate (6) from both kinds of starts; count rounds to 1e-6 at such steps, and at tuned.

    c' is that of the corrected Theorem C.4. At steps like 1/(k^(3/2) r tau) the exponents in k and
    r are those of the step, as long as it is stable: only tuned steps decide on them.
    """
    runs, fewer = budget(20, 40, 120), budget(5, 70, 200)
    lines = (
        ("d", "d", budget((16, 32, 64, 128), (16, 32, 64, 128, 256)), d_power),
        ("p", "k", budget((2, 4, 8), (2, 4, 8, 16, 32)), p_power),
        ("k", "r", (1, 2, 4), 1.0),
        ("tau", "tau", budget((1, 5, 25), (1, 3, 10, 30, 100)), 0.0),
        ("C", "C", (1, 2, 4, 8), 0.0),
    )
    yield enumerated_rounds(budget, CORRECTED | {"with_p": False}, "(6)")
    for key, name, values, power in (lines[0], *lines[3:]):
        yield _runs.along(
            "rounds, eta like 1/(k^{3/2} r tau)",
            values,
            _rounds_scaled,
            power,
            runs,
            rng,
            variable=name,
            settings=[_runs.cell(side="isometric", **{key: value}) for value in values],
        )
    for key, name, values, power in lines[:3]:
        yield _runs.along(
            "rounds, tuned eta",
            values,
            _runs.tuned_rounds,
            power,
            fewer,
            rng,
            variable=name,
            at_most=True,
            settings=[_runs.cell(**{key: value}) for value in values],
        )

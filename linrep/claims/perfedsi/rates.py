"""Theorems C.4 and 3.3: rates of whole runs, and which step sizes they stand."""

from __future__ import annotations

import numpy as np

from linrep.claims import LEVEL, Evidence, claim, combine, log_slope
from linrep.claims.perfedsi._runs import (
    TARGET,
    along,
    cell,
    decay,
    largest_step,
    measured_limits,
    state_of,
    tuned_rounds,
)
from linrep.claims.perfedsi._states import ASSUMPTION_3_2
from linrep.claims.perfedsi.rounds import MENDED, PRINTED, enumerated_rounds
from linrep.theory import perfedsi as theory


def _implied(budget, rng, powers) -> str:
    """Tell what the limit of the step size, and the rounds, are at constants of small steps."""
    sides = budget(("gaussian",), ("gaussian", "unit", "isometric"))
    sizes: list[dict] = [{"side": side} for side in sides]
    for key, _, values in budget((), _LINES + _STEP_LINES):
        sizes += [{key: value} for value in values if {key: value} not in sizes]
    rates = {key: value for key, value in powers.items() if key != "limit_power"}
    told = []
    for changes in sizes:
        setting = cell(**changes)
        state = state_of(setting, rng)
        largest = largest_step(state, setting, rng)
        limits = measured_limits(state, setting, 0.01 * largest, rng)
        numbers = state.setting(limits)
        limit = theory.step_size_limit(
            numbers, setting["tau"], c_power=powers["limit_power"],
            condition_power=powers["condition_power"],
        )  # fmt: skip
        fall = theory.decrease(numbers, step_size=limit, local_steps=setting["tau"], **rates)
        observed = tuned_rounds(state, setting, rng)
        name = ", ".join(f"{_LETTERS.get(key, key)} {value}" for key, value in changes.items())
        told.append(
            f"{name}: {limits.c:.2g}, {numbers.mu:.2g}, {numbers.c_z:.2g}, {limit:.0e}, "
            f"{largest:.2g}, {np.log(1.0 / TARGET) / fall:.0e}, {observed:.0f}"
        )
    return (
        "c, mu and c_z of small steps, the eta allowed and the largest stable one, the rounds to "
        f"{TARGET:g} that the bound implies and those at tuned steps are: {'; '.join(told)}"
    )


def _fixed(state, setting, rng) -> float:
    """Return the rate at eta tau = 0.1, or what the setting has."""
    return decay(state, setting, setting.get("eta tau", 0.1) / setting["tau"], rng)


def _slowness(state, setting, rng) -> float:
    return 1.0 / _fixed(state, setting, rng)


def _inverse(state, setting, rng) -> float:
    return 1.0 / largest_step(state, setting, rng)


_LETTERS = {"n": "M", "p": "k", "k": "r"}  # the paper's
_LINES = (
    ("d", "d", (8, 16, 32, 64)),
    ("tau", "tau at fixed eta tau", (5, 20, 100)),
    ("C", "C", (1, 2, 4, 8)),
    ("p", "k", (2, 8, 32)),
    ("k", "r", (1, 2, 4)),
)
_STEP_LINES = (
    ("p", "k", (2, 4, 8, 16, 32)),
    ("tau", "tau", (1, 3, 5, 10, 30)),
    ("C", "C", (1, 2, 4, 8)),
    ("k", "r", (1, 2, 3, 4)),
    ("d", "d", (8, 16, 32, 64)),
)


def _runs_of_c4(budget, rng, d_power):
    """Return the parts on runs: rates, and largest step sizes, in all variables."""
    many, few, level = budget(24, 120, 240), budget(4, 32, 60), LEVEL / 11
    rates = [
        ("rate", *_LINES[0], -d_power),
        ("rate", *_LINES[1], 0.0),
        ("rate", *_LINES[2], 0.0),
        ("rate", "eta tau", "eta tau", (0.025, 0.05, 0.1, 0.2), 1.0),
        ("1/rate", *_LINES[3], 1.0),
        ("1/rate", *_LINES[4], 0.0),
    ]
    powers = (1.5, 1.0, 0.0, 1.0, 0.0)
    steps = [
        ("1/largest step", key, variable,
         budget((values[0], values[len(values) // 2], values[-1]), values), power)
        for (key, variable, values), power in zip(_STEP_LINES, powers, strict=True)
    ]  # fmt: skip
    measures = {"rate": _fixed, "1/rate": _slowness, "1/largest step": _inverse}
    parts = []
    for name, key, variable, values, power in rates + steps:
        stable = measures[name] is _inverse
        side = "gaussian" if stable else "isometric"
        parts.append(
            along(
                name, values, measures[name], power, few if stable else many, rng, level,
                variable=variable, at_most=name.startswith("1/"),
                settings=[cell(side=side, **{key: value}) for value in values],
            )
        )  # fmt: skip
    return parts


_C4: dict = {
    "place": "Theorem C.4, (15)",
    "kind": "rate or exponent",
    "hypotheses": [ASSUMPTION_3_2],
}


def _theorem_c4(budget, rng, d_power, **powers) -> Evidence:
    """Enumerate a few rounds from unbalanced states, and follow runs."""
    parts = [enumerated_rounds(budget, powers), *_runs_of_c4(budget, rng, d_power)]
    steps = ", ".join(f"{part.measured:.2f} ({part.name})" for part in parts if "step" in part.name)
    return combine(
        parts,
        f"{combine(parts).sentence}. With L(U_t, V_t) on the left, T fixed, (15) is false at t = 0 "
        f"wherever the event is sure. Exponents of 1/(largest stable step): {steps}. As to the "
        f"step size allowed, {_implied(budget, rng, powers)}",
    )


@claim(
    "perfedsi.theoremC4",
    latex=r"\eta \le \frac{\sigma_r}{132k^{3/2}r\tau\mu^2\sigma_1^2c^5c_z^4} \Rightarrow"
    r" E[\mathcal L(U_T, V_T)1_{\mathcal G_{T-1,\tau}}] \le \Big(1 -"
    r" \frac{\eta\tau\sigma_r}{2cc_z^3dk}\Big)^{T-1}\mathcal L(U_0, V_0)",
    plain="PerFedSI converges linearly in expectation where its iterates stay regular.",
    broken={"d_power": 2.0},
    mended=MENDED,
    **_C4,
)
def theorem_c4(
    budget, rng, *, c_power=PRINTED["c_power"], condition_power=PRINTED["condition_power"],
    limit_power=PRINTED["limit_power"], d_power=1.0,
) -> Evidence:  # fmt: skip
    """Check it from unbalanced states by enumeration, and its exponents by runs."""
    return _theorem_c4(
        budget, rng, d_power, c_power=c_power, condition_power=condition_power,
        limit_power=limit_power, with_p=True,
    )  # fmt: skip


@claim(
    "perfedsi.theoremC4.corrected",
    latex=r"\eta \le \frac{\sigma_r^2}{132k^{3/2}r\tau\mu^2\sigma_1^3c^7c_z^4},\ "
    r"c_0 \le \frac1{32cc_z^2} \Rightarrow E[\mathcal L(U_T, V_T)1_{\mathcal G_{T-1,\tau}}]"
    r" \le \Big(1 - \frac{\eta\tau\sigma_r^2}{2c^2\sigma_1c_z^3d}\Big)^{T-1}\mathcal L(U_0, V_0)",
    plain="PerFedSI converges linearly near the truth, at a rate like sigma_r^2/(c^2 sigma_1).",
    broken={"c_power": 1.0, "condition_power": 0.0},
    corrects="perfedsi.theoremC4",
    **_C4,
)
def theorem_c4_corrected(
    budget, rng, *, c_power=2.0, condition_power=1.0, limit_power=7.0, d_power=1.0
) -> Evidence:
    """Check it in the same way, without the k in the denominator of the rate."""
    return _theorem_c4(
        budget, rng, d_power, c_power=c_power, condition_power=condition_power,
        limit_power=limit_power, with_p=False,
    )  # fmt: skip


def _scaled(setting) -> float:
    """Return a step size as Theorem 3.3 has it, with a constant that is stable at all sizes."""
    return 2.0 / (setting["p"] ** 1.5 * setting["k"] * setting["tau"])


def _rounds_scaled(state, setting, rng) -> float:
    return float(np.log(1.0 / TARGET) / decay(state, setting, _scaled(setting), rng))


@claim(
    "perfedsi.theorem3.3",
    place="Theorem 3.3, (6)",
    kind="rate or exponent",
    latex=r"\eta = O\Big(\frac1{k^{3/2}r\tau}\Big) \Rightarrow E[\mathcal L(U_T, V_T)"
    r"1_{\mathcal G_{T-1,\tau}}] \le \Big(1 - \frac{c'\eta\tau}{d}\Big)^{T-1}\mathcal L(U_0, V_0),"
    r"\quad T = O\big(dk^{3/2}r\log\tfrac1\epsilon\big)",
    plain="At steps of order 1/(k^(3/2) r tau), d k^(3/2) r log(1/eps) rounds suffice, from starts "
    "near the truth (c_0 small).",
    hypotheses=[ASSUMPTION_3_2],
    broken={"d_power": 0.5},
)
def theorem_3_3(
    budget, rng, *, d_power=1.0, p_power=1.5, rank_power=1.0, steps_power=0.0
) -> Evidence:
    """Enumerate (6) from both kinds of starts; count rounds to 1e-6 at such steps, and at tuned.

    c' is that of the corrected Theorem C.4. At steps like 1/(k^(3/2) r tau) the exponents in k and
    r are those of the step, as long as it is stable: only tuned steps decide on them.
    """
    runs, fewer, level = budget(20, 40, 120), budget(5, 70, 200), LEVEL / 6
    taus = budget((1, 5, 25), (1, 3, 10, 30, 100))
    lines = (
        ("d", "d", budget((16, 32, 64, 128), (16, 32, 64, 128, 256)), d_power),
        ("p", "k", budget((2, 4, 8), (2, 4, 8, 16, 32)), p_power),
        ("k", "r", (1, 2, 4), rank_power),
        ("tau", "tau", taus, steps_power),
        ("C", "C", (1, 2, 4, 8), 0.0),
    )

    def scaled(line, at_most=False):
        key, name, values, power = line
        return along(
            "rounds, eta like 1/(k^{3/2} r tau)", values, _rounds_scaled, power, runs, rng, level,
            variable=name, at_most=at_most,
            settings=[cell(side="isometric", **{key: value}) for value in values],
        )  # fmt: skip

    start = enumerated_rounds(budget, MENDED | {"with_p": False})
    parts = [start, *(scaled(lines[place]) for place in (0, 3, 4))]
    parts += [
        along(
            "rounds, tuned eta", values, tuned_rounds, power, fewer, rng, level, variable=name,
            at_most=True, settings=[cell(**{key: value}) for value in values],
        )
        for key, name, values, power in lines[:3]
    ]  # fmt: skip
    given = [scaled(line, at_most=True) for line in lines[1:3]]
    fixed = _slope_in_tau(taus, fewer, rng, lambda *given: np.log(1.0 / TARGET)
                          / decay(given[0], given[1], 0.01, given[2]))  # fmt: skip
    tuned = _slope_in_tau(taus, fewer, rng, tuned_rounds)
    return combine(
        parts,
        f"{combine(parts).sentence}. With c_0 small enough; with any c_0 no c' > 0 will do, as "
        "nothing moves from U = 0, V = 0, inside the event with c_0 = r/2, c = mu = 1. Exponents "
        "of the rounds: "
        + ", ".join(f"{part.measured:.2f} ({part.name})" for part in [*parts[1:], *given])
        + f"; the last two are the step's own; in tau {fixed:.2f} at eta = 0.01 and {tuned:.2f} at "
        "tuned eta",
    )


def _slope_in_tau(taus, runs, rng, measure) -> float:
    """Return the exponent of rounds in tau."""
    samples = [
        [measure(state_of(cell(tau=tau), rng), cell(tau=tau), rng) for _ in range(runs)]
        for tau in taus
    ]
    return log_slope(taus, samples, rng=rng).value

"""Theorems C.4 and 3.3: rates of whole runs, and which step sizes they stand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

import linrep as lr
from linrep.claims import (
    LEVEL,
    Evidence,
    claim,
    combine,
    exponent,
    log_slope,
)
from linrep.claims.perfedsi._enumeration import Walks, balanced
from linrep.claims.perfedsi._states import ASSUMPTION_3_2, Limits, State, drawn
from linrep.claims.perfedsi.rounds import MENDED, PRINTED, enumerated_rounds
from linrep.theory import perfedsi as theory

#: What is held while one variable is swept.
CENTRE = {"n": 200, "d": 16, "p": 4, "k": 2, "side": "gaussian", "tau": 5, "C": 1}
_FOLDS = 12.0  # e-foldings of L that a rate is measured over
_TARGET = 1e-6
_PREDICTED_RATE = 2.0  # of L, times eta tau/d: both factors balanced, c_z = 1
_SEEDS = 8  # runs that decide on a step size
_SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7)  # of the largest step size


def cell(**changes) -> dict:
    """Return the centre with changes."""
    return {**CENTRE, **changes}


def state_of(setting, rng) -> State:
    """Draw a state near the truth."""
    sizes = {name: setting[name] for name in ("n", "d", "p", "k", "side")}
    return drawn(rng, **sizes, error=0.01)


def decay(state, setting, step_size, rng) -> float:
    """Return the decay of log L per round; -infinity for a run that diverges.

    After the first rounds, which meet errors that decay faster.
    """
    unit = _PREDICTED_RATE * step_size * setting["tau"] / setting["d"]
    stops = [max(1, int(0.5 * _FOLDS / unit)), max(2, int(1.5 * _FOLDS / unit))]
    trace = lr.perfedsi(
        state.truth, step_size=step_size, rounds=stops[1], local_steps=setting["tau"],
        participants=setting["C"], start=(state.U, state.V), record=stops, rng=rng,
    )  # fmt: skip
    if trace.stop_reason == "diverged":
        return -np.inf
    first, last = trace["population_risk"][1:]
    if last <= 1e-28 * trace["population_risk"][0]:  # rounding: it came down faster than that
        return float(np.log(trace["population_risk"][0] / max(first, 1e-300)) / stops[0])
    return float(np.log(first / last) / (stops[1] - stops[0]))


def largest_step(state, setting, rng) -> float:
    """Return the step size, up to 5 %, below which log L falls in the mean of some runs.

    It rises from 0.02 in factors of 1.3 to the first at which log L does not fall, then the last
    factor is halved. Runs start 1e-5 from the truth and last so many rounds as would let L fall by
    `_FOLDS` e-foldings at the rate of small steps: they grow, or fall, where all is linear.
    """
    U, V = (
        star + 1e-5 * rng.standard_normal(star.shape) / np.sqrt(len(star))
        for star in (state.truth.U, state.truth.V)
    )
    seeds = rng.integers(2**32, size=_SEEDS)

    def shrinks(step_size):
        unit = _PREDICTED_RATE * step_size * setting["tau"] / setting["d"]
        rounds = max(10, int(_FOLDS / unit))
        growth = []
        for seed in seeds:
            trace = lr.perfedsi(
                state.truth, step_size=step_size, rounds=rounds, local_steps=setting["tau"],
                participants=setting["C"], start=(U, V), record=[rounds], rng=seed,
            )  # fmt: skip
            if trace.stop_reason == "diverged":
                return False
            first, last = trace["population_risk"]
            growth.append(np.log(max(last, 1e-300) / first))
        return bool(np.mean(growth) < 0.0)

    low, high = 0.0, 0.02
    while shrinks(high):
        low, high = high, 1.3 * high
    if low == 0.0:
        return 0.0
    while high > 1.05 * low:
        middle = np.sqrt(low * high)
        low, high = (middle, high) if shrinks(middle) else (low, middle)
    return float(low)


def tuned_rounds(state, setting, rng) -> float:
    """Return the rounds to 1e-6 of the loss at the best of some shares of the largest step."""
    largest = largest_step(state, setting, rng)
    best = max(decay(state, setting, share * largest, rng) for share in _SHARES)
    return float(np.log(1.0 / _TARGET) / best) if best > 0.0 else np.inf


def along(
    name: str, values, measure: Callable[..., float], predicted, runs, rng, level, *,
    variable: str, at_most=False, label="", settings=None,
) -> Evidence:  # fmt: skip
    """Decide the exponent of what is measured along a variable, on fresh problems.

    ``measure(state, setting, rng)``; settings are the centre's with the variable changed.
    """
    settings = settings or [cell(**{variable: value}) for value in values]
    samples = [
        [measure(state_of(setting, rng), setting, rng) for _ in range(runs)] for setting in settings
    ]
    middle = np.array([np.median(sample) for sample in samples])
    points = pd.DataFrame(
        {
            "panel": "", "series": "", "x": values, "y": middle,
            "low": [np.quantile(sample, 0.1) for sample in samples],
            "high": [np.quantile(sample, 0.9) for sample in samples],
            "predicted": middle[0] * (np.asarray(values, dtype=float) / values[0]) ** predicted,
            "xlabel": variable, "ylabel": label or name,
        }
    )  # fmt: skip
    return exponent(
        log_slope(values, samples, level=level, rng=rng), predicted, at_most=at_most, level=level,
        n_trials=runs * len(values), points=points, name=f"{name} in {variable}",
        setting={"values": list(values), "measured": middle.tolist()},
    )  # fmt: skip


def measured_limits(state, setting, step_size, rng, segments=10) -> Limits:
    """Return the least constants of the event along a run at a step size."""
    found, U, V, rounds = [], state.U, state.V, 3 * setting["d"]
    for _ in range(segments):
        now = State(state.truth, U, V)
        if now.loss < 1e-26:
            break
        items = balanced(setting["d"], setting["tau"], 1, rng)
        found.append(Walks(now, items, step_size).limits())
        trace = lr.perfedsi(
            state.truth, step_size=step_size, rounds=rounds, local_steps=setting["tau"],
            participants=setting["C"], start=(U, V), record=[rounds], rng=rng,
        )  # fmt: skip
        U, V = trace.state["U"], trace.state["V"]
    return Limits(*(max(column) for column in zip(*found, strict=True)))


def _implied(budget, rng) -> str:
    """Tell what the printed limit of the step size, and the rounds, are at measured constants."""
    told = []
    designs = budget(("gaussian",), ("gaussian", "unit", "isometric"))
    sizes: list[dict] = [{"side": side} for side in designs]
    sizes += budget([], [{"d": 64}, {"p": 16}, {"k": 4}, {"tau": 20}, {"C": 8}])
    for changes in sizes:
        setting = cell(**changes)
        state = state_of(setting, rng)
        largest = largest_step(state, setting, rng)
        limits = measured_limits(state, setting, 0.2 * largest, rng)
        numbers = state.setting(limits)
        limit = theory.step_size_limit(numbers, setting["tau"])
        rounds = theory.rounds(numbers, _TARGET, local_steps=setting["tau"], with_p=True)
        observed = tuned_rounds(state, setting, rng)
        name = ", ".join(f"{key} {value}" for key, value in changes.items())
        told.append(
            f"{name}: c {limits.c:.2g}, mu {numbers.mu:.2g}, c_z {numbers.c_z:.2g}, eta at most "
            f"{limit:.1g} where {largest:.2g} is stable, {rounds:.1g} rounds to {_TARGET:g} where "
            f"{observed:.0f} do"
        )
    return "; ".join(told)


def _fixed(state, setting, rng) -> float:
    """Return the rate at eta tau = 0.1, or what the setting has."""
    return decay(state, setting, setting.get("eta tau", 0.1) / setting["tau"], rng)


def _slowness(state, setting, rng) -> float:
    return 1.0 / _fixed(state, setting, rng)


def _inverse(state, setting, rng) -> float:
    return 1.0 / largest_step(state, setting, rng)


def _runs_of_c4(budget, rng, d_power, level):
    """Return the parts on runs: rates in all variables, largest step sizes in k and tau."""
    many, few = budget(24, 40, 120), budget(8, 24, 60)
    tests = (
        ("rate", "d", "d", (8, 16, 32, 64), -d_power),
        ("rate", "tau", "tau at fixed eta tau", (5, 20, 100), 0.0),
        ("rate", "C", "C", (1, 2, 4, 8), 0.0),
        ("rate", "eta tau", "eta tau", (0.025, 0.05, 0.1, 0.2), 1.0),
        ("1/rate", "p", "k", (2, 8, 32), 1.0),
        ("1/rate", "k", "r", (1, 2, 4), 0.0),
        ("1/largest step", "p", "k", budget((2, 8, 32), (2, 4, 8, 16, 32)), 1.5),
        ("1/largest step", "tau", "tau", budget((1, 5, 30), (1, 3, 5, 10, 30)), 1.0),
    )
    measures = {"rate": _fixed, "1/rate": _slowness, "1/largest step": _inverse}
    parts = []
    for name, key, variable, values, power in tests:
        stable = measures[name] is _inverse
        side = "gaussian" if stable else "isometric"
        parts.append(
            along(
                name, values, measures[name], power,
                few if stable else many, rng, level, variable=variable,
                at_most=name.startswith("1/"),
                settings=[cell(side=side, **{key: value}) for value in values],
            )
        )  # fmt: skip
    return parts


def _told_steps(budget, rng) -> str:
    """Tell how the largest step size depends on C, r and d."""
    told = []
    for variable, name, values in (("C", "C", (1, 8)), ("k", "r", (1, 4)), ("d", "d", (8, 64))):
        found = [
            np.median([
                largest_step(state_of(cell(**{variable: value}), rng), cell(**{variable: value}),
                             rng)
                for _ in range(budget(3, 9))
            ])
            for value in values
        ]  # fmt: skip
        told.append(f"{found[0]:.2g} to {found[1]:.2g} for {name} from {values[0]} to {values[1]}")
    return "the largest stable step goes from " + ", ".join(told)


_C4: dict = {
    "place": "Theorem C.4, (15)",
    "kind": "rate or exponent",
    "hypotheses": [ASSUMPTION_3_2],
}


def _theorem_c4(budget, rng, d_power, **powers) -> Evidence:
    """Enumerate a few rounds from unbalanced states, and follow runs."""
    parts = [enumerated_rounds(budget, powers), *_runs_of_c4(budget, rng, d_power, LEVEL / 8)]
    return combine(
        parts,
        f"{combine(parts).sentence}. With L(U_t, V_t) on the left, T fixed, (15) is false at t = 0 "
        f"wherever the event is sure. At measured constants: {_implied(budget, rng)}; "
        f"{_told_steps(budget, rng)}",
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
        limit_power=limit_power,
    )  # fmt: skip


@claim(
    "perfedsi.theoremC4.corrected",
    latex=r"\eta \le \frac{\sigma_r^2}{132k^{3/2}r\tau\mu^2\sigma_1^3c^7c_z^4},\ "
    r"c_0 \le \frac1{32c_z^2} \Rightarrow E[\mathcal L(U_T, V_T)1_{\mathcal G_{T-1,\tau}}]"
    r" \le \Big(1 - \frac{\eta\tau\sigma_r^2}{2c^2\sigma_1c_z^3d}\Big)^{T-1}\mathcal L(U_0, V_0)",
    plain="PerFedSI converges linearly near the truth, at a rate like sigma_r^2/(c^2 sigma_1).",
    broken={"d_power": 2.0},
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
    return float(np.log(1.0 / _TARGET) / decay(state, setting, _scaled(setting), rng))


@claim(
    "perfedsi.theorem3.3",
    place="Theorem 3.3, (6)",
    kind="rate or exponent",
    latex=r"\eta = O\Big(\frac1{k^{3/2}r\tau}\Big) \Rightarrow E[\mathcal L(U_T, V_T)"
    r"1_{\mathcal G_{T-1,\tau}}] \le \Big(1 - \frac{c'\eta\tau}{d}\Big)^{T-1}\mathcal L(U_0, V_0),"
    r"\quad T = O\big(dk^{3/2}r\log\tfrac1\epsilon\big)",
    plain="At steps of order 1/(k^(3/2) r tau), d k^(3/2) r log(1/eps) rounds suffice.",
    hypotheses=[ASSUMPTION_3_2],
    broken={"d_power": 0.5},
)
def theorem_3_3(
    budget, rng, *, d_power=1.0, p_power=1.5, rank_power=1.0, steps_power=0.0
) -> Evidence:
    """Count rounds to 1e-6 at such steps, and at the largest stable ones."""
    runs, fewer, level = budget(20, 40, 120), budget(12, 100, 200), LEVEL / 8
    taus = budget((1, 5, 25), (1, 3, 10, 30, 100))
    lines = (
        ("d", "d", budget((16, 32, 64, 128), (16, 32, 64, 128, 256)), d_power, False),
        ("p", "k", budget((2, 4, 8), (2, 4, 8, 16, 32)), p_power, True),
        ("k", "r", (1, 2, 4), rank_power, True),
        ("tau", "tau", taus, steps_power, False),
        ("C", "C", (1, 2, 4, 8), 0.0, False),
    )
    parts = [
        along(
            "rounds, eta like 1/(k^{3/2} r tau)", values, _rounds_scaled, power, runs, rng, level,
            variable=name, at_most=bound,
            settings=[cell(side="isometric", **{variable: value}) for value in values],
        )
        for variable, name, values, power, bound in lines
    ]  # fmt: skip
    parts += [
        along(
            "rounds, tuned eta", values, tuned_rounds, power, fewer, rng, level, variable=name,
            at_most=True, settings=[cell(**{variable: value}) for value in values],
        )
        for variable, name, values, power, _ in lines[:3]
    ]  # fmt: skip
    fixed = _slope_in_tau(taus, fewer, rng, lambda *given: np.log(1.0 / _TARGET)
                          / decay(given[0], given[1], 0.01, given[2]))  # fmt: skip
    tuned = _slope_in_tau(taus, fewer, rng, tuned_rounds)
    return combine(
        parts,
        f"{combine(parts).sentence}. Exponents of the rounds: "
        + ", ".join(f"{part.measured:.2f} ({part.name})" for part in parts)
        + f"; in tau {fixed:.2f} at eta = 0.01 and {tuned:.2f} at tuned eta. From U = 0, V = 0, "
        f"where L is {_saddle(rng):.2g} sigma_r^2 and stays so, there is no progress: c_0 has to "
        "be smaller",
    )


def _saddle(rng) -> float:
    """Return L after rounds from U = 0, V = 0."""
    state = state_of(cell(side="isometric"), rng)
    start = 0.0 * state.U, 0.0 * state.V
    trace = lr.perfedsi(state.truth, step_size=0.1, rounds=1000, start=start, record=[1000])
    return float(trace["population_risk"][-1])


def _slope_in_tau(taus, runs, rng, measure) -> float:
    """Return the exponent of rounds in tau."""
    samples = [
        [measure(state_of(cell(tau=tau), rng), cell(tau=tau), rng) for _ in range(runs)]
        for tau in taus
    ]
    return log_slope(taus, samples, rng=rng).value

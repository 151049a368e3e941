"""Whole runs near the truth: their rates, the step sizes they stand, and what the event asks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import linrep as lr
from linrep.claims import Exponent
from linrep.papers.perfedsi._enumeration import start_of
from linrep.papers.perfedsi._states import drawn
from linrep.theory.perfedsi_rounds import Limits, State

#: What is held while one variable is swept.
CENTRE = {"n": 200, "d": 16, "p": 4, "k": 2, "side": "gaussian", "tau": 5, "C": 1}
_FOLDS = 12.0  # e-foldings of L that a rate is measured over
TARGET = 1e-6
_PREDICTED_RATE = 2.0  # of L, times eta tau/d: both factors balanced, c_z = 1
_HORIZON, _SEEDS = 16.0, 5  # e-foldings, and runs, that decide on a step size
_SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7)  # of the largest step size


def cell(**changes) -> dict:
    """Return the centre with changes."""
    return {**CENTRE, **changes}


def state_of(setting, rng) -> State:
    """Draw a state near the truth."""
    sizes = {name: setting[name] for name in ("n", "d", "p", "k", "side")}
    return drawn(rng, **sizes, error=0.01)


def _run(state, setting, step_size, record, rng):
    """Return the trace of a run from a state, which lasts to the last of the recorded rounds."""
    return lr.perfedsi(
        state.truth,
        step_size=step_size,
        rounds=record[-1],
        local_steps=setting["tau"],
        participants=setting["C"],
        start=(state.U, state.V),
        record=record,
        rng=rng,
    )


def decay(state, setting, step_size, rng) -> float:
    """Return the decay of log L per round; -infinity for a run that diverges.

    After the first rounds, which meet errors that decay faster.
    """
    unit = _PREDICTED_RATE * step_size * setting["tau"] / setting["d"]
    stops = [max(1, int(0.5 * _FOLDS / unit)), max(2, int(1.5 * _FOLDS / unit))]
    trace = _run(state, setting, step_size, stops, rng)
    if trace.stop_reason == "diverged":
        return -np.inf
    first, last = trace["population_risk"][1:]
    if last <= 1e-28 * trace["population_risk"][0]:  # rounding: it came down faster than that
        return float(np.log(trace["population_risk"][0] / max(first, 1e-300)) / stops[0])
    return float(np.log(first / last) / (stops[1] - stops[0]))


def largest_step(state, setting, rng) -> float:
    """Return the step size, up to 5 %, below which log L falls in the mean of some runs.

    It rises in factors of 1.5 to the first at which log L does not fall, then the last factor is
    halved. Runs start 1e-5 from the truth and last so many rounds as would let L fall by `_HORIZON`
    e-foldings at the rate of small steps: they grow, or fall, where all is linear.
    """
    near = State(
        state.truth,
        *(
            star + 1e-5 * rng.standard_normal(star.shape) / np.sqrt(len(star))
            for star in (state.truth.U, state.truth.V)
        ),
    )
    seeds = rng.integers(2**32, size=_SEEDS)

    def shrinks(step_size):
        unit = _PREDICTED_RATE * step_size * setting["tau"] / setting["d"]
        rounds = max(10, int(_HORIZON / unit))
        growth = []
        for seed in seeds:
            trace = _run(near, setting, step_size, [rounds], seed)
            if trace.stop_reason == "diverged":
                return False
            first, last = trace["population_risk"]
            growth.append(np.log(max(last, 1e-300) / first))
        return bool(np.mean(growth) < 0.0)

    low = 0.05
    while not shrinks(low):
        low /= 1.5
    high = 1.5 * low
    while shrinks(high):
        low, high = high, 1.5 * high
    while high > 1.05 * low:
        middle = np.sqrt(low * high)
        low, high = (middle, high) if shrinks(middle) else (low, middle)
    return float(low)


def tuned_rounds(state, setting, rng) -> float:
    """Return the rounds to 1e-6 of the loss at the best of some shares of the largest step."""
    largest = largest_step(state, setting, rng)
    best = max(decay(state, setting, share * largest, rng) for share in _SHARES)
    return float(np.log(1.0 / TARGET) / best) if best > 0.0 else np.inf


def along(
    name: str,
    values,
    measure: Callable[..., float],
    predicted,
    runs,
    rng,
    *,
    variable: str,
    at_most=False,
    settings=None,
) -> Exponent:
    """Measure along a variable, on fresh problems.

    ``measure(state, setting, rng)``; settings are the centre's with the variable changed.
    """
    settings = settings or [cell(**{variable: value}) for value in values]
    samples = [
        [measure(state_of(setting, rng), setting, rng) for _ in range(runs)] for setting in settings
    ]
    claimed = {"at_most" if at_most else "equals": predicted}
    return Exponent(
        values, samples, **claimed, along=variable, of=name, name=f"{name} in {variable}"
    )


def measured_limits(state, setting, step_size, rng, segments=10) -> Limits:
    """Return what the event asks of the starts of rounds, in a run of `_FOLDS` e-foldings."""
    found = []
    unit = _PREDICTED_RATE * step_size * setting["tau"] / setting["d"]
    rounds = max(1, int(_FOLDS / unit / segments))
    for _ in range(segments):
        if state.loss < 1e-26:
            break
        found.append(start_of(state).limits())
        end = _run(state, setting, step_size, [rounds], rng).state
        state = State(state.truth, end["U"], end["V"])
    return Limits(*(max(column) for column in zip(*found, strict=True)))

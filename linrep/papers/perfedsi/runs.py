"""Whole runs near the truth: their rates, the step sizes they stand, and what the event asks."""

import numpy as np

import linrep as lr
from linrep.claims import Exponent
from linrep.papers.perfedsi.model import drawn, start_of
from linrep.theory.perfedsi_rounds import Limits, State

FOLDS = 12.0  # e-foldings of L that a rate is measured over
TARGET = 1e-6
RATE = 2.0  # of L, times eta tau/d: both factors balanced, c_z = 1
HORIZON, SEEDS = 16.0, 5  # e-foldings, and runs, that decide on a step size
SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7)  # of the largest step size


def cell(**changes) -> dict:
    """Return what is held while one variable is swept, with changes."""
    return {"n": 200, "d": 16, "p": 4, "k": 2, "side": "gaussian", "tau": 5, "C": 1, **changes}


def state_of(setting, rng) -> State:
    """Draw a state near the truth."""
    return drawn(rng, **{name: setting[name] for name in ("n", "d", "p", "k", "side")}, error=0.01)


def run(state, setting, step_size, record, rng):
    """Return the trace of a run from a state, which lasts to the last of the recorded rounds."""
    return lr.perfedsi(
        state.truth, step_size=step_size, rounds=record[-1], local_steps=setting["tau"],
        participants=setting["C"], start=(state.U, state.V), record=record, rng=rng,
    )  # fmt: skip


def unit_of(setting, step_size) -> float:
    """Return the predicted decay of log L per round."""
    return RATE * step_size * setting["tau"] / setting["d"]


def decay(state, setting, step_size, rng) -> float:
    """Return the decay of log L per round; -infinity for a run that diverges.

    After the first rounds, which meet errors that decay faster.
    """
    unit = unit_of(setting, step_size)
    stops = [max(1, int(0.5 * FOLDS / unit)), max(2, int(1.5 * FOLDS / unit))]
    trace = run(state, setting, step_size, stops, rng)
    if trace.stop_reason == "diverged":
        return -np.inf
    first, last = trace["population_risk"][1:]
    if last <= 1e-28 * trace["population_risk"][0]:  # rounding: it came down faster than that
        return float(np.log(trace["population_risk"][0] / max(first, 1e-300)) / stops[0])
    return float(np.log(first / last) / (stops[1] - stops[0]))


def largest_step(state, setting, rng) -> float:
    """Return the step size, up to 5 %, below which log L falls in the mean of some runs.

    It rises in factors of 1.5 to the first at which log L does not fall, then the last factor is
    halved. Runs start 1e-5 from the truth and last so many rounds as would let L fall by `HORIZON`
    e-foldings at the rate of small steps: they grow, or fall, where all is linear.
    """
    near = State(
        state.truth,
        *(
            star + 1e-5 * rng.standard_normal(star.shape) / np.sqrt(len(star))
            for star in (state.truth.U, state.truth.V)
        ),
    )
    seeds = rng.integers(2**32, size=SEEDS)

    def shrinks(step_size):
        rounds = max(10, int(HORIZON / unit_of(setting, step_size)))
        growth = []
        for seed in seeds:
            trace = run(near, setting, step_size, [rounds], seed)
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
    best = max(decay(state, setting, share * largest, rng) for share in SHARES)
    return float(np.log(1.0 / TARGET) / best) if best > 0.0 else np.inf


def along(name, measure, power, count, rng, *, key, values, variable="", at_most=False, **cells):
    """Return the power of a variable in measure(state, setting, rng), on fresh problems.

    Settings are the centre's, with what `cells` have, and `key` along the values.
    """
    samples = []
    for value in values:
        setting = cell(**cells, **{key: value})
        samples.append([measure(state_of(setting, rng), setting, rng) for _ in range(count)])
    variable = variable or key
    return Exponent(
        values, samples, **{"at_most" if at_most else "equals": power}, along=variable, of=name,
        name=f"{name} in {variable}",
    )  # fmt: skip


def measured_limits(state, setting, step_size, rng, segments=10) -> Limits:
    """Return what the event asks of the starts of rounds, in a run of `FOLDS` e-foldings."""
    found = []
    rounds = max(1, int(FOLDS / unit_of(setting, step_size) / segments))
    for _ in range(segments):
        if state.loss < 1e-26:
            break
        found.append(start_of(state).limits())
        end = run(state, setting, step_size, [rounds], rng).state
        state = State(state.truth, end["U"], end["V"])
    return Limits(*(max(column) for column in zip(*found, strict=True)))

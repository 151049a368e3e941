"""Time and memory of each algorithm along n, m, d and k, with the exponents of the last decade."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import linrep as lr
from linrep.algorithms import imc, personalized
from linrep.bench.timing import Record, make_records
from linrep.stats import scaling_exponents

#: The other three where one is changed.
MIDDLE = {"n": 100, "m": 20, "d": 50, "k": 3}
DECADES = {
    "n": (30, 100, 300, 1000, 3000, 10_000, 30_000),
    "m": (10, 30, 100, 300, 1000, 3000, 10_000),
    "d": (10, 30, 100, 300, 1000, 3000, 10_000),
    "k": (1, 2, 4, 8, 16, 32),
}
LONGEST = 5.0  # seconds of a call, after which an axis is not followed further
ROUNDS = 10


def measure(repetitions: int = 3, longest: float = LONGEST) -> Iterator[list[Record]]:
    """Time calls of ten rounds, on one thread of BLAS where that is set.

    Yields
    ------
    list of Record
        A case for each algorithm and axis, with a contender for each size. Notes have the largest
        memory that a call allocates, its data included where it draws them, and the last one the
        exponents of time and memory over sizes from a tenth of the largest on, with 95 % intervals.

    Parameters
    ----------
    repetitions : int
        The least of so many times is taken.
    longest : float
        Seconds of a call, after which an axis is not followed further.
    """
    for name, (axes, prepare) in ALGORITHMS.items():
        for axis in axes:
            values = [v for v in DECADES[axis] if axis != "k" or v <= MIDDLE["d"]]
            yield _along(name, prepare, axis, values, repetitions, longest)
    vast = {"d = 10⁶": {"n": 1000, "d": 10**6}, "n = 10⁶": {"n": 10**6, "d": 1000}}
    for case, sizes in vast.items():
        seconds, memory = _call(_simulated(**MIDDLE | sizes), 1)
        notes = {"FedRep, simulated batches": _said(memory)}
        times = {"FedRep, simulated batches": np.array([seconds])}
        yield make_records("Very large problems: ten rounds", case, times, notes=notes)


def _along(name, prepare, axis, values, repetitions, longest):
    """Return the records of an algorithm along an axis."""
    found: dict[int, tuple[float, int]] = {}
    for value in values:
        found[value] = _call(prepare(**MIDDLE | {axis: value}), repetitions)
        if found[value][0] > longest:
            break
    notes = {f"{axis} = {value}": _said(memory) for value, (_, memory) in found.items()}
    last = list(notes)[-1]
    for what, place in (("time", 0), ("memory", 1)):
        y = {value: each[place] for value, each in found.items()}
        notes[last] += _exponent(what, axis, y)
    times = {f"{axis} = {value}": np.array([seconds]) for value, (seconds, _) in found.items()}
    middle = ", ".join(f"{key} = {value}" for key, value in MIDDLE.items() if key != axis)
    return make_records(f"Ten rounds along {axis}, {middle}", name, times, notes=notes)


def _call(call: Callable[[], Any], repetitions: int) -> tuple[float, int]:
    """Return the least time of a call, and the largest memory that it allocates."""
    tracemalloc.start()
    call()  # compiles, too
    memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    times = []
    for _ in range(repetitions):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times), memory


def _exponent(what, axis, y):
    """Return the exponent of a quantity over the last decade, in words."""
    largest = max(y)
    own = {value: each for value, each in y.items() if value >= largest / 10.5}
    if len(own) < 3:
        return ""
    fit = scaling_exponents(np.array(list(own.values())), {axis: np.array(list(own))})
    ends = f"{fit.low[axis]:.2f}, {fit.high[axis]:.2f}"
    return f"; {what} like {axis}^{fit.exponents[axis]:.2f} [{ends}]"


def _said(memory):
    return f"{memory / 2**20:.3g} MiB"


# Each takes sizes and returns a call of ten rounds, its data drawn before.


def _stored(run, *, n, m, d, k, **settings):
    data = lr.SharedRepresentation.random(n=n, d=d, k=k, noise=0.1, rng=0).draw(m, rng=1)
    return partial(run, data, k=k, rounds=ROUNDS, rng=2, **settings)


def _simulated(*, n, m, d, k):
    truth = lr.SharedRepresentation.random(n=n, d=d, k=k, store=False, rng=0)
    return partial(
        lr.fedrep, truth, m=m, rounds=ROUNDS, start="random", step_size=0.2, batches="gram", rng=2
    )


def _drawn(*, n, m, d, k):
    truth = lr.SharedRepresentation.random(n=n, d=d, k=k, rng=0)
    return partial(lr.fedrep, truth, m=m, rounds=ROUNDS, start="random", step_size=0.2, rng=2)


def _start(run, *, n, m, d, k):
    data = lr.SharedRepresentation.random(n=n, d=d, k=k, noise=0.1, rng=0).draw(m, rng=1)
    return partial(run, data, k=k)


def _alone(run, *, n, m, d, k, **settings):
    data = lr.SharedRepresentation.random(n=n, d=d, k=k, noise=0.1, rng=0).draw(m, rng=1)
    return partial(run, data, **settings)


def _low_rank(*, n, m, d, k):
    rng = np.random.default_rng(0)
    problem = lr.QuadraticObjectives(rng.standard_normal((n, k)) @ rng.standard_normal((k, d)))
    return partial(lr.pflmf, problem, k=k, step_size=0.1 / n, rounds=ROUNDS, rng=2)


def _entries(n, m, d, k):
    truth = lr.SideInformationCompletion.random(n=n, d=d, p=8, k=k, side="unit", rng=0)
    return truth.observe(min(m, d // 2), rng=1)


def _rounds_on_entries(*, n, m, d, k):
    return partial(
        lr.perfedsi, _entries(n, m, d, k), k=k, step_size=0.05, local_steps=20, rounds=ROUNDS, rng=2
    )


def _solver(run, *, n, m, d, k):
    return partial(run, _entries(n, m, d, k), k=k, iterations=ROUNDS)


NMDK = ("n", "m", "d", "k")
#: By name: the axes along which an algorithm's work grows, and what prepares a call.
ALGORITHMS: dict[str, tuple[tuple[str, ...], Callable[..., Callable[[], Any]]]] = {
    "FedRep, stored samples": (NMDK, partial(_stored, lr.fedrep, start="random", step_size=0.1)),
    "FedRep, new samples": (NMDK, _drawn),
    "FedRep, simulated batches": (NMDK, _simulated),
    "FedSGD": (NMDK, partial(_stored, lr.fedsgd, step_size=0.01)),
    "alternating least squares": (NMDK, partial(_stored, lr.alternating_least_squares)),
    "AltGDmin": (NMDK, partial(_stored, lr.altgdmin)),
    "linear factorization": (NMDK, partial(_stored, lr.linear_factorization)),
    "ANIL": (NMDK, partial(_stored, lr.anil)),
    "MAML": (NMDK, partial(_stored, lr.maml)),
    "FLUTE": (NMDK, partial(_stored, lr.flute)),
    "pFL^MF, matrix": (("n", "d", "k"), _low_rank),
    "PerFedSI": (("n", "d"), _rounds_on_entries),
    "completion, Gauss-Newton": (("n", "d"), partial(_solver, imc.gauss_newton)),
    "completion, alternating": (("n", "d"), partial(_solver, imc.alternating)),
    "models alone": (("n", "m", "d"), partial(_alone, lr.local_only)),
    "ridge to the mean": (("n", "m", "d"), partial(_alone, lr.ridge_to_mean)),
    "nuclear norm": (
        ("n", "m", "d"),
        partial(_alone, personalized.nuclear_norm, penalty=1.0, rounds=ROUNDS),
    ),
    "method of moments": (NMDK, partial(_start, lr.method_of_moments)),
    "truncated start": (NMDK, partial(_start, lr.truncated_start)),
}

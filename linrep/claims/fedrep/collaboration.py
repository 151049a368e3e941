"""Section 1 (I)-(II) and Section 4.2: who needs how many samples, with and without federation.

What is measured is the fewest samples from which a model can be had exactly, labels being free of
noise, and the mean error of least squares where they are not. Covariates are Gaussian.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import linrep as lr
from linrep.claims import (
    FAILS,
    HOLDS,
    Evidence,
    claim,
    combine,
    expectation,
    exponent,
    frequency,
    threshold_slope,
)
from linrep.claims.fedrep._common import SUB_GAUSSIAN, decided, instance
from linrep.stats import TransitionPoint, transition_point
from linrep.theory.expectations import least_squares_error, new_client_error

#: Exponents so near count as equal: m is a whole number, its smallest value known to a bracket.
MARGIN = 0.25
#: Squared error, relative to the model's square, below which a model counts as recovered.
EXACT = 1e-8
#: Distance within which FedRep counts as having recovered B*.
RECOVERED = 1e-4
#: Equations over unknowns, n(m - k)/(k(d - k)), at which FedRep is run.
RATIOS = (0.75, 0.95, 1.1, 1.25, 1.4, 1.6, 2.0, 3.0)


@dataclass(frozen=True)
class Line:
    """Smallest sufficient numbers of samples along a variable, and the exponent claimed."""

    name: str
    variable: str
    sizes: tuple
    points: list[TransitionPoint]
    predicted: float


@dataclass(frozen=True)
class Curve:
    """Runs of FedRep on fixed data that recovered B*, out of `trials`, by m - k."""

    excess: list[int]
    won: list[int]
    trials: int
    unit: float  # m - k at which equations equal unknowns

    @property
    def point(self) -> TransitionPoint:
        """Where half of the runs recover it."""
        return transition_point(self.excess, self.won, self.trials)

    def count(self, chosen):
        """Return the successes and runs at ratios of equations to unknowns that are chosen."""
        won = [won for excess, won in zip(self.excess, self.won, strict=True)
               if chosen(excess / self.unit)]  # fmt: skip
        return np.array([sum(won), self.trials * len(won)])


@claim(
    "fedrep.fedhelps",
    place="Section 1 (I)-(II); Section 4.2",
    kind="sample-size threshold",
    latex=r"m_{\text{shared}} = \Theta(d/n + \log n), \qquad m_{\text{local}} = \Theta(d), \qquad"
    r"m_{\text{new}} = \Theta(k), \qquad 1 \ll n \ll e^{\Theta(d)}",
    plain="A client needs of order d/n samples in a federation, d alone, and k if the "
    "representation is there when it comes.",
    hypotheses=[SUB_GAUSSIAN],
    broken={"head_power": 2},
)
def fedhelps(budget, rng, *, shared_power=1, local_power=1, head_power=1) -> Evidence:
    """Compare mean errors with closed forms, and smallest sufficient m with powers of d, n, k."""
    runs = budget(3000, 20000, 100000)
    parts = [_local_error(20, m, runs, rng) for m in (4, 10, 30, 60)]
    parts += [_new_error(8, m, s, runs, rng) for s in (0.0, 0.05) for m in (2, 16, 24, 48)]

    dimensions, ranks = (10, 20, 40, 80), (8, 16, 32, 64)
    trials, rounds = budget((5, 500), (8, 800), (30, 2000))
    wide = budget((18, 42, 98), (18, 34, 66, 130), (18, 34, 66, 130, 258))
    many = budget((2, 4, 16), (2, 4, 8, 16), (2, 4, 8, 16, 32))
    along_d = [_together(4, d, 2, trials, rounds, rng) for d in wide]
    along_n = [_together(n, budget(66, 130, 258), 2, trials, rounds, rng) for n in many]
    rooms = tuple(d - 2 for d in wide)
    lines = [
        Line("local", "d", dimensions, [_alone(64, d, rng) for d in dimensions], local_power),
        Line("new client", "k", ranks, [_new(k, 128, rng) for k in ranks], head_power),
        Line("new client", "d", dimensions[1:], [_new(8, d, rng) for d in dimensions[1:]], 0),
        Line("federation", "d - k", rooms, [curve.point for curve in along_d], shared_power),
        Line("federation", "n", many, [curve.point for curve in along_n], -shared_power),
    ]
    parts += [partial(_power, line, rng.spawn(1)[0]) for line in lines]
    curves = [*along_d, *along_n]
    parts += _counting(curves)
    found = combine([*decided(parts), _window()])
    if found.verdict == HOLDS:
        centres = [curve.point.x / curve.unit for curve in curves]
        found = replace(
            found,
            sentence="alone a client recovers its model from m = d samples on, with B* from m = k "
            f"on; FedRep on fixed data from {min(centres):.2f} to {max(centres):.2f} times as many "
            "equations, n(m - k), as unknowns, k(d - k), on; n is too small here to tell log n",
        )
    return replace(found, points=pd.concat(map(_table, lines), ignore_index=True))


_SINGLE: dict[str, Any] = {
    "place": "Section 4.2, against Section 1 (I)",
    "kind": "sample-size threshold",
    "hypotheses": [SUB_GAUSSIAN],
}


@claim(
    "fedrep.fedhelps.single_client",
    latex=r"m_{\text{single client, no collaboration}} = \Theta(d/n + \log n)",
    plain="A single client without collaboration needs of order d/n + log n samples.",
    broken={"shared": False, "power": 2},
    mended={"shared": False},
    **_SINGLE,
)
def single_client(budget, rng, *, shared=True, power=1) -> Evidence:
    """Compare a local client's smallest sufficient m along n and d with what is claimed."""
    return _single(budget, rng, shared, power)


@claim(
    "fedrep.fedhelps.single_client.corrected",
    latex=r"m_{\text{single client, no collaboration}} = \Theta(d)",
    plain="A single client without collaboration needs of order d samples, whatever n.",
    broken={"shared": True},
    corrects="fedrep.fedhelps.single_client",
    **_SINGLE,
)
def single_client_corrected(budget, rng, *, shared=False, power=1) -> Evidence:
    """Do the same for the statement of Section 1."""
    return _single(budget, rng, shared, power)


def _single(budget, rng, shared, power):
    """Decide on the exponents in n and d; shared: of d/n + log n, else of d."""

    def claimed(n, d):
        return d**power / n + np.log(n) if shared else d**power + 0.0 * n

    n, d = budget((1, 4, 16), (1, 4, 16, 64)), (10, 20, 40, 80)
    along_n, along_d = claimed(np.array(n), 40), claimed(16, np.array(d))
    lines = [
        Line("alone", "n", n, [_alone(size, 40, rng) for size in n], _fitted(n, along_n)),
        Line("alone", "d", d, [_alone(16, size, rng) for size in d], _fitted(d, along_d)),
    ]
    found = combine(decided(partial(_power, line, rng.spawn(1)[0]) for line in lines))
    return replace(found, points=pd.concat(map(_table, lines), ignore_index=True))


def _fitted(x, y):
    """Return the exponent of the power law that is nearest to y, in logarithms."""
    y = np.broadcast_to(y, np.shape(x))
    return round(float(np.polyfit(np.log(x), np.log(y), 1)[0]), 12) + 0.0


# Mean errors against closed forms.


def _local_error(d, m, runs, rng):
    """Return the part on the error of local training; clients are independent."""
    noise, k = 0.3, 2
    truth = lr.SharedRepresentation.random(n=runs, d=d, k=k, noise=noise, rng=rng)
    theta = lr.local_only(truth.draw(m, rng=rng)).state["theta"]
    errors = np.sum((theta - truth.theta) ** 2, axis=1)
    predicted = least_squares_error(d, m, signal=np.sqrt(k), noise=noise)
    setting = {"d": d, "m": m, "noise": noise}
    return partial(
        expectation,
        errors,
        float(predicted),
        name=f"local error, d = {d}, m = {m}",
        setting=setting,
    )


def _new_error(k, m, distance, runs, rng):
    """Return the part on the error of new clients, on a representation at a distance."""
    noise, d = 0.1, 24
    truth, B = instance(runs, d, k, rng, distance=distance, noise=noise)
    theta = lr.fit_heads(truth.draw(m, rng=rng), B) @ B.T
    errors = np.sum((theta - truth.theta) ** 2, axis=1)
    outside = distance * np.sqrt(k)
    predicted = new_client_error(k, m, outside=outside, inside=np.sqrt(k - outside**2), noise=noise)
    name = f"new client's error, distance {distance:g}, k = {k}, m = {m}"
    setting = {"k": k, "m": m, "distance": distance, "noise": noise}
    return partial(expectation, errors, float(predicted), name=name, setting=setting)


# Smallest sufficient numbers of samples.


def _alone(n, d, rng):
    """Return where local training of n clients begins to recover their models."""
    truth = lr.SharedRepresentation.random(n=n, d=d, k=1, rng=rng)

    def recovered(m):
        return lr.local_only(truth.draw(m, rng=rng)).state["theta"], truth.theta

    return _transition((d // 2, d - 1, d, d + 1, 2 * d), recovered)


def _new(k, d, rng):
    """Return where clients that know B* begin to recover their models."""
    truth = lr.SharedRepresentation.random(n=max(k, 16), d=d, k=k, rng=rng)

    def recovered(m):
        return lr.fit_heads(truth.draw(m, rng=rng), truth.B), truth.W

    return _transition((k // 2, k - 1, k, k + 1, 2 * k), recovered)


def _transition(samples, recovered):
    """Return the transition of the share of clients that are recovered."""
    won = []
    for m in samples:
        found, true = recovered(m)
        errors = np.sum((found - true) ** 2, axis=1) / np.sum(true**2, axis=1)
        won.append(np.sum(errors < EXACT))
    return transition_point(samples, won, len(true))


def _together(n, d, k, trials, rounds, rng):
    """Run FedRep on fixed data at several m and return how often it recovers B*.

    Heads of condition number 1, exact heads in each round, the theorem's step size, a start at
    distance 1/2.
    """
    unit = k * (d - k) / n
    excesses = sorted({max(1, round(ratio * unit)) for ratio in RATIOS})
    won = []
    for excess in excesses:
        reached = 0
        for seed in map(int, rng.integers(2**32, size=trials)):
            truth = lr.SharedRepresentation.random(n=n, d=d, k=k, condition=1.0, rng=seed)
            trace = lr.fedrep(
                truth, m=k + excess, batches="fixed", rounds=rounds, start=0.5,
                tolerance=RECOVERED, rng=seed,
            )  # fmt: skip
            reached += trace.stop_reason == "converged"
        won.append(reached)
    return Curve(excesses, won, trials, unit)


def _power(line, rng, *, level):
    """Decide whether smallest sufficient m have the exponent claimed."""
    slope = threshold_slope(line.sizes, line.points, level=level, rng=rng)
    name = f"{line.name} along {line.variable}"
    return exponent(slope, line.predicted, margin=MARGIN, level=level, name=name)


def _counting(curves):
    """Return the parts on what counting says: B* is had if n(m - k) is above k(d - k), not below.

    Less than a quarter of runs may be exceptions, below and from twice as many equations on.
    """
    below = sum(curve.count(lambda ratio: ratio < 1.0) for curve in curves)
    above = sum(curve.count(lambda ratio: ratio >= 2.0) for curve in curves)
    return [
        partial(frequency, int(below[0]), int(below[1]), 0.25, name="fewer equations: success"),
        partial(
            frequency, int(above[1] - above[0]), int(above[1]), 0.25,
            name="twice as many equations: failure",
        ),
    ]  # fmt: skip


def _window():
    """Decide whether d/n + log n is below d for all n from 2 to exp(d/2)."""
    cases = [
        (d, n) for d in (3, 10, 100, 1000) for n in (2.0, *np.exp(np.linspace(0.7, d / 2.0, 50)))
    ]
    share, (d, n) = max(((d / n + np.log(n)) / d, (d, n)) for d, n in cases)
    good = share < 1.0
    return Evidence(
        HOLDS if good else FAILS,
        f"(d/n + log n)/d is at most {share:.2f} for n from 2 to exp(d/2)",
        measured=share,
        predicted=1.0,
        n_trials=len(cases),
        counterexample=None if good else {"d": d, "n": n},
        name="window of n",
    )


def _table(line):
    return pd.DataFrame(
        {
            "panel": f"{line.name}, along {line.variable}",
            "x": np.asarray(line.sizes, dtype=float),
            "y": [point.x for point in line.points],
            "low": [point.low for point in line.points],
            "high": [point.high for point in line.points],
            "xlabel": line.variable,
            "ylabel": "m - k" if line.name == "federation" else "smallest sufficient m",
        }
    )

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
    LEVEL,
    Evidence,
    claim,
    combine,
    expectation,
    exponent,
    frequency,
    log_slope,
    threshold_slope,
)
from linrep.claims._parts import decided, draw_seeds
from linrep.claims.fedrep._common import SUB_GAUSSIAN, instance
from linrep.claims.fedrep._runs import run
from linrep.stats import TransitionPoint, transition_point
from linrep.theory.expectations import least_squares_error, new_client_error
from linrep.theory.fedrep_limits import limiting_contraction

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
    """Smallest sufficient numbers of samples along a variable, and the exponent claimed.

    `trials` is the number of clients, or runs, behind them; `bound` is for claims of order at most.
    """

    name: str
    variable: str
    sizes: tuple
    points: list[TransitionPoint]
    predicted: float
    trials: int
    bound: bool = False


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

    @property
    def found(self) -> tuple[TransitionPoint, int]:
        """That, and the number of runs."""
        return self.point, self.trials * len(self.excess)

    def count(self, chosen):
        """Return the successes and runs at ratios of equations to unknowns that are chosen."""
        won = [won for excess, won in zip(self.excess, self.won, strict=True)
               if chosen(excess / self.unit)]  # fmt: skip
        return np.array([sum(won), self.trials * len(won)])


@claim(
    "fedrep.fedhelps",
    place="Section 1, contribution (ii), (I)-(II); Section 4.2",
    kind="sample-size threshold",
    latex=r"m_{\text{shared}} = O(d/n + \log n), \qquad m_{\text{local}} = \Theta(d), \qquad "
    r"m_{\text{new}} = \Theta(k), \qquad 1 \ll n \ll e^{\Theta(d)}",
    plain="A client needs at most of order d/n + log n samples in a federation, d alone, and k if "
    "the representation is there when it comes.",
    hypotheses=[SUB_GAUSSIAN],
    broken={"head_power": 2},
)
def fedhelps(budget, rng, *, shared_power=1, local_power=1, head_power=1) -> Evidence:
    """Compare mean errors with closed forms, and smallest sufficient m with powers of d, n, k.

    Section 1 has O(d/n + log n) as well as Theta; the latter is `fedrep.fedhelps.theta`.
    """
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
        _line("local", "d", dimensions, [_alone(64, d, rng) for d in dimensions], local_power),
        _line("new client", "k", ranks, [_new(k, 128, rng) for k in ranks], head_power),
        _line("new client", "d", dimensions[1:], [_new(8, d, rng) for d in dimensions[1:]], 0),
        _line("federation", "d - k", rooms, [curve.found for curve in along_d], shared_power, True),
        _line("federation", "n", many, [curve.found for curve in along_n], -shared_power, True),
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
            "equations, n(m - k), as unknowns, k(d - k), on",
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
        _line("alone", "n", n, [_alone(size, 40, rng) for size in n], _fitted(n, along_n)),
        _line("alone", "d", d, [_alone(16, size, rng) for size in d], _fitted(d, along_d)),
    ]
    found = combine(decided(partial(_power, line, rng.spawn(1)[0]) for line in lines))
    return replace(found, points=pd.concat(map(_table, lines), ignore_index=True))


def _fitted(x, y):
    """Return the exponent of the power law that is nearest to y, in logarithms."""
    y = np.broadcast_to(y, np.shape(x))
    return round(float(np.polyfit(np.log(x), np.log(y), 1)[0]), 12) + 0.0


# The order of d/n + log n.

_THETA: dict[str, Any] = {
    "place": "Section 1 (I)",
    "kind": "sample-size threshold",
    "hypotheses": [SUB_GAUSSIAN],
}


@claim(
    "fedrep.fedhelps.theta",
    latex=r"m_{\text{shared}} = \Theta(d/n + \log n)",
    plain="In a federation a client needs of order d/n + log n samples, not less.",
    broken={"ratio_power": 2.0},
    mended={"log_power": 0.0},
    **_THETA,
)
def theta(budget, rng, *, ratio_power=1.0, log_power=1.0) -> Evidence:
    """Follow the samples that a client spends along d >> n, and along n >> d."""
    return _order(budget, rng, ratio_power, log_power)


@claim(
    "fedrep.fedhelps.theta.corrected",
    latex=r"m_{\text{shared}} = \Theta(d/n + 1)",
    plain="In a federation a client needs of order d/n samples, and a few however large n is.",
    broken={"log_power": 1.0},
    corrects="fedrep.fedhelps.theta",
    **_THETA,
)
def theta_corrected(budget, rng, *, ratio_power=1.0, log_power=0.0) -> Evidence:
    """Do the same without the logarithm."""
    return _order(budget, rng, ratio_power, log_power)


def _order(budget, rng, ratio_power, log_power):
    """Decide the exponents of the fewest samples in d, and in log n where n is much above d."""
    runs, k, d = budget(5, 8, 20), 2, (2000, 8000, 32000)
    n = budget((100, 400, 1600), (100, 700, 5000), (100, 1000, 10**4, 10**5))
    crowd = np.array(n, dtype=float)
    sides = (
        ("d, n = 20", d, [(20, size) for size in d], d, ratio_power),
        ("log n, d = 4", np.log(crowd), [(size, 4) for size in n], 4 / crowd, None),
    )
    parts = []
    for name, x, cells, ratio, power in sides:
        if power is None:
            power = _fitted(x, ratio**ratio_power + np.log(crowd) ** log_power)
        samples = [_fewest(size, width, k, runs, rng) for size, width in cells]
        slope = log_slope(x, samples, level=LEVEL / 2.0, rng=rng)
        table = pd.DataFrame(
            {
                "panel": "", "series": "", "x": x, "y": [np.median(sample) for sample in samples],
                "predicted": np.median(samples[-1]) * (np.asarray(x) / x[-1]) ** power,
                "xlabel": name, "ylabel": "samples per client to 1e-3 of the distance",
            }
        )  # fmt: skip
        parts.append(
            exponent(
                slope, power, margin=MARGIN, level=LEVEL / 2.0, name=f"samples along {name}",
                n_trials=runs * len(x), points=table,
                setting={"k": k, "(n, d)": cells, "samples": table["y"].tolist()},
            )
        )  # fmt: skip
    truth = lr.SharedRepresentation.random(n=8, d=8, k=k, condition=1.0, rng=rng)
    factor = limiting_contraction(truth, step_size=0.25, m=k + 1)
    few, most = (f"{size:.0f}" for size in table["y"].iloc[[0, -1]])
    return combine(
        parts,
        f"along d the samples of a client go like d^{parts[0].measured:.2f}, along n like "
        f"(log n)^{parts[1].measured:.2f}: {few} at n = {n[0]}, {most} at n = {n[-1]}; with "
        f"infinitely many clients m = k + 1 a round suffices (factor {factor:.3f})",
    )


def _fewest(n, d, k, runs, rng):
    """Return the fewest samples, m times rounds, that bring the distance from 0.5 to 0.0005.

    Fresh batches; m is tried from k + 1 to some multiples of k (d/n + 1).
    """
    best = []
    for _ in range(runs):
        totals = []
        for multiple in np.geomspace(0.1, 1.6, 6) * 1.5 ** rng.uniform():
            m = k + max(1, round(multiple * k * (d / n + 1.0)))
            distances, _ = run(rng, m, n=n, d=d, k=k, condition=1.0, rounds=70, tolerance=5e-4)
            reached = np.flatnonzero(distances <= 5e-4)
            totals.append(m * reached[0] if reached.size else np.inf)
        best.append(min(totals))
    return np.array(best)


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
    """Return the transition of the share of clients that are recovered, and their number."""
    won = []
    for m in samples:
        found, true = recovered(m)
        errors = np.sum((found - true) ** 2, axis=1) / np.sum(true**2, axis=1)
        won.append(np.sum(errors < EXACT))
    return transition_point(samples, won, len(true)), len(samples) * len(true)


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
        for seed in draw_seeds(rng, trials):
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
    return exponent(
        slope, line.predicted, margin=MARGIN, at_most=line.bound, level=level, name=name,
        n_trials=line.trials,
    )  # fmt: skip


def _line(name, variable, sizes, found, predicted, bound=False):
    """Return a line of transitions that come with their numbers of trials."""
    points, trials = zip(*found, strict=True)
    return Line(name, variable, sizes, list(points), predicted, sum(trials), bound)


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

"""Runs within the region R, without noise and on samples, against the bounds on them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from linrep.claims import Cases, Curve, Frequency, Together
from linrep.papers.flute._checks import FAILURE, NOISE, NOISES, cases_in_units, flat_spectrum
from linrep.papers.flute._common import SEARCH_SHAPES, Array, extreme_points
from linrep.papers.flute._runs import bound_violations, corner, followed
from linrep.theory import flute_samples
from linrep.theory.flute import Spectrum, step_size_limits
from linrep.theory.flute_lift import iterate

PLACE = "lemma_A10"  # whose step size limit, Delta^2/(36 lambda*_1^3), all three have
ENOUGH = 1e-9  # errors below this are rounding
SHAPES = (*SEARCH_SHAPES[1:3], {"n": 3, "d": 3, "k": 2, "aligned": 1}, *SEARCH_SHAPES[3:])
ROUNDS = (0, 1, 10, 1000, 100000)


def few(budget):
    """Return the sizes to search at."""
    return budget(SHAPES[:3], SHAPES)


# Runs without and with noise.


class Orbit(NamedTuple):
    """Iterates from points of R: (starts, records, rows, k), after t steps."""

    spectrum: Spectrum
    share: float
    step_size: float
    t: Array
    Theta: Array


def orbits(budget, rng):
    """Yield runs without noise until the error is rounding, at the limit and at a tenth of it."""
    problems = [
        (Spectrum(np.array(values), n, d, k), share)
        for values, n, d, k, share in (
            ((0.5, 0.1), 2, 3, 1, 1.0),
            ((0.5, 0.1), 2, 3, 1, 0.1),
            ((0.5, 0.5, 0.05), 3, 3, 2, 1.0),
            ((0.5, 0.45, 0.2, 0.05), 5, 4, 2, 1.0),
            ((0.5, 0.45, 0.4, 0.15), 4, 4, 3, 1.0),
            ((0.5, 0.45, 0.2, 0.05), 5, 4, 2, 0.1),
            ((0.5, 0.4, 0.3), 3, 3, 2, 1.0),
        )[: budget(4, 7)]
    ]
    for spectrum, share in problems:
        eta = share * step_size_limits(spectrum)[PLACE]
        last = int(50.0 / (eta * spectrum.gap))
        t = np.unique(np.concatenate([np.arange(5), np.geomspace(5, last, 60).astype(int)]))
        starts = extreme_points(spectrum, budget(12, 40, 200), rng)
        Theta = iterate(starts, spectrum.eigenvalues, eta, t).Theta
        yield Orbit(spectrum, share, eta, t, Theta)


def runs_below(runs, measure, bound, name, label):
    """Yield how much of a bound(spectrum, eta, t) runs use, while that is more than rounding."""
    cases, rows = [], []
    for orbit in runs:
        spectrum = orbit.spectrum
        allowed = bound(spectrum, orbit.step_size, orbit.t)
        size = measure(orbit)
        size = np.where(size > ENOUGH, size, 0.0)
        setting = {
            "singular values": spectrum.singular_values.tolist(),
            "n": spectrum.n,
            "d": spectrum.d,
            "k": spectrum.k,
            "eta": orbit.step_size,
        }
        for used, Theta in zip(size / allowed, orbit.Theta, strict=True):
            worst = int(np.argmax(used))
            where = {**setting, "t": int(orbit.t[worst]), "Theta^0": Theta[0].tolist()}
            cases.append((float(used[worst]), 1.0, where))
        for series, y in (("largest", size.max(axis=0)), ("bound", allowed)):
            rows.append(
                pd.DataFrame(
                    {
                        "panel": f"{name}, k = {spectrum.k}, Delta = {spectrum.gap:.2g}, "
                        f"eta = {orbit.share:g} limit",
                        "series": series,
                        "x": np.maximum(orbit.t * orbit.step_size * spectrum.gap, 0.01),
                        "y": np.maximum(y, ENOUGH),
                        "xlabel": r"$t\eta\Delta$",
                        "ylabel": label,
                    }
                )
            )
    yield Cases(cases, name=name, quantity="share of the bound")
    yield Curve(pd.concat(rows, ignore_index=True))


def samples_below(budget, rng, samples, measure, bound, name):
    """Count runs above it on samples with c_1 = 1, reused and fresh, from R's thinnest corner."""
    parts = []
    steps, runs = budget(100, 1500), budget(160, 160, 400)
    cases = [(2, 0.8, 0.0), (1, 0.8, 50.0), (2, 0.3, 50.0)]
    for k, ratio, noise in cases:
        spectrum = flat_spectrum(4, k, noise, ratio=ratio)
        eta = step_size_limits(spectrum)[PLACE]
        m = float(samples(spectrum, eta, steps, failure=FAILURE / steps))
        start = corner(spectrum, last=0.25 * spectrum.gap, rest=spectrum.last - 0.5 * spectrum.gap)
        for fresh in (False, True):
            count = bound_violations(
                followed(spectrum, start, m, eta, runs, rng, steps=steps, fresh=fresh),
                spectrum,
                lambda state, spectrum=spectrum: measure(state, spectrum),
                lambda t, spectrum=spectrum, eta=eta: bound(spectrum, eta, t),
            )
            where = {"k": k, "Delta": ratio, "noise": noise, "N": m, "steps": steps, "fresh": fresh}
            parts.append(
                Frequency(count, runs, 2.0 * FAILURE, setting=where, weight=1.0 / len(cases) / 2)
            )
    return Together(parts, name=name)


def noise_bounds_in_time(samples, allowed, name):
    """Return what Lemmas A.13, A.14 bound R by with samples(spectrum, eta, t), over the allowed."""
    found = []
    for setting, spectrum in cases_in_units(NOISES[:2]):
        eta = step_size_limits(spectrum)[PLACE]
        for t in ROUNDS:
            m = samples(spectrum, eta, t)
            if np.isfinite(m):
                bound = np.sqrt(2.0) * flute_samples.discrepancy_bound(spectrum, m, step_size=eta)
                share = float(bound / allowed(spectrum, eta, t))
                found.append((share, 1.0 + 1e-9, {**setting, "t": t}))
    return Cases(found, name=name, quantity=NOISE)


def at_rate(bound, rate):
    """Return the bound with (1 - rate eta Delta)^t in place of (1 - eta Delta/16)^t."""

    def changed(spectrum, eta, t):
        x, t = eta * spectrum.gap, np.asarray(t, dtype=float)
        return bound(spectrum, eta, 0 * t) * np.exp(t * np.log1p(-rate * x))

    return changed

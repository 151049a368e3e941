"""Checks that several of FLUTE's statements about the region share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from linrep.claims import Cases, Frequency, Readings, Together
from linrep.papers.flute import _common
from linrep.papers.flute._runs import exits, followed
from linrep.theory import flute_samples
from linrep.theory.flute import Spectrum, step_size_limits

TINY = 1e-10  # of Delta: least sigma_k^2(Theta_k) where it may be anything
NOISES = (0.0, 0.5, 5.0, 50.0)  # over lambda*_1
FAILURE = 0.05  # t delta
NOISE = "bound on R over the one needed"


def limit_of(place: str, step=1.0):
    """Return the step size that a statement allows, times a factor, as of the spectrum."""
    return lambda spectrum: float(step) * step_size_limits(spectrum)[place]


def fewer(samples, asked=1.0):
    """Return a share of the samples that a statement asks for, as a function of what they are."""
    return lambda *given, **options: float(asked) * samples(*given, **options)


def anything(spectrum):
    """Return next to no least sigma_k^2(Theta_k)."""
    return TINY * spectrum.gap


def thin(Theta, spectrum):
    """Return sigma_k(Theta_k)."""
    return _common.singular_values(Theta[: spectrum.k])[-1]


def shapes(budget):
    """Return the sizes to search at."""
    return budget(_common.SEARCH_SHAPES[1:4], _common.SEARCH_SHAPES)


def cases_in_units(noises=(0.0,)):
    """Yield (setting, spectrum) over spectra, noises relative to lambda*_1, and units."""
    for (setting, spectrum), noise, s in product(_common.spectra(), noises, _common.SCALES):
        given = _common.scaled_spectrum(replace(spectrum, noise=noise * spectrum.first), s)
        yield {**setting, "noise / lambda*_1": noise, "s": float(s)}, given


def noise_bounds(samples, allowed, place, noises, name):
    """Return what Lemmas A.13 and A.14 bound R by with a number of samples, over what is allowed.

    ``samples(spectrum)`` is that number with c_1 = 1, which cancels, ``allowed(spectrum, eta)`` the
    bound that it is to make.
    """
    found = []
    for setting, spectrum in cases_in_units(noises):
        eta = step_size_limits(spectrum)[place]
        m = max(1.0, float(samples(spectrum)))
        bound = np.sqrt(2.0) * flute_samples.discrepancy_bound(spectrum, m, step_size=eta)
        found.append((float(bound / allowed(spectrum, eta)), 1.0 + 1e-9, setting))
    return Cases(found, name=name, quantity=NOISE)


def by_name(found, **options):
    """Yield the comparison of each name, of found (name, left, right, instance)."""
    cases = defaultdict(list)
    for name, *case in found:
        cases[name].append(tuple(case))
    for name, own in cases.items():
        yield Cases(own, name=name, **options)


def flat_spectrum(d, k, noise, *, n=None, ratio=0.4):
    """Return one with lambda*_1 = lambda*_k = 1 and Delta = ratio, all others equal."""
    n = d if n is None else n
    values = np.concatenate([np.full(k, 0.5), np.full(min(n, d) - k, 0.5 * (1.0 - ratio))])
    return Spectrum(values, n, d, k, noise)


class Trial(NamedTuple):
    """How often runs leave a region, from a point of its boundary."""

    samples: Callable  # samples(spectrum, failure=, constant=) per client, constant being c_1
    place: str  # whose largest step size is taken
    start: Callable  # start(spectrum) -> Theta
    inside: Callable  # inside(spectrum, state) -> which of many

    def share(self, spectrum, m, runs, rng, *, steps=1, fresh=False):
        """Return how many of so many runs on m samples leave it."""
        eta = limit_of(self.place)(spectrum)
        following = followed(
            spectrum, self.start(spectrum), m, eta, runs, rng, steps=steps, fresh=fresh
        )
        return exits(following, lambda state: self.inside(spectrum, state))

    def size(self, spectrum, constant, steps=1):
        """Return m for t delta = FAILURE, at least the d + 1 that draws by moments need."""
        m = self.samples(spectrum, failure=FAILURE / steps, constant=constant)
        return float(np.floor(max(spectrum.d + 1.0, m)))

    def exits(self, cases, budget, rng, *, steps=1, name="", weight=1.0):
        """Count the runs that leave it, which has probability 2 t delta, t being the steps.

        Each case is a setting, a spectrum and c_1. Samples are reused; for more than one step they
        are also drawn afresh.
        """
        cases, runs, parts = list(cases), budget(160, 400, 2000), []
        kinds = (False, True) if steps > 1 else (False,)
        for setting, spectrum, constant in cases:
            m = self.size(spectrum, constant, steps)
            for fresh in kinds:
                out = self.share(spectrum, m, runs, rng, steps=steps, fresh=fresh)
                where = {**setting, "c_1": constant, "N": m, "steps": steps, "fresh": fresh}
                parts.append(
                    Frequency(
                        out,
                        runs,
                        2.0 * FAILURE,
                        setting=where,
                        weight=weight / len(cases) / len(kinds),
                    )
                )
        return Together(parts, name=name)

    def exits_by_constant(self, cases, budget, rng, *, name):
        """Count them for each constant c_1: one that will do is enough.

        `cases` maps each c_1 to pairs (setting, spectrum).
        """
        readings = [
            self.exits(
                [(*case, constant) for case in given],
                budget,
                rng,
                name=f"c_1 = {constant:g}",
                weight=1.0 / len(cases),
            )
            for constant, given in cases.items()
        ]
        return Readings(readings, name=name, phrase="for some constant c_1")

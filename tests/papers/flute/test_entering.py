"""Starts for the claims on entering the region, against naive versions."""

from functools import partial

import numpy as np
import pytest

from linrep.papers.flute import entering
from linrep.papers.flute.lemma_a04 import explicit_scale
from linrep.papers.flute.model import drawn, step
from linrep.theory.flute import Spectrum, claim_A3, region, sizes, step_size_limits


@pytest.fixture
def spectrum():
    return Spectrum(np.array([1.0, 0.9, 0.3, 0.1]), 6, 4, 2, 0.5)


@pytest.fixture
def eta(spectrum):
    return step_size_limits(spectrum)["lemma_A5"]


def test_the_largest_rest_is_on_the_boundary(spectrum, eta):
    for leading in (1e-6, 1e-3, 0.1):
        rest = entering.rest_allowed(leading, spectrum, eta, 0.0)
        inside = entering.two_sizes(leading, rest, spectrum)
        assert claim_A3(inside, spectrum, eta).holds
        inside[spectrum.k, -1] *= 1.0 + 1e-9
        assert not claim_A3(inside, spectrum, eta).holds


def test_the_largest_scale_is_where_claim_A3_ends(spectrum, eta):
    units = entering.gaussian_lifts(spectrum, 10, np.random.default_rng(0))
    for unit, log_alpha in zip(units, entering.log_scale(units, spectrum, eta), strict=True):
        for factor, holds in ((1.0 - 1e-6, True), (1.0 + 1e-6, False)):
            assert claim_A3(np.exp(log_alpha) * factor * unit, spectrum, eta).holds == holds
            alpha = log_alpha + np.log(factor)
            assert entering.satisfied(unit, spectrum, eta, alpha) == holds


def test_starts_of_a_search_satisfy_claim_A3():
    rng = np.random.default_rng(1)
    for n, d, k in ((2, 2, 1), (3, 4, 2), (4, 4, 3)):
        shape = {"n": n, "d": d, "k": k}
        for _ in range(30):
            read = partial(entering.read_start, first_power=0.0, least_gap=0.2)
            start = drawn(read, shape, rng, 2.0)
            margins = claim_A3(start.Theta, start.spectrum, start.step_size)
            assert margins.holds, margins
            assert region(start.Theta, start.spectrum).weak


def test_hitting_time_is_the_first(spectrum, eta):
    unit = entering.gaussian_lifts(spectrum, 1, np.random.default_rng(2))[0]
    start = entering.Start(spectrum, eta, 1e-3 * unit, 1.0)
    Theta, t = start.Theta, 0
    while sizes(Theta).leading ** 2 < 0.25 * spectrum.gap:
        Theta, t = step(Theta, spectrum, eta), t + 1
    assert entering.hitting_time(start, 1000) == t
    assert entering.hitting_time(start, t - 1) == np.inf


def test_the_explicit_scale_is_small_enough(spectrum, eta):
    units = entering.gaussian_lifts(spectrum, 2000, np.random.default_rng(4))
    for failure in (0.5, 0.1):
        inside = entering.satisfied(units, spectrum, eta, explicit_scale(spectrum, eta, failure))
        assert np.mean(~inside) < failure

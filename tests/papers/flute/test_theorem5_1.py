"""Statements of `linrep.papers.flute.theorem5_1`."""

import numpy as np
import pytest

import linrep as lr
from linrep.claims.verdict import decide
from linrep.papers.flute import runs, theorem5_1
from linrep.theory import flute, flute_samples


def in_unit(s):
    """Return what the corrected theorem asks for, and a run from its start, lengths over s.

    s is a power of 4, so that products with s and its root are exact.
    """
    values = s * np.array([1.0, 0.9, 0.3])
    truth = lr.LowRankRegression.random(n=5, d=4, singular_values=values, noise=0.1 * s, rng=0)
    spectrum = flute.Spectrum.of(truth, 2)
    alpha, eta, epsilon = runs.largest_start(spectrum), runs.largest_step(spectrum), 0.5 * s
    m = flute_samples.theorem_5_1(spectrum, epsilon, step_size=eta, failure=0.2, in_units=True)
    T = flute_samples.theorem_5_1_rounds(spectrum, epsilon, step_size=eta)
    again = flute_samples.theorem_5_5(spectrum, eta, T, failure=0.2, restated=True, k_inside=True)
    bound = flute.error_bound(spectrum, eta, T, restated=True)
    run = lr.flute(
        runs.compressed(truth, 1000, np.random.default_rng(1)), k=2, step_size=eta, scale=alpha,
        rounds=3000, record=1000, rng=2,
    )  # fmt: skip
    return m, T, again, alpha / s**0.5, eta * s, bound / s, run["client_error"] / s


@pytest.mark.parametrize("s", [4.0**-10, 4.0**10])
def test_the_corrected_theorems_are_the_same_in_other_units(s):
    for here, there in zip(in_unit(1.0), in_unit(s), strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-9)


def test_the_printed_theorem_is_not():
    """Its start has no unit, and its number of samples none for errors of 1 or more."""
    small = lr.LowRankRegression.random(n=9, d=9, singular_values=[1e-6, 5e-7], rng=0)
    run = {"k": 1, "batches": "population", "step_size": "theorem", "rounds": 9000, "rng": 1}
    ends = [lr.flute(small, scale=alpha, **run).stop_reason for alpha in (1 / 90, 1e-3 / 90)]
    assert ends[0] == "diverged" != ends[1]
    with pytest.raises(ValueError, match="less than 1"):
        flute_samples.theorem_5_1(flute.Spectrum([9.0, 1.0], 2, 2, 1), 1.0, step_size=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "d", "verdict"), [(1.0, 100, "holds"), (1e6, 100_000, "fails")])
def test_errors_of_many_times_lambda_1_are_not_kept(size, d, verdict):
    """For them one sample is enough, on which runs diverge; lambda_1/sqrt(M) takes 50 d."""
    found = theorem5_1.largest_error(np.random.default_rng(0), size, d)
    assert decide(found).verdict == verdict


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize(("n", "d"), [(2, 9), (9, 9), (100, 4)])
@pytest.mark.parametrize("share", [0.01, 1.0])
def test_errors_up_to_lambda_1_over_the_root_of_m_take_50_max_d_m_samples(k, n, d, share):
    k = min(k, n - 1)
    spectrum = flute.Spectrum(np.r_[np.ones(k), 1e-3], n, d, k)
    asked = flute_samples.theorem_5_1(
        spectrum, n**-0.5, step_size=share * runs.largest_step(spectrum), in_units=True
    )
    assert asked >= 50 * k**2 * spectrum.size

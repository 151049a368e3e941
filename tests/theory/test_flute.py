import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.linalg import svd

from linrep import LowRankRegression
from linrep.theory import flute as theory
from linrep.theory import flute_samples as samples
from linrep.theory.flute import Spectrum
from tests.strategies import seeds
from tests.tools import close

SPECTRA = [(1, 0.9, 0.7, 0.1), (1, 0.9, 0.3, 0.1), (1, 0.9, 0.85, 0.8), (4, 3, 2, 0.2, 0.1)]
SCALES = [1e-3, 1.0, 10.0, 1e6]
spectra = st.builds(
    Spectrum,
    st.sampled_from(SPECTRA),
    n=st.integers(5, 8),
    d=st.integers(5, 8),
    k=st.integers(1, 3),
    noise=st.sampled_from([0.0, 0.5]),
)


def scaled(spectrum, s):
    """Return that of s Phi, with s times the noise; its step sizes are those over s."""
    return Spectrum(
        s * spectrum.singular_values, spectrum.n, spectrum.d, spectrum.k, s * spectrum.noise
    )


def test_a_spectrum_in_numbers():
    spectrum = Spectrum([2.0, 3.0, 1.0], n=3, d=4, k=2, noise=0.5)
    np.testing.assert_array_equal(spectrum.eigenvalues, [6, 4, 2, 0, 0, -2, -4, -6])
    assert (spectrum.first, spectrum.last, spectrum.next, spectrum.gap) == (6, 4, 2, 2)
    assert (spectrum.energy, spectrum.size) == (14, 4)
    assert spectrum.noise_scale == pytest.approx(np.sqrt(2 * 36 + 14) + np.sqrt(2) * 0.5)
    assert spectrum.noise_scale_of_section5 == pytest.approx(np.sqrt(2 * 9 + 14) + np.sqrt(0.5))
    truth = LowRankRegression.random(n=5, d=3, noise=0.2, rng=0)
    of = Spectrum.of(truth, 2)
    assert of.gap == pytest.approx(truth.gap(2))
    assert (of.n, of.d, of.k, of.noise) == (5, 3, 2, 0.2)
    # With k = n = d the next eigenvalue is the largest negative one.
    assert Spectrum([1.0, 1.0], n=2, d=2, k=2).gap == 4.0
    assert Spectrum([1.0, 1.0], n=3, d=2, k=2).gap == 2.0


@given(spectra, seeds, st.floats(0.01, 2.0))
def test_regions_and_starts_are_their_definitions(spectrum, seed, size):
    k, rng = spectrum.k, np.random.default_rng(seed)
    Thetas = size * rng.standard_normal((3, 2 * spectrum.size, k))
    region = theory.region(Thetas, spectrum)
    eta = 0.5 * theory.step_size_limits(spectrum)["lemma_A5"]
    start = theory.claim_A3(Thetas, spectrum, eta)
    slow = 1 + eta * spectrum.next / 2 + eta * spectrum.gap / 8
    fast = 1 + eta / 2 * (spectrum.last - spectrum.gap / 2)
    kappa = np.log(slow) / np.log(fast)
    assert theory.exponent(spectrum, eta) == pytest.approx(kappa)
    c1 = spectrum.gap ** (1 - kappa / 2) / 2 ** (3 - kappa)
    for place, Theta in enumerate(Thetas):
        whole = svd(Theta)[1][0]
        leading = svd(Theta[:k])[1][-1]
        rest = svd(Theta[k:])[1][0]
        close(region.whole[place], 2 * spectrum.first - whole**2, 1e-12)
        close(region.rest[place], spectrum.last - spectrum.gap / 2 - rest**2, 1e-12)
        close(region.leading[place], leading**2 - spectrum.gap / 4, 1e-12)
        weak = whole**2 <= 2 * spectrum.first and rest**2 <= spectrum.last - spectrum.gap / 2
        assert region.weak[place] == weak
        assert region.full[place] == (weak and leading**2 >= spectrum.gap / 4)
        close(start.whole[place], spectrum.first - whole**2, 1e-12)
        close(start.rest[place], region.rest[place], 1e-12)
        close(start.leading[place], -region.leading[place], 1e-12)
        balance = np.log(c1 * leading ** (1 + kappa) / rest**2)
        close(start.balance[place], balance, 1e-8)
        needed = np.log(
            spectrum.gap / (8 * np.sqrt(spectrum.first)) * leading
            / ((spectrum.gap / (4 * leading**2)) ** (kappa / 2) * rest**2)
        )  # fmt: skip
        actual = theory.balance_needed(Theta, spectrum, eta)
        close(actual, needed, 1e-8)
        # The claim lacks a factor 1/sqrt(lambda*_1): they agree for lambda*_1 = 1 only.
        close(actual, start.balance[place] - 0.5 * np.log(spectrum.first), 1e-8)
        margins = [start.whole, start.rest, start.leading, start.balance]
        assert start.holds[place] == all(margin[place] >= 0 for margin in margins)
    # T_R is when growth by `fast` takes sigma_k^2 to Delta/4.
    leading = theory.sizes(Thetas).leading
    grown = (leading * fast ** theory.entry_time(leading, spectrum, eta)) ** 2
    np.testing.assert_allclose(grown, spectrum.gap / 4)


@given(spectra, seeds, st.sampled_from(SCALES))
def test_the_unit_of_phi_changes_nothing_but_what_is_printed_wrongly(spectrum, seed, s):
    """Phi -> s Phi, Theta -> sqrt(s) Theta, eta -> eta/s, noise -> s noise."""
    other = scaled(spectrum, s)
    rng = np.random.default_rng(seed)
    Theta = 1e-3 * rng.standard_normal((2 * spectrum.size, spectrum.k))
    limits = theory.step_size_limits(spectrum)
    for place, limit in theory.step_size_limits(other).items():
        assert limit * s == pytest.approx(limits[place])
    eta = 0.5 * min(limits.values())
    one = theory.region(Theta, spectrum)
    two = theory.region(np.sqrt(s) * Theta, other)
    np.testing.assert_allclose([m / s for m in two], one, rtol=1e-9)
    assert theory.exponent(other, eta / s) == pytest.approx(theory.exponent(spectrum, eta))
    needed = theory.balance_needed(np.sqrt(s) * Theta, other, eta / s)
    close(needed, theory.balance_needed(Theta, spectrum, eta), 1e-9)
    printed = theory.claim_A3(np.sqrt(s) * Theta, other, eta / s).balance
    close(printed - theory.claim_A3(Theta, spectrum, eta).balance, 0.5 * np.log(s), 1e-9)

    sizes = [
        samples.theorem_5_1(each, 9.0 * unit, step_size=step, in_units=True)
        for each, unit, step in ((spectrum, 1.0, eta), (other, s, eta / s))
    ]
    assert sizes[1] == pytest.approx(sizes[0], rel=1e-9)
    bound = theory.error_bound(spectrum, eta, 5)
    assert theory.error_bound(other, eta / s, 5) == pytest.approx(s * bound)


@given(spectra, st.floats(1e-6, 0.9), st.floats(0.01, 1.0))
def test_the_theorems_bounds_fit_together(spectrum, tolerance, share):
    eta = share * theory.step_size_limits(spectrum)["theorem_5_1"]
    t = samples.theorem_5_1_rounds(spectrum, tolerance, step_size=eta, constant=3.0)
    if t >= 0:
        bound = theory.error_bound(spectrum, eta, t, constant=3.0)
        assert bound == pytest.approx(tolerance)
    assert theory.error_bound(spectrum, eta, 7, restated=True) == pytest.approx(
        4 * theory.error_bound(spectrum, eta, 7)
    )
    kappa = spectrum.first**2 / (eta * spectrum.gap**2)
    late = (1 - eta * spectrum.gap / 16) ** 7
    assert theory.decay(spectrum, eta, 7) == pytest.approx(late)
    assert theory.leading_bound(spectrum, eta, 7) == pytest.approx(200 * kappa * late)
    expected = 400 * kappa * np.sqrt(spectrum.k) * late
    assert theory.product_bound(spectrum, eta, 7) == pytest.approx(expected)
    expected = 2 * np.sqrt(2) * spectrum.first / np.sqrt(spectrum.gap) * late
    assert theory.rest_bound(spectrum, eta, 7) == pytest.approx(expected)


@given(spectra, st.floats(1e-3, 1.0))
def test_sample_sizes_are_the_printed_formulas(spectrum, failure):
    first, gap, k = spectrum.first, spectrum.gap, spectrum.k
    eta = theory.step_size_limits(spectrum)["proposition_A12"]
    S, c1, t = spectrum.noise_scale, 0.3, 4
    ell = np.sqrt(spectrum.size + np.log(1 / failure))
    given = {"failure": failure, "constant": c1}

    def root(factor):
        return (max(ell / np.sqrt(c1), factor * ell / np.sqrt(c1))) ** 2

    late = (1 - eta * gap / 16) ** (t + 1)
    noisy, whole = np.sqrt(first) * S, first * S
    least = min(3 * first, late * first**2 / (eta * gap**2))
    for function, arguments, expected in (
        (samples.lemma_A5, [0.2], root(3456 / (0.2 * gap))),
        (samples.lemma_A5_proof, [0.2], root(3456 * noisy / (0.2 * gap))),
        (samples.lemma_A6, [], (12 * np.sqrt(2 * k) * ell) ** 2 / c1),
        (samples.lemma_A7, [], root(48 * noisy / (gap * np.sqrt(spectrum.last - gap / 2)))),
        (samples.lemma_A8, [], root(6144 * noisy / gap)),
        (samples.proposition_A9, [], (c1 * noisy * ell / gap**1.5) ** 2),
        (samples.lemma_A10, [eta, t], root(max(192 * S / (late * gap), 6144 * whole / gap**2))),
        (samples.lemma_A11, [eta, t], root(1152 * whole / (least * gap))),
        (
            samples.proposition_A12,
            [eta, t],
            root(max(1152 * S / (late * gap), 6144 * whole / gap**2)),
        ),
        (samples.lemma_A13, [0.1], root(192 * noisy / (0.1 * gap))),
        (samples.lemma_A13_second, [], root(6144 * whole / gap**2)),
        (samples.lemma_A17, [0.1], root(96 * noisy / (0.1 * gap))),
    ):
        actual = function(spectrum, *arguments, **given)
        assert actual == pytest.approx(expected)
    bound = samples.discrepancy_bound(spectrum, 50, step_size=eta, **given)
    expected = eta * np.sqrt(first) * S * 6 * np.sqrt(2) * ell / np.sqrt(50 * c1)
    assert bound == pytest.approx(expected)
    # The numbers for (38) and (39) are those at which the same bound is what they state.
    m = samples.lemma_A13(spectrum, 0.1, **given)
    if m > ell**2 / c1 * 1.01:
        bound = samples.discrepancy_bound(spectrum, m, step_size=eta, **given)
        assert bound == pytest.approx(0.1 * eta * gap / (16 * np.sqrt(2)))
    m = samples.lemma_A13_second(spectrum, **given)
    bound = samples.discrepancy_bound(spectrum, m, step_size=eta, **given)
    assert bound == pytest.approx(eta * gap**2 / (512 * np.sqrt(2 * first)))


def test_theorems_in_numbers():
    spectrum = Spectrum([2.0, 1.0, 0.5], n=10, d=6, k=2, noise=0.3)
    S = np.sqrt(2 * 4 + 5.25) + np.sqrt(2) * 0.3
    eta, late = 0.01, (1 - 0.01 / 16) ** 20
    expected = 2 * (6 + np.log(10) + np.log(20)) * S**2 / late**2
    actual = samples.theorem_5_5(spectrum, eta, 20, failure=0.1, constant=2.0)
    assert actual == pytest.approx(expected)
    other = 2 * np.sqrt(16 + 5.25) + np.sqrt(2) * 0.3
    expected = (10 + np.log(10) + np.log(20)) * other**2 / late**2
    actual = samples.theorem_5_5(spectrum, eta, 20, failure=0.1, restated=True)
    assert actual == pytest.approx(expected)
    other = np.sqrt(2 * 16 + 5.25) + np.sqrt(2) * 0.3
    expected = (10 + np.log(10) + np.log(20)) * other**2 / late**2
    actual = samples.theorem_5_5(spectrum, eta, 20, failure=0.1, restated=True, k_inside=True)
    assert actual == pytest.approx(expected)
    expected = 16 * 2 * (10 + np.log(10) + np.log(np.log(100))) * S**2 / (10 * eta**2 * 1e-4)
    actual = samples.theorem_5_1(spectrum, 0.01, step_size=eta, failure=0.1)
    assert actual == pytest.approx(expected)
    assert theory.step_size_limits(spectrum)["theorem_5_1"] == pytest.approx(1 / (228 * 8))


def test_with_as_many_directions_as_there_are_the_claim_says_nothing():
    """For k = n = d eigenvalue k is Delta/2, and the exponent infinite."""
    spectrum = Spectrum([1.0, 1.0], n=2, d=2, k=2)
    Theta = 0.1 * np.eye(4, 2)[::-1] + 0.1 * np.eye(4, 2)
    assert theory.exponent(spectrum, 0.1) == np.inf
    assert not theory.claim_A3(Theta, spectrum, 0.1).holds
    theory.balance_needed(Theta, spectrum, 0.1)
    assert theory.entry_time(0.1, spectrum, 0.1) == np.inf

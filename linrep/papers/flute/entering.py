"""Starts that satisfy Claim A.3, up to its boundary, and what becomes of them."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from linrep.algorithms import gaussian_start
from linrep.papers.flute import model
from linrep.papers.flute.model import Array, Spectrum
from linrep.problems import LowRankRegression
from linrep.theory.flute import claim_A3, entry_time, exponent, sizes, step_size_limits
from linrep.theory.flute_lift import iterate, lift

#: Largest step sizes in dispute, both in Lemma A.5.
LIMITS = {"lemma": "lemma_A5", "proof": "lemma_A5_proof"}


# The last condition of Claim A.3.


def balance(Theta, spectrum: Spectrum, step_size: float, first_power: float) -> Array:
    """Return the logarithmic margin of the last condition, c_1 times a power of lambda*_1.

    The paper has power 0; what its proofs use is -1/2.
    """
    margin = claim_A3(Theta, spectrum, step_size).balance
    return np.asarray(margin) + first_power * np.log(spectrum.first)


def rest_allowed(leading: float, spectrum: Spectrum, step_size: float, first_power: float) -> float:
    """Return the largest sigma_1(Theta_res) that Claim A.3 allows a sigma_k."""
    probe = two_sizes(leading, 1.0, spectrum)
    balanced = np.exp(0.5 * balance(probe, spectrum, step_size, first_power))
    square = min(spectrum.last - 0.5 * spectrum.gap, max(spectrum.first - leading**2, 0.0))
    return float(min(balanced, np.sqrt(square))) * (1.0 - 1e-12)


def log_scale(Theta, spectrum: Spectrum, step_size: float, first_power: float = 0.0) -> Array:
    """Return the logarithm of the largest alpha for which alpha Theta satisfies Claim A.3."""
    margin = balance(Theta, spectrum, step_size, first_power)
    last = margin / (1.0 - exponent(spectrum, step_size))
    return np.minimum(_first_three(Theta, spectrum, step_size), last)


def satisfied(Theta, spectrum: Spectrum, step_size, log_alpha: float, excess=0.0) -> Array:
    """Tell whether alpha Theta satisfies Claim A.3, alpha being too small for numbers maybe.

    An excess is added to the exponent of sigma_k in the last condition.
    """
    slope = exponent(spectrum, step_size) - 1.0 + excess
    margin = balance(Theta, spectrum, step_size, 0.0) + excess * np.log(sizes(Theta).leading)
    early = log_alpha <= _first_three(Theta, spectrum, step_size)
    return early & (margin + slope * log_alpha >= 0.0)


def _first_three(Theta, spectrum, step_size):
    """Return the logarithm of the largest alpha that the first three conditions allow."""
    start, size = claim_A3(Theta, spectrum, step_size), sizes(Theta)
    pairs = zip(start[:3], (size.whole, size.rest, size.leading), strict=True)
    return np.min([0.5 * np.log1p(margin / value**2) for margin, value in pairs], axis=0)


# Starts.


class Start(NamedTuple):
    """A start with what it starts in; `s` is the unit of Phi."""

    spectrum: Spectrum
    step_size: float
    Theta: Array
    s: float

    def plain(self) -> dict[str, Any]:
        """Return plain values that reproduce it."""
        return {
            "eigenvalues": self.spectrum.eigenvalues[: self.spectrum.size].tolist(),
            "s": float(self.s),
            "k": self.spectrum.k,
            "step_size": float(self.step_size),
            "Theta": self.Theta.tolist(),
        }


def random_starts(
    draws: int, rng, first_power: float = -0.5, units: Iterable[float] = (1.0,), **of
) -> Iterator[tuple[dict, Start]]:
    """Yield settings, and draws at the largest alpha of Claim A.3 where that is a number.

    The settings are those of :func:`spectra`, the step size is that of Lemma A.5.
    """
    for setting, spectrum in model.spectra(**of):
        eta = step_size_limits(spectrum)["lemma_A5"]
        for unit, s in product(gaussian_lifts(spectrum, draws, rng), units):
            other = model.scaled(spectrum, unit, eta, s)
            scale = log_scale(other.Theta, other.spectrum, other.step_size, first_power)
            if scale >= -300.0:
                Theta = np.exp(scale) * other.Theta
                yield setting, Start(other.spectrum, other.step_size, Theta, s)


def boundary_family(units, shares, *, first_power: float) -> Iterator[tuple[dict, Start]]:
    """Yield settings and starts for k = 1 with as much in row 2 as Claim A.3 allows.

    They have s among `units`, and each share of Delta/4 as sigma_k^2; `first_power` is that of
    :func:`balance`.
    """
    for ratio, s, (name, place), part in product(
        (0.3, 0.5, 0.7, 0.9), units, LIMITS.items(), shares
    ):
        spectrum = model.scaled_spectrum(Spectrum(np.array([1.0, ratio]), 2, 2, 1), float(s))
        eta = step_size_limits(spectrum)[place]
        leading = float(np.sqrt(0.25 * part * spectrum.gap))
        rest = rest_allowed(leading, spectrum, eta, first_power)
        Theta = np.array([[leading], [rest], [0.0], [0.0]])
        yield {"limit of eta": name}, Start(spectrum, eta, Theta, float(s))


def read_start(
    reader: model.Reader, shape: model.Shape, *, first_power: float, least_gap: float
) -> Start:
    """Return a start in Claim A.3, boundaries included.

    s is 1 to 1e6, eta 1 to 100 percent of 1/(6 lambda*_1), sigma_k^2 a share of Delta/4 between
    1e-6 and 1.
    """
    n, d, k = shape["n"], shape["d"], shape["k"]
    spectrum = model.read_spectrum(reader, shape, least_gap)
    s = reader.between(1.0, 1e6, logarithmic=True)
    spectrum = model.scaled_spectrum(spectrum, s)
    eta = step_size_limits(spectrum)["lemma_A5"] * reader.between(0.01, 1.0, logarithmic=True)
    smallest = np.sqrt(0.25 * spectrum.gap * reader.between(1e-6, 1.0 - 1e-9, logarithmic=True))
    rest = rest_allowed(smallest, spectrum, eta, first_power)
    top = np.sqrt(spectrum.first) * (1.0 - 1e-9)
    leading = [reader.between(smallest, top, logarithmic=True) for _ in range(k - 1)]
    lower = [rest * reader.share() for _ in range(k)]
    frames = [reader.frame(rows, k) for rows in (k, 2 * max(n, d) - k, k)]
    Theta = model.with_singular_values([*leading, smallest], lower, *frames)
    return Start(spectrum, float(eta), model.within(Theta, k, spectrum.first * (1.0 - 1e-12)), s)


def gaussian_lifts(spectrum: Spectrum, draws: int, rng) -> Array:
    """Return lifted random starts with alpha = 1, shape (draws, 2 max(n, d), k)."""
    truth, shape = diagonal_truth(spectrum), (spectrum.n, spectrum.d, spectrum.k)
    return np.stack([lift(truth, *gaussian_start(*shape, 1.0, rng)) for _ in range(draws)])


def two_sizes(leading: float, rest: float, spectrum: Spectrum) -> Array:
    """Return Theta with Theta_k = leading I, and one entry that is not 0 in Theta_res."""
    Theta = np.zeros((2 * spectrum.size, spectrum.k))
    Theta[: spectrum.k] = leading * np.eye(spectrum.k)
    Theta[spectrum.k, -1] = rest
    return Theta


@lru_cache(maxsize=64)
def diagonal_truth(spectrum: Spectrum) -> LowRankRegression:
    """Return a truth with a spectrum, its singular bases being the axes."""
    Phi = np.zeros((spectrum.d, spectrum.n))
    np.fill_diagonal(Phi, spectrum.singular_values)
    return LowRankRegression(Phi, spectrum.noise)


# What becomes of them.


class Course(NamedTuple):
    """sigma_1(Theta), sigma_k(Theta_k) and sigma_1(Theta_res) after recorded steps."""

    t: Array
    whole: Array
    leading: Array
    rest: Array


def course(start: Start, record: Any, R: Any = 0.0) -> Course:
    """Return the course of the population map from a start."""
    t = np.unique(np.asarray(record, dtype=np.int64))
    orbit = iterate(start.Theta, start.spectrum.eigenvalues, start.step_size, t, R)
    whole, leading, rest = sizes(orbit.Theta)
    return Course(t, whole, leading, rest)


def expected_time(start: Start) -> float:
    """Return T_R of a start."""
    return float(entry_time(sizes(start.Theta).leading, start.spectrum, start.step_size))


def hitting_time(start: Start, longest: int, R: Any = 0.0) -> float:
    """Return the first step with sigma_k^2(Theta_k) >= Delta/4, infinity if beyond the longest."""
    low, high = 0, longest
    while True:
        found = course(start, np.linspace(low, high, 65).round(), R)
        reached = np.nonzero(found.leading**2 >= 0.25 * start.spectrum.gap)[0]
        if not reached.size:
            return np.inf
        place = int(reached[0])
        if place == 0 or found.t[place] - found.t[place - 1] <= 1:
            return float(found.t[place])
        low, high = int(found.t[place - 1]), int(found.t[place])

"""Runs of FLUTE on samples: of any number at a cost free of it, one by one or many at once.

The samples enter through their second moments, drawn by Bartlett's factors, so that the number m
that the statements ask for can be used, whatever it is.
"""

from collections.abc import Iterator

import numpy as np

import linrep as lr
from linrep.claims.tables import cells
from linrep.papers.flute.model import Array
from linrep.problems import LowRankRegression
from linrep.problems.clients import ClientData
from linrep.theory.flute import Spectrum, step_size_limits
from linrep.theory.flute_lift import lift

FAILURE = 0.05  # t delta


def truth_of(values, n, d, rng, *, noise=0.0, per_client=False) -> LowRankRegression:
    """Return a truth with these singular values and random singular vectors."""
    return LowRankRegression.random(
        n=n, d=d, singular_values=values, noise=noise, per_client=per_client, rng=rng
    )


def truth_with(spectrum: Spectrum, rng) -> LowRankRegression:
    """Return a truth with this spectrum and random singular vectors."""
    given = spectrum.singular_values, spectrum.n, spectrum.d
    return truth_of(*given, rng, noise=spectrum.noise)


# One run at a time, by FLUTE itself.


def compressed(truth, m, rng) -> ClientData:
    """Draw what m Gaussian samples per client tell, as at most d rows per client.

    The triangular factor of X_i and the labels it leaves, scaled so that all second moments are
    those of m samples: every gradient has the law that it has with the samples themselves.
    """
    n, d = truth.n, truth.d
    rows = int(min(m, d))
    factor = np.triu(rng.standard_normal((n, rows, d)), 1)
    place = np.arange(rows)
    factor[:, place, place] = np.sqrt(rng.chisquare(m - place, (n, rows)))
    labels = np.einsum("iab,ib->ia", factor, truth.theta)
    labels += truth.noise * rng.standard_normal((n, rows))
    scale, offsets = np.sqrt(rows / m), np.arange(n + 1) * rows
    return ClientData(
        (scale * factor).reshape(-1, d), (scale * labels).ravel(), offsets, truth=truth
    )


def largest_step(spectrum) -> float:
    """Return the largest step size that Theorem 5.1 allows."""
    return step_size_limits(spectrum)["theorem_5_1"]


def largest_start(spectrum) -> float:
    """Return the largest alpha of the theorems' corrected statements."""
    return float(np.sqrt(0.5 * spectrum.first)) / (10.0 * spectrum.size)


def usual_step(truth) -> float:
    """Return a step size at which FLUTE settles on samples soon: 1/5 of the stable one."""
    return 0.2 / float(truth.singular_values[0])


def floor(truth, k: int, m: int, rng, *, share=1.0, rounds=40_000, tolerance=1e-11) -> float:
    """Return the error (7) that FLUTE keeps on m Gaussian samples per client, redrawn each call.

    From the population's optimum until nothing moves any more, where it comes to rest, or until
    so many rounds are over; with a share of the usual step size.
    """
    best = truth.best(k)
    trace = lr.flute(
        compressed(truth, m, rng), k=k, start=(best.B, best.W), step_size=share * usual_step(truth),
        rounds=rounds, record=[rounds], tolerance=tolerance,
    )  # fmt: skip
    return float(trace["client_error"][-1])


def relative_truth(setting, rng):
    """Return a truth of a setting and its spectrum; relative is lambda*_1/Delta, k values are 1."""
    n, d, k = (int(setting[name]) for name in "ndk")
    values = [1.0] * k + [1.0 - 1.0 / setting["relative"]]
    truth = truth_of(values, n, d, rng, noise=setting["noise"])
    return truth, Spectrum.of(truth, k)


def towards_extremes(centre: dict, lines: dict) -> Iterator[dict]:
    """Yield the centre with each variable in turn along its line, without noise and with it."""
    settings = (cell for noise in (0.0, 1.0) for cell in cells(centre | {"noise": noise}, **lines))
    yield from map(dict, sorted({tuple(setting.items()) for setting in settings}))


# Many runs at once, lifted.


def draw_moments(truth: LowRankRegression, m: float, runs: int, rng) -> Array:
    """Return [X, xi]'[X, xi]/m of m >= d + 1 normal samples, shape (runs, n, d + 1, d + 1)."""
    size = truth.d + 1
    factor = np.tril(rng.standard_normal((runs, truth.n, size, size)), -1)
    places = np.arange(size)
    squares = rng.chisquare(np.floor(m) - places, size=(runs, truth.n, size))
    factor[..., places, places] = np.sqrt(squares)
    return factor @ np.swapaxes(factor, -1, -2) / np.floor(m)


def lifting(truth: LowRankRegression) -> Array:
    """Return the matrix L (2 max(n, d), d + n) with Theta = L [B; W] and [B; W] = L'Theta."""
    both = np.eye(truth.d + truth.n)
    return lift(truth, both[: truth.d], both[truth.d :])


def noise(truth: LowRankRegression, Theta: Array, moments: Array, step_size: float) -> Array:
    """Return R of (13) for each run, from lifted iterates (..., 2 max(n, d), k)."""
    d = truth.d
    L = lifting(truth)
    both = L.T @ Theta
    B, W = both[..., :d, :], both[..., d:, :]
    excess = W @ np.swapaxes(B, -1, -2) - truth.Phi.T
    seen = np.einsum("...nij,...nj->...ni", moments[..., :d, :d], excess)
    off = excess - seen + truth.noise * moments[..., :d, d]
    return step_size * L @ np.concatenate([np.swapaxes(off, -1, -2) @ W, off @ B], axis=-2)

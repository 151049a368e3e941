"""Data of any number of samples at a cost free of it, and where FLUTE comes to rest on them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import linrep as lr
from linrep.claims.tables import cells
from linrep.problems.clients import ClientData
from linrep.theory.flute import Spectrum, step_size_limits


def compressed(truth, m, rng) -> ClientData:
    """Draw what m Gaussian samples per client tell, as at most d rows per client.

    The triangular factor of X_i and the labels it leaves, scaled so that all second moments are
    those of m samples: every gradient has the law that it has with the samples themselves.
    """
    n, d = truth.n, truth.d
    rows = min(m, d)
    factor = np.triu(rng.standard_normal((n, rows, d)), 1)
    place = np.arange(rows)
    factor[:, place, place] = np.sqrt(rng.chisquare(m - place, (n, rows)))
    labels = np.einsum("iab,ib->ia", factor, truth.theta)
    labels += truth.noise * rng.standard_normal((n, rows))
    scale = np.sqrt(rows / m)
    return ClientData(
        (scale * factor).reshape(-1, d),
        (scale * labels).ravel(),
        np.arange(n + 1) * rows,
        truth=truth,
    )


def largest_step(spectrum) -> float:
    """Return the largest step size that Theorem 5.1 allows."""
    return step_size_limits(spectrum)["theorem_5_1"]


def largest_start(spectrum) -> float:
    """Return the largest alpha of the theorems' corrected statements."""
    return float(np.sqrt(0.5 * spectrum.first)) / (10.0 * spectrum.size)


def step_size(truth) -> float:
    """Return a step size at which FLUTE settles on samples soon: 1/5 of the stable one."""
    return 0.2 / float(truth.singular_values[0])


def floor(truth, k: int, m: int, rng, *, share=1.0, rounds=40_000, tolerance=1e-11) -> float:
    """Return the error (7) that FLUTE keeps on m Gaussian samples per client, redrawn each call.

    From the population's optimum until nothing moves any more, where it comes to rest, or until
    so many rounds are over; with a share of the usual step size.
    """
    best = truth.best(k)
    trace = lr.flute(
        compressed(truth, m, rng),
        k=k,
        start=(best.B, best.W),
        step_size=share * step_size(truth),
        rounds=rounds,
        record=[rounds],
        tolerance=tolerance,
    )
    return float(trace["client_error"][-1])


def truth_of(values, n, d, rng, *, noise=0.0, per_client=False):
    """Return a truth with these singular values."""
    return lr.LowRankRegression.random(
        n=n, d=d, singular_values=values, noise=noise, per_client=per_client, rng=rng
    )


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

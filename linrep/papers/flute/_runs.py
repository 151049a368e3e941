"""Steps on samples from many draws at once, and the points of the regions' boundaries to start at.

The samples enter through their second moments, drawn by Bartlett's factors: the cost does not grow
with their number m, so that the m that the statements ask for can be used, whatever it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from linrep.papers.flute._common import Array, step
from linrep.problems import LowRankRegression
from linrep.theory.flute import Spectrum, region
from linrep.theory.flute_lift import lift


def truth_of(spectrum: Spectrum, rng) -> LowRankRegression:
    """Return a ground truth with this spectrum and random singular vectors."""
    return LowRankRegression.random(
        n=spectrum.n,
        d=spectrum.d,
        singular_values=spectrum.singular_values,
        noise=spectrum.noise,
        rng=rng,
    )


def draw_moments(truth: LowRankRegression, m: float, runs: int, rng) -> Array:
    """Return [X, xi]'[X, xi]/m of m >= d + 1 normal samples, shape (runs, n, d + 1, d + 1)."""
    size = truth.d + 1
    factor = np.tril(rng.standard_normal((runs, truth.n, size, size)), -1)
    places = np.arange(size)
    factor[..., places, places] = np.sqrt(
        rng.chisquare(np.floor(m) - places, size=(runs, truth.n, size))
    )
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


def followed(
    spectrum: Spectrum, Theta: Array, m: float, step_size: float, runs: int, rng, *, steps, fresh
) -> Iterator[tuple[int, Array]]:
    """Yield the number of each step and the iterates after it, (runs, ...); set to 0 they stay."""
    truth = truth_of(spectrum, rng)
    state = np.broadcast_to(Theta, (runs, *Theta.shape))
    moments = draw_moments(truth, m, runs, rng)
    for t in range(1, steps + 1):
        if fresh and t > 1:
            moments = draw_moments(truth, m, runs, rng)
        state = step(state, spectrum, step_size, noise(truth, state, moments, step_size))
        yield t, state


def exits(following, inside) -> int:
    """Count the runs of which not all steps end inside, a test of (runs, ...) iterates."""
    kept: Any = np.True_
    for _, state in following:
        kept = kept & inside(state)
        state[~kept] = 0.0
    return int(np.sum(~kept))


def bound_violations(following, spectrum: Spectrum, measure, bound) -> int:
    """Count the runs that exceed a bound after some step, while in R until then.

    ``measure(states)`` is what is bounded, by ``bound(t)`` after t steps.
    """
    inside: Any = np.True_
    over: Any = np.False_
    for t, state in following:
        over = over | (inside & (measure(state) > bound(t)))
        if t % 8 == 0:
            inside = inside & region(state, spectrum).full
            state[~inside] = 0.0
    return int(np.sum(over))


def spread(truth: LowRankRegression, Theta: Array, step_size: float, u: Array, v: Array) -> float:
    """Return m times the variance of u'Rv, of m normal samples per client, in closed form.

    With e_i = B w_i - phi_i it is eta^2 times the sum over i of (|e_i|^2 + noise^2) |a_i|^2 +
    (e_i'a_i)^2, where u'Rv = eta sum a_i'(what samples change in client i's gradient).
    """
    both, turned = lifting(truth).T @ Theta, lifting(truth).T @ u
    B, W = both[: truth.d], both[truth.d :]
    excess = W @ B.T - truth.Phi.T
    a = np.outer(W @ v, turned[: truth.d]) + np.outer(turned[truth.d :], B @ v)
    each = np.sum(excess**2, axis=1) + truth.noise**2
    total = each @ np.sum(a**2, axis=1) + np.sum(np.sum(excess * a, axis=1) ** 2)
    return float(step_size**2 * total)


def corner(spectrum: Spectrum, *, first=None, last=None, rest=0.0) -> Array:
    """Return Theta with diagonal Theta_k, and column k of it continued in row k + 1.

    `first`, `last` and `rest` are the squares of entry 1, entry k, and that in row k + 1; the other
    squares are their eigenvalues, where the population map is at rest.
    """
    k = spectrum.k
    squares = spectrum.eigenvalues[:k].copy()
    squares[0] = squares[0] if first is None else first
    squares[k - 1] = squares[k - 1] if last is None else last
    Theta = np.zeros((2 * spectrum.size, k))
    Theta[np.arange(k), np.arange(k)] = np.sqrt(squares)
    Theta[k, k - 1] = np.sqrt(rest)
    return Theta
